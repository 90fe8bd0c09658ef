/* op_daemon_status.c: an overview that costs the same for ten tasks as for a million: the core
 * counts similar tasks together (core/core.h). Examples come from the first tasks of each class; a
 * gate that stops only later tasks has none. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/hash.h"
#include "base/id_map.h"
#include "core/core.h"
#include "engine/alert.h"
#include "engine/attention.h"
#include "engine/data_folder.h"
#include "engine/opening_hours.h"
#include "engine/runs.h"
#include "engine/sandboxes.h"
#include "executor/executor.h"
#include "ops/print.h"
#include "ops/queue_room.h"
#include "os/zoneinfo.h"

#define COUNTED_MAX   10000u /* classes and the like, about 0.1 us each */
#define SCANNED_FIRST 100u   /* tasks, for the examples */
#define SCANNED_MAX   1000u  /* if a gate has no example among those */
#define RUNNING_MAX   50u
#define EVENTS_SHOWN  10u
#define ALERTS_SHOWN  50u
#define EXAMPLES_MAX  3u
#define GATES_MAX     200u /* different codes; the rest counts as "other" */
#define PROJECTS_MAX  1000u
#define HOURS_MAX     1000u

struct gate_count {
    const char *code;
    int64_t count;
    size_t example_count;
    task_id examples[EXAMPLES_MAX];
};

/* --- the answer ------------------------------------------------------------------------------ */

/* clang-format off */
#define ALERT(X) \
    X(json_put_string, "key", T_TEXT, "its subject", "disk", alert->key) \
    X(json_put_string, "text", T_TEXT, "the problem", "less than 256 MB are free", alert->text) \
    X(print_time, "since", T_TIME | T_NULL, "since when", NULL, alert->since) \
    X(json_put_string, "task", T_ID | T_NULL, "the task it is about", NULL, alert->task ? op_id(call, alert->task) : NULL)
static const struct shape alert_shape = { "Alert", "a problem that needs a person", .members = SHAPE_ALL(ALERT) };

#define LISTENER(X) \
    X(json_put_string, "url", T_TEXT | T_NULL, "its address", "http://127.0.0.1:7878", engine_tcp_listener_url(call->engine)) \
    X(json_put_string, "problem", T_TEXT | T_NULL, "why there is no listener", NULL, engine_tcp_listener_problem(call->engine))
static const struct shape http_shape = { "Listener", "the TCP listener", .members = SHAPE_ALL(LISTENER) };

#define SANDBOX(X) \
    X(json_put_string, "auto", T_TEXT, "what `auto` means", "bubblewrap", sandboxes.automatic) \
    X(json_put_string, "why", T_TEXT | T_NULL, "why there is no sandbox", NULL, sandboxes.why)
static const struct shape sandbox_shape = { "Sandbox", "the sandbox of this machine", .members = SHAPE_ALL(SANDBOX) };

static const struct shape queue_shape = { "Queue", "number of waiting tasks", .members = SHAPE_ROWS(
    { "depth", T_INT, "number of waiting tasks" },
    { "depths", T_INT | T_MAP, "by kind" },
    { "soft", T_INT | T_NULL, "`queue.soft`; null: no limit" },
    { "hard", T_INT | T_NULL, "`queue.hard`" },
    { "warning", T_TEXT | T_NULL, "true while more than `soft` tasks wait" }) };

#define GATE_COUNT(X) \
    X(json_put_string, "gate", T_TEXT, "the gate", "lease:runs", gate->code) \
    X(json_put_int, "count", T_INT, "how many", NULL, gate->count) \
    X(print_words, "examples", T_ID | T_LIST, "up to three from the front of the queue", NULL, op_ids(call, gate->examples, gate->example_count), gate->example_count) \
    X(json_put_string, "why", T_TEXT | T_NULL, "the reason for the first of these", "all 8 slots for runs are in use", why.length > 0 ? strbuf_text(&why) : NULL)
static const struct shape waiting_shape = { "GateCount", "waiting tasks with the same first closed gate", .members = SHAPE_ALL(GATE_COUNT) };

static const struct shape running_shape = { "RunningTask", "a running task", &shape_task, SHAPE_ROWS(
    { "last_line", T_TEXT | T_NULL, "the last line of its output; of an agent, of its transcript (`task.log`, `format=text`)" }) };

