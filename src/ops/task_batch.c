/* task_batch.c: reads the tasks of a request and checks them against the daemon's state. */
#include "ops/task_batch.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/hash.h"
#include "base/macros.h"
#include "base/number.h"
#include "base/utf8.h"
#include "config/run_settings.h"
#include "core/task_graph.h"
#include "engine/agents.h"
#include "engine/allowance.h"
#include "engine/escalation.h"
#include "engine/executors.h"
#include "engine/external_ids.h"
#include "engine/runs.h"
#include "engine/worktrees.h"
#include "ops/candidates.h"
#include "ops/children.h"
#include "ops/op_internal.h"
#include "ops/rights.h"
#include "workspace/git.h"

/* --- Slurm ----------------------------------------------------------------------------------- */

/* Whether a task runs in Slurm is decided on submission, because its partition is a key with slots,
 * and a task's keys are fixed. A changed setting applies to later submissions. */

static int check_slurm_values(const json_t *values, struct error *err) {
    const char *key;
    json_t *value;
    int r = 0;
    json_object_foreach((json_t *)values, key, value) {
        char number[32];
        (void)snprintf(number, sizeof(number), "%" PRId64, (int64_t)json_integer_value(value));
        if (r == 0 && !json_is_null(value))
            r = slurm_value_check(key, json_is_integer(value) ? number : json_string_value(value),
                                  err);
    }
    return r;
}

static int check_slurm_use(const struct submission *s, bool in_slurm, struct error *err) {
    if (!in_slurm && json_object_size(s->slurm) > 0)
        return error_set(
            err, -EINVAL,
            "'slurm' is for tasks that run in Slurm, and this one runs on this machine; "
            "say 'executor': slurm");
    for (size_t i = 0; i < s->resource_names.count; i++)
        if (strncmp(s->resource_names.items[i], SLURM_KEY, strlen(SLURM_KEY)) == 0)
            return error_set(err, -EINVAL,
                             "'resources': '%s' is of those that run in that partition; say "
                             "'executor': slurm and 'slurm': {\"partition\": …}",
                             utf8_quote(s->resource_names.items[i]).text);
    if (in_slurm && s->resource_names.count >= SUBMISSION_RESOURCES_MAX)
        return error_set(err, -E2BIG, "'resources': a task that runs in Slurm may name %u",
                         SUBMISSION_RESOURCES_MAX - 1);
    return 0;
}

void submission_add_resource(struct submission *s, const char *key, struct arena *arena) {
    struct submission_names *names = &s->resource_names;
    const char **items = arena_alloc(arena, (names->count + 1) * sizeof(*items));
    for (size_t i = 0; i < names->count; i++)
        items[i] = names->items[i];
    items[names->count++] = key;
    names->items = items;
}

static bool same_text(const char *a, const char *b) {
    return a == b || (a && b && strcmp(a, b) == 0);
}

/* Looked up once for consecutive tasks of one project and agent. */
static const char *configured_executor(struct batch *batch, const struct submission *s) {
    const struct submission *last = batch->executor_of;
    if (!last || !same_text(last->project, s->project) || !same_text(last->agent, s->agent))
        batch->executor = config_executor(engine_config(batch->engine), s->project, s->agent);
    batch->executor_of = s;
    return batch->executor;
}

static int choose_executor(struct batch *batch, struct submission *s, struct error *err) {
    const struct config *config = engine_config(batch->engine);
    const char *executor = s->executor ? s->executor : configured_executor(batch, s);
    bool in_slurm = strcmp(executor, "slurm") == 0;
    int r = check_slurm_use(s, in_slurm, err);
    if (r < 0 || !in_slurm)
        return r;
    const char *partition = json_string_value(json_object_get(s->slurm, "partition"));
    if (!partition)
        partition = config_slurm_value(config, "partition", s->project, s->agent);
    const char *key =
        arena_printf(batch->arena, SLURM_KEY "%s", partition ? partition : SLURM_NO_PARTITION);
    submission_add_resource(s, key, batch->arena);
    return 0;
}

/* --- reading --------------------------------------------------------------------------------- */

static const size_t offsets[] = {
#define MEMBER(name, ...) offsetof(struct submission, name),
#include "taskfile/task_members.inc"
};

static void *field_of(struct submission *s, const struct task_member *m) {
    return (char *)s + offsets[m - task_members];
}

static bool is_number(const struct task_member *m) {
    return m->kind >= MEMBER_WHOLE && m->kind <= MEMBER_SWITCH;
}

static void take_member(void *ctx, const struct task_member *m, const json_t *value) {
    void *field = field_of(ctx, m);
    if (is_number(m))
        *(int64_t *)field = task_member_number(m, value);
    else if (m->kind < MEMBER_WHOLE)
        *(const char **)field = json_string_value(value);
    else
        *(const json_t **)field = value;
}

static struct submission_names names_of(const json_t *list, struct arena *arena) {
    struct submission_names names = { NULL, json_array_size(list) };
    if (names.count > 0)
        names.items = arena_alloc(arena, names.count * sizeof(*names.items));
    for (size_t i = 0; i < names.count; i++)
        names.items[i] = json_string_value(json_array_get(list, i));
    return names;
}

