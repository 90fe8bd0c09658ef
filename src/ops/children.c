/* children.c: tasks added by a run, with its token or by a spawn file. See children.h. */
#include "ops/children.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/arena.h"
#include "base/macros.h"
#include "base/money.h"
#include "engine/agents.h"
#include "engine/allowance.h"
#include "engine/descendants.h"
#include "engine/engine.h"
#include "engine/escalation.h"
#include "engine/executors.h"
#include "engine/imports.h"
#include "engine/loops.h"
#include "engine/redaction.h"
#include "engine/run_token.h"
#include "engine/sandboxes.h"
#include "ops/op_internal.h"
#include "ops/rights.h"
#include "os/outside.h"
#include "taskfile/task_member.h"
#include "taskfile/taskfile.h"

/* --- members --------------------------------------------------------------------------------- */

static const char *text_of(const json_t *object, const char *member) {
    return json_string_value(json_object_get(object, member));
}

/* NULL: leaves the member out. */
static void set_text(json_t *object, const char *member, const char *text) {
    if (text)
        json_object_set_new(object, member, json_string(text));
}

static bool allows_commands(const struct engine *engine) {
    return config_number(engine_config(engine), "capability.commands", NULL) != 0;
}

/* `source`: one of CHILD_…; each member has its own (task_members_read). -EACCES names the
 * member. */
static int child_check_members(const struct engine *engine, unsigned source, const json_t *task,
                               struct error *err) {
    bool allowed = allows_commands(engine);
    const char *member;
    json_t *value;
    json_object_foreach((json_t *)task, member, value) {
        const struct task_member *m = task_member_find(member);
        unsigned by = m ? m->child : 0;
        if (json_is_null(value) || (by & source) || (allowed && (by & CHILD_IF_ALLOWED)))
            continue;
        return error_set(err, -EACCES, "'%s': %s", utf8_quote(member).text,
                         m && m->why ? m->why : "a run may not set this of a child");
    }
    return 0;
}

/* A list names agents that it may choose. */
static int child_check_steps(const struct engine *engine, const char *own, const json_t *steps,
                             struct error *err) {
    int r = 0;
    for (size_t i = 0; r == 0 && i < json_array_size(steps); i++) {
        const char *step = json_string_value(json_array_get(steps, i));
        char *agent = xstrndup(step ? step : "", step ? strcspn(step, ":") : 0);
        if (*agent && !op_knows(engine, op_agent_at, agent) && !(own && strcmp(own, agent) == 0))
            r = error_set(err, -EACCES, "'escalate': agent '%s' is not configured",
                          utf8_quote(agent).text);
        free(agent);
    }
    return r;
}

/* Built-in agents need no configuration; a run may use one that the owner has configured or
 * uses. */
static int child_check_agent(const struct engine *engine, const char *own, const json_t *task,
                             struct error *err) {
    const char *agent = text_of(task, "agent");
    int r = child_check_steps(engine, own, json_object_get(task, "escalate"), err);
    if (r < 0)
        return r;
    if (!agent || op_knows(engine, op_agent_at, agent) || (own && strcmp(own, agent) == 0))
        return 0;
    return error_set(err, -EACCES, "'agent': agent '%s' is not configured", utf8_quote(agent).text);
}

/* Compares strings; a path with ".." is never inside. */
static bool is_inside(const char *folder, const char *path) {
    size_t length = strlen(folder);
    while (length > 0 && folder[length - 1] == '/')
        length--;
    if (strncmp(folder, path, length) != 0 || (path[length] != '/' && path[length] != '\0'))
        return false;
    for (const char *at = path; (at = strstr(at, "/..")); at += 3)
        if (at[3] == '/' || at[3] == '\0')
            return false;
    return true;
}

/* --- what a child inherits ------------------------------------------------------------------- */

/* The task whose run adds children, and what they have unless they set it themselves. */
struct parent {
    task_id task;
    unsigned source; /* CHILD_… */
    char id[ENGINE_ID_MAX];
    const char *agent;
    json_t *defaults;
    time_ms timeout, idle; /* limits of its children; 0: none but that of their agent */
};

/* {"sandbox", "root"}; NULL: the task's run is not in a sandbox. */
static json_t *sandbox_of(struct engine *engine, task_id task) {
    const char *root = NULL, *sandbox = engine_run_sandbox(engine, task, &root);
    struct engine_sandboxes here;
    if (!sandbox) { /* unknown: assume the default one */
        engine_sandboxes(engine, &here);
        sandbox = here.automatic;
    }
    if (strcmp(sandbox, "none") == 0)
        return NULL;
    json_t *inside = json_object();
    set_text(inside, "sandbox", sandbox);
    set_text(inside, "root", root);
    return inside;
}

