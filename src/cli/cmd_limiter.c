/* cmd_limiter.c: the accounts at the providers: who is in backoff, and how to end it by hand. */
#include "cli/cmd.h"

#include "cli/ask.h"
#include "cli/cell.h"
#include "cli/name_list.h"
#include "cli/name_verb.h"
#include "cli/sanitize.h"

static void add_row(struct rows *rows, const json_t *item, time_ms now) {
    rows_add(rows, (const char *[]){
                       ask_text(item, "name", NULL),
                       ask_text(item, "state", NULL),
                       cell_span(item, "opens_at", now).text,
                       cell_number(item, "hits").text,
                       cell_number(item, "used").text,
                       cell_cap(item, "cap").text,
                       cell_span(item, "last_success", now).text,
                   });
}

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

static int list_run(const struct cmd_call *call) {
    struct output_column columns[] = {
        { "NAME" },       { "STATE" },     { "OPENS" },   { "HITS", true },
        { "USED", true }, { "CAP", true }, { "SUCCESS" },
    };
    return name_list_run(call, &(struct name_list){
                                   .path = "/v1/limiters",
                                   .none = "no limiter is configured; 'sluice config explain "
                                           "agents.A.limiter' tells how\n",
                                   .columns = columns,
                                   .column_count = ARRAY_SIZE(columns),
                                   .add = add_row,
                                   .note = put_note,
                               });
}

static int clear_run(const struct cmd_call *call) {
    static const struct name_verb verb = {
        .before = "/v1/limiters/",
        .after = "/clear",
        .did = "cleared",
        .already = "is open already",
    };
    return name_verb_run(call, &verb);
}

static const struct cmd limiter_clear = { "limiter clear", .min_args = 1, .max_args = CMD_ANY_ARGS,
                                          .run = clear_run };

static const struct cmd limiter_list = { "limiter list", .run = list_run };

const struct cmd cmd_limiter = { "limiter", .subs = CMD_LIST(&limiter_clear, &limiter_list) };
