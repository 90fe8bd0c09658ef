/* capability_children.c: what a run may add below itself.
 *
 * Which members it may set says child.h. Everything that a run does not choose comes from its own
 * task. */
#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "base/money.h"
#include "engine/agents.h"
#include "engine/allowance.h"
#include "engine/below.h"
#include "engine/executors.h"
#include "engine/run_token.h"
#include "ops/capability.h"
#include "ops/child.h"

/* --- one child as it was written ------------------------------------------------------------- */

/* What all children of one call get from the task of the run. */
struct parent {
    struct task_view view;
    struct task_spec told;
    const char *id, *project, *kind, *agent;
    bool in_workspace;
    struct strbuf folder; /* where it works, if in no workspace; "": that cannot be known */
    struct child_spans spans;
};

static void parent_finish(struct parent *p) {
    strbuf_finish(&p->folder);
}

static void parent_find(struct op_call *call, struct parent *ret) {
    const struct core *core = engine_core(call->engine);
    struct engine_workspace workspace = { 0 };
    char id[ENGINE_ID_MAX];
    *ret = (struct parent){ .folder = STRBUF_INIT };
    (void)core_task(core, call->run.task, &ret->view);
    (void)core_task_spec(core, call->run.task, &ret->told);
    ret->id = arena_strdup(op_arena(call), engine_task_id(call->engine, call->run.task, id));
    ret->project = op_name_of(call->engine, ret->view.project);
    ret->kind = op_name_of(call->engine, ret->view.kind);
    /* Who stands in for its agent does so for this run alone. */
    ret->agent = op_name_of(call->engine, ret->told.agent ? ret->told.agent : ret->told.run_agent);
    ret->spans = child_spans_of(call->engine, call->run.task);
    engine_workspace(call->engine, call->run.task, &workspace);
    ret->in_workspace = workspace.path != NULL;
    if (!ret->in_workspace)
        (void)engine_run_folder_of(call->engine, call->run.task, &ret->folder);
    engine_workspace_finish(&workspace);
}

/* null is the same as nothing. */
static bool is_given(const json_t *task, const char *member) {
    const json_t *value = json_object_get(task, member);
    return value && !json_is_null(value);
}

static int complete_folder(struct op_call *call, const struct parent *p, json_t *task) {
    const char *given = json_string_value(json_object_get(task, "cwd"));
    const char *own = strbuf_text(&p->folder);
    if (!*own && !p->in_workspace)
        return op_fail(call, -EACCES,
                       "'cwd': the folder of run '%s' cannot be known: its lock file was changed, "
                       "so it adds no children",
                       call->caller);
    if (given && (!*own || !child_path_is_inside(own, given)))
        return op_fail(call, -EACCES, "'cwd': '%s' is not in the folder of run '%s'",
                       op_quote(given).text, call->caller);
    if (!given && *own)
        json_object_set_new(task, "cwd", json_string(own));
    return 0;
}

static int complete_project(struct op_call *call, const struct parent *p, json_t *task) {
    const char *given = json_string_value(json_object_get(task, "project"));
    if (given && strcmp(given, p->project) != 0)
        return op_fail(call, -EACCES, "'project': '%s' belongs to '%s', and so do its children",
                       p->id, p->project);
    json_object_set_new(task, "project", json_string(p->project));
    return 0;
}

/* Lower goes first. */
static int complete_priority(struct op_call *call, const struct parent *p, json_t *task) {
    const json_t *given = json_object_get(task, "priority");
    if (json_is_integer(given) && json_integer_value(given) < p->view.priority)
        return op_fail(call, -EACCES, "'priority': %" PRId64 " would go before '%s', which has %d",
                       (int64_t)json_integer_value(given), p->id, p->view.priority);
    if (!is_given(task, "priority"))
        json_object_set_new(task, "priority", json_integer(p->view.priority));
    return 0;
}

static int64_t base_of(struct op_call *call, const char *kind) {
    const struct config *config = engine_config(call->engine);
    return kind ? config_number(config, "kinds.K.base", kind)
                : config_number(config, "score.base", NULL);
}

/* A kind has a score, which is a way to go first, too. */
static int check_kind(struct op_call *call, const struct parent *p, const json_t *task) {
    const char *kind = json_string_value(json_object_get(task, "kind"));
    if (!kind || !config_has_kind(engine_config(call->engine), kind)
        || base_of(call, kind) <= base_of(call, p->kind))
        return 0;
    return op_fail(call, -EACCES, "'kind': '%s' would go before '%s'", op_quote(kind).text, p->id);
}

