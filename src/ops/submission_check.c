/* submission_check.c: a submission against what the daemon knows.
 *
 * Every name must be there, because a task that waits for something that was misspelt waits for
 * ever. Two guards can be overridden (`force`): a task of one project under a parent or with an
 * external id of another, and a dependency that does not exist yet. */
#include <errno.h>
#include <string.h>

#include "base/hash.h"
#include "base/number.h"
#include "engine/agents.h"
#include "engine/shared_folder.h"
#include "ops/batch.h"
#include "ops/capability.h"
#include "ops/op_internal.h"

const char *submission_project(const struct submission *s) {
    return s->project ? s->project : DEFAULT_PROJECT;
}

bool submission_is_epic(const struct engine *engine, const char *kind, const char *project) {
    return (kind && strcmp(kind, EPIC_KIND) == 0)
           || (project && config_number(engine_config(engine), "projects.P.coordination", project));
}

/* Of this batch, or stored. */
static bool parent_is_epic(const struct batch *batch, const struct batch_entry *entry) {
    struct task_view t;
    const struct batch_entry *parent = batch_entry_of(batch, entry->parent);
    if (parent)
        return submission_is_epic(batch->engine, parent->s.kind, submission_project(&parent->s));
    return entry->parent && core_task(engine_core(batch->engine), entry->parent, &t)
           && submission_is_epic(batch->engine, op_name_of(batch->engine, t.kind),
                                 op_name_of(batch->engine, t.project));
}

enum parent_gate submission_parent_gate(const struct batch *batch,
                                        const struct batch_entry *entry) {
    const struct submission *s = &entry->s;
    if (!s->parent_gate && parent_is_epic(batch, entry))
        return PARENT_NONE;                 /* it runs nothing: it is done when its children are */
    if (s->artifact && *s->artifact != '/') /* one of the parent's: it counts when that is done */
        return PARENT_DONE;
    if (!s->parent_gate)
        return config_policy(engine_config(batch->engine))->parent_gate;
    return strcmp(s->parent_gate, "none") == 0 ? PARENT_NONE : PARENT_DONE;
}

/* --- names ----------------------------------------------------------------------------------- */

/* One that is near is offered; else the command that would make it, %s for its name. */
static int unknown(const struct engine *engine, const char *what, const char *name, op_name_at at,
                   const char *maker, struct error *err) {
    struct error found = { 0 };
    int r = op_unknown(engine, what, name, at, &found);
    const char *place = strstr(maker, "%s");
    if (strstr(found.text, "; did you mean "))
        return error_set(err, r, "%s", found.text);
    return error_set(err, r, "%s; 'sluice %.*s%s%s' makes it", found.text, (int)(place - maker),
                     maker, op_quote(name).text, place + 2);
}

static int check_project(struct batch *batch, struct batch_entry *entry, struct error *err) {
    const char *name = submission_project(&entry->s);
    const struct batch_entry *before = batch->index > 0 ? entry - 1 : NULL;
    if (before && before->project && strcmp(before->project->name, name) == 0)
        entry->project = before->project; /* most batches are of one project */
    else
        entry->project = engine_find_project(batch->engine, name);
    if (entry->project)
        return 0;
    if (strcmp(name, DEFAULT_PROJECT) != 0)
        return unknown(batch->engine, "project", name, op_project_at, "project add %s", err);
    batch->makes_default = true;
    return 0;
}

static int check_names(const struct batch *batch, const struct submission *s, struct error *err) {
    const struct engine *engine = batch->engine;
    const struct config *config = engine_config(engine);
    if (s->kind && !config_has_kind(config, s->kind))
        return unknown(engine, "kind", s->kind, op_kind_at, "config set kinds.%s.base=100", err);
    if (s->agent && !config_has_agent(config, s->agent))
        return unknown(engine, "agent", s->agent, op_agent_at,
                       "config set agents.%s.command=PROGRAM", err);
    if (s->limiter && !config_has_limiter(config, s->limiter))
        return unknown(engine, "limiter", s->limiter, op_limiter_at,
                       "config set limiters.%s.max_running=4", err);
    for (size_t i = 0; i < s->resource_names.count; i++)
        if (!op_knows(engine, op_resource_at, s->resource_names.items[i]))
            return unknown(engine, "resource", s->resource_names.items[i], op_resource_at,
                           "config set limits.resource.%s=1", err);
    if (!s->prompt)
        return 0;
    if (!s->agent)
        return engine_check_roster(engine, s->prompt, err);
    bool failover = !s->failover || strcmp(s->failover, "none") != 0;
    int r = engine_check_agent(engine, s->agent, err);
    return r < 0 ? r : engine_check_prompt(engine, s->agent, s->prompt, failover, err);
}

/* "gt-17" looks like a task of the project with the prefix gt; of gt and gt-web the longer one
 * counts. */
