/* cmd_agent.c: which agents are configured, and how busy each is. */
#include "cli/cmd.h"

#include "cli/ask.h"
#include "cli/cell.h"
#include "cli/rows.h"
#include "os/clock.h"

/* The command's words with blanks between them. */
static void join(const json_t *words, struct strbuf *out) {
    size_t i;
    json_t *word;
    json_array_foreach(words, i, word) {
        strbuf_printf(out, "%s%s", i ? " " : "",
                      json_string_value(word) ? json_string_value(word) : "?");
    }
}

static int list_run(const struct cmd_call *call) {
    _cleanup_(ask_finish) struct ask ask = { 0 };
    int code = ask_open_get(&ask, "/v1/agents?limit=1000");
    if (code != CMD_OK)
        return code;
    if (call->json)
        return ask_print(&ask);
    struct output_column columns[] = {
        { "NAME" },    { "USED", true },   { "SLOTS", true }, { "ADAPTER" },
        { "LIMITER" }, { "CLOSED UNTIL" }, { "COMMAND" },
    };
    _cleanup_(rows_finish) struct rows rows = { columns, ARRAY_SIZE(columns) };
    time_ms now = clock_read();
    size_t i;
    json_t *item;
    json_array_foreach(ask_items(&ask), i, item) {
        _cleanup_(strbuf_finish) struct strbuf command = STRBUF_INIT;
        join(json_object_get(item, "command"), &command);
        rows_add(&rows, (const char *[]){
                            ask_text(item, "name", NULL),
                            cell_number(item, "used").text,
                            cell_cap(item, "slots").text,
                            ask_text(item, "adapter", NULL),
                            ask_text(item, "limiter", NULL),
                            cell_span(item, "closed_until", now).text,
                            strbuf_text(&command),
                        });
    }
    _cleanup_(strbuf_finish) struct strbuf out = STRBUF_INIT;
    if (rows.count == 0)
        strbuf_puts(&out, "no agent is configured; 'sluice config explain agents.A.command' tells "
                          "how\n");
    rows_print(&rows, &out);
    output_rest(&out);
    return CMD_OK;
}

static const struct cmd agent_list = {
    .name = "list",
    .usage = "agent list",
    .summary = "list the agents and how busy they are",
    .text =
        "An agent that could not be launched several times in a row is closed for a while; the\n"
        "next launch that works opens it.\n",
    .examples = "sluice agent list\n",
    .run = list_run,
};

static const struct cmd *const agent_subs[] = { &agent_list, NULL };

const struct cmd cmd_agent = {
    .name = "agent",
    .usage = "agent list",
    .summary = "look at the agents",
    .examples = "sluice agent list\n",
    .subs = agent_subs,
};
