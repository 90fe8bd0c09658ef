/* alert.c: what a person should look at, told once per cause.
 *
 * Most causes are seen where they come up, in the turn that changes a task, an account, an agent or the
 * disk; whether one is over is asked of all open alerts in every turn that changed something. There are few
 * of them, and nothing walks over the tasks. Open alerts are notes in the store: the next daemon knows what was
 * told, and a commit that failed takes them back with everything else. */
#include <jansson.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/json_write.h"
#include "engine/agent_end.h"
#include "engine/alert_internal.h"
#include "engine/away_internal.h"
#include "os/log.h"

#define NOTE_PREFIX     "alert:"
#define EXAMPLES        3u
#define LOOK_WHILE_FULL MINUTES(1) /* nothing else would tell us that there is room again */
#define CALM_FOR        MINUTES(1) /* memory and load must be fine for so long */

void alerts_init(struct engine *e) {
    e->alerts = xcalloc(1, sizeof(*e->alerts));
    alerts_configure(e);
}

void alerts_configure(struct engine *e) {
    e->alerts->stuck_after = config_number(e->config, "alerts.stuck_s", NULL);
    e->alerts->look_at = 0; /* what was too young may be old now */
}

/* The rows say what is open. */
void alerts_forget(struct engine *e) {
    struct alerts *a = e->alerts;
    for (size_t i = 0; i < a->open.count; i++) {
        free((char *)a->open.items[i].view.key);
        free((char *)a->open.items[i].view.text);
    }
    a->open.count = a->touched.count = a->waiters.count = a->heads.count = a->asked = 0;
    a->look_at = a->looked_at = 0;
    a->answered = a->overdue = false;
}

void alerts_free(struct engine *e) {
    if (!e->alerts)
        return;
    alerts_forget(e);
    free(e->alerts->open.items);
    free(e->alerts->touched.items);
    free(e->alerts->waiters.items);
    free(e->alerts->heads.items);
    free(e->alerts);
    e->alerts = NULL;
}

size_t engine_alert_count(const struct engine *e) {
    return e->alerts->open.count;
}

const struct engine_alert *engine_alert_at(const struct engine *e, size_t index) {
    return &e->alerts->open.items[index].view;
}

bool alert_key_is(const char *key, const char *kind) {
    size_t length = strlen(kind);
    return strncmp(key, kind, length) == 0 && (key[length] == ':' || key[length] == '\0');
}

/* What the key is about: "web-3" of "chain:web-3". */
static const char *subject_of(const struct alert *alert) {
    const char *colon = strchr(alert->view.key, ':');
    return colon ? colon + 1 : "";
}

static struct alert *find(const struct engine *e, const char *key) {
    for (size_t i = 0; i < e->alerts->open.count; i++)
        if (strcmp(e->alerts->open.items[i].view.key, key) == 0)
            return &e->alerts->open.items[i];
    return NULL;
}

bool alert_is_open(const struct engine *e, const char *key) {
    return find(e, key) != NULL;
}

/* --- rows ------------------------------------------------------------------------------------ */

static void put_note(struct engine *e, const char *key, const char *text) {
    _cleanup_(strbuf_finish) struct strbuf name = STRBUF_INIT;
    strbuf_printf(&name, NOTE_PREFIX "%s", key);
    store_put_note(e->turn.batch, &(struct note_row){ .name = strbuf_text(&name), .text = text });
}

static void write_note(struct engine *e, const struct alert *alert) {
    _cleanup_(strbuf_finish) struct strbuf text = STRBUF_INIT;
    struct json_writer w;
    json_write_init(&w, &text, false);
    json_write_object_begin(&w);
    json_write_key(&w, "since");
    json_write_int(&w, alert->view.since);
    json_write_key(&w, "task");
    json_write_int(&w, (int64_t)alert->view.task);
    json_write_key(&w, "attempt");
    json_write_int(&w, alert->attempt);
    json_write_key(&w, "text");
    json_write_string(&w, alert->view.text);
    json_write_object_end(&w);
    put_note(e, alert->view.key, strbuf_text(&text));
}