int child_check_inside(const json_t *value, struct error *err) {
    static const char *const kinds[] = { "bubblewrap", "podman", "wrap" };
    const char *kind = "", *root = "/";
    bool known = false;
    if (json_unpack((json_t *)(uintptr_t)value, "{s:s, s?s!}", "sandbox", &kind, "root", &root)
        == 0)
        for (size_t i = 0; i < ARRAY_SIZE(kinds); i++)
            known = known || strcmp(kinds[i], kind) == 0;
    return known && *root == '/'
               ? 0
               : error_set(err, -EINVAL, "'inside' must be an object with 'sandbox' and 'root'");
}

/* null means not given. */
static bool is_given(const json_t *task, const char *member) {
    const json_t *value = json_object_get(task, member);
    return value && !json_is_null(value);
}

/* 0 means no limit. */
static time_ms limit_of(time_ms span) {
    return span == 0 ? TIME_NEVER : span;
}

static time_ms configured_timeout(const struct engine *engine, const char *agent) {
    const struct config *config = engine_config(engine);
    return agent ? config_number(config, "agents.A.timeout_s", agent)
                 : config_number(config, "tasks.timeout_s", NULL);
}

/* A child that requests more is refused; one without a limit inherits its parent's, if that is
 * below the configured one. */
static int limit_span(json_t *task, const char *member, time_ms of_agent, time_ms of_parent,
                      struct error *err) {
    const json_t *given = json_object_get(task, member);
    time_ms most = time_min(of_agent, limit_of(of_parent));
    if (most == TIME_NEVER)
        return 0;
    if (!json_is_number(given)) {
        if (most < of_agent)
            json_object_set_new(task, member, json_real((double)most / 1000.0));
        return 0;
    }
    if (json_number_value(given) * 1000.0 <= (double)most)
        return 0;
    return error_set(err, -EACCES, "'%s': the maximum for a child is %g s, that of its %s", member,
                     (double)most / 1000.0, most < of_agent ? "parent" : "agent");
}

/* The last step of both ways to add a child. The agent is that of a prompt; a child that says where
 * it runs does not inherit the partition. */
static int inherit(const struct engine *engine, const struct parent *p, json_t *task,
                   struct error *err) {
    const char *member;
    json_t *value;
    bool has_prompt = is_given(task, "prompt"), has_executor = is_given(task, "executor");
    json_object_foreach(p->defaults, member, value) {
        bool applies = strcmp(member, "agent") == 0   ? has_prompt
                       : strcmp(member, "slurm") == 0 ? !has_executor
                                                      : true;
        if (applies && !is_given(task, member))
            (void)json_object_set(task, member, value);
    }
    time_ms timeout = configured_timeout(engine, text_of(task, "agent"));
    time_ms idle = config_number(engine_config(engine), "tasks.idle_timeout_s", NULL);
    int r = limit_span(task, "timeout_s", timeout, p->timeout, err);
    return r < 0 ? r : limit_span(task, "idle_timeout_s", idle, p->idle, err);
}

static int check_group(const struct engine *engine, const struct parent *p, const char *name,
                       struct error *err) {
    struct task_spec spec = { 0 };
    (void)core_task_spec(engine_core(engine), p->task, &spec);
    const char *own = op_group_name(engine, spec.group);
    return !name || (own && strcmp(own, name) == 0)
               ? 0
               : error_set(err, -EACCES, "'group': children of a run are in its own group");
}

/* --- a child added with the token of its run ------------------------------------------------- */

/* Everything that a run may not choose comes from its own task. */
struct token_parent {
    struct parent p;
    struct task_view view;
    const char *project, *kind, *folder;
    bool in_workspace;
    struct strbuf folder_text; /* where it works, if not in a workspace; "": unknown */
};

static void token_parent_finish(struct token_parent *parent) {
    json_decref(parent->p.defaults);
    strbuf_finish(&parent->folder_text);
}

/* A child may not run longer than its agent may (agents.A.timeout_s), nor longer than the run
 * itself if the owner gave that run less than the configured time: a run must not avoid its own
 * deadline by delegating to a child. */
static void find_spans(const struct engine *engine, const struct task_spec *spec,
                       struct parent *p) {
    time_ms idle = config_number(engine_config(engine), "tasks.idle_timeout_s", NULL);
    const char *agent = op_name_of(engine, spec->run_agent ? spec->run_agent : spec->agent);
    if (!engine_run_spans_of(engine, p->task, &p->timeout, &p->idle))
        p->timeout = p->idle = 0;
    if (limit_of(p->timeout) >= configured_timeout(engine, agent))
        p->timeout = 0;
    if (limit_of(p->idle) >= idle)
        p->idle = 0;
}