static const struct shape host_shape = { "HostLoad", "the machine of the daemon", .members = SHAPE_ROWS(
    { "disk_free_mb", T_INT | T_NULL, "free space, in MB" },
    { "memory_free_mb", T_INT | T_NULL, "free memory, in MB" },
    { "load", T_NUMBER | T_NULL, "load of the last minute" }) };

#define STORE(X) \
    X(print_count, "bytes", T_INT | T_NULL, "its size", NULL, store.bytes) \
    X(print_count, "log_bytes", T_INT | T_NULL, "of its log", NULL, store.log_bytes) \
    X(json_put_bool, "full", T_BOOL, "new tasks are refused", NULL, engine_is_full(call->engine))
static const struct shape store_shape = { "Store", "the store", .members = SHAPE_ALL(STORE) };

static const struct shape named_hours_shape = { "NamedHours", "the opening hours of a project, an agent or an account", &shape_hours, SHAPE_ROWS(
    { "scope", T_TEXT, "`project`, `agent` or `limiter`", "project" },
    { "name", T_TEXT, "its name", "web" }) };

#define STATUS(X) \
    X(json_put_string, "version", T_TEXT, "of the daemon", "0.1.0", engine_version(call->engine)) \
    X(json_put_int, "pid", T_INT, "its process", NULL, getpid()) \
    X(print_time, "started_at", T_TIME, "when it started", NULL, engine_started_at(call->engine)) \
    X(print_time, "now", T_TIME, "its clock; all times refer to it", NULL, engine_now(call->engine)) \
    X(json_put_string, "home", T_TEXT, "its folder", "/home/me/.local/share/sluice", engine_home(call->engine)) \
    X(json_put_string, "runs_folder", T_TEXT, "the folder with the run folders", "/home/me/.local/share/sluice/runs", engine_runs_folder(call->engine)) \
    X(json_put_string, "host_name", T_TEXT, "the name of this host in the rows of its runs", "box", executor_host(engine_executor(call->engine))) \
    X(json_put_string, "timezone", T_TEXT | T_NULL, "the time zone of the system; null: it has no name", "Europe/Berlin", own_zone(call)) \
    X(json_put_string, "preset", T_TEXT, "the preset in force", "sluice", config_preset(engine_config(call->engine))) \
    X(json_put_bool, "paused", T_BOOL, "nothing starts", NULL, engine_is_paused(call->engine)) \
    X(print_json, "events", T_OBJECT | T_LIST, "the last 10", &shape_event, strbuf_text(op_part(call)))
static const struct shape status_shape = { "Status", "a summary of the daemon and its queue", .members = SHAPE_ROWS(
    STATUS(SHAPE_ROW)
    { "paused_by", T_TEXT | T_NULL, "who paused it", "ann" },
    { "paused_at", T_TIME | T_NULL, "when" },
    { "counts", T_INT | T_MAP, "tasks by state", &words_state },
    { "ready", T_INT, "tasks that could start" },
    { "blocked_dependencies", T_INT, "tasks that wait for one that failed, was canceled or was invalidated" },
    { "questions", T_INT, "unanswered questions of runs" },
    { "attention", T_INT, "items that wait for a person (`attention.list`)" },
    { "queue", T_OBJECT, "the queue", &queue_shape },
    { "waiting_by_gate", T_OBJECT | T_LIST, "waiting tasks by the first closed gate", &waiting_shape },
    { "partial", T_BOOL, "not all are counted: there are more than 10,000 kinds of tasks (project, kind, agent, limiter, priority …)" },
    { "running", T_OBJECT | T_LIST, "up to 50", &running_shape },
    { "warning", T_TEXT | T_NULL, "pairs of agents that work in the same folder" },
    { "alerts", T_OBJECT | T_LIST, "up to 50, oldest first", &alert_shape },
    { "external", T_TEXT | T_LIST, "tasks of live runs that do not belong to this daemon and hold slots", "web-17" },
    { "limits", T_OBJECT | T_LIST, "limits", &shape_limit },
    { "limiters", T_OBJECT | T_LIST, "provider accounts", &shape_limiter },
    { "hours", T_OBJECT | T_LIST, "all opening hours; up to 1,000", &named_hours_shape },
    { "budgets", T_OBJECT | T_LIST, "budgets", &shape_budget },
    { "projects", T_OBJECT | T_LIST, "projects", &shape_project },
    { "host", T_OBJECT, "the machine", &host_shape },
    { "store", T_OBJECT, "the store", &store_shape },
    { "http", T_OBJECT, "the TCP listener", &http_shape },
    { "sandbox", T_OBJECT, "the sandbox", &sandbox_shape }) };
