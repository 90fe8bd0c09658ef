/* schema.c: every member a snapshot may have, each in one row.
 *
 * To add one: a member of its record (decode.h; of a task, a member of struct task_spec), a row
 * here, its effect in snapshot.c, its line in docs/reference/snapshot.md. test_snapshot_good fails
 * when the page does not name it. The writer follows the order of the rows. */
#include <errno.h>
#include <string.h>

#include "base/alloc.h"
#include "base/money.h"
#include "snapshot/decode.h"

#define COUNT_MOST  1000000000
#define WEIGHT_MOST 1000000000000 /* thousandths */

#define RESOURCES_MOST 16 /* of one task */

/* --- words ----------------------------------------------------------------------------------- */

#define DEFINE_WORD(word, enum_type, name)                                                         \
    static const char *word(int number) {                                                          \
        return name((enum enum_type)number);                                                       \
    }
DEFINE_WORD(state_word, task_state, task_state_name)
DEFINE_WORD(phase_word, run_phase, run_phase_name)
DEFINE_WORD(until_word, until, until_name)
DEFINE_WORD(hold_word, hold, hold_name)
DEFINE_WORD(stop_word, stop_request, stop_request_name)
DEFINE_WORD(parent_gate_word, parent_gate, parent_gate_name)
DEFINE_WORD(lease_word, lease_kind, lease_kind_name)

static const char *keep_word(int number) {
    static const char *const words[] = { "task", "roots", "review", "workspace" };
    _Static_assert(KEEP_ALL == (1 << ARRAY_SIZE(words)) - 1, "a word for each bit of enum keep");
    return words[number];
}

static const char *lend_word(int number) {
    static const char *const words[] = { "runs", "project", "kind", "agent", "limiter" };
    _Static_assert(LEND_ALL == (1 << ARRAY_SIZE(words)) - 1, "a word for each bit of enum lend");
    return words[number];
}

/* --- records begin and end ------------------------------------------------------------------- */

const struct hint hint_initial = {
    .duration = { ABSENT, ABSENT },
    .tokens = { ABSENT_TIME, ABSENT_TIME },
    .failure_milli = ABSENT,
    .limited_milli = ABSENT,
    .usd = ABSENT,
};

const struct task_record task_initial = {
    .spec = { .priority = 100,
              .iteration = 1,
              .attempt = ABSENT_ATTEMPT,
              .created_at = ABSENT_TIME,
              .ready_since = ABSENT_TIME,
              .ready_clock = ABSENT_TIME,
              .until = UNTIL_MAX,
              .parent_gate = PARENT_GATE_MAX,
              .retry_max = -1 },
    .tokens = ABSENT,
    .usd = ABSENT,
    .expected_usd = ABSENT,
    .parallelizable = ABSENT,
    .artifact_present = true,
};

const struct project_record project_initial = {
    .weight_milli = ABSENT,
    .max_running = ABSENT,
    .budget = ABSENT,
    .budget_usd = ABSENT,
    .free_workspaces = ABSENT,
    .active = ABSENT,
    .paused = ABSENT,
};

const struct top_record top_initial = {
    .tokens_used = ABSENT,
    .budget = ABSENT,
    .budget_usd = ABSENT,
    .usd_used = ABSENT,
    .disk_free_milli_gb = ABSENT,
    .memory_free_mb = ABSENT,
    .load_milli = ABSENT,
    .pace = { .last_start = ABSENT_TIME },
    .seed = 1,
};

static const struct agent_record agent_initial = { .idle = ABSENT };
static const struct limiter_record limiter_initial;
static const struct usage_spec usage_initial;
static const struct wait_spec wait_initial;

static int task_hint_end(struct reader *r, struct error *err) {
    (void)err;
    struct draft *d = &r->draft;
    *POOL_ADD(&d->hints) = r->hint;
    r->task.hint = (uint32_t)d->hints.count;
    return 0;
}