static void find_parent(struct op_call *call, struct token_parent *ret) {
    struct engine *engine = call->engine;
    struct engine_workspace workspace = { 0 };
    struct task_spec spec = { 0 };
    struct parent *p = &ret->p;
    *ret = (struct token_parent){ .p = { .task = call->run.task, .source = CHILD_TOKEN } };
    (void)core_task(engine_core(engine), p->task, &ret->view);
    (void)core_task_spec(engine_core(engine), p->task, &spec);
    engine_task_id(engine, p->task, p->id);
    ret->project = op_name_of(engine, ret->view.project);
    ret->kind = op_name_of(engine, ret->view.kind);
    /* A failover agent applies to this run only, and an escalation to this task. */
    sym own = engine_own_agent(&spec);
    p->agent = op_name_of(engine, own ? own : spec.run_agent);
    find_spans(engine, &spec, p);
    engine_workspace(engine, p->task, &workspace);
    ret->in_workspace = workspace.path != NULL;
    engine_workspace_finish(&workspace);
    if (!ret->in_workspace)
        (void)engine_run_folder_of(engine, p->task, &ret->folder_text);
    ret->folder = strbuf_text(&ret->folder_text);
    json_t *defaults = p->defaults = json_object();
    set_text(defaults, "project", ret->project);
    json_object_set_new(defaults, "priority", json_integer(ret->view.priority));
    set_text(defaults, "cwd", *ret->folder ? ret->folder : NULL);
    set_text(defaults, "parent_gate", "none");
    if (engine_executor_kind(engine, p->task) == EXECUTOR_SLURM) {
        /* Children of a run in Slurm also run there: that is where its files are. */
        const char *partition = engine_partition(engine, p->task);
        set_text(defaults, "executor", "slurm");
        if (partition)
            json_object_set_new(defaults, "slurm", json_pack("{s:s}", "partition", partition));
    }
    json_object_set_new(defaults, "inside", sandbox_of(engine, p->task));
    set_text(defaults, "parent", p->id);
    if (spec.agent || !engine_has_roster(engine)) /* else any agent of the roster may take it */
        set_text(defaults, "agent", p->agent);
}

static int64_t base_score(const struct op_call *call, const char *kind) {
    const struct config *config = engine_config(call->engine);
    return kind ? config_number(config, "kinds.K.base", kind)
                : config_number(config, "score.base", NULL);
}

/* What a run adds does not go before its own task in the queue. */
static int check_rank(struct op_call *call, const struct token_parent *parent, const json_t *task) {
    const json_t *priority = json_object_get(task, "priority");
    const char *kind = text_of(task, "kind"), *id = parent->p.id;
    if (json_is_integer(priority) && json_integer_value(priority) < parent->view.priority)
        return op_fail(call, -EACCES, "'priority': %" PRId64 " would go before '%s', which has %d",
                       (int64_t)json_integer_value(priority), id, parent->view.priority);
    if (kind && config_has_kind(engine_config(call->engine), kind)
        && base_score(call, kind) > base_score(call, parent->kind))
        return op_fail(call, -EACCES, "'kind': '%s' would go before '%s'", utf8_quote(kind).text,
                       id);
    return 0;
}

/* A child stays in the parent's project and folder. */
static int check_token_child(struct op_call *call, const struct token_parent *parent,
                             const json_t *task) {
    const char *project = text_of(task, "project"), *cwd = text_of(task, "cwd");
    const char *gate = text_of(task, "parent_gate"), *until = text_of(task, "until");
    const char *id = parent->p.id;
    if (project && strcmp(project, parent->project) != 0)
        return op_fail(call, -EACCES, "'project': '%s' belongs to '%s', and so do its children", id,
                       parent->project);
    if (!*parent->folder && !parent->in_workspace)
        return op_fail(call, -EACCES,
                       "'cwd': the folder of run '%s' is unknown because its lock file was "
                       "changed; it cannot add children",
                       call->caller);
    if (cwd && (!*parent->folder || !is_inside(parent->folder, cwd)))
        return op_fail(call, -EACCES, "'cwd': '%s' is not in the folder of run '%s'",
                       utf8_quote(cwd).text, call->caller);
    if (gate && strcmp(gate, "none") != 0)
        return op_fail(call, -EACCES, "'parent_gate': children of a run may start beside it: none");
    int r = check_rank(call, parent, task);
    if (r == 0)
        r = child_check_agent(call->engine, parent->p.agent, task, &call->err);
    if (r == 0 && until && strcmp(until, "exit") != 0 && strcmp(until, "done") != 0)
        r = op_fail(call, -EACCES, "'until': children of a run must use exit or done");
    return r;
}