/* clang-format on */

/* --- what waits for what --------------------------------------------------------------------- */

struct counting {
    struct op_call *call;
    struct gate_count *gates;
    size_t count;
    struct id_map map;
    struct strbuf code; /* the last one requested */
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
    for (size_t i = 0; i < c->count; i++)
        if (c->gates[i].count > 0 && c->gates[i].example_count == 0)
            return true;
    return false;
}

/* Finds examples among the first `max` waiting tasks. */
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

static void print_gate(struct op_call *call, struct json_writer *w, const struct gate_count *gate) {
    /* The reason of the first example, which may have moved to another gate meanwhile. */
    _cleanup_(strbuf_finish) struct strbuf code = STRBUF_INIT, why = STRBUF_INIT;
    struct verdict first;
    if (gate->example_count > 0
        && core_blocked(engine_core(call->engine), gate->examples[0], &first)) {
        verdict_code(&first, op_symbols(call->engine), &code);
        if (strcmp(strbuf_text(&code), gate->code) == 0)
            print_verdict(call->engine, gate->examples[0], &first, &why);
    }
    SHAPE_OBJECT(GATE_COUNT)
}

/* --- the parts ------------------------------------------------------------------------------- */

static void print_counts(struct op_call *call, struct json_writer *w) {
    struct core_counts counts;
    core_count(engine_core(call->engine), &counts);
    json_put_object(w, "counts");
    for (int s = TASK_DRAFT; s < TASK_STATE_MAX; s++)
        json_put_int(w, task_state_name((enum task_state)s), counts.by_state[s]);
    json_write_object_end(w);
    json_put_int(w, "ready", counts.by_state[TASK_READY]);
    json_put_int(w, "blocked_dependencies", counts.hopeless);
    json_put_int(w, "questions", (int64_t)engine_question_count(call->engine));
    json_put_int(w, "attention", (int64_t)engine_attention_count(call->engine, NULL));
}

static void print_all_hours(struct op_call *call, struct json_writer *w) {
    json_put_array(w, "hours");
    for (size_t i = 0; i < engine_hours_count(call->engine) && i < HOURS_MAX; i++) {
        struct engine_hours hours;
        engine_hours_at(call->engine, i, &hours);
        json_write_object_begin(w);
        print_hours_members(w, &hours);
        json_put_string(w, "scope", lease_kind_name(hours.scope));
        json_put_string(w, "name", hours.name);
        json_write_object_end(w);
    }
    json_write_array_end(w);
}

static void print_alerts(struct op_call *call, struct json_writer *w) {
    _cleanup_(strbuf_finish) struct strbuf shared = STRBUF_INIT;
    bool shares = engine_shared_folder(call->engine, 0, &shared);
    json_put_string(w, "warning", shares ? strbuf_text(&shared) : NULL);
    json_put_array(w, "alerts");
    for (size_t i = 0; i < engine_alert_count(call->engine) && i < ALERTS_SHOWN; i++) {
        const struct engine_alert *alert = engine_alert_at(call->engine, i);
        SHAPE_OBJECT(ALERT)
    }
    json_write_array_end(w);
    print_external(w, call->engine);
}

static const char *own_zone(struct op_call *call) {
    _cleanup_(strbuf_finish) struct strbuf name = STRBUF_INIT;
    return zoneinfo_own_name(&name) ? op_keep(call, strbuf_text(&name)) : NULL;
}

static void print_host(struct op_call *call, struct json_writer *w) {
    struct engine_host_values host;
    engine_host(call->engine, &host);
    json_put_object(w, "host");
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
    json_put_object(w, "store");
    STORE(SHAPE_PRINT)
    json_write_object_end(w);
}

