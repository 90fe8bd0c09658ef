/* op_limiters.c: the provider accounts and their rate limits. */
#include <errno.h>

#include "ops/names.h"
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
    struct json_writer w;
    json_write_init(&w, &call->answer, false);
    json_write_object_begin(&w);
    print_text(&w, "name", name);
    print_text(&w, "state", "open");
    print_bool(&w, "already", already);
    json_write_object_end(&w);
    return 0;
}

const struct op op_limiter_list = {
    .name = "limiter.list",
    .method = "GET",
    .path = "/v1/limiters",
    .summary = "list the provider accounts and their state",
    .text = "open: everything goes; backoff: the provider said wait; probing: one run goes first; "
            "ramping: places come back step by step; closed: a person must act, then clear it. "
            "`last_success`: when a run that used the account last ended well. Of one that is "
            "closed because "
            "a login or a bill was refused: `agent`, what it `said`, and the `fix`.",
    .params = PARAMS(OP_PARAM_LIMIT, OP_PARAM_CURSOR),
    .result =
        "{\"items\":[{\"name\":\"anthropic\",\"state\":\"backoff\",\"opens_at\":1760000000000,"
        "\"hits\":2,\"last_success\":1759999990000,\"used\":1,\"cap\":10}],\"next\":null}",
    .right = OP_READ,
    .run = run_list,
};

const struct op op_limiter_clear = {
    .name = "limiter.clear",
    .method = "POST",
    .path = "/v1/limiters/{name}/clear",
    .summary = "open a provider account again",
    .params = PARAMS(
        PARAM(TEXT, PATH, "name", .text = "the account", .required = true, .min = 1, .max = 128)),
    .result = "{\"name\":\"anthropic\",\"state\":\"open\",\"already\":false}",
    .right = OP_ADMIN,
    .writes = true,
    .run = run_clear,
};