/* Each task alone: the members that its source may set, `check`, and what it inherits. */
static int complete_tasks(struct op_call *call, const struct token_parent *parent,
                          int (*check)(struct op_call *call, const struct token_parent *parent,
                                       const json_t *task)) {
    json_t *tasks = json_object_get(call->params, "tasks"), *task;
    struct task_read_options reading = { .source.now = engine_now(call->engine) };
    size_t index;
    bool changed;
    if (op_flag(call, "force"))
        return op_fail(call, -EACCES, "'force': a run cannot override guards");
    json_object_del(call->params, OP_BODY); /* store the completed form */
    json_array_foreach(tasks, index, task) {
        call->index = (int64_t)index;
        if (!json_is_object(task))
            continue; /* batch_read refuses it */
        int r = child_check_members(call->engine, parent->p.source, task, &call->err);
        if (r == 0) /* the following checks compare numbers */
            r = task_members_read(task, &reading, &changed, &call->err);
        if (r == 0)
            r = check(call, parent, task);
        if (r == 0)
            r = inherit(call->engine, &parent->p, task, &call->err);
        if (r < 0)
            return r;
    }
    call->index = -1;
    return 0;
}

int children_complete(struct op_call *call) {
    _cleanup_(token_parent_finish) struct token_parent parent;
    find_parent(call, &parent);
    int r = check_group(call->engine, &parent.p, op_text(call, "group"), &call->err);
    return r < 0 ? r : complete_tasks(call, &parent, check_token_child);
}

/* --- how many and how deep ------------------------------------------------------------------- */

/* The number of ancestors that added it as a run, and the first of them. */
static uint32_t level_of(const struct core *core, task_id task, task_id *ret_top) {
    uint32_t level = 0;
    while (is_handed_down(core, task, &task))
        level++;
    *ret_top = task;
    return level;
}

static bool count_one(void *ctx, task_id task) {
    (void)task;
    int64_t *left = ctx;
    return --*left > 0;
}

static int check_count(struct op_call *call, task_id top, size_t added) {
    int64_t most = config_number(engine_config(call->engine), "capability.children", NULL);
    int64_t left = most;
    if (left > 0)
        descendants_walk(engine_core(call->engine), top, count_one, &left);
    if ((int64_t)added <= left)
        return 0;
    return op_fail(call, -EACCES,
                   "runs may add %" PRId64 " tasks below '%s' in total, and %" PRId64
                   " are left (capability.children)",
                   most, op_id(call, top), left > 0 ? left : 0);
}

static int check_entry(struct op_call *call, const struct batch *batch,
                       const struct submission *entry, uint32_t level) {
    int64_t most = config_number(engine_config(call->engine), "capability.depth", NULL);
    const char *name = entry->parent;
    const struct submission *above;
    for (size_t up = 0; (above = batch_entry_of(batch, entry->spec.parent)); up++, level++) {
        if (up == batch->count)
            return op_fail(call, -ELOOP, "'parent': tasks would be ancestors of each other");
        entry = above;
    }
    if (entry->spec.parent != call->run.task)
        return op_fail(call, -EACCES, "'parent': run '%s' adds below itself, not below '%s'",
                       call->caller, utf8_quote(name ? name : "").text);
    if (level + 1 > most)
        return op_fail(
            call, -EACCES,
            "it would be %u levels below the task that a person added; maximum is %" PRId64
            " (capability.depth)",
            level + 1, most);
    return 0;
}

/* Canceling a task includes descendants that are added later. */
static int check_alive(struct op_call *call) {
    const struct core *core = engine_core(call->engine);
    uint32_t attempt;
    struct task_spec spec;
    if (engine_find_token(call->engine, call->run.token, &attempt) != call->run.task)
        return op_fail(call, -EACCES, "run '%s' has ended, so its token is no longer valid",
                       call->caller);
    for (task_id at = call->run.task; core_task_spec(core, at, &spec); at = spec.parent)
        if (spec.stop != STOP_NONE || spec.state == TASK_CANCELED || spec.state == TASK_INVALIDATED)
            return op_fail(call, -EACCES, "task '%s' is canceled: it accepts no more children",
                           op_id(call, at));
    return 0;
}