static int kind_hint_end(struct reader *r, struct error *err) {
    (void)err;
    *POOL_ADD(&r->draft.kind_hints) = (struct kind_hint){ r->map_key, r->hint };
    return 0;
}

static void task_begin(struct reader *r) {
    r->task.depends_on = (uint32_t)r->draft.depends_on.count;
    r->task.resources = (uint32_t)r->draft.resources.count;
}

static int task_end(struct reader *r, struct error *err) {
    struct draft *d = &r->draft;
    struct task_record *task = &r->task;
    sym id = (sym)task->spec.id;
    const char *text = symbol_name(&d->ids, id);
    if (id == 0)
        return error_set(err, -EINVAL, "a task has no 'id'");
    d->numbers.items =
        grow_zeroed(d->numbers.items, &d->numbers.capacity, (size_t)id + 1, sizeof(uint32_t));
    if (d->numbers.items[id] != 0)
        return error_set(err, -EINVAL, "task '%s' is listed twice", text);
    task->spec.depends_on_count = d->depends_on.count - task->depends_on;
    task->spec.resource_count = d->resources.count - task->resources;
    if (task->spec.resource_count > RESOURCES_MOST)
        return error_set(err, -ERANGE, "task '%s' has more than %d resources", text,
                         RESOURCES_MOST);
    if (d->tasks.count >= UINT32_MAX / 2 || d->depends_on.count >= UINT32_MAX / 2
        || d->resources.count >= UINT32_MAX / 2)
        return error_set(err, -EINVAL, "too many tasks, dependencies or resources");
    draft_add_task(d, task);
    d->numbers.items[id] = (uint32_t)d->tasks.count;
    return 0;
}

/* A record that has a unique name: `id` is its member. */
#define DEFINE_END(function, pool, record, id, as, noun)                                           \
    static int function(struct reader *r, struct error *err) {                                     \
        if ((record).id == 0)                                                                      \
            return error_set(err, -EINVAL, "%s has no 'id'", noun);                                \
        if (!reader_first(r, (record).id, as))                                                     \
            return error_set(err, -EINVAL, "%s '%s' is listed twice", strchr(noun, ' ') + 1,       \
                             symbol_name(r->draft.symbols, (record).id));                          \
        *POOL_ADD(&r->draft.pool) = (record);                                                      \
        return 0;                                                                                  \
    }
DEFINE_END(project_end, projects, r->project, id, SEEN_PROJECT, "a project")
DEFINE_END(agent_end, agents, r->agent, spec.id, SEEN_AGENT, "an agent")
DEFINE_END(limiter_end, limiters, r->limiter, spec.id, SEEN_LIMITER, "a limiter")

static int usage_end(struct reader *r, struct error *err) {
    (void)err;
    *POOL_ADD(&r->draft.usage) = r->usage;
    return 0;
}

static int wait_end(struct reader *r, struct error *err) {
    if (r->wait.project == 0)
        return error_set(err, -EINVAL, "an entry of 'waits' has no 'project'");
    *POOL_ADD(&r->draft.waits) = r->wait;
    return 0;
}

static void claim_begin(struct reader *r) {
    r->draft.top.claim_resources = (uint32_t)r->draft.resources.count;
}

static int claim_end(struct reader *r, struct error *err) {
    const struct draft *d = &r->draft;
    struct claim_spec *claim = &r->draft.top.claim;
    if (claim->task == 0)
        return error_set(err, -EINVAL, "'claim' has no 'task'");
    if (d->resources.count - d->top.claim_resources > CLAIM_RESOURCES_MAX)
        return error_set(err, -ERANGE, "'claim' has more than %d resources", CLAIM_RESOURCES_MAX);
    for (size_t i = d->top.claim_resources; i < d->resources.count; i++)
        claim->resources[claim->resource_count++] = d->resources.items[i];
    return 0;
}

/* --- the members ----------------------------------------------------------------------------- */

