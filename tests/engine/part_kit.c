/* part_kit.c: see part_kit.h. */
#include "part_kit.h"

#include <assert.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "engine/access.h"
#include "engine/agents/agents_internal.h"
#include "engine/alerts/alerts_internal.h"
#include "engine/budget/budget_internal.h"
#include "engine/descendants.h"
#include "engine/git/git_internal.h"
#include "engine/recovery/recovery_internal.h"
#include "engine/runs/runs_internal.h"
#include "engine/tasks/tasks_internal.h"

/* The part that is tested may define the function itself. */
#define STAND_IN __attribute__((weak))

struct part_log part_log;
static struct part_kit *current; /* there is one at a time */

static void apply(struct part_kit *kit, struct fact fact) {
    int r = core_apply(kit->engine.core, &fact, NULL);
    assert(r >= 0);
    (void)r;
}

void part_kit_new(struct part_kit *kit, const struct engine_part *part, enum engine_part_id id) {
    *kit = (struct part_kit){ .part = part, .id = id };
    part_log = (struct part_log){ .maintain_after = TIME_NEVER };
    current = kit;
    struct engine *e = &kit->engine;
    e->core = core_new();
    e->config = config_new();
    e->now = e->wall_at_start = DAYS(1000);
    (void)loop_new(&e->loop, NULL);
    e->steady_at_start = loop_now_steady(e->loop);
    e->started = true;
    e->part[PART_host] = xcalloc(1, sizeof(struct host));
    if (id != PART_host)
        e->part[id] = part->state_size ? xcalloc(1, part->state_size) : NULL;
    apply(kit, (struct fact){ .kind = FACT_LOADING });
    apply(kit, (struct fact){ .kind = FACT_CLOCK, .now = e->now });
    (void)config_apply(e->config, e->core, NULL);
    struct fact project = { .kind = FACT_PROJECT };
    config_project_spec(e->config, e->core, "web", &project.project);
    apply(kit, project);
    apply(kit, (struct fact){ .kind = FACT_LOADED });
    core_watch(e->core);
    part_kit_step(kit, STEP_INIT);
}

void part_kit_add_part(struct part_kit *kit, const struct engine_part *part,
                       enum engine_part_id id) {
    kit->second = part;
    kit->second_id = id;
    kit->engine.part[id] = xcalloc(1, part->state_size);
    if (part->at[STEP_INIT])
        part->at[STEP_INIT](&kit->engine);
}

void part_kit_free(struct part_kit *kit) {
    struct engine *e = &kit->engine;
    part_kit_step(kit, STEP_FREE);
    free(e->part[kit->id]);
    if (kit->id != PART_host)
        free(e->part[PART_host]);
    if (kit->second)
        free(e->part[kit->second_id]);
    arena_finish(&e->turn.arena);
    free(e->turn.starts.items);
    free(e->turn.stops.items);
    core_free(e->core);
    config_free(e->config);
    loop_free(e->loop);
    current = NULL;
}

void part_kit_set(struct part_kit *kit, const char *setting, const char *value) {
    struct error err = { 0 };
    if (config_set(kit->engine.config, setting, value, "test", &err) < 0) {
        (void)fprintf(stderr, "%s\n", err.text);
        abort();
    }
    (void)config_apply(kit->engine.config, kit->engine.core, NULL);
}

void part_kit_step(struct part_kit *kit, enum engine_step step) {
    if (step == STEP_FREE && kit->second && kit->second->at[step])
        kit->second->at[step](&kit->engine);
    if (kit->part->at[step])
        kit->part->at[step](&kit->engine);
    if (step != STEP_FREE && kit->second && kit->second->at[step])
        kit->second->at[step](&kit->engine);
}

void part_kit_load_note(struct part_kit *kit) {
    struct note_row row = { .name = part_log.note_name, .text = part_log.note_text };
    kit->part->load_note(&kit->engine, &row);
}

void part_kit_answer(const struct store_answer *answer) {
    store_answered answered = part_log.answered;
    assert(answered);
    part_log.answered = NULL;
    answered(part_log.answered_ctx, answer, NULL);
}

/* --- tasks ----------------------------------------------------------------------------------- */

void part_kit_add_task(struct part_kit *kit, task_id task, task_id after) {
    struct task_spec spec = { .id = task,
                              .project = symbol_intern(core_symbols(kit->engine.core), "web", 3),
                              .priority = 100,
                              .created_at = kit->engine.now,
                              .ready_since = kit->engine.now,
                              .iteration = 1,
                              .state = TASK_WAITING,
                              .parallelizable = true,
                              .retry_max = -1,
                              .depends_on = &after,
                              .depends_on_count = after ? 1 : 0 };
    apply(kit, (struct fact){ .kind = FACT_TASK_ADDED, .spec = &spec });
}

