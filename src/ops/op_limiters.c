/* op_limiters.c: the provider accounts and their rate limits. */
#include <errno.h>

#include "ops/world.h"

static void print_limiter(struct json_writer *w, struct op_call *call, size_t index) {
    world_print_limiter(w, call->engine, op_limiter_at(call->engine, index));
}

static int run_list(struct op_call *call) {
    return names_list(call, config_limiter_count(engine_config(call->engine)), print_limiter);
}

/* A backoff ends and a closed account is open: {"name","state","already"}. */
static int run_clear(struct op_call *call) {
    const char *name = op_text(call, "name");
    sym symbol = op_symbol(call->engine, name);
    struct limiter_view before;
    if (!symbol || !core_limiter(engine_core(call->engine), symbol, &before))
        return op_unknown(call->engine, "limiter", name, op_limiter_at, &call->err);
    struct fact fact = { .kind = FACT_LIMITER_CLEAR, .limiter_clear = symbol };
    bool already = !before.closed && !before.backoff_until && before.hits == 0;
    int r = already ? 0 : engine_tell(call->engine, &fact, &call->err);
    if (r < 0)
        return r;
    struct json_writer w = op_begin(call);
    print_text(&w, "name", name);
    print_text(&w, "state", "open");
    print_bool(&w, "already", already);
    return op_end(&w);
}

const struct op op_limiter_list = {
    OP("limiter.list", "GET", "/v1/limiters", "list the provider accounts and their state"),
    .params = PARAMS(OP_PARAM_LIMIT, OP_PARAM_CURSOR),
    .answers = ANSWERS(SHAPE_PAGE(&shape_limiter)),
    .right = OP_READ,
    .run = run_list,
};

const struct op op_limiter_clear = {
    OP("limiter.clear", "POST", "/v1/limiters/{name}/clear", "open a provider account again"),
    .params = PARAMS(
        PARAM(TEXT, PATH, "name", .text = "the account", .required = true, .min = 1, .max = 128)),
    .answers = ANSWERS({ "name", T_TEXT, "the account", "anthropic" },
                       { "state", T_TEXT, "`open`", "open" }, SHAPE_ALREADY),
    .right = OP_ADMIN,
    .writes = true,
    .run = run_clear,
};