static int check_until(struct op_call *call, const json_t *task) {
    const char *until = json_string_value(json_object_get(task, "until"));
    if (!until || strcmp(until, "exit") == 0 || strcmp(until, "done") == 0)
        return 0;
    return op_fail(call, -EACCES, "'until': children of a run end by themselves: exit or done");
}

static int complete_gate(struct op_call *call, json_t *task) {
    const char *gate = json_string_value(json_object_get(task, "parent_gate"));
    if (gate && strcmp(gate, "none") != 0)
        return op_fail(call, -EACCES, "'parent_gate': children of a run may start beside it: none");
    json_object_set_new(task, "parent_gate", json_string("none"));
    return 0;
}

/* What a run in Slurm hands on is done there, too: that is where its files are. */
static void complete_place(struct op_call *call, json_t *task) {
    const char *partition = engine_partition(call->engine, call->run.task);
    json_object_set_new(task, "executor", json_string("slurm"));
    if (partition)
        json_object_set_new(task, "slurm", json_pack("{s:s}", "partition", partition));
}

static int complete(struct op_call *call, const struct parent *p, json_t *task) {
    struct task_reading reading = { .source.now = engine_now(call->engine) };
    bool changed;
    int r = child_check_members(call->engine, CHILD_TOKEN, task, &call->err);
    if (r == 0) /* what follows compares numbers */
        r = task_members_read(task, &reading, &changed, &call->err);
    if (r == 0)
        r = complete_project(call, p, task);
    if (r == 0)
        r = complete_priority(call, p, task);
    if (r == 0)
        r = complete_folder(call, p, task);
    if (r == 0)
        r = complete_gate(call, task);
    if (r == 0)
        r = check_kind(call, p, task);
    if (r == 0)
        r = child_check_agent(call->engine, p->agent, task, &call->err);
    if (r == 0)
        r = check_until(call, task);
    if (r < 0)
        return r;
    if (engine_executor_kind(call->engine, call->run.task) == EXECUTOR_SLURM)
        complete_place(call, task);
    json_t *inside = child_inside_of(call->engine, call->run.task);
    if (inside)
        json_object_set_new(task, "inside", inside);
    if (!is_given(task, "parent"))
        json_object_set_new(task, "parent", json_string(p->id));
    bool any_worker = !p->told.agent && engine_has_roster(call->engine);
    if (is_given(task, "prompt") && !is_given(task, "agent") && p->agent && !any_worker)
        json_object_set_new(task, "agent", json_string(p->agent));
    return child_spans_bound(call->engine, &p->spans, task, &call->err);
}

int capability_complete(struct op_call *call) {
    json_t *tasks = json_object_get(call->params, "tasks"), *task;
    _cleanup_(parent_finish) struct parent p = { .folder = STRBUF_INIT };
    size_t index;
    parent_find(call, &p);
    const char *own = op_group_name(call->engine, p.told.group), *group = op_text(call, "group");
    if (op_flag(call, "force"))
        return op_fail(call, -EACCES, "'force': a run does not override what guards others");
    if (group && (!own || strcmp(own, group) != 0))
        return op_fail(call, -EACCES, "'group': children of a run are in its own group");
    json_object_del(call->params, OP_BODY); /* what is kept is what it has become */
    json_array_foreach(tasks, index, task) {
        call->index = (int64_t)index;
        int r = json_is_object(task) ? complete(call, &p, task) : 0;
        if (r < 0)
            return r;
    }
    call->index = -1;
    return 0;
}

/* --- how many and how deep ------------------------------------------------------------------- */

/* How many of its ancestors have handed work down to it, and the first of them. */
static uint32_t level_of(const struct core *core, task_id task, task_id *ret_top) {
    uint32_t level = 0;
    while (below_is_handed(core, task, &task))
        level++;
    *ret_top = task;
    return level;
}

static bool count_one(void *ctx, task_id task) {
    (void)task;
    int64_t *left = ctx;
    return --*left > 0;
}