#define ITERATIONS "iterations/"

/* The number N of "iterations/N/…"; 0: another path. */
static uint32_t submission_artifact_iteration(const char *artifact) {
    if (strncmp(artifact, ITERATIONS, strlen(ITERATIONS)) != 0)
        return 0;
    const char *digits = artifact + strlen(ITERATIONS);
    size_t length = strspn(digits, "0123456789");
    return length > 0 && length < 9 && digits[length] == '/' ? (uint32_t)strtoul(digits, NULL, 10)
                                                             : 0;
}

/* Members that exclude or require each other. */
static int check_together(const struct submission *s, struct error *err) {
    if (s->prompt && s->argv)
        return error_set(err, -EINVAL, "a task has a 'prompt' or an 'argv', not both");
    if (!s->prompt && !s->argv)
        return error_set(err, -EINVAL, "a task needs an 'argv', or a 'prompt' for its agent");
    if (s->prompt && s->stdin)
        return error_set(err, -EINVAL, "'stdin' goes with 'argv': an agent gets its prompt there");
    if (s->prompt && s->imports)
        return error_set(err, -EINVAL,
                         "'imports' goes with 'argv': an agent reads untrusted text, so only a "
                         "command may import");
    if (s->until && strcmp(s->until, "validate") == 0 && json_array_size(s->checks) == 0)
        return error_set(err, -EINVAL, "'until' is validate: that needs 'checks'");
    int r = candidates_check(s, err);
    if (r < 0)
        return r;
    /* In the parent's folder, only files of its iterations are allowed. */
    const char *path = s->artifact;
    if (!path || *path == '/')
        return 0;
    bool current = strncmp(path, ITERATIONS "{iteration}/", strlen(ITERATIONS "{iteration}/")) == 0;
    if (!current && submission_artifact_iteration(path) == 0)
        return error_set(err, -EINVAL,
                         "'artifact' must be an absolute path, or one of the parent's: "
                         "iterations/{iteration}/artifacts/NAME");
    if (!s->parent)
        return error_set(err, -EINVAL, "'artifact' is one of the parent's: that needs a 'parent'");
    if (s->parent_gate && strcmp(s->parent_gate, "none") == 0)
        return error_set(err, -EINVAL,
                         "'artifact' is one of the parent's, which counts when that is done: leave "
                         "out 'parent_gate'");
    return 0;
}

static void set_state(const struct batch *batch, struct submission *s) {
    static const struct {
        const char *name;
        enum task_state state;
        enum hold hold;
        enum reason reason;
    } ended[] = {
        { "done", TASK_DONE, HOLD_NONE, REASON_SUCCEEDED },
        { "failed", TASK_FAILED, HOLD_NONE, REASON_RETRIES },
        { "canceled", TASK_CANCELED, HOLD_NONE, REASON_CANCELED },
        { "invalidated", TASK_INVALIDATED, HOLD_NONE, REASON_INVALIDATED },
        { "review", TASK_HELD, HOLD_REVIEW, REASON_REVIEW },
    };
    struct task_spec *spec = &s->spec;
    spec->state = TASK_WAITING;
    if (s->state) {
        size_t i = 0;
        while (strcmp(ended[i].name, s->state) != 0)
            i++;
        spec->state = ended[i].state;
        spec->hold = ended[i].hold;
        spec->reason = ended[i].reason;
    } else if (batch->draft || s->draft == 1) {
        spec->state = TASK_DRAFT;
    } else if (s->hold == 1 || s->not_before > engine_now(batch->engine)) {
        spec->state = TASK_HELD;
        spec->hold = HOLD_PERSON;
        spec->not_before = s->hold == 1 ? 0 : s->not_before;
    }
}

/* `ret`: zeroed. `span`: the text of `json`; from NULL: not known. */
static int submission_read(const struct batch *batch, json_t *json, struct json_span span,
                           struct submission *ret, struct error *err) {
    struct task_read_options reading = { .source.now = engine_now(batch->engine),
                                         .take = take_member,
                                         .ctx = ret };
    bool changed = false;
    ret->json = json;
    for (size_t i = 0; i < task_member_count; i++)
        if (is_number(&task_members[i]))
            *(int64_t *)field_of(ret, &task_members[i]) = SUBMISSION_NOT_GIVEN;
    if (!json_is_object(json))
        return error_set(err, -EINVAL, "a task must be an object");
    int r = task_members_read(json, &reading, &changed, err);
    if (r == 0 && ret->slurm)
        r = check_slurm_values(ret->slurm, err);
    if (r == 0 && ret->inside)
        r = child_check_inside(ret->inside, err);
    if (r < 0)
        return r;
    if (!changed)
        ret->span = span;
    if (!ret->project)
        ret->project = DEFAULT_PROJECT;
    set_state(batch, ret);
    ret->depends_names = names_of(ret->depends_on, batch->arena);
    ret->resource_names = names_of(ret->resources, batch->arena);
    return check_together(ret, err);
}

/* --- workspaces ------------------------------------------------------------------------------ */

/* Checked on submission, because an invalid value would otherwise fail at launch, unattended. */

