/* op_agents.c: lists and reopens agents and provider accounts (limiters). */

#include "agent/agent.h"
#include "engine/agents.h"
#include "ops/print.h"

/* Agents of the configuration and of tasks come first, then unconfigured built-in ones. */

static const char *unnamed_at(const struct engine *engine, size_t index) {
    const char *name;
    for (size_t i = 0; (name = agent_builtin(i)); i++)
        if (!op_knows(engine, op_agent_at, name) && index-- == 0)
            return name;
    return NULL;
}

/* clang-format off */
#define AGENT(X) \
    X(json_put_string, "name", T_TEXT, "its name", "claude", name) \
    X(json_put_bool, "named", T_BOOL, "it is configured, or a task names it", NULL, index < named) \
    X(print_words, "command", T_TEXT | T_LIST, "its command, if it has one of its own", "claude", command, commands) \
    X(json_put_string, "program", T_TEXT | T_NULL, "the program that a run starts", "claude", program.length > 0 ? strbuf_text(&program) : NULL) \
    X(json_put_string, "found", T_TEXT | T_NULL, "its path in the PATH of runs", "/usr/bin/claude", found.length > 0 ? strbuf_text(&found) : NULL) \
    X(print_words, "failover", T_TEXT | T_LIST, "agents that take over while it is closed", "codex", failover, failovers) \
    X(print_words, "escalate", T_TEXT | T_LIST, "steps of its tasks when results are not accepted", "claude:opus", escalate, escalations) \
    X(json_put_string, "model", T_TEXT | T_NULL, "its model, if it is set", "sonnet", *model ? model : NULL) \
    X(json_put_string, "adapter", T_TEXT | T_NULL, "how its output is read", "claude", config_text(config, "agents.A.adapter", name)) \
    X(json_put_bool, "roster", T_BOOL, "it is a worker: it takes tasks that name no agent", NULL, config_number(config, "agents.A.roster", name) != 0) \
    X(print_amount, "slots", T_INT | T_NULL, "maximum number of runs at once; null: no limit", NULL, config_number(config, "agents.A.slots", name)) \
    X(json_put_int, "used", T_INT, "live runs", NULL, used) \
    X(json_put_string, "limiter", T_TEXT | T_NULL, "the provider account it uses", "anthropic", *limiter ? limiter : NULL) \
    X(print_hours, "hours", T_OBJECT | T_NULL, "its opening hours; null: none", &shape_hours, call->engine, LEASE_AGENT, name) \
    X(print_time, "closed_until", T_TIME | T_NULL, "several launches in a row failed: it gets no tasks before this time", NULL, agent.closed_until > engine_now(call->engine) ? agent.closed_until : 0)
static const struct shape agent_shape = { "Agent", "an agent", .members = SHAPE_ALL(AGENT) };
/* clang-format on */

static void print_agent(struct json_writer *w, struct op_call *call, size_t index) {
    const struct config *config = engine_config(call->engine);
    size_t named = config_agent_count(config);
    const char *name =
        index < named ? config_agent_name(config, index) : unnamed_at(call->engine, index - named);
    _cleanup_(strbuf_finish) struct strbuf program = STRBUF_INIT, found = STRBUF_INIT;
    const char *const *command = NULL, *const *failover = NULL, *const *escalate = NULL;
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
    size_t escalations = config_words(config, "agents.A.escalate", name, &escalate);
    const char *model = config_text(config, "agents.A.model", name);
    engine_agent_program(call->engine, name, &program, &found);
    AGENT(SHAPE_PRINT)
    json_write_object_end(w);
}

static int run_agent_list(struct op_call *call) {
    size_t count = config_agent_count(engine_config(call->engine)), unnamed = 0;
    while (unnamed_at(call->engine, unnamed))
        unnamed++;
    return names_list(call, count + unnamed, print_agent);
}

const struct op op_agent_list = {
    OP("agent.list", "GET", "/v1/agents", "list the agents"),
    .text = "Agents that are configured or that a task names come first, then those that need no "
            "configuration.",
    .params = PARAMS(OP_PARAM_LIMIT, OP_PARAM_CURSOR),
    .answers = ANSWERS(SHAPE_PAGE(&agent_shape)),
    OP_READS(READ, NONE, run_agent_list),
};