static int check_number(struct op_call *call, task_id top, size_t added) {
    int64_t most = config_number(engine_config(call->engine), "capability.children", NULL);
    int64_t left = most;
    char id[ENGINE_ID_MAX];
    if (left > 0)
        below_walk(engine_core(call->engine), top, count_one, &left);
    if ((int64_t)added <= left)
        return 0;
    return op_fail(call, -EACCES,
                   "runs may add %" PRId64 " tasks below '%s' in all, and %" PRId64
                   " are left (capability.children)",
                   most, engine_task_id(call->engine, top, id), left > 0 ? left : 0);
}

static int check_entry(struct op_call *call, const struct batch *batch,
                       const struct batch_entry *entry, uint32_t level) {
    int64_t most = config_number(engine_config(call->engine), "capability.depth", NULL);
    const char *name = entry->s.parent;
    const struct batch_entry *above;
    for (size_t up = 0; (above = batch_entry_of(batch, entry->parent)); up++, level++) {
        if (up == batch->count)
            return op_fail(call, -ELOOP, "'parent': tasks would be below each other");
        entry = above;
    }
    if (entry->parent != call->run.task)
        return op_fail(call, -EACCES, "'parent': run '%s' adds below itself, not below '%s'",
                       call->caller, op_quote(name ? name : "").text);
    if (level + 1 > most)
        return op_fail(
            call, -EACCES,
            "it would be %u levels below the task that a person has added; the most are %" PRId64
            " (capability.depth)",
            level + 1, most);
    return 0;
}

/* --- at the moment of adding ----------------------------------------------------------------- */

/* Whoever canceled one above meant everything below it, whether it was there already or not. */
static int check_alive(struct op_call *call) {
    const struct core *core = engine_core(call->engine);
    uint32_t attempt;
    char id[ENGINE_ID_MAX];
    struct task_spec told;
    if (engine_find_token(call->engine, call->run.token, &attempt) != call->run.task)
        return op_fail(call, -EACCES, "run '%s' has ended, and its rights with it", call->caller);
    for (task_id at = call->run.task; core_task_spec(core, at, &told); at = told.parent)
        if (told.stop != STOP_NONE || told.state == TASK_CANCELED || told.state == TASK_INVALIDATED)
            return op_fail(call, -EACCES, "task '%s' is canceled: nothing more is added below it",
                           engine_task_id(call->engine, at, id));
    return 0;
}

/* Its brothers and it share so many places: a key that only they have. */
static int limit_running(struct op_call *call, const struct batch_entry *entry,
                         struct engine_draft *draft) {
    const char **resources =
        arena_alloc(op_arena(call), (draft->resource_count + 1) * sizeof(*resources));
    struct strbuf key = STRBUF_INIT;
    if (draft->resource_count >= SUBMISSION_RESOURCES_MAX)
        return op_fail(call, -EACCES, "'resources': a child of a run may name %u at the most",
                       SUBMISSION_RESOURCES_MAX - 1);
    strbuf_printf(&key, CHILDREN_KEY "%s-%" PRIu64, entry->project->prefix, entry->parent);
    if (draft->resource_count > 0)
        memcpy(resources, draft->resources, draft->resource_count * sizeof(*resources));
    resources[draft->resource_count++] = arena_strdup(op_arena(call), strbuf_text(&key));
    draft->resources = resources;
    strbuf_finish(&key);
    return 0;
}

/* --- tokens and money ------------------------------------------------------------------------ */

static int64_t first_of(int64_t left, bool is_top, int64_t lent) {
    return left == ALLOWANCE_NONE && is_top && lent != UNLIMITED ? lent : left;
}

/* What the run may still hand out; of a task that a person has added what the configuration lends
 * it. */
static struct engine_amounts left_for_children(struct op_call *call, task_id top) {
    const struct config *config = engine_config(call->engine);
    struct engine_amounts left = engine_left(call->engine, call->run.task);
    bool is_top = call->run.task == top;
    return (struct engine_amounts){
        .tokens = first_of(left.tokens, is_top, config_number(config, "capability.tokens", NULL)),
        .usd = first_of(left.usd, is_top, config_number(config, "capability.usd", NULL)),
    };
}

