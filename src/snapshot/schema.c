/* schema.c: every key a snapshot may have.
 *
 * Adding a key: its member in draft.h, its row here, its use in snapshot.c, its line in
 * docs/snapshot.md. test_snapshot_good fails when the page does not name it. */
#include <errno.h>
#include <stdlib.h>

#include "base/alloc.h"
#include "base/money.h"
#include "snapshot/decode.h"

#define NUMBER_MOST 9007199254740991 /* what every JSON program can hold; 285,000 years in ms */
#define COUNT_MOST  1000000000
#define WEIGHT_MOST 1000000000000 /* thousandths */
#define USD_MOST    MONEY_MAX

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

const char *schema_lease_word(int number) {
    return lease_kind_name((enum lease_kind)number);
}

const char *schema_keep_word(int number) {
    static const char *const words[] = { "task", "roots", "review", "workspace" };
    _Static_assert(ARRAY_SIZE(words) == SCHEMA_KEEPS && KEEP_ALL == (1 << SCHEMA_KEEPS) - 1,
                   "a word for each bit of enum keep");
    return words[number];
}

const char *schema_lend_word(int number) {
    static const char *const words[] = { "runs", "project", "kind", "agent", "limiter" };
    _Static_assert(ARRAY_SIZE(words) == SCHEMA_LENDS && LEND_ALL == (1 << SCHEMA_LENDS) - 1,
                   "a word for each bit of enum lend");
    return words[number];
}

/* --- records begin and end ------------------------------------------------------------------- */

const struct hint hint_absent = {
    .duration = { ABSENT, ABSENT },
    .tokens = { ABSENT_TIME, ABSENT_TIME },
    .failure_milli = ABSENT,
    .limited_milli = ABSENT,
    .usd = ABSENT,
};

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
    r->task = (struct task_record){
        .depends_on = (uint32_t)r->draft.depends_on.count,
        .resources = (uint32_t)r->draft.resources.count,
        .priority = 100,
        .iteration = 1,
        .created_at = ABSENT_TIME,
        .ready_since = ABSENT_TIME,
        .started_at = ABSENT_TIME,
        .enqueued_at = ABSENT_TIME,
        .ready_clock = ABSENT_TIME,
        .tokens = ABSENT,
        .usd = ABSENT,
        .state = TASK_WAITING,
        .phase = PHASE_WORKING,
        .until = ABSENT,
        .parent_gate = ABSENT,
        .parallelizable = ABSENT,
        .artifact_present = true,
        .hold = ABSENT,
        .retry_max = ABSENT,
    };
}

static int task_end(struct reader *r, struct error *err) {
    struct draft *d = &r->draft;
    struct task_record *task = &r->task;
    if (task->id == 0)
        return error_set(err, -EINVAL, "a task has no 'id'");
    struct id_entry *entry = &d->ids.entries[task->id];
    if (entry->number != 0)
        return error_set(err, -EINVAL, "task '%s' is listed twice", entry->text);
    task->depends_on_count = (uint32_t)(d->depends_on.count - task->depends_on);
    task->resource_count = (uint32_t)(d->resources.count - task->resources);
    if (task->resource_count > RESOURCES_MOST)
        return error_set(err, -ERANGE, "task '%s' has more than %d resources", entry->text,
                         RESOURCES_MOST);
    if (d->tasks.count >= UINT32_MAX / 2 || d->depends_on.count >= UINT32_MAX / 2
        || d->resources.count >= UINT32_MAX / 2)
        return error_set(err, -EINVAL, "too many tasks, dependencies or resources");
    *POOL_ADD(&d->tasks) = *task;
    entry->number = (uint32_t)d->tasks.count;
    return 0;
}

/* Refuses a record without a name, and a repeated name. */
static int check_name(struct reader *r, sym id, enum seen_as as, const char *noun,
                      struct error *err) {
    if (id == 0)
        return error_set(err, -EINVAL, "%s has no 'id'", noun);
    if (!reader_first(r, id, as))
        return error_set(err, -EINVAL, "%s '%s' is listed twice", noun + 2 + (noun[1] == 'n'),
                         symbol_name(r->draft.symbols, id));
    return 0;
}

const struct project_record project_absent = {
    .weight_milli = ABSENT,
    .max_running = ABSENT,
    .budget = ABSENT,
    .budget_usd = ABSENT,
    .free_workspaces = ABSENT,
    .active = ABSENT,
    .paused = ABSENT,
};