int part_kit_apply(struct part_kit *kit, enum fact_kind kind, task_id task) {
    struct fact fact = { .kind = kind, .task = task };
    return engine_apply(&kit->engine, &fact, NULL);
}

static void task_changed(void *ctx, task_id task) {
    struct part_kit *kit = ctx;
    struct task_spec spec;
    bool exists = core_task_spec(kit->engine.core, task, &spec);
    if (kit->part->task_changed)
        kit->part->task_changed(&kit->engine, task, exists ? &spec : NULL);
}

static void limiter_changed(void *ctx, sym limiter) {
    struct part_kit *kit = ctx;
    struct limiter_row row = { .name = symbol_name(core_symbols(kit->engine.core), limiter) };
    if (kit->part->limiter_changed && core_limiter_spec(kit->engine.core, limiter, &row.spec))
        kit->part->limiter_changed(&kit->engine, &row);
}

size_t part_kit_decide(struct part_kit *kit) {
    size_t count = 0;
    const struct order *orders = core_decide(kit->engine.core, &count);
    for (size_t i = 0; kit->part->ordered && i < count; i++)
        kit->part->ordered(&kit->engine, &orders[i], count - i);
    struct core_changes changes = { .task = task_changed, .limiter = limiter_changed, .ctx = kit };
    core_take_changes(kit->engine.core, &changes);
    return count;
}

void part_kit_run(struct part_kit *kit, task_id task, enum outcome outcome) {
    struct task_view view = { 0 };
    (void)core_task(kit->engine.core, task, &view);
    apply(kit, (struct fact){ .kind = FACT_RUN_STARTED, .task = task, .attempt = view.attempt });
    struct fact ended = { .kind = FACT_RUN_ENDED, .task = task, .attempt = view.attempt };
    ended.ended.outcome = outcome;
    ended.ended.tokens = ended.ended.money = -1;
    apply(kit, ended);
}

enum task_state part_kit_state(const struct part_kit *kit, task_id task) {
    struct task_view view = { .state = TASK_ABSENT };
    (void)core_task(kit->engine.core, task, &view);
    return view.state;
}

/* --- the turn -------------------------------------------------------------------------------- */

int engine_apply(struct engine *e, const struct fact *fact, struct error *err) {
    if (current->part->applying)
        current->part->applying(e, fact);
    int r = core_apply(e->core, fact, err);
    if (r == 0 && current->part->applied)
        current->part->applied(e, fact);
    return r;
}

void engine_event(struct engine *e, const char *kind, task_id task, uint32_t attempt,
                  const char *data) {
    (void)e;
    (void)attempt;
    part_log.events++;
    part_log.event_task = task;
    (void)snprintf(part_log.event_kind, sizeof(part_log.event_kind), "%s", kind);
    (void)snprintf(part_log.event_data, sizeof(part_log.event_data), "%s", data ? data : "");
}

void engine_request(struct engine *e, struct engine_request *request) {
    part_log.requests++;
    (void)request->run(e, request);
    request->done(e, request, STORE_OK, NULL);
}

bool request_unlink(struct engine_request **list, struct engine_request *request) {
    bool found = *list == request;
    if (found)
        *list = request->next;
    return found;
}

void turn_wrote(struct engine *e) {
    (void)e;
}

void turn_wake(struct engine *e) {
    (void)e;
    part_log.wakes++;
}

time_ms turn_wall_clock(const struct engine *e) {
    return part_log.wall ? part_log.wall : e->now;
}

time_ms turn_clock_offset(const struct engine *e) {
    return turn_wall_clock(e) - e->now;
}

char *turn_text(struct engine *e, const char *text) {
    return text ? arena_strdup(&e->turn.arena, text) : NULL;
}

void rows_write_run(struct engine *e, const struct live_run *run) {
    (void)e;
    (void)run;
}

/* --- the store ------------------------------------------------------------------------------- */

void store_put_note(struct store_batch *batch, const struct note_row *row) {
    (void)batch;
    part_log.notes++;
    (void)snprintf(part_log.note_name, sizeof(part_log.note_name), "%s", row->name);
    (void)snprintf(part_log.note_text, sizeof(part_log.note_text), "%s",
                   row->text ? row->text : "");
}

void store_put_context(struct store_batch *batch, task_id task, const char *context) {
    (void)batch, (void)task, (void)context;
}

void store_edit_spec(struct store_batch *batch, task_id task, const char *title, const char *json) {
    (void)batch;
    (void)task;
    (void)title;
    (void)json;
}