/* clang-format off */
#define AT(type, member) offsetof(struct type, member)
#define KEY(text)        (text), sizeof(text) - 1
#define FIELDS(list)     .fields = (list), .count = ARRAY_SIZE(list)
#define RECORD(member, from) \
    .target = AT(reader, member), .initial = (from), .size = sizeof(((struct reader *)0)->member)
#define SIGNED  -NUMBER_MOST, NUMBER_MOST
#define COUNT 0, COUNT_MOST
#define USD   0, MONEY_MAX

static const struct field hint_fields[] = {
    { KEY("duration_s"),   FIELD_SPAN,  AT(hint, duration), 0, WEIGHT_MOST },
    { KEY("tokens"),       FIELD_RANGE, AT(hint, tokens), -1, NUMBER_MOST },
    { KEY("failure_rate"), FIELD_MILLI, AT(hint, failure_milli), 0, 1000 },
    { KEY("limited_rate"), FIELD_MILLI, AT(hint, limited_milli), 0, 1000 },
    { KEY("usd"),          FIELD_USD,   AT(hint, usd), USD },
};

static const struct object object_task_hint = {
    .number = 0, .noun = "the 'sim' of a task", FIELDS(hint_fields),
    RECORD(hint, &hint_initial), .end = task_hint_end,
};

static const struct object object_kind_hint = {
    .number = 1, .noun = "a kind of 'sim'", FIELDS(hint_fields),
    RECORD(hint, &hint_initial), .end = kind_hint_end,
};

#define OF(member)            AT(task_record, spec.member)
#define WORD(names, min, max) (min), (max) - 1, .word = (names)