static const struct agent_record agent_absent = { .idle = true };
static const struct limiter_record limiter_absent;
static const struct usage_spec usage_absent;
static const struct wait_spec wait_absent;

static int project_end(struct reader *r, struct error *err) {
    int result = check_name(r, r->project.id, SEEN_PROJECT, "a project", err);
    if (result == 0)
        *POOL_ADD(&r->draft.projects) = r->project;
    return result;
}

static int agent_end(struct reader *r, struct error *err) {
    int result = check_name(r, r->agent.id, SEEN_AGENT, "an agent", err);
    if (result == 0)
        *POOL_ADD(&r->draft.agents) = r->agent;
    return result;
}

static int limiter_end(struct reader *r, struct error *err) {
    int result = check_name(r, r->limiter.id, SEEN_LIMITER, "a limiter", err);
    if (result == 0)
        *POOL_ADD(&r->draft.limiters) = r->limiter;
    return result;
}

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
    r->draft.top.claim.resources = (uint32_t)r->draft.resources.count;
}

static int claim_end(struct reader *r, struct error *err) {
    struct claim_record *claim = &r->draft.top.claim;
    if (claim->task == 0)
        return error_set(err, -EINVAL, "'claim' has no 'task'");
    claim->resource_count = (uint32_t)(r->draft.resources.count - claim->resources);
    if (claim->resource_count > CLAIM_RESOURCES_MAX)
        return error_set(err, -ERANGE, "'claim' has more than %d resources", CLAIM_RESOURCES_MAX);
    return 0;
}

/* --- the keys -------------------------------------------------------------------------------- */

/* clang-format off */
#define AT(type, member) offsetof(struct type, member)
#define KEY(text)        (text), sizeof(text) - 1
#define FIELDS(list)     .fields = (list), .count = ARRAY_SIZE(list)
#define RECORD(member, from) \
    .target = AT(reader, member), .initial = (from), .size = sizeof(((struct reader *)0)->member)

static const struct field hint_fields[] = {
    { KEY("duration_s"),   FIELD_SPAN,  AT(hint, duration), 0, WEIGHT_MOST },
    { KEY("tokens"),       FIELD_RANGE, AT(hint, tokens), -1, NUMBER_MOST },
    { KEY("failure_rate"), FIELD_MILLI, AT(hint, failure_milli), 0, 1000 },
    { KEY("limited_rate"), FIELD_MILLI, AT(hint, limited_milli), 0, 1000 },
    { KEY("usd"),          FIELD_USD,   AT(hint, usd), 0, USD_MOST },
};

static const struct object object_task_hint = {
    .number = 0, .noun = "the 'sim' of a task", FIELDS(hint_fields),
    RECORD(hint, &hint_absent), .end = task_hint_end,
};

static const struct object object_kind_hint = {
    .number = 1, .noun = "a kind of 'sim'", FIELDS(hint_fields),
    RECORD(hint, &hint_absent), .end = kind_hint_end,
};