/* One that cannot be read was not written by us: the cause will be told again. */
void alerts_load_note(struct engine *e, const struct note_row *row) {
    size_t prefix = strlen(NOTE_PREFIX);
    if (strncmp(row->name, NOTE_PREFIX, prefix) != 0)
        return;
    json_t *note = json_loads(row->text, 0, NULL);
    const char *text = json_string_value(json_object_get(note, "text"));
    if (text)
        *LIST_ADD(&e->alerts->open) = (struct alert){
            .view = { .key = xstrdup(row->name + prefix),
                      .text = xstrdup(text),
                      .since = json_integer_value(json_object_get(note, "since")),
                      .task = (task_id)json_integer_value(json_object_get(note, "task")) },
            .attempt = (uint32_t)json_integer_value(json_object_get(note, "attempt")),
        };
    json_decref(note);
}

/* --- raise and clear ------------------------------------------------------------------------- */

static void write_event(struct engine *e, const char *kind, const struct alert *alert) {
    _cleanup_(strbuf_finish) struct strbuf data = STRBUF_INIT;
    struct json_writer w;
    json_write_init(&w, &data, false);
    json_write_object_begin(&w);
    json_write_key(&w, "key");
    json_write_string(&w, alert->view.key);
    json_write_key(&w, "text");
    json_write_string(&w, alert->view.text);
    json_write_object_end(&w);
    engine_event(e, kind, alert->view.task, alert->attempt, strbuf_text(&data));
}

static void open_alert(struct engine *e, struct alert alert) {
    *LIST_ADD(&e->alerts->open) = alert;
    write_note(e, &alert);
    write_event(e, "alert", &alert);
    log_warning("alert %s: %s", alert.view.key, alert.view.text);
}

bool alert_raise(struct engine *e, const char *key, task_id task, uint32_t attempt,
                 const char *format, ...) {
    bool too_many = e->alerts->open.count >= ALERTS_MAX;
    if (find(e, key) || (too_many && find(e, "many")))
        return false;
    struct strbuf text = STRBUF_INIT;
    va_list args;
    va_start(args, format);
    if (too_many)
        strbuf_printf(&text,
                      "%zu alerts are open: further ones are not told until half of them are over",
                      e->alerts->open.count);
    else
        strbuf_vprintf(&text, format, args);
    va_end(args);
    open_alert(e, (struct alert){ .view = { .key = xstrdup(too_many ? "many" : key),
                                            .text = strbuf_take(&text),
                                            .since = e->now,
                                            .task = too_many ? 0 : task },
                                  .attempt = too_many ? 0 : attempt });
    return !too_many;
}

void alert_clear(struct engine *e, const char *key) {
    struct alert *alert = find(e, key);
    if (!alert)
        return;
    struct alert gone = *alert;
    size_t left = e->alerts->open.count - (size_t)(alert - e->alerts->open.items) - 1;
    memmove(alert, alert + 1, left * sizeof(*alert));
    e->alerts->open.count--;
    put_note(e, gone.view.key, NULL);
    write_event(e, "alert.cleared", &gone);
    log_info("alert %s is over", gone.view.key);
    free((char *)gone.view.key);
    free((char *)gone.view.text);
}

bool engine_alert_is_open(const struct engine *e, const char *key) {
    return alert_is_open(e, key);
}

void engine_alert_raise(struct engine *e, const char *key, const char *text) {
    (void)alert_raise(e, key, 0, 0, "%s", text);
}

void engine_alert_clear(struct engine *e, const char *key) {
    alert_clear(e, key);
}

/* --- the causes ------------------------------------------------------------------------------ */

static bool ended_badly(enum task_state state) {
    return task_state_is_final(state) && state != TASK_DONE;
}

static bool breaker_is_open(const struct task_spec *t) {
    if (t->state == TASK_FAILED)
        return t->reason == REASON_BREAKER;
    return t->breaker_openings > 0 && !task_state_is_final(t->state);
}

void alerts_see_task(struct engine *e, const struct task_spec *told) {
    if (ended_badly(told->state) || breaker_is_open(told) || alert_budget_is_held(told))
        *LIST_ADD(&e->alerts->touched) = told->id;
}

/* Somebody has come to wait for them. */
void alerts_see_depends(struct engine *e, const task_id *tasks, size_t count) {
    for (size_t i = 0; i < count; i++) {
        struct task_view view;
        if (core_task(e->core, tasks[i], &view) && ended_badly(view.state))
            *LIST_ADD(&e->alerts->touched) = tasks[i];
    }
}