static const struct field task_fields[] = {
    { KEY("id"),               FIELD_ID,     OF(id) },
    { KEY("project"),          FIELD_SYMBOL, OF(project), .role = NAME_PROJECT },
    { KEY("kind"),             FIELD_SYMBOL, OF(kind), .role = NAME_KIND },
    { KEY("state"),            FIELD_WORD,   OF(state), WORD(state_word, TASK_DRAFT, TASK_STATE_MAX) },
    { KEY("hold"),             FIELD_WORD,   OF(hold), WORD(hold_word, 0, HOLD_MAX) },
    { KEY("priority"),         FIELD_INT32,  OF(priority), INT32_MIN, INT32_MAX },
    { KEY("agent"),            FIELD_SYMBOL, OF(agent), .role = NAME_AGENT },
    { KEY("bound"),            FIELD_BOOL,   OF(bound) },
    { KEY("limiter"),          FIELD_SYMBOL, OF(limiter), .role = NAME_LIMITER },
    { KEY("workspace"),        FIELD_SYMBOL, OF(workspace), .role = NAME_WORKSPACE },
    { KEY("serial"),           FIELD_SYMBOL, OF(serial), .role = NAME_PHASE },
    { KEY("parallelizable"),   FIELD_SWITCH, AT(task_record, parallelizable) },
    { KEY("parent"),           FIELD_ID,     OF(parent) },
    { KEY("parent_gate"),      FIELD_WORD,   OF(parent_gate), WORD(parent_gate_word, 0, PARENT_GATE_MAX) },
    { KEY("parent_iteration"), FIELD_UINT32, OF(parent_iteration), COUNT },
    { KEY("until"),            FIELD_WORD,   OF(until), WORD(until_word, 0, UNTIL_MAX) },
    { KEY("review"),           FIELD_BOOL,   OF(review) },
    { KEY("artifact_present"), FIELD_BOOL,   AT(task_record, artifact_present) },
    { KEY("probe_closed"),     FIELD_BOOL,   OF(probe_closed) },
    { KEY("created_at"),       FIELD_INT64,  OF(created_at), SIGNED },
    { KEY("ready_since"),      FIELD_INT64,  OF(ready_since), SIGNED },
    { KEY("ready_clock"),      FIELD_INT64,  OF(ready_clock), SIGNED },
    { KEY("enqueued_at"),      FIELD_INT64,  OF(enqueued_at), SIGNED },
    { KEY("not_before"),       FIELD_INT64,  OF(not_before), 0, NUMBER_MOST },
    { KEY("keeps"),            FIELD_WORDS,  OF(keeps), WORD(keep_word, 0, 4) },
    { KEY("iteration"),        FIELD_UINT32, OF(iteration), COUNT },
    { KEY("attempt"),          FIELD_UINT32, OF(attempt), COUNT },
    { KEY("failures"),         FIELD_UINT16, OF(failures), 0, UINT16_MAX },
    { KEY("launch_failures"),  FIELD_UINT16, OF(launch_failures), 0, UINT16_MAX },
    { KEY("losses"),           FIELD_UINT16, OF(losses), 0, UINT16_MAX },
    { KEY("restarts"),         FIELD_UINT16, OF(restarts), 0, UINT16_MAX },
    { KEY("breaker_openings"), FIELD_UINT16, OF(breaker_openings), 0, UINT16_MAX },
    { KEY("escalate"),         FIELD_STEPS,  OF(escalation) },
    { KEY("escalate_after"),   FIELD_UINT16, OF(escalation.after), 0, UINT16_MAX },
    { KEY("escalate_step"),    FIELD_UINT16, OF(escalation.step), 0, ESCALATE_MAX },
    { KEY("escalate_failed"),  FIELD_UINT16, OF(escalation.failed), 0, UINT16_MAX },
    { KEY("own_agent"),        FIELD_SYMBOL, OF(escalation.own_agent), .role = NAME_AGENT },
    { KEY("retry_max"),        FIELD_INT32,  OF(retry_max), -1, COUNT_MOST },
    { KEY("phase"),            FIELD_WORD,   OF(phase), WORD(phase_word, 0, PHASE_MAX) },
    { KEY("started_at"),       FIELD_INT64,  OF(started_at), SIGNED },
    { KEY("stop"),             FIELD_WORD,   OF(stop), WORD(stop_word, 0, STOP_REQUEST_MAX) },
    { KEY("run_agent"),        FIELD_SYMBOL, OF(run_agent), .role = NAME_AGENT },
    { KEY("run_limiter"),      FIELD_SYMBOL, OF(run_limiter), .role = NAME_LIMITER },
    { KEY("lender"),           FIELD_ID,     OF(lender) },
    { KEY("borrowed"),         FIELD_WORDS,  OF(borrowed), WORD(lend_word, 0, 5) },
    { KEY("depends_on"),       FIELD_IDS },
    { KEY("resources"),        FIELD_SYMBOLS },
    { KEY("tokens"),           FIELD_INT64,  AT(task_record, tokens), 0, NUMBER_MOST },
    { KEY("usd"),              FIELD_USD,    AT(task_record, usd), USD },
    { KEY("expected_usd"),     FIELD_USD,    AT(task_record, expected_usd), USD },
    { KEY("arrives_at"),       FIELD_INT64,  AT(task_record, arrives_at), 0, NUMBER_MOST },
    { KEY("schedule"),         FIELD_SYMBOL, AT(task_record, schedule), .role = NAME_SCHEDULE },
    { KEY("sim"),              FIELD_OBJECT, .object = &object_task_hint },
    { KEY("title"),            FIELD_SKIP },
    { KEY("meta"),             FIELD_SKIP },
};

const struct object object_task = {
    .number = 2, .noun = "a task", FIELDS(task_fields),
    RECORD(task, &task_initial), .begin = task_begin, .end = task_end,
};

