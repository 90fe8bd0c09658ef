/* cmd_limiter.c: the accounts at the providers: who is in backoff, and how to end it by hand. */
#include "cli/names.h"

#include "cli/ask.h"

/* What the agent said when its login or bill was refused. */
static void put_note(const json_t *item, struct strbuf *out) {
    const char *said = ask_text(item, "said", NULL), *fix = ask_text(item, "fix", NULL);
    if (!said && !fix)
        return;
    strbuf_puts(out, "\n");
    sanitize_line(ask_text(item, "name", "?"), out);
    strbuf_puts(out, " needs a person");
    if (said) {
        strbuf_puts(out, ": ");
        sanitize_line(ask_text(item, "agent", "its agent"), out);
        strbuf_puts(out, " said: ");
        sanitize_line(said, out);
    }
    strbuf_puts(out, "\n");
    if (fix) {
        strbuf_puts(out, "-> ");
        sanitize_line(fix, out);
        strbuf_puts(out, "\n");
    }
}

static const struct name_list list = {
    "/v1/limiters",
    "no limiter is configured; 'sluice config explain agents.A.limiter' tells how\n",
    { { "NAME", "name" },
      { "STATE", "state" },
      { "OPENS", "opens_at", NAME_SPAN },
      { "HITS", "hits", NAME_NUMBER },
      { "USED", "used", NAME_NUMBER },
      { "CAP", "cap", NAME_CAP },
      { "SUCCESS", "last_success", NAME_SPAN } },
    .note = put_note,
};
static const struct name_verb clear = { "/v1/limiters/", "/clear", "cleared", "is open already" };

static const struct cmd limiter_clear = { "limiter clear", .min_args = 1, .max_args = CMD_ANY_ARGS,
                                          .run = name_verb_run, .data = &clear };
static const struct cmd limiter_list = { "limiter list", .run = name_list_run, .data = &list };
const struct cmd cmd_limiter = { "limiter", .subs = CMD_LIST(&limiter_clear, &limiter_list) };