static const struct field task_fields[] = {
    { KEY("id"),               FIELD_ID,      AT(task_record, id) },
    { KEY("project"),          FIELD_SYMBOL,  AT(task_record, project) },
    { KEY("kind"),             FIELD_SYMBOL,  AT(task_record, kind) },
    { KEY("state"),            FIELD_WORD,    AT(task_record, state), TASK_DRAFT, TASK_STATE_MAX - 1,
                          .word = state_word },
    { KEY("priority"),         FIELD_INT32,   AT(task_record, priority), INT32_MIN, INT32_MAX },
    { KEY("parent"),           FIELD_ID,      AT(task_record, parent) },
    { KEY("parent_gate"),      FIELD_WORD,    AT(task_record, parent_gate), 0, PARENT_GATE_MAX - 1,
                          .word = parent_gate_word },
    { KEY("depends_on"),       FIELD_IDS },
    { KEY("created_at"),       FIELD_INT64,   AT(task_record, created_at), -NUMBER_MOST, NUMBER_MOST },
    { KEY("ready_since"),      FIELD_INT64,   AT(task_record, ready_since), -NUMBER_MOST, NUMBER_MOST },
    { KEY("not_before"),       FIELD_INT64,   AT(task_record, not_before), 0, NUMBER_MOST },
    { KEY("started_at"),       FIELD_INT64,   AT(task_record, started_at), -NUMBER_MOST, NUMBER_MOST },
    { KEY("iteration"),        FIELD_UINT32,  AT(task_record, iteration), 0, COUNT_MOST },
    { KEY("attempt"),          FIELD_COUNTED, AT(task_record, attempt_given), 0, COUNT_MOST },
    { KEY("phase"),            FIELD_WORD,    AT(task_record, phase), 0, PHASE_MAX - 1,
                          .word = phase_word },
    { KEY("until"),            FIELD_WORD,    AT(task_record, until), 0, UNTIL_MAX - 1,
                          .word = until_word },
    { KEY("workspace"),        FIELD_SYMBOL,  AT(task_record, workspace) },
    { KEY("serial"),           FIELD_SYMBOL,  AT(task_record, serial) },
    { KEY("parallelizable"),   FIELD_BOOL,    AT(task_record, parallelizable) },
    { KEY("artifact_present"), FIELD_BOOL,    AT(task_record, artifact_present) },
    { KEY("review"),           FIELD_BOOL,    AT(task_record, review) },
    { KEY("agent"),            FIELD_SYMBOL,  AT(task_record, agent) },
    { KEY("limiter"),          FIELD_SYMBOL,  AT(task_record, limiter) },
    { KEY("resources"),        FIELD_SYMBOLS },
    { KEY("tokens"),           FIELD_INT64,   AT(task_record, tokens), 0, NUMBER_MOST },
    { KEY("usd"),              FIELD_USD,     AT(task_record, usd), 0, USD_MOST },
    { KEY("hold"),             FIELD_WORD,    AT(task_record, hold), 0, HOLD_MAX - 1,
                          .word = hold_word },
    { KEY("stop"),             FIELD_WORD,    AT(task_record, stop), 0, STOP_REQUEST_MAX - 1,
                          .word = stop_word },
    { KEY("bound"),            FIELD_BOOL,    AT(task_record, bound) },
    { KEY("enqueued_at"),      FIELD_INT64,   AT(task_record, enqueued_at), -NUMBER_MOST, NUMBER_MOST },
    { KEY("ready_clock"),      FIELD_INT64,   AT(task_record, ready_clock), -NUMBER_MOST, NUMBER_MOST },
    { KEY("parent_iteration"), FIELD_UINT32,  AT(task_record, parent_iteration), 0, COUNT_MOST },
    { KEY("keeps"),            FIELD_WORDS,   AT(task_record, keeps), 0, SCHEMA_KEEPS - 1,
                          .word = schema_keep_word },
    { KEY("retry_max"),        FIELD_INT32,   AT(task_record, retry_max), -1, COUNT_MOST },
    { KEY("failures"),         FIELD_UINT32,  AT(task_record, failures), 0, UINT16_MAX },
    { KEY("launch_failures"),  FIELD_UINT32,  AT(task_record, launch_failures), 0, UINT16_MAX },
    { KEY("losses"),           FIELD_UINT32,  AT(task_record, losses), 0, UINT16_MAX },
    { KEY("restarts"),         FIELD_UINT32,  AT(task_record, restarts), 0, UINT16_MAX },
    { KEY("breaker_openings"), FIELD_UINT32,  AT(task_record, breaker_openings), 0, UINT16_MAX },
    { KEY("run_agent"),        FIELD_SYMBOL,  AT(task_record, run_agent) },
    { KEY("run_limiter"),      FIELD_SYMBOL,  AT(task_record, run_limiter) },
    { KEY("lender"),           FIELD_ID,      AT(task_record, lender) },
    { KEY("borrowed"),         FIELD_WORDS,   AT(task_record, borrowed), 0, SCHEMA_LENDS - 1,
                          .word = schema_lend_word },
    { KEY("sim"),              FIELD_OBJECT,  .object = &object_task_hint },
    { KEY("title"),            FIELD_SKIP },
    { KEY("meta"),             FIELD_SKIP },
};

static const struct object object_task = {
    .number = 2, .noun = "a task", FIELDS(task_fields),
    .target = AT(reader, task), .begin = task_begin, .end = task_end,
};

