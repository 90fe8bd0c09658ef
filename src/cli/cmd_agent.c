/* cmd_agent.c: which agents there are, how busy each is, and whether its program is there. */
#include "cli/ask.h"
#include "cli/names.h"
#include "cli/print_task.h"

/* The words with blanks between them. */
static void join(const json_t *words, struct strbuf *out) {
    size_t i;
    json_t *word;
    json_array_foreach(words, i, word) {
        strbuf_printf(out, "%s%s", i ? " " : "",
                      json_string_value(word) ? json_string_value(word) : "?");
    }
}

static void put_used(const json_t *item, struct strbuf *out) {
    strbuf_puts(out, ask_true(item, "named") ? cell_number(item, "used").text : "");
}

static void put_failover(const json_t *item, struct strbuf *out) {
    join(json_object_get(item, "failover"), out);
}

static void put_found(const json_t *item, struct strbuf *out) {
    strbuf_puts(out, ask_text(item, "found", ask_text(item, "program", NULL) ? "not found" : ""));
}

static void put_command(const json_t *item, struct strbuf *out) {
    join(json_object_get(item, "command"), out);
    strbuf_puts(out, out->length > 0 ? "" : ask_text(item, "program", ""));
}

static const struct name_list list = {
    "/v1/agents",
    "there is no agent\n",
    { { "NAME", "name" },
      { "USED", .kind = NAME_NUMBER, .put = put_used },
      { "SLOTS", "slots", NAME_CAP },
      { "ADAPTER", "adapter" },
      { "LIMITER", "limiter" },
      { "FAILOVER", .put = put_failover },
      { "CLOSED UNTIL", "closed_until", NAME_SPAN },
      { "FOUND", .put = put_found },
      { "COMMAND", .put = put_command } },
};
static const struct name_verb clear = { "/v1/agents/", "/clear", "cleared", "is open already" };

static const struct cmd agent_clear = { "agent clear", .min_args = 1, .max_args = CMD_ANY_ARGS,
                                        .run = name_verb_run, .data = &clear };
static const struct cmd agent_list = { "agent list", .run = name_list_run, .data = &list };
const struct cmd cmd_agent = { "agent", .subs = CMD_LIST(&agent_clear, &agent_list) };
