/* op_agent_list.c: which agents are configured, and how busy each is. */
#include "ops/names.h"

static void print_words(struct json_writer *w, const char *key, const struct config *config,
                        const char *name) {
    const char *const *words = NULL;
    size_t count = config_words(config, "agents.A.failover", name, &words);
    json_write_key(w, key);
    json_write_array_begin(w);
    for (size_t i = 0; i < count; i++)
        json_write_string(w, words[i]);
    json_write_array_end(w);
}

static void print_agent(struct json_writer *w, struct op_call *call, size_t index) {
    const struct config *config = engine_config(call->engine);
    const char *name = config_agent_name(config, index);
    const char *const *words = NULL;
    size_t count = config_words(config, "agents.A.command", name, &words);
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
    json_write_key(w, "command");
    json_write_array_begin(w);
    for (size_t i = 0; i < count; i++)
        json_write_string(w, words[i]);
    json_write_array_end(w);
    print_words(w, "failover", config, name);
    print_text(w, "adapter", config_text(config, "agents.A.adapter", name));
    print_amount(w, "slots", config_number(config, "agents.A.slots", name));
    print_int(w, "used", used);
    print_text(w, "limiter", *limiter ? limiter : NULL);
    print_time(w, "closed_until",
               agent.closed_until > engine_now(call->engine) ? agent.closed_until : 0);
    json_write_object_end(w);
}

static int run(struct op_call *call) {
    return names_list(call, config_agent_count(engine_config(call->engine)), print_agent);
}

static const struct op_param params[] = { OP_PARAM_LIMIT, OP_PARAM_CURSOR, { .name = NULL } };

const struct op op_agent_list = {
    .name = "agent.list",
    .method = "GET",
    .path = "/v1/agents",
    .summary = "list the agents",
    .text =
        "`closed_until`: launches of it failed several times in a row, and nothing is given to it "
        "before.",
    .params = params,
    .result =
        "{\"items\":[{\"name\":\"claude\",\"command\":[\"claude\",\"-p\"],\"failover\":[\"codex\"],"
        "\"adapter\":\"claude\",\"slots\":4,\"used\":1,\"limiter\":\"anthropic\",\"closed_until\":"
        "null}],\"next\":null}",
    .right = OP_READ,
    .run = run,
};