void store_put_group(struct store_batch *batch, const struct group_row *row) {
    (void)batch;
    part_log.groups++;
    part_log.group = row->id;
}

void store_delete_group(struct store_batch *batch, uint32_t id) {
    (void)batch;
    part_log.deleted_groups++;
    part_log.group = id;
}

void store_put_project(struct store_batch *batch, const struct project_row *row) {
    (void)batch;
    (void)row;
    part_log.projects++;
}

void store_put_pause(struct store_batch *batch, const struct pause_row *row) {
    (void)batch;
    (void)row;
}

size_t store_batch_count(const struct store_batch *batch) {
    (void)batch;
    return part_log.batch;
}

void store_query(struct store *store, const struct store_query *question, store_answered done,
                 void *ctx) {
    (void)store;
    part_log.questions++;
    part_log.question = *question;
    part_log.answered = done;
    part_log.answered_ctx = ctx;
}

void store_prune_events(struct store_batch *batch, uint64_t first_kept) {
    (void)batch;
    part_log.first_kept_event = first_kept;
}

void store_prune_keys(struct store_batch *batch, time_ms before) {
    (void)batch;
    (void)before;
}

void store_prune_usage(struct store_batch *batch, time_ms before) {
    (void)batch;
    (void)before;
}

void store_prune_spent(struct store_batch *batch, bool days, time_ms before) {
    (void)batch;
    (void)days;
    (void)before;
}

void store_info(const struct store *store, struct store_info *ret) {
    (void)store;
    *ret = part_log.info;
}

time_ms store_maintain(struct store *store, time_ms idle) {
    (void)store;
    (void)idle;
    part_log.maintained++;
    return part_log.maintain_after;
}

void store_backup(struct store *store, const char *path, store_copied done, void *ctx) {
    (void)store;
    (void)path;
    (void)done;
    (void)ctx;
}

void store_backup_cancel(struct store *store) {
    (void)store;
}

STAND_IN void engine_backup(struct engine *e, const char *path, store_copied done, void *ctx) {
    (void)e;
    (void)path;
    (void)done;
    (void)ctx;
}

/* --- other parts ------------------------------------------------------------------------------ */

static struct engine_project web = { .name = "web", .prefix = "t" };

STAND_IN size_t engine_project_count(const struct engine *e) {
    (void)e;
    return 1;
}

STAND_IN struct engine_project *project_at(const struct engine *e, size_t index) {
    (void)index;
    web.symbol = symbol_find(core_symbols(e->core), "web", 3);
    return &web;
}

STAND_IN struct engine_project *project_of_symbol(const struct engine *e, sym symbol) {
    struct engine_project *project = project_at(e, 0);
    return project->symbol == symbol ? project : NULL;
}

STAND_IN struct engine_project *project_of_task(const struct engine *e, task_id task) {
    return core_task(e->core, task, &(struct task_view){ 0 }) ? project_at(e, 0) : NULL;
}

STAND_IN struct engine_project *project_of_id(const struct engine *e, const char *id) {
    return strncmp(id, "t-", 2) == 0 ? project_at(e, 0) : NULL;
}

STAND_IN const struct engine_project *engine_find_project(const struct engine *e,
                                                          const char *name) {
    return strcmp(name, "web") == 0 ? project_at(e, 0) : NULL;
}

STAND_IN const char *engine_task_id(const struct engine *e, task_id task, char buf[ENGINE_ID_MAX]) {
    (void)e;
    (void)snprintf(buf, ENGINE_ID_MAX, "t-%" PRIu64, task);
    return buf;
}

STAND_IN task_id engine_task_of_id(const struct engine *e, const char *id, struct error *err) {
    const char *digits = id + strcspn(id, "0123456789");
    task_id task = strtoull(digits, NULL, 10);
    struct task_view view;
    if (task && core_task(e->core, task, &view))
        return task;
    error_set(err, -1, "there is no task '%s'", id);
    return 0;
}

STAND_IN size_t run_count(const struct engine *e) {
    (void)e;
    return current->run_count;
}

STAND_IN struct live_run *run_live_at(const struct engine *e, size_t index) {
    (void)e;
    return &current->runs[index];
}

STAND_IN struct live_run *run_find(const struct engine *e, task_id task) {
    (void)e;
    for (size_t i = 0; i < current->run_count; i++)
        if (current->runs[i].task == task)
            return &current->runs[i];
    return NULL;
}

STAND_IN void run_end_now(struct engine *e, struct live_run *run, const struct run_end *end) {
    (void)e;
    (void)end;
    *run = current->runs[--current->run_count];
}

STAND_IN void session_drop(struct engine *e, task_id task) {
    (void)e;
    (void)task;
}