static bool makes_worktrees(const struct config *config, const char *project) {
    return strcmp(config_text(config, "projects.P.workspace_mode", project), "worktree") == 0;
}

static int check_pool(const struct config *config, const char *project, const char *workspace,
                      struct error *err) {
    const char *const *paths;
    size_t count = config_words(config, "projects.P.workspace_paths", project, &paths);
    if (makes_worktrees(config, project))
        return error_set(err, -EINVAL,
                         "project '%s' makes a worktree for each task: 'workspace' is for a pool",
                         project);
    _cleanup_(strbuf_finish) struct strbuf known = STRBUF_INIT;
    for (size_t i = 0; i < count; i++) {
        if (strcmp(paths[i], workspace) == 0)
            return 0;
        strbuf_printf(&known, "%s%s", i > 0 ? ", " : "", paths[i]);
    }
    return count == 0 ? 0
                      : error_set(err, -EINVAL, "workspace '%s' is none of project '%s': %.300s",
                                  utf8_quote(workspace).text, project, strbuf_text(&known));
}

int submission_check_merge(const struct config *config, const char *project, const char *merge,
                           const char *base_branch, struct error *err) {
    const char *const *words;
    if (merge && strcmp(merge, "none") != 0 && !makes_worktrees(config, project))
        return error_set(err, -EINVAL,
                         "merge '%s' needs a branch to merge: 'sluice config set "
                         "projects.%s.workspace_mode=worktree' makes one for each task",
                         merge, project);
    if (merge && strcmp(merge, "mr") == 0
        && config_words(config, "projects.P.mr_command", project, &words) == 0)
        return error_set(err, -EINVAL, "merge 'mr' needs a command: set projects.%s.mr_command",
                         project);
    if (base_branch && !git_branch_is_valid(base_branch))
        return error_set(err, -EINVAL, "'base_branch' '%s' is not a name of a branch",
                         utf8_quote(base_branch).text);
    return 0;
}

const char *submission_branch_note(const struct config *config, const char *project,
                                   const char *member, struct arena *arena) {
    if (makes_worktrees(config, project))
        return NULL;
    return arena_printf(
        arena, "'%s' has no effect: project '%s' has no worktrees (projects.%s.workspace_mode)",
        member, utf8_quote(project).text, utf8_quote(project).text);
}

/* --- names ----------------------------------------------------------------------------------- */

/* Every name must be known, because a task that waits for a misspelled name waits forever. `force`
 * overrides two checks: a task under a parent, or with the external id, of another project; and a
 * dependency that does not exist yet. */

/* Suggests a similar name; else the command that creates it, %s for its name. */
static int refuse_unknown(const struct engine *engine, const char *what, const char *name,
                          op_name_at at, const char *maker, struct error *err) {
    struct error found = { 0 };
    int r = op_unknown(engine, what, name, at, &found);
    const char *at_name = strstr(maker, "%s");
    if (strstr(found.text, "; did you mean "))
        return error_set(err, r, "%s", found.text);
    return error_set(err, r, "%s; 'sluice %.*s%s%s' makes it", found.text, (int)(at_name - maker),
                     maker, utf8_quote(name).text, at_name + 2);
}

static int check_project(struct batch *batch, struct submission *s, struct error *err) {
    const char *name = s->project;
    const struct submission *before = batch->index > 0 ? s - 1 : NULL;
    if (before && before->project_row && strcmp(before->project_row->name, name) == 0) {
        s->project_row = before->project_row; /* most batches have one project */
        return 0;
    }
    s->project_row = engine_find_project(batch->engine, name);
    if (!s->project_row && strcmp(name, DEFAULT_PROJECT) != 0)
        return refuse_unknown(batch->engine, "project", name, op_project_at, "project add %s", err);
    if (!s->project_row)
        batch->makes_default = true;
    return engine_check_worktrees(batch->engine, name, err);
}

/* A model is one of the agent that gets the prompt. */
static int check_model(const struct engine *engine, const struct submission *s, struct error *err) {
    const char *member = s->model ? "model" : s->escalate ? "escalate" : NULL;
    if (!member)
        return 0;
    if (s->argv)
        return error_set(err, -EINVAL,
                         "'%s' is for a 'prompt': a command of its own ('argv') names its model "
                         "itself",
                         member);
    if (!s->agent)
        return error_set(err, -EINVAL, "'%s' needs an 'agent'", member);
    int r = s->model ? engine_check_model(engine, s->agent, s->model, err) : 0;
    return r < 0 ? error_prefix(err, "'model'") : 0;
}