/* Applies the fact, unless the agent or account is already open. */
static int clear(struct op_call *call, const struct fact *fact, bool already) {
    int r = already ? 0 : engine_apply(call->engine, fact, &call->err);
    return r < 0 ? r
                 : op_answer(call, "s:s, s:s, s:b", "name", op_text(call, "name"), "state", "open",
                             "already", already);
}

static int run_agent_clear(struct op_call *call) {
    const char *name = op_text(call, "name");
    sym symbol = op_symbol(call->engine, name);
    struct agent_spec before;
    if (!symbol || !core_agent_spec(engine_core(call->engine), symbol, &before))
        return op_unknown(call->engine, "agent", name, op_agent_at, &call->err);
    return clear(call, &(struct fact){ .kind = FACT_AGENT_CLEAR, .agent_clear = symbol },
                 !before.closed_until && before.launch_failures == 0 && before.openings == 0);
}

const struct op op_agent_clear = {
    OP("agent.clear", "POST", "/v1/agents/{name}/clear",
       "open an agent that was closed after launch failures"),
    .text = "Its tasks may start immediately, and its count of launch failures is reset. For a "
            "closed account (login, billing, limit), see `limiter.clear`.",
    .params = PARAMS(OP_PARAM_NAME("the agent")),
    .answers = ANSWERS({ "name", T_TEXT, "the agent", "claude" },
                       { "state", T_TEXT, "`open`", "open" }, SHAPE_ALREADY),
    OP_WRITES(ADMIN, NONE, run_agent_clear),
};

static void print_limiter_at(struct json_writer *w, struct op_call *call, size_t index) {
    print_limiter(w, call->engine, op_limiter_at(call->engine, index));
}

static int run_limiter_list(struct op_call *call) {
    return names_list(call, config_limiter_count(engine_config(call->engine)), print_limiter_at);
}

/* Ends a backoff, opens a closed account, and forgets what is used of its windows. */
static int run_limiter_clear(struct op_call *call) {
    const char *name = op_text(call, "name");
    sym symbol = op_symbol(call->engine, name);
    struct limiter_view before;
    if (!symbol || !core_limiter(engine_core(call->engine), symbol, &before))
        return op_unknown(call->engine, "limiter", name, op_limiter_at, &call->err);
    return clear(call, &(struct fact){ .kind = FACT_LIMITER_CLEAR, .limiter_clear = symbol },
                 !before.closed && !before.backoff_until && !before.reserved_until
                     && before.hits == 0);
}

const struct op op_limiter_list = {
    OP("limiter.list", "GET", "/v1/limiters", "list the provider accounts and their state"),
    .params = PARAMS(OP_PARAM_LIMIT, OP_PARAM_CURSOR),
    .answers = ANSWERS(SHAPE_PAGE(&shape_limiter)),
    OP_READS(READ, NONE, run_limiter_list),
};

static int run_limiter_show(struct op_call *call) {
    const char *name = op_text(call, "name");
    if (!op_knows(call->engine, op_limiter_at, name))
        return op_unknown(call->engine, "limiter", name, op_limiter_at, &call->err);
    struct json_writer w = op_begin(call);
    print_limiter_members(&w, call->engine, name);
    return op_end(&w);
}

const struct op op_limiter_show = {
    OP("limiter.show", "GET", "/v1/limiters/{name}", "show a provider account and its state"),
    .params = PARAMS(OP_PARAM_NAME("the account")),
    .answers = &shape_limiter,
    OP_READS(READ, NONE, run_limiter_show),
};

const struct op op_limiter_clear = {
    OP("limiter.clear", "POST", "/v1/limiters/{name}/clear", "reopen a provider account"),
    .text = "This also opens an account of which only the reserve is left, until an agent reports "
            "its usage again.",
    .params = PARAMS(OP_PARAM_NAME("the account")),
    .answers = ANSWERS({ "name", T_TEXT, "the account", "anthropic" },
                       { "state", T_TEXT, "`open`", "open" }, SHAPE_ALREADY),
    OP_WRITES(ADMIN, NONE, run_limiter_clear),
};