static const struct engine_project *project_of_prefix(const struct engine *engine, const char *id) {
    const struct engine_project *found = NULL;
    size_t longest = 0;
    for (size_t i = 0; i < engine_project_count(engine); i++) {
        const struct engine_project *p = engine_project_at(engine, i);
        size_t size = strlen(p->prefix);
        if (size <= longest || strncmp(p->prefix, id, size) != 0 || id[size] != '-')
            continue;
        found = p;
        longest = size;
    }
    return found;
}

static int check_prefix(const struct batch *batch, const struct batch_entry *entry,
                        struct error *err) {
    const char *id = entry->s.external_id;
    if (!id || batch->force)
        return 0;
    const struct engine_project *other = project_of_prefix(batch->engine, id);
    if (!other || other == entry->project)
        return 0;
    return error_set(err, -EPERM,
                     "external id '%s' has the prefix of project '%s', but the task is for '%s'; "
                     "force overrides",
                     op_quote(id).text, other->name, submission_project(&entry->s));
}

/* tasks.share_folder: its folder is a workspace then, which one run has at a time. A child could
 * wait for its own parent. */
static void want_folder(const struct batch *batch, struct batch_entry *entry) {
    struct submission *s = &entry->s;
    if (s->workspace || s->parent || batch->run
        || config_number(engine_config(batch->engine), "tasks.share_folder", NULL))
        return;
    s->workspace = engine_task_folder(batch->engine, submission_project(s), s->agent, s->cwd);
}

int submission_check(struct batch *batch, struct batch_entry *entry, struct error *err) {
    int r = check_project(batch, entry, err);
    if (r == 0)
        r = check_names(batch, &entry->s, err);
    if (r == 0)
        want_folder(batch, entry);
    if (r == 0)
        r = submission_check_workspace(batch, entry, err);
    return r < 0 ? r : check_prefix(batch, entry, err);
}

/* --- other tasks ----------------------------------------------------------------------------- */

/* The number in an id that does not exist; 0: it is none. */
static task_id number_in(const char *id) {
    const char *dash = strrchr(id, '-');
    int64_t number = 0;
    const char *digits = dash ? dash + 1 : id;
    bool plain = *digits != '\0' && strspn(digits, "0123456789") == strlen(digits);
    return plain && number_parse_int(digits, &number, NULL) == 0 ? (task_id)number : 0;
}

/* What an entry of the batch says of another task: its name in the batch, its external id there, or
 * what people call a task. A run is told the same of a task that is not there and of one that it
 * does not see: else it could find out what there is. */
static int resolve(const struct batch *batch, const struct batch_entry *entry, const char *name,
                   task_id *ret_task, struct error *err) {
    uint32_t index = id_map_find(&batch->names, hash_bytes(name, strlen(name)), name);
    task_id beside = index ? batch->entries[index - 1].id
                           : batch_external(batch, submission_project(&entry->s), name);
    *ret_task = beside ? beside : op_find_task(batch->run, batch->engine, name, err);
    if (batch->run && !beside && !capability_sees(batch->run, *ret_task))
        return error_set(err, -EACCES, "'%s' is not below '%s': a run knows of nothing else",
                         op_quote(name).text, batch->run->caller);
    return *ret_task ? 0 : err->code;
}

static int link_parent(const struct batch *batch, struct batch_entry *entry, struct error *err) {
    const char *name = entry->s.parent;
    int r = resolve(batch, entry, name, &entry->parent, err);
    if (r == -EACCES)
        return error_prefix(err, "'parent'");
    if (r < 0)
        return error_prefix(err, "parent '%s'", op_quote(name).text);
    if (entry->parent == entry->id)
        return error_set(err, -ELOOP, "task '%s' is its own parent", op_quote(name).text);
    struct task_view parent;
    if (batch->force || !entry->project
        || !core_task(engine_core(batch->engine), entry->parent, &parent)
        || parent.project == entry->project->symbol)
        return 0;
    return error_set(err, -EPERM, "parent '%s' is in another project than '%s'; force overrides",
                     op_quote(name).text, entry->project->name);
}

static int link_one(const struct batch *batch, const struct batch_entry *entry, const char *name,
                    task_id *ret_task, struct error *err) {
    int r = resolve(batch, entry, name, ret_task, err);
    if (r == 0)
        return 0;
    if (r == -EACCES)
        return error_prefix(err, "'depends_on'");
    *ret_task = batch->force && r == -ENOENT ? number_in(name) : 0;
    if (*ret_task)
        return 0;
    if (r == -ENOTUNIQ)
        return error_prefix(err, "'depends_on'");
    return r == -ENOENT
               ? error_set(err, -ENOENT,
                           "it depends on '%s', which is no task; force lets it wait for one",
                           op_quote(name).text)
               : error_set(err, -EINVAL,
                           "it depends on '%s', which is no id and no name of this batch",
                           op_quote(name).text);
}