static int check_names(const struct batch *batch, const struct submission *s, struct error *err) {
    const struct engine *engine = batch->engine;
    const struct config *config = engine_config(engine);
    if (s->kind && !config_has_kind(config, s->kind))
        return refuse_unknown(engine, "kind", s->kind, op_kind_at, "config set kinds.%s.base=100",
                              err);
    if (s->agent && !config_has_agent(config, s->agent))
        return refuse_unknown(engine, "agent", s->agent, op_agent_at,
                              "config set agents.%s.command=PROGRAM", err);
    if (s->limiter && !config_has_limiter(config, s->limiter))
        return refuse_unknown(engine, "limiter", s->limiter, op_limiter_at,
                              "config set limiters.%s.max_running=4", err);
    for (size_t i = 0; i < s->resource_names.count; i++)
        if (!op_knows(engine, op_resource_at, s->resource_names.items[i]))
            return refuse_unknown(engine, "resource", s->resource_names.items[i], op_resource_at,
                                  "config set limits.resource.%s=1", err);
    for (size_t i = 0; i < json_array_size(s->imports); i++) {
        const char *name = json_string_value(json_array_get(s->imports, i));
        if (!engine_find_project(engine, name))
            return refuse_unknown(engine, "project", name, op_project_at, "project add %s", err);
    }
    int r = check_model(engine, s, err);
    if (r < 0 || !s->prompt)
        return r;
    if (!s->agent && s->agents) /* of its candidates, which are checked */
        return 0;
    if (!s->agent)
        return engine_check_roster(engine, s->prompt, err);
    bool failover = !s->failover || strcmp(s->failover, "none") != 0;
    r = engine_check_agent(engine, s->agent, err);
    if (r == 0)
        r = engine_check_prompt(engine, s->agent, s->prompt, failover, err);
    if (r == 0 && s->escalate)
        r = engine_check_steps(engine, s->agent, s->prompt, s->escalate, err);
    return r;
}

/* "gt-17" looks like a task of the project with the prefix gt; the longest prefix wins. */
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

static int check_prefix(const struct batch *batch, const struct submission *s, struct error *err) {
    const char *id = s->external_id;
    if (!id || batch->force)
        return 0;
    const struct engine_project *other = project_of_prefix(batch->engine, id);
    if (!other || other == s->project_row)
        return 0;
    return error_set(err, -EPERM,
                     "external id '%s' has the prefix of project '%s', but the task is for '%s'; "
                     "force overrides",
                     utf8_quote(id).text, other->name, s->project);
}

static int submission_check(struct batch *batch, struct submission *s, struct error *err) {
    const struct config *config = engine_config(batch->engine);
    int r = check_project(batch, s, err);
    if (r == 0)
        r = check_names(batch, s, err);
    if (r < 0)
        return r;
    /* tasks.share_folder: its folder becomes a workspace, which only one run has at a time. Not for
     * children, which could wait for their own parent. */
    if (!s->workspace && !s->parent && (!batch->run || batch->imports)
        && !config_number(config, "tasks.share_folder", NULL))
        s->workspace = engine_task_folder(batch->engine, s->project, s->agent, s->cwd);
    if (s->workspace)
        r = check_pool(config, s->project, s->workspace, err);
    if (r == 0)
        r = submission_check_merge(config, s->project, s->merge, s->base_branch, err);
    if (r == 0 && candidates_count(s) > 0 && !makes_worktrees(config, s->project))
        r = error_set(err, -EINVAL,
                      "'best_of' needs a worktree for each candidate: 'sluice config set "
                      "projects.%s.workspace_mode=worktree' makes one for each task",
                      s->project);
    return r < 0 ? r : check_prefix(batch, s, err);
}

/* --- numbers and references ------------------------------------------------------------------ */

static bool same_name(const void *ctx, uint32_t handle, const void *key) {
    const struct batch *batch = ctx;
    return strcmp(batch->entries[handle - 1].name, key) == 0;
}

struct external_key {
    const char *project, *id;
};

static bool same_external(const void *ctx, uint32_t handle, const void *key) {
    const struct submission *s = &((const struct batch *)ctx)->entries[handle - 1];
    const struct external_key *wanted = key;
    return strcmp(s->external_id, wanted->id) == 0 && strcmp(s->project, wanted->project) == 0;
}

static uint64_t hash_external(const struct external_key *key) {
    return hash_mix(hash_bytes(key->id, strlen(key->id)),
                    hash_bytes(key->project, strlen(key->project)));
}

static task_id find_in_batch(const struct batch *batch, const struct external_key *key) {
    uint32_t index = id_map_find(&batch->externals, hash_external(key), key);
    return index ? batch->entries[index - 1].spec.id : 0;
}

const struct submission *batch_entry_of(const struct batch *batch, task_id task) {
    task_id position = task - batch->first; /* unsigned: smaller ids are too large, too */
    return position < batch->added ? &batch->entries[batch->by_number[position]] : NULL;
}

static void assign_number(struct batch *batch, struct submission *s) {
    struct external_key key = { s->project, s->external_id };
    task_id known = s->external_id ? find_in_batch(batch, &key) : 0;
    if (s->external_id && !known)
        known = engine_find_external(batch->engine, s->project, s->external_id);
    s->spec.id = known;
    s->already = known != 0;
    if (s->candidate_of) /* comes after its parent */
        s->already = !submission_is_new(&batch->entries[s->candidate_of - 1]);
    if (!submission_is_new(s))
        return;
    batch->by_number[batch->added] = (uint32_t)(s - batch->entries);
    s->spec.id = batch->first + batch->added++;
    if (s->external_id)
        id_map_add(&batch->externals, hash_external(&key), (uint32_t)(s - batch->entries) + 1);
    batch->queued += s->spec.state == TASK_WAITING;
}

