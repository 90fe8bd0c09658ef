/* cmd_agent.c: which agents there are, how busy each is, and whether its program is there. */
#include "cli/cmd.h"

#include "cli/ask.h"
#include "cli/cell.h"
#include "cli/name_list.h"
#include "cli/name_verb.h"

/* The command's words with blanks between them. */
static void join(const json_t *words, struct strbuf *out) {
    size_t i;
    json_t *word;
    json_array_foreach(words, i, word) {
        strbuf_printf(out, "%s%s", i ? " " : "",
                      json_string_value(word) ? json_string_value(word) : "?");
    }
}

static void add_row(struct rows *rows, const json_t *item, time_ms now) {
    _cleanup_(strbuf_finish) struct strbuf command = STRBUF_INIT, failover = STRBUF_INIT;
    join(json_object_get(item, "command"), &command);
    join(json_object_get(item, "failover"), &failover);
    const char *program = ask_text(item, "program", NULL);
    rows_add(rows, (const char *[]){
                       ask_text(item, "name", NULL),
                       ask_true(item, "named") ? cell_number(item, "used").text : NULL,
                       cell_cap(item, "slots").text,
                       ask_text(item, "adapter", NULL),
                       ask_text(item, "limiter", NULL),
                       failover.length > 0 ? strbuf_text(&failover) : NULL,
                       cell_span(item, "closed_until", now).text,
                       ask_text(item, "found", program ? "not found" : NULL),
                       command.length > 0 ? strbuf_text(&command) : program,
                   });
}

static int list_run(const struct cmd_call *call) {
    struct output_column columns[] = {
        { "NAME" },     { "USED", true },   { "SLOTS", true }, { "ADAPTER" }, { "LIMITER" },
        { "FAILOVER" }, { "CLOSED UNTIL" }, { "FOUND" },       { "COMMAND" },
    };
    return name_list_run(call, &(struct name_list){
                                   .path = "/v1/agents",
                                   .none = "there is no agent\n",
                                   .columns = columns,
                                   .column_count = ARRAY_SIZE(columns),
                                   .add = add_row,
                               });
}

static int clear_run(const struct cmd_call *call) {
    static const struct name_verb verb = {
        .before = "/v1/agents/",
        .after = "/clear",
        .did = "cleared",
        .already = "is open already",
    };
    return name_verb_run(call, &verb);
}

static const struct cmd agent_clear = { "agent clear", .min_args = 1, .max_args = CMD_ANY_ARGS,
                                        .run = clear_run };

static const struct cmd agent_list = { "agent list", .run = list_run };

const struct cmd cmd_agent = { "agent", .subs = CMD_LIST(&agent_clear, &agent_list) };