void alerts_see_limiter(struct engine *e, const struct limiter_row *row) {
    if (!row->told.closed) {
        limits_opened(e, row->name);
        return;
    }
    _cleanup_(strbuf_finish) struct strbuf key = STRBUF_INIT;
    strbuf_printf(&key, "account:%s", row->name);
    if (limits_waited_out(e, row->name))
        alert_raise(
            e, strbuf_text(&key), 0, 0,
            "account '%s' is limited for longer than limiter.max_wait_s allows: nothing that "
            "uses it starts; when it works again, 'sluice limiter clear %s'",
            row->name, row->name);
    else
        alert_raise(
            e, strbuf_text(&key), 0, 0,
            "account '%s' refuses the key or the plan: nothing that uses it starts; put that "
            "right, then "
            "'sluice limiter clear %s'",
            row->name, row->name);
}

void alerts_see_agent(struct engine *e, const struct agent_row *row) {
    if (row->told.openings == 0)
        return;
    _cleanup_(strbuf_finish) struct strbuf key = STRBUF_INIT;
    strbuf_printf(&key, "agent:%s", row->name);
    alert_raise(
        e, strbuf_text(&key), 0, 0,
        "agent '%s' could not be launched %u times in a row, whatever the task: it is tried again "
        "by itself, later each time; look at 'agents.%s.command'",
        row->name, row->told.launch_failures, row->name);
}

/* A group with a member that waits for what has failed will not finish by itself. */
static void see_groups(struct engine *e, task_id failed, const task_id *users, size_t count) {
    for (size_t i = 0; i < count; i++) {
        struct task_spec told;
        if (!core_task_spec(e->core, users[i], &told) || told.group == 0
            || told.group > e->groups.count)
            continue;
        char id[2][ENGINE_ID_MAX];
        const char *name = e->groups.items[told.group - 1].view.name;
        _cleanup_(strbuf_finish) struct strbuf key = STRBUF_INIT;
        strbuf_printf(&key, "group:%s", name);
        alert_raise(
            e, strbuf_text(&key), failed, 0,
            "group '%s' cannot finish: '%s' waits for '%s', which did not end well: retry that, or "
            "cancel what waits",
            name, engine_task_id(e, users[i], id[0]), engine_task_id(e, failed, id[1]));
    }
}

static void see_chain(struct engine *e, task_id task, enum task_state state) {
    task_id users[EXAMPLES + 1];
    size_t count = core_task_dependants(e->core, task, users, EXAMPLES + 1);
    if (count == 0)
        return;
    char id[ENGINE_ID_MAX];
    _cleanup_(strbuf_finish) struct strbuf key = STRBUF_INIT, waiting = STRBUF_INIT;
    for (size_t i = 0; i < count && i < EXAMPLES; i++)
        strbuf_printf(&waiting, "%s'%s'", i ? ", " : "", engine_task_id(e, users[i], id));
    strbuf_printf(&key, "chain:%s", engine_task_id(e, task, id));
    alert_raise(e, strbuf_text(&key), task, 0,
                "'%s' is %s, and %s%s wait%s for it: retry it, or cancel what waits", id,
                task_state_name(state), strbuf_text(&waiting),
                count > EXAMPLES ? " and others" : "", count == 1 ? "s" : "");
    see_groups(e, task, users, count);
}

static void see_breaker(struct engine *e, const struct task_spec *t) {
    char id[ENGINE_ID_MAX];
    _cleanup_(strbuf_finish) struct strbuf key = STRBUF_INIT;
    strbuf_printf(&key, "breaker:%s", engine_task_id(e, t->id, id));
    alert_raise(e, strbuf_text(&key), t->id, t->attempt,
                "'%s' could not be launched %u times in a row: %s; 'sluice logs %s' shows why", id,
                t->launch_failures,
                t->state == TASK_FAILED ? "it has failed, and goes on only with 'sluice retry'"
                                        : "its breaker is open, and it is tried again by itself",
                id);
}

static void see_touched(struct engine *e) {
    for (size_t i = 0; i < e->alerts->touched.count; i++) {
        struct task_spec told;
        if (!core_task_spec(e->core, e->alerts->touched.items[i], &told))
            continue;
        if (ended_badly(told.state))
            see_chain(e, told.id, told.state);
        if (breaker_is_open(&told))
            see_breaker(e, &told);
        alert_budget_see_task(e, &told);
    }
    e->alerts->touched.count = 0;
}