static const struct field project_fields[] = {
    { KEY("id"),              FIELD_SYMBOL, AT(project_record, id) },
    { KEY("weight"),          FIELD_MILLI,  AT(project_record, weight_milli), 0, WEIGHT_MOST },
    { KEY("max_running"),     FIELD_CAP,    AT(project_record, max_running), 0, NUMBER_MOST },
    { KEY("budget"),          FIELD_CAP,    AT(project_record, budget), 0, NUMBER_MOST },
    { KEY("budget_usd"),      FIELD_USD,    AT(project_record, budget_usd), 0, USD_MOST },
    { KEY("usd_used"),        FIELD_USD,    AT(project_record, usd_used), 0, USD_MOST },
    { KEY("active"),          FIELD_BOOL,   AT(project_record, active) },
    { KEY("paused"),          FIELD_BOOL,   AT(project_record, paused) },
    { KEY("tokens_used"),     FIELD_INT64,  AT(project_record, tokens_used), 0, NUMBER_MOST },
    { KEY("completed"),       FIELD_UINT32, AT(project_record, completed), 0, COUNT_MOST },
    { KEY("running"),         FIELD_UINT32, AT(project_record, running), 0, COUNT_MOST },
    { KEY("running_roots"),   FIELD_UINT32, AT(project_record, running_roots), 0, COUNT_MOST },
    { KEY("free_workspaces"), FIELD_INT64,  AT(project_record, free_workspaces), 0, COUNT_MOST },
    { KEY("meta"),            FIELD_SKIP },
};

static const struct object object_project = {
    .number = 3, .noun = "a project", FIELDS(project_fields),
    RECORD(project, &project_absent), .end = project_end,
};

static const struct field agent_fields[] = {
    { KEY("id"),      FIELD_SYMBOL, AT(agent_record, id) },
    { KEY("idle"),    FIELD_BOOL,   AT(agent_record, idle) },
    { KEY("limiter"), FIELD_SYMBOL, AT(agent_record, limiter) },
    { KEY("launch_failures"), FIELD_UINT32, AT(agent_record, launch_failures), 0, COUNT_MOST },
    { KEY("openings"), FIELD_UINT32, AT(agent_record, openings), 0, COUNT_MOST },
    { KEY("closed_until"), FIELD_INT64, AT(agent_record, closed_until), 0, NUMBER_MOST },
    { KEY("meta"),    FIELD_SKIP },
};

static const struct object object_agent = {
    .number = 4, .noun = "an agent", FIELDS(agent_fields),
    RECORD(agent, &agent_absent), .end = agent_end,
};

static const struct field limiter_fields[] = {
    { KEY("id"),            FIELD_SYMBOL, AT(limiter_record, id) },
    { KEY("backoff_until"), FIELD_INT64,  AT(limiter_record, backoff_until), 0, NUMBER_MOST },
    { KEY("hits"),          FIELD_UINT32, AT(limiter_record, hits), 0, COUNT_MOST },
    { KEY("running"),       FIELD_UINT32, AT(limiter_record, running), 0, COUNT_MOST },
    { KEY("closed"),        FIELD_BOOL,   AT(limiter_record, closed) },
    { KEY("in_backoff"),    FIELD_BOOL,   AT(limiter_record, in_backoff) },
    { KEY("backoff_since"), FIELD_INT64,  AT(limiter_record, backoff_since), 0, NUMBER_MOST },
    { KEY("last_hit"),      FIELD_INT64,  AT(limiter_record, last_hit), 0, NUMBER_MOST },
    { KEY("ramp_since"),    FIELD_INT64,  AT(limiter_record, ramp_since), 0, NUMBER_MOST },
    { KEY("meta"),          FIELD_SKIP },
};

static const struct object object_limiter = {
    .number = 5, .noun = "a limiter", FIELDS(limiter_fields),
    RECORD(limiter, &limiter_absent), .end = limiter_end,
};

static const struct field usage_fields[] = {
    { KEY("project"),    FIELD_SYMBOL, AT(usage_spec, project) },
    { KEY("at"),         FIELD_INT64,  AT(usage_spec, at), 0, NUMBER_MOST },
    { KEY("tokens"),     FIELD_INT64,  AT(usage_spec, tokens), -NUMBER_MOST, NUMBER_MOST },
    { KEY("unreported"), FIELD_INT64,  AT(usage_spec, unreported), -NUMBER_MOST, NUMBER_MOST },
    { KEY("usd"),        FIELD_USD,    AT(usage_spec, money), -USD_MOST, USD_MOST },
    { KEY("starts"),     FIELD_INT32,  AT(usage_spec, starts), 0, COUNT_MOST },
    { KEY("completed"),  FIELD_INT32,  AT(usage_spec, completions), 0, COUNT_MOST },
    { KEY("reports"),    FIELD_INT32,  AT(usage_spec, reports), 0, COUNT_MOST },
    { KEY("priced"),     FIELD_INT32,  AT(usage_spec, priced), 0, COUNT_MOST },
    { KEY("unpriced"),   FIELD_INT32,  AT(usage_spec, unpriced), 0, COUNT_MOST },
};