static const struct field project_fields[] = {
    { KEY("id"),              FIELD_SYMBOL, AT(project_record, id), .role = NAME_PROJECT },
    { KEY("weight"),          FIELD_MILLI,  AT(project_record, weight_milli), 0, WEIGHT_MOST },
    { KEY("max_running"),     FIELD_CAP,    AT(project_record, max_running), 0, NUMBER_MOST },
    { KEY("budget"),          FIELD_CAP,    AT(project_record, budget), 0, NUMBER_MOST },
    { KEY("budget_usd"),      FIELD_USD,    AT(project_record, budget_usd), USD },
    { KEY("usd_used"),        FIELD_USD,    AT(project_record, usd_used), USD },
    { KEY("active"),          FIELD_SWITCH, AT(project_record, active) },
    { KEY("paused"),          FIELD_SWITCH, AT(project_record, paused) },
    { KEY("tokens_used"),     FIELD_INT64,  AT(project_record, tokens_used), 0, NUMBER_MOST },
    { KEY("completed"),       FIELD_UINT32, AT(project_record, completed), COUNT },
    { KEY("running"),         FIELD_UINT32, AT(project_record, running), COUNT },
    { KEY("running_roots"),   FIELD_UINT32, AT(project_record, running_roots), COUNT },
    { KEY("free_workspaces"), FIELD_INT64,  AT(project_record, free_workspaces), COUNT },
    { KEY("hours_until"),     FIELD_INT64,  AT(project_record, hours_until), 0, NUMBER_MOST },
    { KEY("meta"),            FIELD_SKIP },
};

const struct object object_project = {
    .number = 3, .noun = "a project", FIELDS(project_fields),
    RECORD(project, &project_initial), .end = project_end,
};

static const struct field agent_fields[] = {
    { KEY("id"),              FIELD_SYMBOL, AT(agent_record, spec.id), .role = NAME_AGENT },
    { KEY("idle"),            FIELD_SWITCH, AT(agent_record, idle) },
    { KEY("limiter"),         FIELD_SYMBOL, AT(agent_record, spec.limiter), .role = NAME_LIMITER },
    { KEY("launch_failures"), FIELD_UINT32, AT(agent_record, spec.launch_failures), COUNT },
    { KEY("openings"),        FIELD_UINT32, AT(agent_record, spec.openings), COUNT },
    { KEY("closed_until"),    FIELD_INT64,  AT(agent_record, spec.closed_until), 0, NUMBER_MOST },
    { KEY("hours"),           FIELD_BOOL,   AT(agent_record, spec.hours) },
    { KEY("hours_until"),     FIELD_INT64,  AT(agent_record, spec.hours_until), 0, NUMBER_MOST },
    { KEY("meta"),            FIELD_SKIP },
};

const struct object object_agent = {
    .number = 4, .noun = "an agent", FIELDS(agent_fields),
    RECORD(agent, &agent_initial), .end = agent_end,
};

static const struct field limiter_fields[] = {
    { KEY("id"),            FIELD_SYMBOL, AT(limiter_record, spec.id), .role = NAME_LIMITER },
    { KEY("backoff_until"), FIELD_INT64,  AT(limiter_record, spec.backoff_until), 0, NUMBER_MOST },
    { KEY("hits"),          FIELD_UINT32, AT(limiter_record, spec.hits), COUNT },
    { KEY("closed"),        FIELD_BOOL,   AT(limiter_record, spec.closed) },
    { KEY("in_backoff"),    FIELD_BOOL,   AT(limiter_record, spec.in_backoff) },
    { KEY("backoff_since"), FIELD_INT64,  AT(limiter_record, spec.backoff_since), 0, NUMBER_MOST },
    { KEY("last_hit"),      FIELD_INT64,  AT(limiter_record, spec.last_hit), 0, NUMBER_MOST },
    { KEY("ramp_since"),    FIELD_INT64,  AT(limiter_record, spec.ramp_since), 0, NUMBER_MOST },
    { KEY("running"),       FIELD_UINT32, AT(limiter_record, running), COUNT },
    { KEY("hours_until"),   FIELD_INT64,  AT(limiter_record, spec.hours_until), 0, NUMBER_MOST },
    { KEY("five_hour_used"),   FIELD_UINT32, AT(limiter_record, spec.quota[QUOTA_FIVE_HOUR].used_milli), COUNT },
    { KEY("five_hour_resets"), FIELD_INT64,  AT(limiter_record, spec.quota[QUOTA_FIVE_HOUR].resets_at), 0, NUMBER_MOST },
    { KEY("weekly_used"),      FIELD_UINT32, AT(limiter_record, spec.quota[QUOTA_WEEKLY].used_milli), COUNT },
    { KEY("weekly_resets"),    FIELD_INT64,  AT(limiter_record, spec.quota[QUOTA_WEEKLY].resets_at), 0, NUMBER_MOST },
    { KEY("meta"),          FIELD_SKIP },
};