int submission_link(const struct batch *batch, struct batch_entry *entry, struct error *err) {
    const struct submission *s = &entry->s;
    int r = s->parent ? link_parent(batch, entry, err) : 0;
    if (r == 0 && s->dependencies.count > 0)
        entry->depends_on =
            arena_alloc(batch->arena, s->dependencies.count * sizeof(*entry->depends_on));
    for (size_t i = 0; r == 0 && i < s->dependencies.count; i++) {
        task_id task = 0;
        r = link_one(batch, entry, s->dependencies.items[i], &task, err);
        if (r == 0 && task == entry->id)
            r = error_set(err, -ELOOP, "task '%s' depends on itself",
                          op_quote(s->dependencies.items[i]).text);
        bool twice = false; /* by its name and by its id */
        for (size_t k = 0; k < entry->depends_on_count; k++)
            twice = twice || entry->depends_on[k] == task;
        if (r == 0 && !twice)
            entry->depends_on[entry->depends_on_count++] = task;
    }
    return r;
}

/* --- what the engine is told ----------------------------------------------------------------- */

static int64_t given_or(int64_t value, int64_t standard) {
    return value == SUBMISSION_NOT_GIVEN ? standard : value;
}

static enum until until_of(const struct batch *batch, const struct submission *s) {
    if (!s->until)
        return config_until(engine_config(batch->engine), s->kind ? s->kind : "");
    enum until until = UNTIL_EXIT;
    while (strcmp(until_name(until), s->until) != 0)
        until++;
    return until;
}

static void tell_ended(const char *state, struct task_spec *told) {
    static const struct {
        const char *name;
        enum task_state state;
        enum hold hold;
        enum reason reason;
    } states[] = {
        { "done", TASK_DONE, HOLD_NONE, REASON_SUCCEEDED },
        { "failed", TASK_FAILED, HOLD_NONE, REASON_RETRIES },
        { "canceled", TASK_CANCELED, HOLD_NONE, REASON_CANCELED },
        { "invalidated", TASK_INVALIDATED, HOLD_NONE, REASON_INVALIDATED },
        { "review", TASK_HELD, HOLD_REVIEW, REASON_REVIEW },
    };
    for (size_t i = 0; i < ARRAY_SIZE(states); i++)
        if (strcmp(states[i].name, state) == 0) {
            told->state = states[i].state;
            told->hold = states[i].hold;
            told->reason = states[i].reason;
        }
}

static void tell_state(const struct batch *batch, const struct submission *s,
                       struct task_spec *told) {
    bool later = s->not_before > engine_now(batch->engine);
    told->state = TASK_WAITING;
    if (s->state) {
        tell_ended(s->state, told);
    } else if (batch->draft || s->draft == 1) {
        told->state = TASK_DRAFT;
    } else if (s->hold == 1 || later) {
        told->state = TASK_HELD;
        told->hold = HOLD_PERSON;
        told->not_before = s->hold == 1 || !later ? 0 : s->not_before;
    }
}

/* As it was written, without the blanks between; in the arena. */
static int copy_spec(const struct batch *batch, const struct batch_entry *entry,
                     const char **ret_json, struct error *err) {
    char text[SUBMISSION_SPEC_MAX];
    size_t size = entry->span.from ? json_span_copy(&entry->span, text, sizeof(text))
                                   : json_dumpb(entry->s.json, text, sizeof(text), JSON_COMPACT);
    if (size > sizeof(text))
        return error_set(err, -E2BIG, "the task has %zu bytes; the most are %zu", size,
                         sizeof(text));
    *ret_json = arena_strndup(batch->arena, text, size);
    return 0;
}

int submission_draft(const struct batch *batch, const struct batch_entry *entry,
                     struct engine_draft *ret, struct error *err) {
    const struct submission *s = &entry->s;
    const struct policy *policy = config_policy(engine_config(batch->engine));
    time_ms now = engine_now(batch->engine);
    *ret = (struct engine_draft){
        .told = {
            .priority = (int32_t)given_or(s->priority, 100),
            .parent = entry->parent,
            .created_at = time_min(given_or(s->created_at, now), now),
            .ready_since = now,
            .iteration = (uint32_t)given_or(s->iteration, 1),
            .until = until_of(batch, s),
            .parent_gate = submission_parent_gate(batch, entry),
            .parallelizable = given_or(s->parallelizable, !policy->serial) != 0,
            .review = s->review == 1,
            .bound = s->argv || (s->failover && strcmp(s->failover, "none") == 0),
            .retry_max = (int32_t)given_or(s->retries, -1),
        },
        .project = submission_project(s),
        .kind = s->kind,
        .agent = s->agent,
        .limiter = s->limiter,
        .workspace = s->workspace,
        .serial = s->serial,
        .resources = s->resource_names.items,
        .resource_count = s->resource_names.count,
        .depends_on = entry->depends_on,
        .depends_on_count = entry->depends_on_count,
        .title = submission_title(s, batch->arena),
        .external_id = s->external_id,
        .artifact = s->artifact,
    };
    if (s->artifact && *s->artifact != '/')
        ret->told.parent_iteration = submission_artifact_iteration(s->artifact);
    tell_state(batch, s, &ret->told);
    int r = submission_place(batch, s, ret, err);
    return r < 0 ? r : copy_spec(batch, entry, &ret->json, err);
}