static const struct object object_usage = {
    .number = 8, .noun = "an entry of 'usage'", FIELDS(usage_fields),
    RECORD(usage, &usage_absent), .end = usage_end,
};

static const struct field wait_fields[] = {
    { KEY("project"),      FIELD_SYMBOL, AT(wait_spec, project) },
    { KEY("limiter"),      FIELD_SYMBOL, AT(wait_spec, limiter) },
    { KEY("agent"),        FIELD_SYMBOL, AT(wait_spec, agent) },
    { KEY("lost"),         FIELD_INT64,  AT(wait_spec, lost), -NUMBER_MOST, NUMBER_MOST },
    { KEY("closed_since"), FIELD_INT64,  AT(wait_spec, closed_since), 0, NUMBER_MOST },
};

static const struct object object_wait = {
    .number = 9, .noun = "an entry of 'waits'", FIELDS(wait_fields),
    RECORD(wait, &wait_absent), .end = wait_end,
};

static const struct field pace_fields[] = {
    { KEY("ticking"),     FIELD_BOOL,  AT(top_record, pace.ticking) },
    { KEY("tick_began"),  FIELD_INT64, AT(top_record, pace.tick_began), 0, NUMBER_MOST },
    { KEY("tick_starts"), FIELD_INT64, AT(top_record, pace.tick_starts), 0, COUNT_MOST },
    { KEY("last_start"),  FIELD_INT64, AT(top_record, pace.last_start), 0, NUMBER_MOST },
};

static const struct object object_pace = {
    .number = 10, .noun = "'pace'", FIELDS(pace_fields),
    .target = AT(reader, draft.top),
};

static const struct field claim_fields[] = {
    { KEY("task"),      FIELD_ID,     AT(top_record, claim.task) },
    { KEY("leases"),    FIELD_WORDS,  AT(top_record, claim.leases), 0, LEASE_KIND_MAX - 1,
                          .word = schema_lease_word },
    { KEY("resources"), FIELD_SYMBOLS },
};

static const struct object object_claim = {
    .number = 11, .noun = "'claim'", FIELDS(claim_fields),
    .target = AT(reader, draft.top), .begin = claim_begin, .end = claim_end,
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
    { KEY("live"),         FIELD_BOOL,    AT(top_record, live) },
    { KEY("paused"),       FIELD_BOOL,    AT(top_record, paused) },
    { KEY("tokens_used"),  FIELD_INT64,   AT(top_record, tokens_used), 0, NUMBER_MOST },
    { KEY("budget"),       FIELD_CAP,     AT(top_record, budget), 0, NUMBER_MOST },
    { KEY("usd_used"),     FIELD_USD,     AT(top_record, usd_used), 0, USD_MOST },
    { KEY("budget_usd"),   FIELD_USD,     AT(top_record, budget_usd), 0, USD_MOST },
    { KEY("disk_free_gb"), FIELD_MILLI,   AT(top_record, disk_free_milli_gb), 0, NUMBER_MOST },
    { KEY("memory_free_mb"), FIELD_INT64, AT(top_record, memory_free_mb), 0, NUMBER_MOST },
    { KEY("load"),         FIELD_MILLI,   AT(top_record, load_milli), 0, NUMBER_MOST },
    { KEY("running"),      FIELD_UINT32,  AT(top_record, running), 0, COUNT_MOST },
    { KEY("running_roots"), FIELD_UINT32, AT(top_record, running_roots), 0, COUNT_MOST },
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

static const struct object object_snapshot = {
    .number = 7,
    .noun = "the snapshot",
    FIELDS(snapshot_fields),
    .target = AT(reader, draft.top),
    .given = snapshot_given,
};

const struct object *schema_root(void) {
    return &object_snapshot;
}

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
