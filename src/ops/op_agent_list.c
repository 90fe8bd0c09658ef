/* op_agent_list.c: which agents there are, how busy each is, and whether its program is there.
 *
 * Those of the configuration and of the tasks come first; then those that need no configuration and that are not
 * named yet. */
#include <string.h>

#include "agent/agent.h"
#include "engine/agents.h"
#include "ops/print.h"

static void print_program(struct json_writer *w, struct op_call *call, const char *name) {
    _cleanup_(strbuf_finish) struct strbuf program = STRBUF_INIT, found = STRBUF_INIT;
    engine_agent_program(call->engine, name, &program, &found);
    print_text(w, "program", program.length > 0 ? strbuf_text(&program) : NULL);
    print_text(w, "found", found.length > 0 ? strbuf_text(&found) : NULL);
}

static bool is_named(const struct config *config, const char *name) {
    for (size_t i = 0; i < config_agent_count(config); i++)
        if (strcmp(config_agent_name(config, i), name) == 0)
            return true;
    return false;
}

/* The one of this number that needs no configuration and is not named; NULL: there are fewer. */
static const char *unnamed_at(const struct config *config, size_t index) {
    const char *name;
    for (size_t i = 0; (name = agent_builtin(i)); i++)
        if (!is_named(config, name) && index-- == 0)
            return name;
    return NULL;
}

static void print_agent(struct json_writer *w, struct op_call *call, size_t index) {
    const struct config *config = engine_config(call->engine);
    size_t named = config_agent_count(config);
    const char *name =
        index < named ? config_agent_name(config, index) : unnamed_at(config, index - named);
    const char *const *words = NULL;
    const char *limiter = config_text(config, "agents.A.limiter", name);
    sym symbol = op_symbol(call->engine, name);
    struct agent_spec agent = { 0 };
    amount used = 0, cap = UNLIMITED;
    if (symbol) {
        (void)core_agent_spec(engine_core(call->engine), symbol, &agent);
        (void)core_lease(engine_core(call->engine), LEASE_AGENT, symbol, &used, &cap);
    }
    json_write_object_begin(w);
    print_text(w, "name", name);
    print_bool(w, "named", index < named);
    size_t count = config_words(config, "agents.A.command", name, &words);
    print_words(w, "command", words, count);
    print_program(w, call, name);
    count = config_words(config, "agents.A.failover", name, &words);
    print_words(w, "failover", words, count);
    print_text(w, "adapter", config_text(config, "agents.A.adapter", name));
    print_bool(w, "roster", config_number(config, "agents.A.roster", name) != 0);
    print_amount(w, "slots", config_number(config, "agents.A.slots", name));
    print_int(w, "used", used);
    print_text(w, "limiter", *limiter ? limiter : NULL);
    print_time(w, "closed_until",
               agent.closed_until > engine_now(call->engine) ? agent.closed_until : 0);
    json_write_object_end(w);
}

static int run(struct op_call *call) {
    const struct config *config = engine_config(call->engine);
    size_t unnamed = 0;
    while (unnamed_at(config, unnamed))
        unnamed++;
    return names_list(call, config_agent_count(config) + unnamed, print_agent);
}

/* clang-format off */
static const struct shape agent_shape = { "Agent", "an agent", .members = SHAPE_ROWS(
    { "name", T_TEXT, "its name", "claude" },
    { "named", T_BOOL, "it is configured, or a task has named it" },
    { "command", T_TEXT | T_LIST, "its command, if it has one of its own", "claude" },
    { "program", T_TEXT | T_NULL, "what a run would start", "claude" },
    { "found", T_TEXT | T_NULL, "where that is in the PATH of runs", "/usr/bin/claude" },
    { "failover", T_TEXT | T_LIST, "agents that take over while it is closed", "codex" },
    { "adapter", T_TEXT | T_NULL, "how its output is read", "claude" },
    { "roster", T_BOOL, "it is a worker, which takes tasks that name no agent" },
    { "slots", T_INT | T_NULL, "most runs at once; null: no limit" },
    { "used", T_INT, "live runs" },
    { "limiter", T_TEXT | T_NULL, "the provider account it uses", "anthropic" },
    { "closed_until", T_TIME | T_NULL, "several launches in a row failed: nothing is given to it before" }) };
/* clang-format on */

const struct op op_agent_list = {
    OP("agent.list", "GET", "/v1/agents", "list the agents"),
    .text = "Those that are configured or that a task has named, then those that need no "
            "configuration.",
    .params = PARAMS(OP_PARAM_LIMIT, OP_PARAM_CURSOR),
    .answers = ANSWERS(SHAPE_PAGE(&agent_shape)),
    .right = OP_READ,
    .run = run,
};