/* The children of a task share the slots of a key of their own. */
static int limit_running(struct op_call *call, struct submission *s) {
    if (s->resource_names.count >= SUBMISSION_RESOURCES_MAX)
        return op_fail(call, -EACCES, "too many 'resources' for a child of a run; maximum is %u",
                       SUBMISSION_RESOURCES_MAX - 1);
    const char *key = arena_printf(op_arena(call), CHILDREN_KEY "%s-%" PRIu64,
                                   s->project_row->prefix, s->spec.parent);
    submission_add_resource(s, key, op_arena(call));
    return 0;
}

/* --- tokens and money ------------------------------------------------------------------------ */

/* What the run may still delegate; for a task that a user added, the configured loan. */
static struct engine_amounts left_for_children(const struct op_call *call, task_id top) {
    const struct config *config = engine_config(call->engine);
    struct engine_amounts left = engine_budget_left(call->engine, call->run.task);
    int64_t tokens = config_number(config, "capability.tokens", NULL);
    int64_t usd = config_number(config, "capability.usd", NULL);
    if (call->run.task == top && left.tokens == ALLOWANCE_NONE && tokens != UNLIMITED)
        left.tokens = tokens;
    if (call->run.task == top && left.usd == ALLOWANCE_NONE && usd != UNLIMITED)
        left.usd = usd;
    return left;
}

/* A child's budget is taken from its parent. Tokens that are not given are the estimate of a run;
 * its cost cannot be estimated: it is given, or configured for every task. */
static int check_budgets(struct op_call *call, struct batch *batch, struct engine_amounts left) {
    const struct config *config = engine_config(call->engine);
    bool limits_tokens = left.tokens != ALLOWANCE_NONE, limits_usd = left.usd != ALLOWANCE_NONE;
    struct engine_amounts sum = { 0 };
    for (size_t i = 0; i < batch->count; i++) {
        struct submission *s = &batch->entries[i];
        int64_t usual = config_number(config, "projects.P.task_usd", s->project);
        batch->index = i;
        if (limits_tokens)
            s->tokens = given_or(s->tokens, config_number(config, "fair.run_tokens", NULL));
        if (limits_usd && usual != UNLIMITED)
            s->usd = given_or(s->usd, usual);
        if (limits_usd && s->usd == SUBMISSION_NOT_GIVEN)
            return op_fail(call, -EACCES, "'usd' is required: '%s' has a budget in dollars",
                           op_id(call, call->run.task));
        sum.tokens += given_or(s->tokens, 0);
        sum.usd += given_or(s->usd, 0);
    }
    if (limits_tokens && sum.tokens > left.tokens)
        return op_fail(call, -EACCES,
                       "'tokens': %" PRId64 " requested, but '%s' has %" PRId64 " left", sum.tokens,
                       op_id(call, call->run.task), left.tokens);
    if (!limits_usd || sum.usd <= left.usd)
        return 0;
    _cleanup_(strbuf_finish) struct strbuf wanted = STRBUF_INIT, rest = STRBUF_INIT;
    money_put(&wanted, sum.usd);
    money_put(&rest, left.usd);
    return op_fail(call, -EACCES, "'usd': %s requested, but '%s' has %s left", strbuf_text(&wanted),
                   op_id(call, call->run.task), strbuf_text(&rest));
}

int children_admit(struct op_call *call, struct batch *batch) {
    struct task_spec spec = { 0 };
    task_id top = call->run.task;
    uint32_t level = level_of(engine_core(call->engine), call->run.task, &top);
    (void)core_task_spec(engine_core(call->engine), call->run.task, &spec);
    int r = check_alive(call);
    for (size_t i = 0; r == 0 && i < batch->count; i++) {
        batch->index = i;
        r = check_entry(call, batch, &batch->entries[i], level);
    }
    if (r == 0)
        r = check_count(call, top, batch->added);
    if (r == 0)
        r = check_budgets(call, batch, left_for_children(call, top));
    for (size_t i = 0; r == 0 && i < batch->count; i++) {
        batch->entries[i].spec.group = spec.group;
        r = limit_running(call, &batch->entries[i]);
    }
    return r;
}

void children_added(const struct batch *batch) {
    const struct op_call *call = batch->run;
    task_id task = call->run.task, top = 0;
    (void)level_of(engine_core(call->engine), task, &top);
    struct engine_amounts had = engine_budget_left(call->engine, task);
    struct engine_amounts lent = left_for_children(call, top);
    if (had.tokens != ALLOWANCE_NONE)
        lent.tokens = ALLOWANCE_NONE;
    if (had.usd != ALLOWANCE_NONE)
        lent.usd = ALLOWANCE_NONE;
    if (lent.tokens != ALLOWANCE_NONE || lent.usd != ALLOWANCE_NONE)
        engine_lend_budget(call->engine, task, lent);
    for (size_t i = 0; i < batch->count; i++) {
        const struct submission *s = &batch->entries[i];
        const struct submission_names *keys = &s->resource_names;
        struct engine_amounts grant = { given_or(s->tokens, 0), given_or(s->usd, 0) };
        engine_limit_children(call->engine, keys->items[keys->count - 1]);
        if (!s->already)
            engine_grant_budget(call->engine, task, s->spec.id, grant);
    }
}

