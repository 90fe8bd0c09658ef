/* unreachable_hosts.c: runs on hosts that cannot be asked.
 *
 * They are left alone: they may still be working, and duplicate concurrent work is worse than
 * waiting. Their rows stay, and a person decides.
 *
 * Each such host has one note, `host:NAME`, until its own daemon is active again: since when it is
 * unreachable, who has forgotten it, and which runs. Those are looked for when it is back:
 * forgetting them may have been wrong, and their tasks may have a second run. */
#include <errno.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "base/json_write.h"
#include "engine/agents/agents_internal.h"
#include "engine/alerts/alerts_internal.h"
#include "engine/note.h"
#include "engine/recovery/recovery_internal.h"
#include "engine/runs/runs_internal.h"
#include "os/log.h"

#define NOTE          "host:"
#define RESOURCES_MAX 16

struct unreachable_host {
    char *name;
    time_ms since, forgotten_at;
    char *forgotten_by;
    LIST(struct run_key) forgotten; /* may still be live there */
};

struct unreachable_hosts {
    LIST(struct unreachable_host) all;
};

PART_STATE(unreachable_hosts, struct unreachable_hosts, hosts_of)

static const char *own_host(const struct engine *e) {
    return executor_host(e->executor);
}

static struct unreachable_host *find_host(const struct engine *e, const char *name) {
    struct unreachable_hosts *h = hosts_of(e);
    for (size_t i = 0; i < h->all.count; i++)
        if (strcmp(h->all.items[i].name, name) == 0)
            return &h->all.items[i];
    return NULL;
}

static void host_finish(struct unreachable_host *host) {
    free(host->name);
    free(host->forgotten_by);
    free(host->forgotten.items);
}

static void hosts_free(struct engine *e) {
    struct unreachable_hosts *h = hosts_of(e);
    for (size_t i = 0; i < h->all.count; i++)
        host_finish(&h->all.items[i]);
    free(h->all.items);
    memset(&h->all, 0, sizeof(h->all));
}

static uint32_t count_runs(const struct engine *e, const char *host) {
    uint32_t count = 0;
    for (size_t i = 0; i < run_count(e); i++) {
        const struct live_run *run = run_live_at(e, i);
        count += run->is_unreachable && strcmp(run->host, host) == 0;
    }
    return count;
}

/* --- rows ------------------------------------------------------------------------------------ */

static void write_note(struct engine *e, const struct unreachable_host *host) {
    struct event_data data;
    struct json_writer *w = event_begin(&data);
    json_put_int(w, "since", host->since);
    json_put_int(w, "forgotten_at", host->forgotten_at);
    json_put_string(w, "by", host->forgotten_by);
    json_put_array(w, "runs");
    for (size_t i = 0; i < host->forgotten.count; i++) {
        json_write_int(w, (int64_t)host->forgotten.items[i].task);
        json_write_int(w, host->forgotten.items[i].attempt);
    }
    json_write_array_end(w);
    note_end(e, &data, NOTE, host->name);
    turn_wrote(e);
}

static void hosts_load(struct engine *e, const struct note_row *row) {
    const char *name = note_key(row, NOTE);
    if (!name)
        return;
    json_t *note = json_loads(row->text, 0, NULL);
    const json_t *runs = json_object_get(note, "runs");
    const char *by = json_string_value(json_object_get(note, "by"));
    struct unreachable_host *host = LIST_ADD(&hosts_of(e)->all);
    *host = (struct unreachable_host){
        .name = xstrdup(name),
        .since = json_integer_value(json_object_get(note, "since")),
        .forgotten_at = json_integer_value(json_object_get(note, "forgotten_at")),
        .forgotten_by = by ? xstrdup(by) : NULL,
    };
    for (size_t i = 0; i + 1 < json_array_size(runs); i += 2)
        *LIST_ADD(&host->forgotten) = (struct run_key){
            .task = (task_id)json_integer_value(json_array_get(runs, i)),
            .attempt = (uint32_t)json_integer_value(json_array_get(runs, i + 1)),
        };
    json_decref(note);
}

static void hosts_load_run(struct engine *e, struct live_run *run, const struct run_row *row) {
    run->is_unreachable = run->executor == EXECUTOR_LOCAL && row->host && *row->host
                          && strcmp(row->host, own_host(e)) != 0;
    run->host = run->is_unreachable ? xstrdup(row->host) : NULL;
}

static void drop_own_host(struct engine *e) {
    struct unreachable_host *host = find_host(e, own_host(e));
    host_finish(host);
    *host = hosts_of(e)->all.items[--hosts_of(e)->all.count];
}

