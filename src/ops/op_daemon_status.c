/* op_daemon_status.c: everything at a glance, in one answer that costs the same for ten tasks as for a
 * million: the core knows how many are alike and counts those (core/waiting.h). Examples are looked for
 * among the first of each class; a gate that stops only tasks further behind has none. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/hash.h"
#include "base/id_map.h"
#include "core/waiting.h"
#include "engine/alert.h"
#include "engine/data_folder.h"
#include "engine/live.h"
#include "engine/sandboxes.h"
#include "engine/shared_folder.h"
#include "executor/executor.h"
#include "ops/print.h"
#include "ops/queue_room.h"
#include "ops/world.h"

#define COUNTED_MAX  10000u /* classes and the like, about 0.1 us each */
#define LOOKED_FIRST 100u   /* tasks, for the examples */
#define LOOKED_MAX   1000u  /* if a gate has none among those */
#define RUNNING_MAX  50u
#define EVENTS_SHOWN 10u
#define ALERTS_SHOWN 50u
#define EXAMPLES_MAX 3u
#define GATES_MAX    200u /* different codes; the rest counts as "other" */
#define PROJECTS_MAX 1000u

struct gate_count {
    const char *code;
    int64_t count;
    size_t example_count;
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
    struct op_call *call;
    struct gate_count *gates;
    size_t count;
    struct id_map map;
    struct strbuf code; /* the last one that was asked for */
};

static bool same_code(const void *ctx, uint32_t handle, const void *key) {
    return strcmp(((const struct counting *)ctx)->gates[handle - 1].code, key) == 0;
}

static struct gate_count *gate_of(struct counting *c, const struct verdict *first) {
    strbuf_clear(&c->code);
    verdict_code(first, op_symbols(c->call->engine), &c->code);
    const char *code = strbuf_text(&c->code);
    uint64_t hash = hash_bytes(code, c->code.length);
    uint32_t handle = id_map_find(&c->map, hash, code);
    if (handle)
        return &c->gates[handle - 1];
    if (c->count == GATES_MAX)
        return &c->gates[GATES_MAX - 1];
    if (c->count == GATES_MAX - 1)
        code = "other";
    c->gates[c->count++] = (struct gate_count){ .code = arena_strdup(op_arena(c->call), code) };
    id_map_add(&c->map, hash, (uint32_t)c->count);
    return &c->gates[c->count - 1];
}

static void count_more(void *ctx, const struct verdict *first, int64_t more) {
    gate_of(ctx, first)->count += more;
}

static bool one_has_no_example(const struct counting *c) {
    for (size_t i = 0; i < c->count; i++) {
        if (c->gates[i].count > 0 && c->gates[i].example_count == 0)
            return true;
    }
    return false;
}

/* The first `max` of those that wait show where they do. */
static void take_examples(struct counting *c, size_t max) {
    const struct core *core = engine_core(c->call->engine);
    task_id *tasks = arena_alloc(op_arena(c->call), max * sizeof(*tasks));
    size_t count = core_waiting(core, tasks, max);
    for (size_t i = 0; i < c->count; i++)
        c->gates[i].example_count = 0;
    for (size_t i = 0; i < count; i++) {
        struct verdict first;
        if (!core_blocked(core, tasks[i], &first))
            continue;
        struct gate_count *gate = gate_of(c, &first);
        if (gate->example_count < EXAMPLES_MAX)
            gate->examples[gate->example_count++] = tasks[i];
    }
}

static int compare_counts(const void *a, const void *b) {
    const struct gate_count *x = a, *y = b;
    if (x->count != y->count)
        return x->count > y->count ? -1 : 1;
    return strcmp(x->code, y->code);
}

/* Of the first example; it may be stopped by another one by now. */
static void print_why(struct op_call *call, struct json_writer *w, const struct gate_count *gate) {
    _cleanup_(strbuf_finish) struct strbuf code = STRBUF_INIT, why = STRBUF_INIT;
    struct verdict first;
    if (gate->example_count > 0
        && core_blocked(engine_core(call->engine), gate->examples[0], &first)) {
        verdict_code(&first, op_symbols(call->engine), &code);
        if (strcmp(strbuf_text(&code), gate->code) == 0)
            print_verdict(call->engine, gate->examples[0], &first, &why);
    }
    print_text(w, "why", why.length > 0 ? strbuf_text(&why) : NULL);
}