/* --- imports --------------------------------------------------------------------------------- */

bool import_is(const struct op_call *call) {
    const json_t *tasks = op_json(call, "tasks");
    if (!call->run.token[0] || !engine_import_projects(call->engine, call->run.task))
        return false;
    for (size_t i = 0; i < json_array_size(tasks); i++)
        if (is_given(json_array_get(tasks, i), "external_id"))
            return true;
    return false;
}

/* The only thing that a run may set of these, and not of its children, is the external id. */
static int check_imported(struct op_call *call, const struct token_parent *importer,
                          const json_t *task) {
    const char *project = text_of(task, "project"), *until = text_of(task, "until");
    if (!is_given(task, "external_id"))
        return op_fail(call, -EACCES,
                       "'external_id' is missing: one request cannot both add children and import");
    if (is_given(task, "cwd"))
        return op_fail(call, -EACCES, "'cwd': imported tasks work in the folder of their project");
    if (!project && !json_object_get(importer->p.defaults, "project"))
        return op_fail(call, -EACCES,
                       "'project' is missing: name one of the projects that '%s' may import into "
                       "(its member 'imports')",
                       importer->p.id);
    if (project && !engine_may_import(call->engine, importer->p.task, project))
        return op_fail(call, -EACCES,
                       "'project': '%s' may not import into '%s' (its member 'imports')",
                       importer->p.id, utf8_quote(project).text);
    int r = check_rank(call, importer, task);
    if (r == 0)
        r = child_check_agent(call->engine, importer->p.agent, task, &call->err);
    if (r == 0 && until && strcmp(until, "exit") != 0 && strcmp(until, "done") != 0)
        r = op_fail(call, -EACCES, "'until': imported tasks must use exit or done");
    return r;
}

/* What it inherits: the sandbox, the project if only one is listed, and a priority that is not
 * before the importer's. */
static void find_importer(struct op_call *call, struct token_parent *ret) {
    const json_t *projects = engine_import_projects(call->engine, call->run.task);
    find_parent(call, ret);
    json_t *inside = json_incref(json_object_get(ret->p.defaults, "inside"));
    json_object_clear(ret->p.defaults);
    json_object_set_new(ret->p.defaults, "inside", inside);
    if (ret->view.priority > PRIORITY_USUAL)
        json_object_set_new(ret->p.defaults, "priority", json_integer(ret->view.priority));
    if (json_array_size(projects) == 1)
        (void)json_object_set(ret->p.defaults, "project", json_array_get(projects, 0));
    ret->p.source |= CHILD_IMPORT;
    ret->p.timeout = ret->p.idle = 0; /* the deadline of a poll is not that of its issues */
}

int import_complete(struct op_call *call) {
    _cleanup_(token_parent_finish) struct token_parent importer;
    find_importer(call, &importer);
    if (op_text(call, "group"))
        return op_fail(call, -EACCES, "'group': imported tasks cannot be in a group");
    return complete_tasks(call, &importer, check_imported);
}

/* A task of the same request, or one that it may import. */
static int check_import_parent(struct op_call *call, const struct batch *batch,
                               const struct submission *s) {
    if (!s->spec.parent || batch_entry_of(batch, s->spec.parent)
        || capability_imports(call, s->spec.parent))
        return 0;
    return op_fail(call, -EACCES, "'parent': '%s' is not a task that run '%s' may import",
                   utf8_quote(s->parent).text, call->caller);
}

int import_admit(struct op_call *call, struct batch *batch) {
    int r = check_alive(call);
    for (size_t i = 0; r == 0 && i < batch->count; i++) {
        batch->index = i;
        if (submission_is_new(&batch->entries[i]))
            r = check_import_parent(call, batch, &batch->entries[i]);
    }
    return r;
}

/* --- spawn files ----------------------------------------------------------------------------- */