/* After all rows: newly unreachable hosts are noted, and our own is back. */
static void hosts_loaded(struct engine *e) {
    for (size_t i = 0; i < run_count(e); i++) {
        const struct live_run *run = run_live_at(e, i);
        if (!run->is_unreachable || find_host(e, run->host))
            continue;
        struct unreachable_host *host = LIST_ADD(&hosts_of(e)->all);
        *host = (struct unreachable_host){ .name = xstrdup(run->host), .since = e->now };
        write_note(e, host);
    }
    if (!find_host(e, own_host(e)))
        return;
    note_put(e, NOTE, own_host(e), NULL);
    turn_wrote(e);
    if (e->started)
        drop_own_host(e);
}

/* --- the start ------------------------------------------------------------------------------- */

/* Not reported: its end is recorded, and it has no live run row. */
static bool kill_forgotten(struct engine *e, struct run_key key) {
    _cleanup_(strbuf_finish) struct strbuf folder = STRBUF_INIT;
    char id[ENGINE_ID_MAX];
    struct task_view view;
    if (!core_task(e->core, key.task, &view))
        return false; /* the sweep has found it, as unknown */
    rundir_name(&folder, engine_task_id(e, key.task, id), key.attempt);
    struct executor_known known = { 0 };
    if (rundir_is_locked(e->runs_folder, strbuf_text(&folder)) <= 0
        || executor_adopt(e->executor, key, strbuf_text(&folder), &known) != ADOPTED_ALIVE)
        return false;
    (void)executor_stop(e->executor, key, STOP_IMMEDIATELY);
    log_warning("run '%s' still lived, though this host was forgotten: it is killed",
                strbuf_text(&folder));
    return true;
}

/* What was forgotten while this host was unreachable must not run beside its replacement. */
static void hosts_started(struct engine *e) {
    const struct unreachable_host *host = find_host(e, own_host(e));
    for (size_t i = 0; host && i < host->forgotten.count; i++)
        e->report.killed += kill_forgotten(e, host->forgotten.items[i]);
    if (host)
        drop_own_host(e);
    e->report.unreachable = engine_unreachable_count(e);
}

/* --- reading --------------------------------------------------------------------------------- */

size_t engine_host_count(const struct engine *e) {
    return 1 + hosts_of(e)->all.count;
}

static struct engine_host_state host_state(const struct engine *e,
                                           const struct unreachable_host *host) {
    return (struct engine_host_state){ .name = host->name,
                                       .runs = count_runs(e, host->name),
                                       .since = host->since,
                                       .forgotten_at = host->forgotten_at,
                                       .forgotten_by = host->forgotten_by };
}

struct engine_host_state engine_host_at(const struct engine *e, size_t index) {
    if (index > 0)
        return host_state(e, &hosts_of(e)->all.items[index - 1]);
    struct engine_host_state host = { .name = own_host(e), .is_ours = true };
    for (size_t i = 0; i < run_count(e); i++) {
        const struct live_run *run = run_live_at(e, i);
        host.runs += run->executor == EXECUTOR_LOCAL && !run->is_unreachable;
    }
    return host;
}

uint32_t engine_unreachable_count(const struct engine *e) {
    uint32_t count = 0;
    for (size_t i = 0; hosts_of(e)->all.count > 0 && i < run_count(e); i++)
        count += run_live_at(e, i)->is_unreachable;
    return count;
}

bool engine_unreachable_run(const struct engine *e, task_id task, struct engine_host_state *ret) {
    const struct live_run *run = hosts_of(e)->all.count > 0 ? run_find(e, task) : NULL;
    const struct unreachable_host *host =
        run && run->is_unreachable ? find_host(e, run->host) : NULL;
    if (host)
        *ret = host_state(e, host);
    return host != NULL;
}

static bool needs_resource(const struct engine *e, task_id task, sym resource) {
    sym resources[RESOURCES_MAX];
    size_t count = core_task_resources(e->core, task, resources, RESOURCES_MAX);
    for (size_t i = 0; i < count && i < RESOURCES_MAX; i++)
        if (resources[i] == resource)
            return true;
    return false;
}