STAND_IN bool alert_raise(struct engine *e, const char *key, task_id task, uint32_t attempt,
                          const char *format, ...) {
    (void)e;
    (void)task;
    (void)attempt;
    (void)format;
    part_log.alerts++;
    (void)snprintf(part_log.alert_key, sizeof(part_log.alert_key), "%s", key);
    return true;
}

STAND_IN void prune_now(struct engine *e) {
    (void)e;
    part_log.prunes++;
}

STAND_IN void workspaces_make_room(struct engine *e) {
    (void)e;
}

STAND_IN void workspaces_expire(struct engine *e) {
    (void)e;
}

STAND_IN void workspace_forget(struct engine *e, const char *id) {
    (void)e;
    (void)id;
}

STAND_IN void launch_remove_marker(const struct engine *e, const char *id) {
    (void)e;
    (void)id;
}

STAND_IN void iteration_forget(const struct engine *e, const char *id) {
    (void)e;
    (void)id;
}

STAND_IN void executor_forget(struct executor *executor, const char *task) {
    (void)executor;
    (void)task;
    part_log.forgotten++;
}

STAND_IN const char *executor_host(const struct executor *executor) {
    (void)executor;
    return "here";
}

STAND_IN enum adopted executor_adopt(struct executor *executor, struct run_key run,
                                     const char *folder, const struct executor_known *known) {
    (void)executor;
    (void)run;
    (void)folder;
    (void)known;
    return ADOPTED_LOST;
}

STAND_IN int executor_stop(struct executor *executor, struct run_key run, enum stop_how how) {
    (void)executor;
    (void)run;
    (void)how;
    return 0;
}

STAND_IN int rundir_is_locked(const char *root, const char *folder) {
    (void)root;
    (void)folder;
    return 0;
}

STAND_IN void rundir_name(struct strbuf *out, const char *task, uint32_t attempt) {
    strbuf_printf(out, "%s.%" PRIu32, task, attempt);
}

STAND_IN void engine_alert_raise(struct engine *e, const char *key, const char *text) {
    (void)e;
    (void)text;
    part_log.alerts++;
    (void)snprintf(part_log.alert_key, sizeof(part_log.alert_key), "%s", key);
}

STAND_IN bool schedules_alert_is_over(const struct engine *e, const char *name) {
    (void)e;
    (void)name;
    return true;
}

STAND_IN void engine_cancel_descendants(struct engine *e, task_id task, bool now) {
    (void)e;
    (void)task;
    (void)now;
}

/* What alerts ask other parts. */

STAND_IN size_t engine_group_count(const struct engine *e) {
    (void)e;
    return 0;
}

STAND_IN const struct engine_group *engine_group_at(const struct engine *e, size_t index) {
    (void)e;
    (void)index;
    return NULL;
}

STAND_IN const struct engine_group *engine_find_group(const struct engine *e, const char *name) {
    (void)e;
    (void)name;
    return NULL;
}

STAND_IN bool engine_explain_budget_hold(const struct engine *e, task_id task, struct strbuf *out) {
    (void)e;
    (void)task;
    (void)out;
    return false;
}

STAND_IN bool budget_is_reached(const struct budget_view *view) {
    (void)view;
    return false;
}

STAND_IN void engine_put_trouble(const struct engine *e, enum trouble_kind kind, const char *name,
                                 struct strbuf *out) {
    (void)e;
    (void)kind;
    (void)name;
    (void)out;
}

STAND_IN bool limits_waited_out(const struct engine *e, const char *limiter) {
    (void)e;
    (void)limiter;
    return false;
}

STAND_IN void limits_opened(struct engine *e, const char *limiter) {
    (void)e;
    (void)limiter;
}

STAND_IN bool denied_is_held(const struct task_spec *t) {
    (void)t;
    return false;
}

STAND_IN bool marker_is_held(const struct task_spec *t) {
    (void)t;
    return false;
}

STAND_IN void denied_check_task(struct engine *e, const struct task_spec *t) {
    (void)e;
    (void)t;
}

/* Codes that differ. */
STAND_IN void access_make_token(char ret[ACCESS_TOKEN_SIZE]) {
    static unsigned count;
    (void)snprintf(ret, ACCESS_TOKEN_SIZE, "sl_code_%u", ++count);
}

STAND_IN bool hosts_alert_is_over(const struct engine *e, const char *host) {
    (void)e;
    (void)host;
    return true;
}

#define NEVER_OVER(name)                                                                           \
    STAND_IN bool name(const struct engine *e, const struct alert *alert) {                        \
        (void)e;                                                                                   \
        (void)alert;                                                                               \
        return false;                                                                              \
    }
NEVER_OVER(plausible_alert_is_over)
NEVER_OVER(runaway_alert_is_over)