/* The file is a task file (taskfile.h), checked like a submission, with these additional rules:
 *   parent        a name of the same file; else the task that wrote it
 *   parent_gate   done, if not given
 *   project, cwd  those of the task that wrote it, if not given; so is the agent of a prompt
 *   group         that of the file; else that of the task that wrote it
 *   external_id   refused: the children of the next iteration would collide with those of the last
 *                 one
 *   commands      refused unless child_check_members allows them. Children of an agent also stay in
 *                 its group and folders
 * Agents write these files: one may be missing, endless, not a regular file, or name things that do
 * not exist. Every error has its line, because the next iteration reads it. */

#define SPAWN_FILE_MAX (1024 * 1024)

struct spawning {
    struct engine *engine;
    const struct engine_spawn *order;
    struct parent p; /* the task that wrote it */
    struct arena arena;
    struct taskfile *file;
    json_t *spec; /* of that task, as submitted */
    json_t *body;
    struct batch batch;
};

static void spawning_finish(struct spawning *s) {
    batch_finish(&s->batch);
    taskfile_free(s->file);
    json_decref(s->spec);
    json_decref(s->p.defaults);
    json_decref(s->body);
    arena_finish(&s->arena);
}

/* A relative path cannot leave the artifacts folder, where the run can create any link. */
static int read_spawn_file(const struct engine_spawn *order, struct strbuf *out,
                           struct error *err) {
    bool is_relative = *order->shown != '/';
    _cleanup_(fd_closep) int dir =
        is_relative ? outside_open(AT_FDCWD, order->folder, O_RDONLY | O_DIRECTORY, NULL, err) : -1;
    if (is_relative && dir < 0)
        return error_prefix(err, "the folder of the spawn file");
    int r = is_relative ? outside_read(dir, order->shown, 0, SPAWN_FILE_MAX, out, err)
                        : outside_read(AT_FDCWD, order->path, OUTSIDE_PARENT_LINKS, SPAWN_FILE_MAX,
                                       out, err);
    if (r == -ENOENT || r == -EFBIG)
        return error_set(err, -EINVAL, "the spawn file '%s' %s", utf8_quote(order->shown).text,
                         r == -EFBIG
                             ? "is larger than 1 MB"
                             : "was not written: write a list of tasks to it, or [] for none");
    return r < 0 ? error_prefix(err, "the spawn file") : 0;
}

static bool is_empty_list(const char *text) {
    text += strspn(text, " \t\r\n");
    return text[0] == '[' && text[1 + strspn(text + 1, " \t\r\n")] == ']';
}

static bool is_name_of_file(const struct spawning *s, const char *name) {
    const json_t *tasks = json_object_get(s->body, "tasks");
    for (size_t i = 0; i < json_array_size(tasks); i++) {
        const char *own = text_of(json_array_get(tasks, i), "name");
        if (own && strcmp(own, name) == 0)
            return true;
    }
    return false;
}

/* An absolute path must be in the task's folder or its artifacts. */
static int check_path(const struct spawning *s, const json_t *task, const char *member,
                      struct error *err) {
    const char *path = text_of(task, member), *own = text_of(s->spec, "cwd");
    const char *name = text_of(s->spec, "project");
    const struct engine_project *project =
        engine_find_project(s->engine, name ? name : DEFAULT_PROJECT);
    if (!own && project)
        own = project->path;
    if (!path || *path != '/' || (own && is_inside(own, path)) || is_inside(s->order->folder, path))
        return 0;
    return error_set(err, -EACCES, "'%s': '%s' is not in a folder of '%s'", member,
                     utf8_quote(path).text, s->p.id);
}

/* submission_link checks the project. */
static int check_spawned(const struct spawning *s, const json_t *task, struct error *err) {
    static const char *const paths[] = { "cwd", "artifact", "spawn" };
    const char *parent = text_of(task, "parent");
    if (json_object_get(task, "external_id"))
        return error_set(err, -EINVAL,
                         "'external_id' is for submissions: leave it out of a spawn file");
    int r = child_check_members(s->engine, s->p.source, task, err);
    for (size_t i = 0; r == 0 && s->p.source == CHILD_AGENT && i < ARRAY_SIZE(paths); i++)
        r = check_path(s, task, paths[i], err);
    if (r == 0 && s->p.source == CHILD_AGENT)
        r = child_check_agent(s->engine, s->p.agent, task, err);
    if (r == 0 && parent && !is_name_of_file(s, parent))
        r = error_set(err, -EINVAL, "'parent' must be a task of this file, or be left out");
    return r;
}