/* Whether the run of this task holds a slot of the key, by docs/internals/rules.md §2. */
static bool holds_slot(const struct engine *e, task_id task, const struct verdict *v) {
    struct task_spec spec;
    if (!core_task_spec(e->core, task, &spec))
        return false;
    switch (v->lease) {
    case LEASE_RUNS:
        return true;
    case LEASE_ROOTS:
        return spec.parent == 0;
    case LEASE_PROJECT:
    case LEASE_WORKSPACES:
        return spec.project == v->key;
    case LEASE_REVIEW:
        return spec.project == v->key && spec.review;
    case LEASE_KIND:
        return spec.kind == v->key;
    case LEASE_AGENT:
        return (spec.run_agent ? spec.run_agent : spec.agent) == v->key;
    case LEASE_LIMITER:
        return !spec.run_unlimited
               && (spec.run_limiter ? spec.run_limiter : spec.limiter) == v->key;
    case LEASE_RESOURCE:
        return needs_resource(e, task, v->key);
    case LEASE_WORKSPACE:
        return v->about == task;
    case LEASE_SERIAL:
        return !spec.parallelizable && spec.serial == v->key && spec.project == v->key_project
               && spec.kind == v->key_kind;
    case LEASE_AGENTS:
        return spec.run_agent != 0;
    case LEASE_TASK:
    case LEASE_KIND_MAX:
        break;
    }
    return false;
}

uint32_t engine_unreachable_holders(const struct engine *e, const struct verdict *v,
                                    const char **ret_host) {
    uint32_t count = 0;
    if (hosts_of(e)->all.count == 0 || v->open || v->gate != GATE_LEASE)
        return 0;
    for (size_t i = 0; i < run_count(e); i++) {
        const struct live_run *run = run_live_at(e, i);
        if (!run->is_unreachable || !holds_slot(e, run->task, v))
            continue;
        *ret_host = run->host;
        count++;
    }
    return count;
}

/* --- alerts ---------------------------------------------------------------------------------- */

/* One alert per host. */
static void hosts_raise_alerts(struct engine *e) {
    for (size_t i = 0; i < hosts_of(e)->all.count; i++) {
        const char *name = hosts_of(e)->all.items[i].name;
        _cleanup_(freep) char *key = xasprintf("host:%s", name);
        if (count_runs(e, name) > 0)
            (void)alert_raise(
                e, key, 0, 0,
                "host '%s' is unreachable, and its runs keep their places; make the "
                "daemon of that host the active one, or, if it is gone for good, run: "
                "sluice host forget %s",
                name, name);
    }
}

bool hosts_alert_is_over(const struct engine *e, const char *host) {
    return count_runs(e, host) == 0;
}

/* --- forgetting ------------------------------------------------------------------------------ */

static void write_event(struct engine *e, const struct unreachable_host *host, uint32_t runs) {
    struct event_data data;
    struct json_writer *w = event_begin(&data);
    json_put_string(w, "host", host->name);
    json_put_int(w, "runs", runs);
    json_put_string(w, "by", host->forgotten_by);
    event_end(e, &data, "host.forgotten", 0, 0);
}

/* Its session may be in use there: the next attempt starts a new one. */
static void forget_run(struct engine *e, struct live_run *run, struct unreachable_host *host) {
    struct run_end end = { .kind = RUN_END_LOST, .code = -1, .ended_at = e->now };
    const char *by = host->forgotten_by;
    _cleanup_(freep) char *why =
        xasprintf("host '%s' was forgotten%s%s", host->name, by ? " by " : "", by ? by : "");
    (void)snprintf(end.message, sizeof(end.message), "%.250s", why);
    *LIST_ADD(&host->forgotten) = run_key_of(run);
    session_drop(e, run->task);
    run_end_now(e, run, &end);
}

int engine_forget_host(struct engine *e, const char *name, const char *by, uint32_t *ret_runs,
                       struct error *err) {
    struct unreachable_host *host = find_host(e, name);
    if (strcmp(name, own_host(e)) == 0)
        return error_set(
            err, -EBUSY,
            "host '%s' is this one, and its runs are seen; cancel what shall not go on", name);
    if (!host)
        return error_set(err, -ENOENT, "no run is on host '%s'; 'sluice host list' shows the hosts",
                         name);
    uint32_t runs = count_runs(e, name);
    *ret_runs = runs;
    if (runs == 0)
        return 1;
    char *copy = by ? xstrdup(by) : NULL;
    free(host->forgotten_by);
    host->forgotten_by = copy;
    host->forgotten_at = e->now;
    for (size_t i = run_count(e); i-- > 0;) { /* removal moves the last one here */
        struct live_run *run = run_live_at(e, i);
        if (run->is_unreachable && strcmp(run->host, name) == 0)
            forget_run(e, run, host);
    }
    write_note(e, host);
    write_event(e, host, runs);
    return 0;
}

const struct engine_part unreachable_hosts_part = {
    .state_size = sizeof(struct unreachable_hosts),
    .at = { [STEP_UNLOAD] = hosts_free,
            [STEP_LOADED] = hosts_loaded,
            [STEP_START] = hosts_started,
            [STEP_AFTER_DECIDE] = hosts_raise_alerts,
            [STEP_FREE] = hosts_free },
    .load_run = hosts_load_run,
    .load_note = hosts_load,
};