bool submission_is_epic(const struct engine *engine, const char *kind, const char *project) {
    return (kind && strcmp(kind, EPIC_KIND) == 0)
           || (project && config_number(engine_config(engine), "projects.P.coordination", project));
}

static bool parent_is_epic(const struct batch *batch, const struct submission *s) {
    struct task_view t;
    const struct submission *parent = batch_entry_of(batch, s->spec.parent);
    if (parent)
        return submission_is_epic(batch->engine, parent->kind, parent->project);
    return s->spec.parent && core_task(engine_core(batch->engine), s->spec.parent, &t)
           && submission_is_epic(batch->engine, op_name_of(batch->engine, t.kind),
                                 op_name_of(batch->engine, t.project));
}

static enum parent_gate parent_gate_of(const struct batch *batch, const struct submission *s) {
    if (!s->parent_gate && parent_is_epic(batch, s))
        return PARENT_NONE;                 /* it runs nothing: it is done when its children are */
    if (s->artifact && *s->artifact != '/') /* one of the parent's: it counts when that is done */
        return PARENT_DONE;
    if (!s->parent_gate)
        return config_policy(engine_config(batch->engine))->parent_gate;
    return strcmp(s->parent_gate, "none") == 0 ? PARENT_NONE : PARENT_DONE;
}

/* The number in the id of a task that does not exist; 0: none. */
static task_id number_in(const char *id) {
    const char *dash = strrchr(id, '-');
    int64_t number = 0;
    const char *digits = dash ? dash + 1 : id;
    bool plain = *digits != '\0' && strspn(digits, "0123456789") == strlen(digits);
    return plain && number_parse_int(digits, &number, NULL) == 0 ? (task_id)number : 0;
}

/* Finds another task by its name or external id in the batch, or by id. A run gets the same error
 * for an unknown task and for one that it does not see. */
static int resolve(const struct batch *batch, const struct submission *s, const char *name,
                   task_id *ret_task, struct error *err) {
    uint32_t index = id_map_find(&batch->names, hash_bytes(name, strlen(name)), name);
    task_id beside = index ? batch->entries[index - 1].spec.id
                           : find_in_batch(batch, &(struct external_key){ s->project, name });
    task_id found = beside ? beside : op_find_task(batch->run, batch->engine, name, err);
    if (batch->run && !beside && !capability_finds(batch->run, found))
        return error_set(err, -EACCES, "'%s' is not below '%s': a run knows of nothing else",
                         utf8_quote(name).text, batch->run->caller);
    *ret_task = found;
    return found ? 0 : err->code;
}

static int link_parent(const struct batch *batch, struct submission *s, struct error *err) {
    const char *name = s->parent;
    int r = resolve(batch, s, name, &s->spec.parent, err);
    if (r == -EACCES)
        return error_prefix(err, "'parent'");
    if (r < 0)
        return error_prefix(err, "parent '%s'", utf8_quote(name).text);
    if (s->spec.parent == s->spec.id)
        return error_set(err, -ELOOP, "task '%s' is its own parent", utf8_quote(name).text);
    struct task_view parent;
    if (batch->force || !s->project_row
        || !core_task(engine_core(batch->engine), s->spec.parent, &parent)
        || parent.project == s->project_row->symbol)
        return 0;
    return error_set(err, -EPERM, "parent '%s' is in another project than '%s'; force overrides",
                     utf8_quote(name).text, s->project_row->name);
}

static int link_dependency(const struct batch *batch, const struct submission *s, const char *name,
                           task_id *ret_task, struct error *err) {
    int r = resolve(batch, s, name, ret_task, err);
    if (r == -ENOENT && batch->force)
        *ret_task = number_in(name);
    if (*ret_task)
        return 0;
    if (r == -EACCES || r == -ENOTUNIQ)
        return error_prefix(err, "'depends_on'");
    return r == -ENOENT ? error_set(
               err, -ENOENT,
               "it depends on '%s', which does not exist; use force to let it wait for that task",
               utf8_quote(name).text)
                        : error_set(
                            err, -EINVAL,
                            "it depends on '%s', which is neither an id nor a name of this batch",
                            utf8_quote(name).text);
}

/* What its parent would wait for, it waits for. */
static void link_candidate(const struct batch *batch, struct submission *s, task_id *on) {
    const struct task_spec *of = &batch->entries[s->candidate_of - 1].spec;
    s->spec.parent = of->id;
    s->spec.parent_gate = PARENT_NONE;
    if (of->parent && of->parent_gate == PARENT_DONE)
        on[s->spec.depends_on_count++] = of->parent;
}

static int submission_link(struct batch *batch, struct submission *s, struct error *err) {
    int r = s->parent ? link_parent(batch, s, err) : 0;
    size_t most = s->depends_names.count + 1; /* for the parent of a candidate */
    bool has_any = s->candidate_of || s->depends_names.count > 0;
    task_id *on = has_any ? arena_alloc(batch->arena, most * sizeof(*on)) : NULL;
    s->spec.parent_gate = parent_gate_of(batch, s);
    s->spec.depends_on = on;
    s->spec.depends_on_count = 0;
    if (s->candidate_of)
        link_candidate(batch, s, on);
    for (size_t i = 0; r == 0 && i < s->depends_names.count; i++) {
        task_id task = 0;
        r = link_dependency(batch, s, s->depends_names.items[i], &task, err);
        if (r == 0 && task == s->spec.id)
            r = error_set(err, -ELOOP, "task '%s' depends on itself",
                          utf8_quote(s->depends_names.items[i]).text);
        bool twice = false; /* by its name and by its id */
        for (size_t k = 0; k < s->spec.depends_on_count; k++)
            twice = twice || on[k] == task;
        if (r == 0 && !twice)
            on[s->spec.depends_on_count++] = task;
    }
    return r;
}