static int complete_spawned(struct spawning *s, json_t *task, size_t index, struct error *err) {
    const char *cwd = text_of(task, "cwd");
    int r = check_spawned(s, task, err);
    /* The task file reader sets `cwd` to the folder of the file. */
    if (r == 0 && cwd && strcmp(cwd, s->order->folder) == 0
        && taskfile_member_line(s->file, index, "cwd") == 0)
        json_object_del(task, "cwd");
    if (r == 0)
        r = inherit(s->engine, &s->p, task, err);
    return r < 0 ? taskfile_locate(s->file, index, err) : 0;
}

/* queue.hard does not apply: a client can submit again later, but the work of an ended run would be
 * lost. */
static int check_limits(const struct spawning *s, struct error *err) {
    const struct config *config = engine_config(s->engine);
    const struct core *core = engine_core(s->engine);
    int64_t depth = config_number(config, "spawn.depth", NULL);
    struct task_view view;
    if (core_task(core, s->p.task, &view) && view.depth >= depth)
        return error_set(err, -E2BIG,
                         "%s: '%s' is %u levels deep; maximum is %" PRId64 " (spawn.depth)",
                         s->order->shown, s->p.id, view.depth, depth);
    if (engine_is_full(s->engine))
        return error_set(err, -ENOSPC,
                         "the disk is nearly full: no new tasks are accepted until space is freed");
    return 0;
}

static void find_writer(struct spawning *s) {
    struct parent *p = &s->p;
    s->spec = json_loads(s->order->spec, 0, NULL);
    p->task = s->order->task;
    p->agent = text_of(s->spec, "agent");
    engine_task_id(s->engine, p->task, p->id);
    json_t *defaults = p->defaults = json_object(), *sandbox = sandbox_of(s->engine, p->task);
    bool commands = json_is_array(json_object_get(s->spec, "argv")) || allows_commands(s->engine);
    p->source = commands && !sandbox ? CHILD_COMMAND : CHILD_AGENT;
    set_text(defaults, "parent", p->id);
    set_text(defaults, "parent_gate", "done");
    set_text(defaults, "cwd", text_of(s->spec, "cwd"));
    set_text(defaults, "project", text_of(s->spec, "project"));
    const char *executor = text_of(s->spec, "executor");
    set_text(defaults, "executor", executor);
    if (executor && strcmp(executor, "slurm") == 0)
        (void)json_object_set(defaults, "slurm", json_object_get(s->spec, "slurm"));
    set_text(defaults, "agent", p->agent);
    json_object_set_new(defaults, "inside", sandbox);
}

int spawn_tasks(void *ctx, struct engine *engine, const struct engine_spawn *order,
                struct error *err) {
    (void)ctx;
    _cleanup_(spawning_finish) struct spawning s = { .engine = engine, .order = order };
    _cleanup_(strbuf_finish) struct strbuf text = STRBUF_INIT, shown = STRBUF_INIT;
    int64_t most = config_number(engine_config(engine), "spawn.tasks", NULL);
    int r = read_spawn_file(order, &text, err);
    if (r < 0 || is_empty_list(strbuf_text(&text)))
        return r;
    const struct strbuf *used =
        engine_redact(engine, text.text, text.length, &shown) ? &shown : &text;
    r = taskfile_read_text(order->shown, order->folder, strbuf_text(used), used->length, &s.file,
                           err);
    if (r < 0)
        return r;
    size_t count = taskfile_count(s.file);
    if ((int64_t)count > most) /* first, because the following checks are quadratic */
        return error_set(err, -E2BIG,
                         "%s: %zu tasks are too many; maximum is %" PRId64 " (spawn.tasks)",
                         order->shown, count, most);
    s.body = taskfile_body(s.file);
    find_writer(&s);
    const char *group = text_of(s.body, "group");
    if (s.p.source == CHILD_AGENT && check_group(engine, &s.p, group, err) < 0)
        return error_prefix(err, "%s", order->shown);
    json_t *tasks = json_object_get(s.body, "tasks");
    for (size_t i = 0; r == 0 && i < count; i++)
        r = complete_spawned(&s, json_array_get(tasks, i), i, err);
    if (r < 0)
        return r;
    struct task_spec spec = { 0 };
    (void)core_task_spec(engine_core(engine), order->task, &spec);
    s.batch = (struct batch){ .engine = engine,
                              .arena = &s.arena,
                              .group = spec.group,
                              .draft = json_is_true(json_object_get(s.body, "draft")) };
    r = batch_read(&s.batch, tasks, NULL, err);
    if (r == 0)
        r = batch_check(&s.batch, err);
    if (r < 0)
        return taskfile_locate(s.file, s.batch.index, err);
    r = check_limits(&s, err);
    if (r < 0 || order->check_only)
        return r;
    r = batch_add(&s.batch, group, err);
    return r < 0 ? r : (int)s.batch.added;
}