const struct object object_limiter = {
    .number = 5, .noun = "a limiter", FIELDS(limiter_fields),
    RECORD(limiter, &limiter_initial), .end = limiter_end,
};

static const struct field usage_fields[] = {
    { KEY("project"),    FIELD_SYMBOL, AT(usage_spec, project), .role = NAME_PROJECT },
    { KEY("at"),         FIELD_INT64,  AT(usage_spec, at), 0, NUMBER_MOST },
    { KEY("tokens"),     FIELD_INT64,  AT(usage_spec, tokens), SIGNED },
    { KEY("unreported"), FIELD_INT64,  AT(usage_spec, unreported), SIGNED },
    { KEY("usd"),        FIELD_USD,    AT(usage_spec, money), -MONEY_MAX, MONEY_MAX },
    { KEY("starts"),     FIELD_INT32,  AT(usage_spec, starts), COUNT },
    { KEY("completed"),  FIELD_INT32,  AT(usage_spec, completions), COUNT },
    { KEY("reports"),    FIELD_INT32,  AT(usage_spec, reports), COUNT },
    { KEY("priced"),     FIELD_INT32,  AT(usage_spec, priced), COUNT },
    { KEY("unpriced"),   FIELD_INT32,  AT(usage_spec, unpriced), COUNT },
};

const struct object object_usage = {
    .number = 8, .noun = "an entry of 'usage'", FIELDS(usage_fields),
    RECORD(usage, &usage_initial), .end = usage_end,
};

static const struct field wait_fields[] = {
    { KEY("project"),      FIELD_SYMBOL, AT(wait_spec, project), .role = NAME_PROJECT },
    { KEY("limiter"),      FIELD_SYMBOL, AT(wait_spec, limiter), .role = NAME_LIMITER },
    { KEY("agent"),        FIELD_SYMBOL, AT(wait_spec, agent), .role = NAME_AGENT },
    { KEY("lost"),         FIELD_INT64,  AT(wait_spec, lost), SIGNED },
    { KEY("closed_since"), FIELD_INT64,  AT(wait_spec, closed_since), 0, NUMBER_MOST },
};

const struct object object_wait = {
    .number = 9, .noun = "an entry of 'waits'", FIELDS(wait_fields),
    RECORD(wait, &wait_initial), .end = wait_end,
};

static const struct field pace_fields[] = {
    { KEY("ticking"),     FIELD_BOOL,  AT(top_record, pace.ticking) },
    { KEY("tick_began"),  FIELD_INT64, AT(top_record, pace.tick_began), 0, NUMBER_MOST },
    { KEY("tick_starts"), FIELD_INT64, AT(top_record, pace.tick_starts), COUNT },
    { KEY("last_start"),  FIELD_INT64, AT(top_record, pace.last_start), 0, NUMBER_MOST },
};

const struct object object_pace = {
    .number = 10, .noun = "'pace'", FIELDS(pace_fields),
    .target = AT(reader, draft.top), .initial = &top_initial,
};

static const struct field claim_fields[] = {
    { KEY("task"),      FIELD_ID,     AT(top_record, claim.task) },
    { KEY("leases"),    FIELD_WORDS,  AT(top_record, claim.leases), WORD(lease_word, 0, LEASE_KIND_MAX) },
    { KEY("resources"), FIELD_SYMBOLS },
};

const struct object object_claim = {
    .number = 11, .noun = "'claim'", FIELDS(claim_fields),
    .target = AT(reader, draft.top), .initial = &top_initial, .begin = claim_begin, .end = claim_end,
};