static int print(struct op_call *call) {
    const struct op_rows *running = op_state(call, sizeof(*running), NULL);
    struct json_writer w = op_begin(call);
    STATUS(SHAPE_PRINT_TO)
    print_pause(&w, engine_paused(call->engine));
    print_counts(call, &w);
    json_write_key(&w, "queue");
    queue_room_print_now(call, &w);
    struct counting c = { .call = call,
                          .gates = arena_alloc(op_arena(call), GATES_MAX * sizeof(*c.gates)),
                          .code = STRBUF_INIT };
    id_map_init(&c.map, same_code, &c);
    bool complete = core_waiting_by_gate(engine_core(call->engine), COUNTED_MAX, count_more, &c);
    take_examples(&c, SCANNED_FIRST);
    if (one_has_no_example(&c))
        take_examples(&c, SCANNED_MAX);
    id_map_finish(&c.map);
    strbuf_finish(&c.code);
    qsort(c.gates, c.count, sizeof(*c.gates), compare_counts);
    json_put_array(&w, "waiting_by_gate");
    for (size_t i = 0; i < c.count && c.gates[i].count > 0; i++)
        print_gate(call, &w, &c.gates[i]);
    json_write_array_end(&w);
    json_put_bool(&w, "partial", !complete);
    _cleanup_(strbuf_finish) struct strbuf line = STRBUF_INIT;
    json_put_array(&w, "running");
    for (size_t i = 0; i < running->count; i++) {
        struct task_view view;
        if (!core_task(engine_core(call->engine), running->tasks[i], &view))
            continue;
        strbuf_clear(&line);
        bool has_line = engine_last_line(call->engine, running->tasks[i], &line);
        json_write_object_begin(&w);
        (void)print_task_members(&w, call->engine, running->tasks[i], running->titles[i],
                                 running->changed[i]);
        json_put_string(&w, "last_line", has_line ? strbuf_text(&line) : NULL);
        json_write_object_end(&w);
    }
    json_write_array_end(&w);
    print_alerts(call, &w);
    json_write_key(&w, "limits");
    print_limits(&w, call->engine);
    json_put_array(&w, "limiters");
    const char *name;
    for (size_t i = 0; (name = op_limiter_at(call->engine, i)); i++)
        print_limiter(&w, call->engine, name);
    json_write_array_end(&w);
    print_all_hours(call, &w);
    json_write_key(&w, "budgets");
    print_budgets(&w, call->engine);
    struct share_sums sums;
    sum_shares(call->engine, &sums);
    json_put_array(&w, "projects");
    for (size_t i = 0; i < engine_project_count(call->engine) && i < PROJECTS_MAX; i++)
        if (engine_project_at(call->engine, i)->standing != PROJECT_DELETED)
            print_project(&w, call->engine, engine_project_at(call->engine, i), &sums);
    json_write_array_end(&w);
    print_host(call, &w);
    json_put_object(&w, "http");
    LISTENER(SHAPE_PRINT_TO)
    json_write_object_end(&w);
    struct engine_sandboxes sandboxes;
    engine_sandboxes(call->engine, &sandboxes);
    json_put_object(&w, "sandbox");
    SANDBOX(SHAPE_PRINT_TO)
    json_write_object_end(&w);
    return op_end(&w);
}

static void take_events(struct op_call *call, const struct store_answer *answer) {
    struct json_writer w;
    json_write_init(&w, op_part(call), false);
    json_write_array_begin(&w);
    for (size_t i = answer->count; i-- > 0;)
        print_event(&w, call->engine, &answer->events[i]);
    json_write_array_end(&w);
}

static int query_events(struct op_call *call) {
    struct store_query question = { .kind = QUERY_EVENTS_BACK, .limit = EVENTS_SHOWN };
    return op_query(call, &question, take_events, print);
}

static int run(struct op_call *call) {
    struct op_rows *running = op_state(call, sizeof(*running), NULL);
    running->tasks = arena_alloc(op_arena(call), RUNNING_MAX * sizeof(task_id));
    size_t live = engine_live_tasks(call->engine, running->tasks, RUNNING_MAX);
    running->count = live < RUNNING_MAX ? live : RUNNING_MAX;
    return op_query_titles(call, running, query_events);
}

const struct op op_daemon_status = {
    OP("daemon.status", "GET", "/v1/status", "show a summary of the daemon and its queue"),
    .answers = &status_shape,
    OP_READS(READ, NONE, run),
};