/* What a child may use is no more the parent's. Nothing is said: an estimate of a run. */
static int check_tokens(struct op_call *call, struct batch *batch, int64_t left) {
    int64_t wanted = 0;
    char id[ENGINE_ID_MAX];
    if (left == ALLOWANCE_NONE)
        return 0;
    for (size_t i = 0; i < batch->count; i++) {
        struct submission *s = &batch->entries[i].s;
        if (s->tokens == SUBMISSION_NOT_GIVEN)
            s->tokens = config_number(engine_config(call->engine), "fair.run_tokens", NULL);
        wanted += s->tokens;
    }
    if (wanted > left)
        return op_fail(call, -EACCES,
                       "'tokens': %" PRId64 " are asked for, and '%s' has %" PRId64 " left", wanted,
                       engine_task_id(call->engine, call->run.task, id), left);
    return 0;
}

/* What a run costs nobody can guess: it is said, or the configuration says it for every task. */
static int check_usd(struct op_call *call, struct batch *batch, int64_t left) {
    int64_t wanted = 0;
    char id[ENGINE_ID_MAX];
    if (left == ALLOWANCE_NONE)
        return 0;
    for (size_t i = 0; i < batch->count; i++) {
        struct submission *s = &batch->entries[i].s;
        int64_t usual = config_number(engine_config(call->engine), "projects.P.task_usd",
                                      submission_project(s));
        if (s->usd == SUBMISSION_NOT_GIVEN && usual != UNLIMITED)
            s->usd = usual;
        if (s->usd == SUBMISSION_NOT_GIVEN) {
            batch->index = i;
            return op_fail(call, -EACCES,
                           "'usd': say what the child may cost: '%s' has a budget of money",
                           engine_task_id(call->engine, call->run.task, id));
        }
        wanted += s->usd;
    }
    if (wanted <= left)
        return 0;
    _cleanup_(strbuf_finish) struct strbuf asked = STRBUF_INIT, rest = STRBUF_INIT;
    money_put(&asked, wanted);
    money_put(&rest, left);
    return op_fail(call, -EACCES, "'usd': %s are asked for, and '%s' has %s left",
                   strbuf_text(&asked), engine_task_id(call->engine, call->run.task, id),
                   strbuf_text(&rest));
}

static int check_budgets(struct op_call *call, struct batch *batch, task_id top) {
    struct engine_amounts left = left_for_children(call, top);
    int r = check_tokens(call, batch, left.tokens);
    return r == 0 ? check_usd(call, batch, left.usd) : r;
}

static int64_t given(int64_t wish) {
    return wish == SUBMISSION_NOT_GIVEN ? 0 : wish;
}

static void hand_out(struct op_call *call, const struct batch *batch) {
    task_id task = call->run.task, top = 0;
    (void)level_of(engine_core(call->engine), task, &top);
    struct engine_amounts had = engine_left(call->engine, task);
    struct engine_amounts left = left_for_children(call, top);
    struct engine_amounts lent = {
        .tokens = had.tokens == ALLOWANCE_NONE ? left.tokens : ALLOWANCE_NONE,
        .usd = had.usd == ALLOWANCE_NONE ? left.usd : ALLOWANCE_NONE,
    };
    if (lent.tokens != ALLOWANCE_NONE || lent.usd != ALLOWANCE_NONE)
        engine_lend(call->engine, task, lent);
    for (size_t i = 0; i < batch->count; i++) {
        const struct batch_entry *entry = &batch->entries[i];
        if (!entry->already)
            engine_hand(call->engine, task, entry->id,
                        (struct engine_amounts){ given(entry->s.tokens), given(entry->s.usd) });
    }
}

int capability_admit(struct op_call *call, struct batch *batch) {
    struct task_spec told = { 0 };
    task_id top = call->run.task;
    uint32_t level = level_of(engine_core(call->engine), call->run.task, &top);
    (void)core_task_spec(engine_core(call->engine), call->run.task, &told);
    int r = check_alive(call);
    for (size_t i = 0; r == 0 && i < batch->count; i++) {
        batch->index = i;
        r = check_entry(call, batch, &batch->entries[i], level);
    }
    if (r == 0)
        r = check_number(call, top, batch->added);
    if (r == 0)
        r = check_budgets(call, batch, top);
    for (size_t i = 0; r == 0 && i < batch->added; i++) {
        batch->drafts[i].told.group = told.group;
        r = limit_running(call, &batch->entries[i], &batch->drafts[i]);
    }
    return r;
}

void capability_added(struct op_call *call, const struct batch *batch) {
    for (size_t i = 0; i < batch->added; i++) {
        const struct engine_draft *draft = &batch->drafts[i];
        engine_limit_children(call->engine, draft->resources[draft->resource_count - 1]);
    }
    hand_out(call, batch);
}