static void see_disk(struct engine *e) {
    if (e->retries > 0) /* the store takes nothing: not this either */
        return;
    int64_t floor = config_policy(e->config)->host.disk_min_mb;
    if (e->disk_low
        && alert_raise(
            e, "disk", 0, 0,
            "%lld MB of disk are free, the floor is %lld MB (host.disk_free_gb): nothing starts "
            "until %lld MB more are free; old finished work is being removed",
            (long long)e->disk_free_mb, (long long)floor, (long long)(floor - e->disk_free_mb)))
        log_warning("Low disk space, pausing new loop creation available_gb=%.1f",
                    (double)e->disk_free_mb / 1000.0);
    int64_t least = config_number(e->config, "store.min_free_mb", NULL);
    if (e->full)
        alert_raise(
            e, "store", 0, 0,
            "%lld MB of disk are free, the store needs %lld MB (store.min_free_mb): no new task is "
            "taken until %lld MB more are free; what runs goes on, and its end is recorded",
            (long long)e->disk_free_mb, (long long)least, (long long)(least - e->disk_free_mb));
}

/* True: it is low, somebody waits for it, and nobody was told. */
static bool must_tell(struct engine *e, struct floor_watch *floor, bool low, const char *key) {
    struct core_counts counts;
    if (floor->since == 0 || floor->low != low)
        *floor = (struct floor_watch){ .low = low, .since = e->now };
    if (!low || alert_is_open(e, key))
        return false;
    core_count(e->core, &counts); /* walks over the classes */
    return counts.by_state[TASK_READY] > 0;
}

static void see_memory_and_load(struct engine *e) {
    const struct policy *policy = config_policy(e->config);
    int64_t floor = policy->host.memory_min_mb, most = policy->host.load_max_milli;
    if (must_tell(e, &e->alerts->memory, e->memory_free_mb >= 0 && e->memory_free_mb < floor,
                  "memory"))
        alert_raise(e, "memory", 0, 0,
                    "%lld MB of memory are available, the floor is %lld MB (host.memory_free_mb): "
                    "nothing starts until there is more; what runs goes on",
                    (long long)e->memory_free_mb, (long long)floor);
    if (must_tell(e, &e->alerts->load, most > 0 && e->load_milli > most, "load"))
        alert_raise(e, "load", 0, 0,
                    "the load is %.1f, the most is %.1f (host.load): nothing starts until it is "
                    "lower; what runs goes on",
                    (double)e->load_milli / 1000.0, (double)most / 1000.0);
}

/* --- is it over? ----------------------------------------------------------------------------- */

static bool chain_is_over(const struct engine *e, const struct alert *alert) {
    struct task_view view;
    task_id user;
    return !core_task(e->core, alert->view.task, &view) || !ended_badly(view.state)
           || core_task_dependants(e->core, alert->view.task, &user, 1) == 0;
}

static bool group_is_over(const struct engine *e, const struct alert *alert) {
    const struct engine_group *group = engine_find_group(e, subject_of(alert));
    return !group || group->closed || group->open == 0 || chain_is_over(e, alert);
}

static bool breaker_is_over(const struct engine *e, const struct alert *alert) {
    struct task_spec told;
    return !core_task_spec(e->core, alert->view.task, &told) || !breaker_is_open(&told);
}

static bool account_is_over(const struct engine *e, const struct alert *alert) {
    struct limiter_view view;
    const char *name = subject_of(alert);
    sym symbol = symbol_find(core_symbols(e->core), name, strlen(name));
    return !symbol || !core_limiter(e->core, symbol, &view) || !view.closed;
}

static bool agent_is_over(const struct engine *e, const struct alert *alert) {
    struct agent_spec told;
    const char *name = subject_of(alert);
    sym symbol = symbol_find(core_symbols(e->core), name, strlen(name));
    return !symbol || !core_agent_spec(e->core, symbol, &told) || told.openings == 0;
}

static bool run_is_over(const struct engine *e, const struct alert *alert) {
    const struct live_run *run = run_find(e, alert->view.task);
    return !run || run->view.attempt != alert->attempt || alert_stuck_after(e) == 0;
}

