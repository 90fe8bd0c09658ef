/* op_agent_clear.c: opens an agent that is closed because it could not be launched. */
#include <errno.h>

#include "ops/world.h"

static int run(struct op_call *call) {
    const char *name = op_text(call, "name");
    sym symbol = op_symbol(call->engine, name);
    struct agent_spec before;
    if (!symbol || !core_agent_spec(engine_core(call->engine), symbol, &before))
        return op_unknown(call->engine, "agent", name, op_agent_at, &call->err);
    struct fact fact = { .kind = FACT_AGENT_CLEAR, .agent_clear = symbol };
    bool already = !before.closed_until && before.launch_failures == 0 && before.openings == 0;
    int r = already ? 0 : engine_tell(call->engine, &fact, &call->err);
    if (r < 0)
        return r;
    struct json_writer w = op_begin(call);
    print_text(&w, "name", name);
    print_text(&w, "state", "open");
    print_bool(&w, "already", already);
    return op_end(&w);
}

const struct op op_agent_clear = {
    OP("agent.clear", "POST", "/v1/agents/{name}/clear",
       "open an agent that was closed after launch failures"),
    .text = "Its tasks may start at once, and its launch failures count from 0. For an account "
            "that is closed (login, bill, limit), see `limiter.clear`.",
    .params = PARAMS(
        PARAM(TEXT, PATH, "name", .text = "the agent", .required = true, .min = 1, .max = 128)),
    .answers = ANSWERS({ "name", T_TEXT, "the agent", "claude" },
                       { "state", T_TEXT, "`open`", "open" }, SHAPE_ALREADY),
    .right = OP_ADMIN,
    .writes = true,
    .run = run,
};
