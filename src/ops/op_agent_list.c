/* op_agent_list.c: which agents there are, how busy each is, and whether its program is there.
 *
 * Those of the configuration and of the tasks come first; then those that need no configuration and that are not
 * named yet. */
#include <string.h>

#include "agent/agent.h"
#include "engine/agents.h"
#include "ops/print.h"

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

/* clang-format off */
#define AGENT(X) \
    X(print_text, "name", T_TEXT, "its name", "claude", name) \
    X(print_bool, "named", T_BOOL, "it is configured, or a task has named it", NULL, index < named) \
    X(print_words, "command", T_TEXT | T_LIST, "its command, if it has one of its own", "claude", command, commands) \
    X(print_text, "program", T_TEXT | T_NULL, "what a run would start", "claude", program.length > 0 ? strbuf_text(&program) : NULL) \
    X(print_text, "found", T_TEXT | T_NULL, "where that is in the PATH of runs", "/usr/bin/claude", found.length > 0 ? strbuf_text(&found) : NULL) \
    X(print_words, "failover", T_TEXT | T_LIST, "agents that take over while it is closed", "codex", failover, failovers) \
    X(print_text, "adapter", T_TEXT | T_NULL, "how its output is read", "claude", config_text(config, "agents.A.adapter", name)) \
    X(print_bool, "roster", T_BOOL, "it is a worker, which takes tasks that name no agent", NULL, config_number(config, "agents.A.roster", name) != 0) \
    X(print_amount, "slots", T_INT | T_NULL, "most runs at once; null: no limit", NULL, config_number(config, "agents.A.slots", name)) \
    X(print_int, "used", T_INT, "live runs", NULL, used) \
    X(print_text, "limiter", T_TEXT | T_NULL, "the provider account it uses", "anthropic", *limiter ? limiter : NULL) \
    X(print_time, "closed_until", T_TIME | T_NULL, "several launches in a row failed: nothing is given to it before", NULL, agent.closed_until > engine_now(call->engine) ? agent.closed_until : 0)
static const struct shape agent_shape = { "Agent", "an agent", .members = SHAPE_ALL(AGENT) };
/* clang-format on */

static void print_agent(struct json_writer *w, struct op_call *call, size_t index) {
    const struct config *config = engine_config(call->engine);
    size_t named = config_agent_count(config);
    const char *name =
        index < named ? config_agent_name(config, index) : unnamed_at(config, index - named);
    _cleanup_(strbuf_finish) struct strbuf program = STRBUF_INIT, found = STRBUF_INIT;
    const char *const *command = NULL, *const *failover = NULL;
    const char *limiter = config_text(config, "agents.A.limiter", name);
    sym symbol = op_symbol(call->engine, name);
    struct agent_spec agent = { 0 };
    amount used = 0, cap = UNLIMITED;
    if (symbol) {
        (void)core_agent_spec(engine_core(call->engine), symbol, &agent);
        (void)core_lease(engine_core(call->engine), LEASE_AGENT, symbol, &used, &cap);
    }
    json_write_object_begin(w);
    size_t commands = config_words(config, "agents.A.command", name, &command);
    size_t failovers = config_words(config, "agents.A.failover", name, &failover);
    engine_agent_program(call->engine, name, &program, &found);
    AGENT(SHAPE_PRINT)
    json_write_object_end(w);
}

static int run(struct op_call *call) {
    const struct config *config = engine_config(call->engine);
    size_t unnamed = 0;
    while (unnamed_at(config, unnamed))
        unnamed++;
    return names_list(call, config_agent_count(config) + unnamed, print_agent);
}

const struct op op_agent_list = {
    OP("agent.list", "GET", "/v1/agents", "list the agents"),
    .text = "Those that are configured or that a task has named, then those that need no "
            "configuration.",
    .params = PARAMS(OP_PARAM_LIMIT, OP_PARAM_CURSOR),
    .answers = ANSWERS(SHAPE_PAGE(&agent_shape)),
    .right = OP_READ,
    .run = run,
};