/* Calls `check` for each task that will be added. */
static int each_new(struct batch *batch,
                    int (*check)(struct batch *batch, struct submission *s, struct error *err),
                    struct error *err) {
    int r = 0;
    for (size_t i = 0; r == 0 && i < batch->count; i++) {
        const struct submission *s = &batch->entries[i];
        batch->index = s->candidate_of ? s->candidate_of - 1 : i;
        if (submission_is_new(s))
            r = check(batch, &batch->entries[i], err);
    }
    return r;
}

static int number_and_link(struct batch *batch, struct error *err) {
    batch->added = batch->queued = 0;
    id_map_finish(&batch->externals);
    id_map_init(&batch->externals, same_external, batch);
    for (size_t i = 0; i < batch->count; i++)
        assign_number(batch, &batch->entries[i]);
    return batch->keeps_links ? 0 : each_new(batch, submission_link, err);
}

/* --- cycles, and room in the queue ----------------------------------------------------------- */

void needs_init(struct needs *needs, size_t node_count) {
    *needs = (struct needs){ .starts = xcalloc(node_count + 1, sizeof(*needs->starts)),
                             .waits = xcalloc(node_count + 1, sizeof(*needs->waits)),
                             .deferred = xcalloc(node_count + 1, sizeof(*needs->deferred)) };
}

void needs_finish(struct needs *needs) {
    free(needs->starts);
    free(needs->targets);
    free(needs->waits);
    free(needs->deferred);
}

void needs_begin(struct needs *needs, bool waits) {
    needs->waits[needs->node_count++] = waits;
    needs->starts[needs->node_count] = needs->count;
}

void needs_add(struct needs *needs, size_t target) {
    needs->targets =
        xgrow(needs->targets, &needs->capacity, needs->count + 1, sizeof(*needs->targets));
    needs->targets[needs->count++] = (uint32_t)target;
    needs->starts[needs->node_count] = needs->count;
}

size_t needs_defer(struct needs *needs, amount room) {
    struct admit_request request = { .starts = needs->starts,
                                     .targets = needs->targets,
                                     .waits = needs->waits,
                                     .node_count = needs->node_count,
                                     .room = room };
    return admit_fill(&request, needs->deferred);
}

static void add_need(const struct batch *batch, task_id task, struct needs *needs) {
    const struct submission *target = batch_entry_of(batch, task);
    if (target)
        needs_add(needs, (size_t)(target - batch->entries));
}

/* What each entry waits for; `to_store`: what must be stored with it, too, which is its parent or,
 * for a duplicate, the other entry with its external id. */
static void find_needs(const struct batch *batch, bool to_store, struct needs *ret) {
    needs_init(ret, batch->count);
    for (size_t i = 0; i < batch->count; i++) {
        const struct submission *s = &batch->entries[i];
        needs_begin(ret, submission_is_new(s) && s->spec.state == TASK_WAITING);
        for (size_t d = 0; submission_is_new(s) && d < s->spec.depends_on_count; d++)
            add_need(batch, s->spec.depends_on[d], ret);
        if (submission_is_new(s) && (to_store || s->spec.parent_gate == PARENT_DONE))
            add_need(batch, s->spec.parent, ret);
        if (s->already && to_store)
            add_need(batch, s->spec.id, ret);
    }
}

/* With `partial`. A task must not wait for one that was not stored, so it is deferred with it. */
static void defer_entries(struct batch *batch) {
    _cleanup_(needs_finish) struct needs needs;
    find_needs(batch, true, &needs);
    batch->deferred = needs_defer(&needs, batch->room);
    for (size_t i = 0; i < batch->count; i++)
        batch->entries[i].deferred = needs.deferred[i];
}

static void print_entry(const struct submission *s, struct strbuf *out) {
    if (s->name)
        strbuf_puts(out, utf8_quote(s->name).text);
    else
        strbuf_printf(out, "#%" PRIu64, s->spec.id);
}

#define CYCLE_SHOWN 8 /* longer cycles are truncated */

/* A cycle through stored tasks cannot arise, because no stored task waits for one that does not
 * exist yet; where that was forced, the core refuses the batch. */
static int check_cycles(struct batch *batch, struct error *err) {
    _cleanup_(needs_finish) struct needs needs;
    _cleanup_(freep) uint32_t *path = NULL;
    size_t length = 0;
    find_needs(batch, false, &needs);
    if (needs.count == 0
        || !cycle_find(needs.starts, needs.targets, needs.node_count, &path, &length))
        return 0;
    _cleanup_(strbuf_finish) struct strbuf cycle = STRBUF_INIT;
    for (size_t i = 0; i < length && i < CYCLE_SHOWN; i++) {
        print_entry(&batch->entries[path[i]], &cycle);
        strbuf_puts(&cycle, " -> ");
    }
    if (length > CYCLE_SHOWN)
        strbuf_printf(&cycle, "… (%zu tasks) -> ", length);
    batch->index = path[0];
    print_entry(&batch->entries[batch->index], &cycle);
    return error_set(err, -ELOOP, "dependency cycle detected: %s", strbuf_text(&cycle));
}