static const struct field sim_fields[] = {
    { KEY("seed"),  FIELD_INT64, AT(top_record, seed), 0, INT64_MAX },
    { KEY("kinds"), FIELD_HINTS, .object = &object_kind_hint },
};

static const struct object object_sim = {
    .number = 6, .noun = "'sim'", FIELDS(sim_fields),
    .target = AT(reader, draft.top),
};

static const struct field snapshot_fields[] = {
    { KEY("now"),          FIELD_INT64,   AT(top_record, now), 0, NUMBER_MOST },
    { KEY("config"),       FIELD_CONFIG },
    { KEY("clock_offset"), FIELD_INT64,   AT(top_record, clock_offset), SIGNED },
    { KEY("live"),         FIELD_BOOL,    AT(top_record, live) },
    { KEY("paused"),       FIELD_BOOL,    AT(top_record, paused) },
    { KEY("tokens_used"),  FIELD_INT64,   AT(top_record, tokens_used), 0, NUMBER_MOST },
    { KEY("budget"),       FIELD_CAP,     AT(top_record, budget), 0, NUMBER_MOST },
    { KEY("usd_used"),     FIELD_USD,     AT(top_record, usd_used), USD },
    { KEY("budget_usd"),   FIELD_USD,     AT(top_record, budget_usd), USD },
    { KEY("disk_free_gb"), FIELD_MILLI,   AT(top_record, disk_free_milli_gb), 0, NUMBER_MOST },
    { KEY("memory_free_mb"), FIELD_INT64, AT(top_record, memory_free_mb), 0, NUMBER_MOST },
    { KEY("load"),         FIELD_MILLI,   AT(top_record, load_milli), 0, NUMBER_MOST },
    { KEY("running"),      FIELD_UINT32,  AT(top_record, running), COUNT },
    { KEY("running_roots"), FIELD_UINT32, AT(top_record, running_roots), COUNT },
    { KEY("usage"),        FIELD_OBJECTS, .object = &object_usage },
    { KEY("waits"),        FIELD_OBJECTS, .object = &object_wait },
    { KEY("pace"),         FIELD_OBJECT,  .object = &object_pace },
    { KEY("claim"),        FIELD_OBJECT,  .object = &object_claim },
    { KEY("projects"),     FIELD_OBJECTS, .object = &object_project },
    { KEY("agents"),       FIELD_OBJECTS, .object = &object_agent },
    { KEY("workspaces"),   FIELD_LOCKS },
    { KEY("limiters"),     FIELD_OBJECTS, .object = &object_limiter },
    { KEY("tasks"),        FIELD_OBJECTS, .object = &object_task },
    { KEY("sim"),          FIELD_OBJECT,  .object = &object_sim },
    { KEY("meta"),         FIELD_SKIP },
};
/* clang-format on */

_Static_assert(ARRAY_SIZE(task_fields) <= FIELDS_MAX, "struct reader.follows is too small");

static void snapshot_given(struct reader *r, const struct field *field) {
    if (field->object == &object_project)
        r->draft.projects_given = true;
    else if (field->object == &object_agent)
        r->draft.agents_given = true;
}

const struct object object_snapshot = {
    .number = 7,
    .noun = "the snapshot",
    FIELDS(snapshot_fields),
    .target = AT(reader, draft.top),
    .given = snapshot_given,
};

static const struct object *const objects[] = {
    &object_snapshot, &object_project,   &object_agent,     &object_limiter,
    &object_task,     &object_task_hint, &object_kind_hint, &object_sim,
    &object_usage,    &object_wait,      &object_pace,      &object_claim,
};

_Static_assert(ARRAY_SIZE(objects) <= OBJECT_MAX, "struct reader.follows is too small");

const char *schema_key(size_t object, size_t key, const char **ret_noun) {
    if (object >= ARRAY_SIZE(objects) || key >= objects[object]->count)
        return NULL;
    *ret_noun = objects[object]->noun;
    return objects[object]->fields[key].name;
}