static bool disk_is_over(const struct engine *e, const struct alert *alert) {
    (void)alert;
    return !e->disk_low;
}

static bool floor_is_over(const struct engine *e, const struct floor_watch *floor, int64_t wanted) {
    return wanted == 0 || (floor->since > 0 && !floor->low && e->now - floor->since >= CALM_FOR);
}

static bool memory_is_over(const struct engine *e, const struct alert *alert) {
    (void)alert;
    return floor_is_over(e, &e->alerts->memory, config_policy(e->config)->host.memory_min_mb);
}

static bool load_is_over(const struct engine *e, const struct alert *alert) {
    (void)alert;
    return floor_is_over(e, &e->alerts->load, config_policy(e->config)->host.load_max_milli);
}

static bool store_is_over(const struct engine *e, const struct alert *alert) {
    (void)alert;
    return !e->full;
}

/* Who delivers to it clears them, while there is one. */
static bool webhook_is_over(const struct engine *e, const struct alert *alert) {
    (void)alert;
    return !*config_text(e->config, "notify.webhook", NULL);
}

/* The look for what is stuck clears those of its own. */
static bool stuck_is_over(const struct engine *e, const struct alert *alert) {
    (void)alert;
    return alert_stuck_after(e) == 0;
}

static bool host_is_over(const struct engine *e, const struct alert *alert) {
    return away_alert_is_over(e, subject_of(alert));
}

static bool many_is_over(const struct engine *e, const struct alert *alert) {
    (void)alert;
    return e->alerts->open.count <= ALERTS_MAX / 2;
}

static const struct {
    const char *kind;
    bool (*is_over)(const struct engine *e, const struct alert *alert);
} kinds[] = {
    { "account", account_is_over },     { "agent", agent_is_over },
    { "breaker", breaker_is_over },     { "budget", alert_budget_is_over },
    { "window", alert_window_is_over }, { "chain", chain_is_over },
    { "disk", disk_is_over },           { "group", group_is_over },
    { "load", load_is_over },           { "many", many_is_over },
    { "memory", memory_is_over },       { "run", run_is_over },
    { "store", store_is_over },         { "stuck", stuck_is_over },
    { "webhook", webhook_is_over },     { "host", host_is_over },
};

/* A kind that nobody knows any more is over. */
static bool is_over(const struct engine *e, const struct alert *alert) {
    for (size_t i = 0; i < ARRAY_SIZE(kinds); i++)
        if (alert_key_is(alert->view.key, kinds[i].kind))
            return kinds[i].is_over(e, alert);
    return true;
}

static bool clear_what_is_over(struct engine *e) {
    bool any = false;
    for (size_t i = e->alerts->open.count; i-- > 0;) {
        if (i >= e->alerts->open.count || !is_over(e, &e->alerts->open.items[i]))
            continue;
        alert_clear(e, e->alerts->open.items[i].view.key);
        any = true;
    }
    return any;
}

/* A group may wait for two that have failed, and the one that was told has recovered. */
static void see_chains_again(struct engine *e) {
    for (size_t i = 0; i < e->alerts->open.count; i++) {
        struct alert alert = e->alerts->open.items[i];
        task_id users[EXAMPLES + 1];
        if (alert_key_is(alert.view.key, "chain"))
            see_groups(e, alert.view.task, users,
                       core_task_dependants(e->core, alert.view.task, users, EXAMPLES + 1));
    }
}

void alerts_turn(struct engine *e) {
    struct alerts *a = e->alerts;
    a->changed = a->changed || store_batch_count(e->turn.batch) > 0;
    see_disk(e);
    see_memory_and_load(e);
    see_touched(e);
    if (store_batch_count(e->turn.batch) > 0)
        alert_budget_see_windows(e);
    alert_look_for_stuck(e);
    away_see_alerts(e);
    if (a->open.count > 0 && clear_what_is_over(e))
        see_chains_again(e);
}

time_ms alerts_next(const struct engine *e) {
    time_ms next = alert_stuck_next(e);
    if (e->disk_low || e->full)
        next = time_min(next, time_add(e->disk_read_at, LOOK_WHILE_FULL));
    if (alert_is_open(e, "memory") || alert_is_open(e, "load"))
        next = time_min(next, time_add(e->host_read_at, LOOK_WHILE_FULL));
    return next;
}