/* --- the spec -------------------------------------------------------------------------------- */

#define TITLE_MADE 80 /* maximum bytes of a generated title */

/* Adds the characters that fit, up to `end` (or NUL); controls become spaces. False: it is full. */
static bool add_to_title(char made[TITLE_MADE], size_t *length, const char *text, char end) {
    for (size_t size; *text && *text != end; text += size) {
        size = utf8_length(text, strnlen(text, 4));
        bool plain = size > 0 && !utf8_is_control(text, size);
        if ((plain ? size : 1) > TITLE_MADE - *length)
            return false;
        memcpy(made + *length, plain ? text : " ", plain ? size : 1);
        *length += plain ? size : 1;
        size = size > 0 ? size : 1;
    }
    return true;
}

/* The first line of the prompt, or the command. */
static const char *make_title(const struct submission *s, struct arena *arena) {
    char made[TITLE_MADE];
    size_t length = 0;
    bool fits = true;
    if (s->prompt)
        (void)add_to_title(made, &length, s->prompt + strspn(s->prompt, " \t\r\n"), '\n');
    for (size_t i = 0; fits && i < json_array_size(s->argv); i++)
        fits = (i == 0 || add_to_title(made, &length, " ", '\0'))
               && add_to_title(made, &length, json_string_value(json_array_get(s->argv, i)), '\0');
    return arena_strndup(arena, made, length);
}

static enum until until_of(const struct batch *batch, const struct submission *s) {
    if (!s->until)
        return config_until(engine_config(batch->engine), s->kind ? s->kind : "");
    enum until until = UNTIL_EXIT;
    while (strcmp(until_name(until), s->until) != 0)
        until++;
    return until;
}

/* As sent, without spaces between tokens. */
static int fill_stored(const struct batch *batch, struct submission *s, struct error *err) {
    char text[SUBMISSION_SPEC_MAX];
    size_t size = s->span.from ? json_span_copy(&s->span, text, sizeof(text))
                               : json_dumpb(s->json, text, sizeof(text), JSON_COMPACT);
    if (size > sizeof(text))
        return error_set(err, -E2BIG, "the task has %zu bytes; maximum is %zu", size, sizeof(text));
    s->stored = arena_strndup(batch->arena, text, size);
    return 0;
}

/* The members of the spec that other tasks do not determine, and what is stored of the task. */
static int submission_complete(struct batch *batch, struct submission *s, struct error *err) {
    const struct policy *policy = config_policy(engine_config(batch->engine));
    struct task_spec *spec = &s->spec;
    time_ms now = engine_now(batch->engine);
    spec->priority = (int32_t)given_or(s->priority, PRIORITY_USUAL);
    spec->created_at = time_min(given_or(s->created_at, now), now);
    spec->ready_since = now;
    spec->iteration = (uint32_t)given_or(s->iteration, 1);
    spec->until = until_of(batch, s);
    spec->parallelizable = given_or(s->parallelizable, !policy->serial) != 0;
    spec->review = s->review == 1;
    spec->bound = s->argv || (s->failover && strcmp(s->failover, "none") == 0);
    spec->retry_max = (int32_t)given_or(s->retries, -1);
    if (s->artifact && *s->artifact != '/')
        spec->parent_iteration = submission_artifact_iteration(s->artifact);
    if (!s->title || !*s->title)
        s->title = make_title(s, batch->arena);
    int r = choose_executor(batch, s, err);
    return r < 0 ? r : fill_stored(batch, s, err);
}

/* --- batches --------------------------------------------------------------------------------- */

void batch_finish(struct batch *batch) {
    id_map_finish(&batch->names);
    id_map_finish(&batch->externals);
    json_decref(batch->made);
    batch->made = NULL;
}

/* A name in the batch takes precedence over an equal id: the author meant the task in the same
 * file. */
static int remember_name(struct batch *batch, const char *name, size_t index, struct error *err) {
    uint64_t hash = hash_bytes(name, strlen(name));
    uint32_t other = id_map_find(&batch->names, hash, name);
    if (other)
        return error_set(err, -EINVAL, "two tasks of this batch are called '%s': %u and %zu",
                         utf8_quote(name).text, other - 1, index);
    id_map_add(&batch->names, hash, (uint32_t)index + 1);
    return 0;
}

