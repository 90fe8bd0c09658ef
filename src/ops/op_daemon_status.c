/* op_daemon_status.c: everything at a glance, in one answer that costs the same for ten tasks as for a
 * million: what waits is counted over a bounded part of the queue, and `partial` says so. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/hash.h"
#include "base/id_map.h"
#include "core/waiting.h"
#include "ops/print.h"
#include "ops/world.h"

#define WAITING_MAX  10000u
#define RUNNING_MAX  50u
#define EVENTS_SHOWN 10u
#define EXAMPLES_MAX 3u
#define GATES_MAX    200u /* different codes; the rest counts as "other" */
#define PROJECTS_MAX 1000u

struct gate_count {
    const char *code;
    uint32_t count;
    task_id examples[EXAMPLES_MAX];
};

struct status {
    struct op_rows running; /* first: op_ask_titles */
    struct strbuf events;   /* printed as they came */
};

static void status_finish(void *state) {
    strbuf_finish(&((struct status *)state)->events);
}

static struct status *status_of(struct op_call *call) {
    return op_state(call, sizeof(struct status), status_finish);
}

/* --- what waits for what --------------------------------------------------------------------- */

struct counting {
    struct gate_count *gates;
    size_t count;
    uint32_t blocked_dependencies;
    struct id_map map;
};

static bool same_code(const void *ctx, uint32_t handle, const void *key) {
    return strcmp(((const struct counting *)ctx)->gates[handle - 1].code, key) == 0;
}

static struct gate_count *gate_of(struct op_call *call, struct counting *c, const char *code) {
    uint64_t hash = hash_bytes(code, strlen(code));
    uint32_t handle = id_map_find(&c->map, hash, code);
    if (handle)
        return &c->gates[handle - 1];
    if (c->count == GATES_MAX - 1)
        code = "other";
    else if (c->count == GATES_MAX)
        return &c->gates[GATES_MAX - 1];
    c->gates[c->count++] = (struct gate_count){ .code = arena_strdup(op_arena(call), code) };
    id_map_add(&c->map, hash, (uint32_t)c->count);
    return &c->gates[c->count - 1];
}

static void count_one(struct op_call *call, struct counting *c, task_id task) {
    struct verdict v;
    if (!core_blocked(engine_core(call->engine), task, &v))
        return;
    _cleanup_(strbuf_finish) struct strbuf code = STRBUF_INIT;
    verdict_code(&v, op_symbols(call->engine), &code);
    struct gate_count *gate = gate_of(call, c, strbuf_text(&code));
    if (gate->count < EXAMPLES_MAX)
        gate->examples[gate->count] = task;
    gate->count++;
    bool hopeless = v.about_state == TASK_FAILED || v.about_state == TASK_CANCELED
                    || v.about_state == TASK_INVALIDATED;
    c->blocked_dependencies += v.gate == GATE_DEPENDENCY && hopeless;
}

static int compare_counts(const void *a, const void *b) {
    const struct gate_count *x = a, *y = b;
    if (x->count != y->count)
        return x->count > y->count ? -1 : 1;
    return strcmp(x->code, y->code);
}

static void print_waiting(struct op_call *call, struct json_writer *w) {
    const struct core *core = engine_core(call->engine);
    task_id *tasks = arena_alloc(op_arena(call), WAITING_MAX * sizeof(*tasks));
    size_t count = core_waiting(core, tasks, WAITING_MAX);
    struct counting c = { .gates = arena_alloc(op_arena(call), GATES_MAX * sizeof(*c.gates)) };
    id_map_init(&c.map, same_code, &c);
    for (size_t i = 0; i < count; i++)
        count_one(call, &c, tasks[i]);
    id_map_finish(&c.map);
    qsort(c.gates, c.count, sizeof(*c.gates), compare_counts);
    json_write_key(w, "waiting_by_gate");
    json_write_array_begin(w);
    for (size_t i = 0; i < c.count; i++) {
        json_write_object_begin(w);
        print_text(w, "gate", c.gates[i].code);
        print_int(w, "count", c.gates[i].count);
        json_write_key(w, "examples");
        json_write_array_begin(w);
        for (size_t k = 0; k < EXAMPLES_MAX && k < c.gates[i].count; k++) {
            char id[ENGINE_ID_MAX];
            json_write_string(w, engine_task_id(call->engine, c.gates[i].examples[k], id));
        }
        json_write_array_end(w);
        json_write_object_end(w);
    }
    json_write_array_end(w);
    print_bool(w, "partial", (size_t)core_queue_depth(core, 0) > count);
    print_int(w, "blocked_dependencies", c.blocked_dependencies);
}

/* --- the parts ------------------------------------------------------------------------------- */

static void print_counts(struct op_call *call, struct json_writer *w) {
    struct core_counts counts;
    core_count(engine_core(call->engine), &counts);
    json_write_key(w, "counts");
    json_write_object_begin(w);
    for (int s = TASK_DRAFT; s < TASK_STATE_MAX; s++)
        print_int(w, task_state_name((enum task_state)s), counts.by_state[s]);
    json_write_object_end(w);
    print_int(w, "ready", counts.by_state[TASK_READY]);
}