static void print_gate(struct op_call *call, struct json_writer *w, const struct gate_count *gate) {
    json_write_object_begin(w);
    print_text(w, "gate", gate->code);
    print_int(w, "count", gate->count);
    json_write_key(w, "examples");
    json_write_array_begin(w);
    for (size_t i = 0; i < gate->example_count; i++) {
        char id[ENGINE_ID_MAX];
        json_write_string(w, engine_task_id(call->engine, gate->examples[i], id));
    }
    json_write_array_end(w);
    print_why(call, w, gate);
    json_write_object_end(w);
}

static void print_waiting(struct op_call *call, struct json_writer *w) {
    struct counting c = { .call = call,
                          .gates = arena_alloc(op_arena(call), GATES_MAX * sizeof(*c.gates)),
                          .code = STRBUF_INIT };
    id_map_init(&c.map, same_code, &c);
    bool whole = core_waiting_by_gate(engine_core(call->engine), COUNTED_MAX, count_more, &c);
    take_examples(&c, LOOKED_FIRST);
    if (one_has_no_example(&c))
        take_examples(&c, LOOKED_MAX);
    id_map_finish(&c.map);
    strbuf_finish(&c.code);
    qsort(c.gates, c.count, sizeof(*c.gates), compare_counts);
    json_write_key(w, "waiting_by_gate");
    json_write_array_begin(w);
    for (size_t i = 0; i < c.count && c.gates[i].count > 0; i++)
        print_gate(call, w, &c.gates[i]);
    json_write_array_end(w);
    print_bool(w, "partial", !whole);
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
    print_int(w, "blocked_dependencies", counts.hopeless);
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
        if (engine_project_at(call->engine, i)->standing != PROJECT_DELETED)
            world_print_project(w, call->engine, engine_project_at(call->engine, i), &sums);
    json_write_array_end(w);
}