/* Behind the tasks of the request, so that those keep their positions. */
static int read_candidates(struct batch *batch, struct error *err) {
    struct submission *requested = batch->entries;
    size_t more = 0;
    for (size_t i = 0; i < batch->requested; i++)
        more += candidates_count(&requested[i]);
    if (more == 0)
        return 0;
    if (batch->no_best_of)
        return error_set(err, -EINVAL,
                         "'best_of' is for tasks that are added: not for steps, nor for a draft "
                         "that moves to another project");
    if (batch->partial)
        return error_set(err, -EINVAL, "'partial' and 'best_of' cannot be used together");
    if (batch->requested + more > SUBMISSION_BATCH_MAX)
        return error_set(err, -E2BIG, "with their candidates these are %zu tasks; maximum is %u",
                         batch->requested + more, SUBMISSION_BATCH_MAX);
    batch->made = json_array();
    batch->entries = arena_alloc(batch->arena, (batch->requested + more + 1) * sizeof(*requested));
    memcpy(batch->entries, requested, batch->requested * sizeof(*requested));
    for (size_t i = 0; i < batch->requested; i++) {
        struct submission *of = &batch->entries[i];
        for (size_t k = 0; k < candidates_count(of); k++) {
            struct submission *s = &batch->entries[batch->count++];
            json_t *task = candidates_make(of, k);
            json_array_append_new(batch->made, task);
            batch->index = i;
            s->candidate_of = i + 1;
            int r = submission_read(batch, task, (struct json_span){ 0 }, s, err);
            if (r < 0)
                return r;
        }
        candidates_hold_parent(of);
    }
    return 0;
}

int batch_read(struct batch *batch, json_t *tasks, const char *body, struct error *err) {
    const char *list = body ? json_span_member(body, "tasks") : NULL, *at = NULL;
    batch->count = batch->requested = json_array_size(tasks);
    batch->entries = arena_alloc(batch->arena, (batch->count + 1) * sizeof(*batch->entries));
    id_map_init(&batch->names, same_name, batch);
    for (size_t i = 0; i < batch->count; i++) {
        struct submission *s = &batch->entries[i];
        struct json_span span = { 0 };
        batch->index = i;
        if (list)
            (void)json_span_next(list, &at, &span);
        int r = submission_read(batch, json_array_get(tasks, i), span, s, err);
        if (r == 0 && s->name && !batch->keeps_links)
            r = remember_name(batch, s->name, i, err);
        if (r < 0)
            return r;
    }
    return read_candidates(batch, err);
}

int batch_check(struct batch *batch, struct error *err) {
    batch->first = engine_next_task(batch->engine) + batch->skip;
    batch->by_number = arena_alloc(batch->arena, (batch->count + 1) * sizeof(*batch->by_number));
    int r = each_new(batch, submission_check, err);
    if (r == 0)
        r = number_and_link(batch, err);
    if (r == 0 && batch->partial)
        defer_entries(batch);
    if (r == 0 && batch->deferred > 0) /* the numbers have no gaps */
        r = number_and_link(batch, err);
    if (r == 0)
        r = check_cycles(batch, err);
    return r == 0 ? each_new(batch, submission_complete, err) : r;
}

int batch_check_edit(struct batch *batch, struct error *err) {
    struct submission *s = &batch->entries[0];
    int r = check_names(batch, s, err);
    if (!s->title || !*s->title)
        s->title = make_title(s, batch->arena);
    return r < 0 ? r : fill_stored(batch, s, err);
}

enum engine_on_budget submission_on_budget(const char *word) {
    if (!word)
        return ON_BUDGET_AS_CONFIGURED;
    return strcmp(word, "stop") == 0 ? ON_BUDGET_STOP : ON_BUDGET_HOLD;
}

bool submission_has_limits(const struct engine_limits *limits) {
    return limits->task.tokens != ALLOWANCE_NONE || limits->task.usd != ALLOWANCE_NONE
           || limits->run.tokens != ALLOWANCE_NONE || limits->run.usd != ALLOWANCE_NONE
           || limits->on_budget != ON_BUDGET_AS_CONFIGURED;
}

int batch_add(struct batch *batch, const char *group, struct error *err) {
    struct engine *engine = batch->engine;
    bool unnamed = !group && batch->makes_group && batch->added > 0;
    bool made = unnamed || (group && !engine_find_group(engine, group));
    int r = group || unnamed ? engine_open_group(engine, group, false, &batch->group, err) : 0;
    for (size_t i = 0; batch->group && i < batch->count; i++)
        batch->entries[i].spec.group = batch->group;
    if (r == 0 && batch->makes_default)
        r = engine_add_project(engine, DEFAULT_PROJECT, NULL, err);
    if (r == 0)
        r = engine_add_tasks(engine, batch->entries, batch->count, err);
    if (r < 0 && made)
        engine_take_back_group(engine, batch->group);
    if (r < 0)
        return r;
    if (batch->run && !batch->imports)
        children_added(batch);
    for (size_t i = 0; i < batch->count; i++) {
        const struct submission *s = &batch->entries[i];
        struct engine_limits limits = {
            .task = { given_or(s->tokens, ALLOWANCE_NONE), given_or(s->usd, ALLOWANCE_NONE) },
            .run = { given_or(s->run_tokens, ALLOWANCE_NONE),
                     given_or(s->run_usd, ALLOWANCE_NONE) },
            .on_budget = submission_on_budget(s->on_budget),
        };
        if (submission_is_new(s) && submission_has_limits(&limits))
            engine_set_limits(engine, s->spec.id, &limits);
    }
    candidates_added(batch);
    return 0;
}