static void print_names(struct op_call *call, struct json_writer *w) {
    json_write_key(w, "limits");
    world_print_limits(w, call->engine);
    json_write_key(w, "limiters");
    json_write_array_begin(w);
    const char *name;
    for (size_t i = 0; (name = op_limiter_at(call->engine, i)); i++)
        world_print_limiter(w, call->engine, name);
    json_write_array_end(w);
    json_write_key(w, "budgets");
    world_print_budgets(w, call->engine);
    struct world_sums sums;
    world_sum(call->engine, &sums);
    json_write_key(w, "projects");
    json_write_array_begin(w);
    for (size_t i = 0; i < engine_project_count(call->engine) && i < PROJECTS_MAX; i++)
        world_print_project(w, call->engine, engine_project_at(call->engine, i), &sums);
    json_write_array_end(w);
}

static void print_host(struct op_call *call, struct json_writer *w) {
    struct engine_host_values host;
    engine_host(call->engine, &host);
    json_write_key(w, "host");
    json_write_object_begin(w);
    print_count(w, "disk_free_mb", host.disk_free_mb);
    print_count(w, "memory_free_mb", host.memory_free_mb);
    json_write_key(w, "load");
    if (host.load_milli >= 0)
        json_write_double(w, (double)host.load_milli / 1000.0, 2);
    else
        json_write_null(w);
    json_write_object_end(w);
    struct store_info store;
    store_info(engine_store(call->engine), &store);
    json_write_key(w, "store");
    json_write_object_begin(w);
    print_count(w, "bytes", store.bytes);
    print_count(w, "log_bytes", store.log_bytes);
    print_bool(w, "full", engine_is_full(call->engine));
    json_write_object_end(w);
}

static int print(struct op_call *call) {
    struct status *s = status_of(call);
    struct json_writer w;
    json_write_init(&w, &call->answer, false);
    json_write_object_begin(&w);
    print_text(&w, "version", engine_version(call->engine));
    print_int(&w, "pid", getpid());
    print_time(&w, "started_at", engine_started_at(call->engine));
    print_text(&w, "home", engine_home(call->engine));
    print_text(&w, "preset", config_preset(engine_config(call->engine)));
    print_bool(&w, "paused", engine_is_paused(call->engine));
    print_counts(call, &w);
    print_waiting(call, &w);
    json_write_key(&w, "running");
    print_tasks(&w, call->engine, &s->running);
    print_names(call, &w);
    print_host(call, &w);
    print_json(&w, "events", strbuf_text(&s->events));
    json_write_object_end(&w);
    return 0;
}

static void take_events(struct op_call *call, const struct store_answer *answer) {
    struct json_writer w;
    json_write_init(&w, &status_of(call)->events, false);
    json_write_array_begin(&w);
    for (size_t i = answer->count; i-- > 0;)
        print_event(&w, call->engine, &answer->events[i]);
    json_write_array_end(&w);
}

static int ask_events(struct op_call *call) {
    struct store_question question = { .kind = ASK_EVENTS_BACK, .limit = EVENTS_SHOWN };
    return op_ask(call, &question, take_events, print);
}

static int run(struct op_call *call) {
    struct status *s = status_of(call);
    s->running.tasks = arena_alloc(op_arena(call), RUNNING_MAX * sizeof(task_id));
    size_t live = engine_live_tasks(call->engine, s->running.tasks, RUNNING_MAX);
    s->running.count = live < RUNNING_MAX ? live : RUNNING_MAX;
    return op_ask_titles(call, &s->running, ask_events);
}

const struct op op_daemon_status = {
    .name = "daemon.status",
    .method = "GET",
    .path = "/v1/status",
    .summary = "show everything at a glance",
    .text =
        "`waiting_by_gate` is counted over up to 10,000 of those that wait; `partial` says that "
        "there are more. `running` has up to 50 tasks, `events` the last 10. "
        "`blocked_dependencies`: how many wait for one that has failed, was canceled or "
        "invalidated.",
    .result =
        "{\"version\":\"0.1.0\",\"pid\":4711,\"started_at\":1760000000000,"
        "\"home\":\"/home/me/.local/share/sluice\",\"preset\":\"sluice\",\"paused\":false,"
        "\"counts\":{\"ready\":3,\"running\":1},\"ready\":3,"
        "\"waiting_by_gate\":[{\"gate\":\"lease:runs\",\"count\":3,\"examples\":[\"web-17\"]}],"
        "\"partial\":false,\"blocked_dependencies\":0,\"running\":[],"
        "\"limits\":[{\"key\":\"runs\",\"used\":1,\"cap\":8}],\"limiters\":[],"
        "\"budgets\":[{\"key\":\"global\",\"used\":0,\"reserved\":10000,\"cap\":null}],"
        "\"projects\":[],\"host\":{\"disk_free_mb\":90000,\"memory_free_mb\":8000,\"load\":0.5},"
        "\"store\":{\"bytes\":65536,\"log_bytes\":0,\"full\":false},\"events\":[]}",
    .right = OP_READ,
    .run = run,
};