static void print_alerts(struct op_call *call, struct json_writer *w) {
    _cleanup_(strbuf_finish) struct strbuf shared = STRBUF_INIT;
    bool shares = engine_shared_folder(call->engine, 0, &shared);
    print_text(w, "warning", shares ? strbuf_text(&shared) : NULL);
    json_write_key(w, "alerts");
    json_write_array_begin(w);
    for (size_t i = 0; i < engine_alert_count(call->engine) && i < ALERTS_SHOWN; i++) {
        const struct engine_alert *alert = engine_alert_at(call->engine, i);
        char id[ENGINE_ID_MAX];
        json_write_object_begin(w);
        print_text(w, "key", alert->key);
        print_text(w, "text", alert->text);
        print_time(w, "since", alert->since);
        print_text(w, "task", alert->task ? engine_task_id(call->engine, alert->task, id) : NULL);
        json_write_object_end(w);
    }
    json_write_array_end(w);
    print_external(w, call->engine);
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

/* As lists show them, and what each has said last. */
static void print_running(struct op_call *call, struct json_writer *w, const struct op_rows *rows) {
    _cleanup_(strbuf_finish) struct strbuf line = STRBUF_INIT;
    json_write_array_begin(w);
    for (size_t i = 0; i < rows->count; i++) {
        struct task_view view;
        if (!core_task(engine_core(call->engine), rows->tasks[i], &view))
            continue;
        strbuf_clear(&line);
        bool said = engine_last_line(call->engine, rows->tasks[i], &line);
        json_write_object_begin(w);
        (void)print_task_members(w, call->engine, rows->tasks[i], rows->titles[i],
                                 rows->changed[i]);
        print_text(w, "last_line", said ? strbuf_text(&line) : NULL);
        json_write_object_end(w);
    }
    json_write_array_end(w);
}

static void print_entry(const struct op_call *call, struct json_writer *w) {
    json_write_key(w, "http");
    json_write_object_begin(w);
    print_text(w, "url", engine_entry_url(call->engine));
    print_text(w, "problem", engine_entry_problem(call->engine));
    json_write_object_end(w);
}

static void print_sandbox(const struct op_call *call, struct json_writer *w) {
    struct engine_sandboxes sandboxes;
    engine_sandboxes(call->engine, &sandboxes);
    json_write_key(w, "sandbox");
    json_write_object_begin(w);
    print_text(w, "auto", sandboxes.automatic);
    print_text(w, "why", sandboxes.why);
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
    print_time(&w, "now", engine_now(call->engine));
    print_text(&w, "home", engine_home(call->engine));
    print_text(&w, "runs_folder", engine_runs_folder(call->engine));
    print_text(&w, "host_name", executor_host(engine_executor(call->engine)));
    print_text(&w, "preset", config_preset(engine_config(call->engine)));
    print_bool(&w, "paused", engine_is_paused(call->engine));
    print_pause(&w, engine_paused(call->engine));
    print_counts(call, &w);
    json_write_key(&w, "queue");
    queue_room_print_now(call, &w);
    print_waiting(call, &w);
    json_write_key(&w, "running");
    print_running(call, &w, &s->running);
    print_alerts(call, &w);
    print_names(call, &w);
    print_host(call, &w);
    print_entry(call, &w);
    print_sandbox(call, &w);
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
        "`waiting_by_gate` counts waiting tasks by the first gate that stops them. Each gate has "
        "up to three examples from the front of the queue, and `why`, the reason of the first. Up "
        "to 10,000 kinds of tasks (project, kind, agent, limiter, priority, depth, locks and "
        "resources) are counted; `partial` says that there are more. `running` has up to 50 tasks, "
        "each with the `last_line` of its output; for an agent, of its transcript (`task.log`, "
        "`format=text`). `queue`: how many tasks wait, by kind in `depths`, the limits "
        "`queue.soft` and "
        "`queue.hard`, and a `warning` while there are more than `soft`. `events` has the last 10 "
        "events. `counts` of a project: its tasks by state. "
        "`warning`: two agents that work in the same folder; null: none do. "
        "`alerts`: up to 50 problems that need a person, oldest first. `external`: the task ids of "
        "live runs that do not belong to this daemon and hold slots. `blocked_dependencies`: the "
        "number of tasks that wait for a dependency or parent that failed or was canceled or "
        "invalidated. `now`: the daemon's "
        "clock, to which all times refer. `http`: the address of the TCP listener, or why there is "
        "none. `sandbox`: what `auto` means on this machine, and why if it is none. `runs_folder`: "
        "the folder with the run folders. `host_name`: the name of this host in the rows of its "
        "runs.",
    .result =
        "{\"version\":\"0.1.0\",\"pid\":4711,\"started_at\":1760000000000,\"now\":"
        "1760000000000,\"home\":\"/home/me/.local/share/"
        "sluice\",\"runs_folder\":\"/home/me/.local/share/sluice/runs\",\"host_name\":\"box\","
        "\"preset\":\"sluice\",\"paused\":true,"
        "\"paused_by\":\"ann\",\"paused_at\":1760000000000,"
        "\"counts\":{\"ready\":3,\"running\":1},\"ready\":3,\"blocked_dependencies\":0,"
        "\"queue\":{\"depth\":3,\"depths\":{\"implement\":3},\"soft\":100000,\"hard\":2000000,"
        "\"warning\":null},"
        "\"waiting_by_gate\":[{\"gate\":\"lease:runs\",\"count\":3,\"examples\":[\"web-17\"],"
        "\"why\":\"all 8 places for runs are taken\"}],"
        "\"partial\":false,\"running\":[],\"warning\":null,\"alerts\":[],\"external\":[],"
        "\"limits\":[{\"key\":\"runs\",\"used\":1,\"cap\":8}],\"limiters\":[],"
        "\"budgets\":[{\"key\":\"global\",\"used\":0,\"reserved\":10000,\"cap\":null,\"usd_used\":"
        "1.25,"
        "\"usd_reserved\":0.5,\"usd_cap\":20.0,\"unknown_cost_runs\":0,\"open\":true,"
        "\"opens_at\":null}],"
        "\"projects\":[],\"host\":{\"disk_free_mb\":90000,\"memory_free_mb\":8000,\"load\":0.5},"
        "\"store\":{\"bytes\":65536,\"log_bytes\":0,\"full\":false},"
        "\"http\":{\"url\":\"http://127.0.0.1:7878\",\"problem\":null},"
        "\"sandbox\":{\"auto\":\"bubblewrap\",\"why\":null},\"events\":[]}",
    .right = OP_READ,
    .run = run,
};
