/* op_task_sling.c: drafts are scheduled; one by one, all of a group, or all below an epic.
 *
 * Everything that can be refused is refused before anything is told, so a batch is slung whole or
 * not at all. Slinging what is scheduled already changes nothing and says so. Guards: a task that
 * is at work or over, a task of another project than the one that was named, a task that another
 * group follows; `force` overrides them. Tasks of a project that only coordinates are left out with
 * a warning.
 *
 * What is said besides (agent, account, merge …) stands beside the submission, which never
 * changes. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/hash.h"
#include "engine/agents.h"
#include "ops/batch.h"
#include "ops/sling_internal.h"

#define SPECS_EACH 500u /* in one question to the store */

static void slinging_finish(void *state) {
    struct slinging *s = state;
    for (size_t i = 0; i < s->count; i++)
        json_decref(s->items[i].spec);
    freep(&s->items);
    sling_move_finish(&s->move);
    work_finish(&s->works);
    if (s->has_map)
        id_map_finish(&s->seen);
}

static struct slinging *slinging_of(struct op_call *call) {
    return op_state(call, sizeof(struct slinging), slinging_finish);
}

/* --- guards ---------------------------------------------------------------------------------- */

static int check_group(struct op_call *call, const struct sling_item *item) {
    const char *name = op_text(call, "group"), *other = op_group_name(call->engine, item->group);
    char id[ENGINE_ID_MAX];
    if (!name || !other || strcmp(name, other) == 0 || op_flag(call, "force"))
        return 0;
    return op_fail(call, -EPERM, "task '%s' is in group '%s' already; force moves it",
                   engine_task_id(call->engine, item->task, id), op_quote(other).text);
}

/* Work is done by the steps: the task itself must not wait for a mark that nobody makes. */
static int check_until(struct op_call *call, const struct sling_item *item,
                       const struct task_view *t) {
    char id[ENGINE_ID_MAX];
    if ((!op_json(call, "steps") && !item->work) || t->until == UNTIL_EXIT
        || t->until == UNTIL_VALIDATE)
        return 0;
    return op_fail(
        call, -EINVAL,
        "task '%s' is finished by '%s'; steps can do the work of one with 'exit' or 'validate'",
        engine_task_id(call->engine, t->id, id), until_name(t->until));
}

static int check_state(struct op_call *call, const struct sling_item *item,
                       const struct task_view *t) {
    char id[ENGINE_ID_MAX];
    if (item->epic || (!task_state_is_live(t->state) && !task_state_is_final(t->state)))
        return 0;
    return op_fail(call, -EBUSY, "task '%s' is %s: only a draft can be slung",
                   engine_task_id(call->engine, item->task, id), task_state_name(t->state));
}

/* What is said of merging must be possible, as if the task had said it. */
static int check_merge(struct op_call *call, const char *project) {
    const char *said = op_flag(call, "no_merge") ? "none" : op_text(call, "merge");
    struct submission_merge wish = {
        .project = project,
        .merge = said ? said : "none",
        .base_branch = op_text(call, "base_branch"),
    };
    return submission_check_merge(engine_config(call->engine), &wish, &call->err);
}

static int look(struct op_call *call, struct sling_item *item) {
    const struct config *config = engine_config(call->engine);
    const char *named = op_text(call, "project");
    struct task_view t;
    struct task_spec spec;
    char id[ENGINE_ID_MAX];
    if (!core_task(engine_core(call->engine), item->task, &t)
        || !core_task_spec(engine_core(call->engine), item->task, &spec))
        return op_fail(call, -ENOENT, "task '%s' was deleted meanwhile",
                       engine_task_id(call->engine, item->task, id));
    const char *project = op_name_of(call->engine, t.project);
    item->moves = named && t.state == TASK_DRAFT && strcmp(project, named) != 0;
    item->already =
        item->already || t.state != TASK_DRAFT; /* once so: its spec was not asked for */
    item->group = spec.group;
    item->cleared = t.reason == REASON_CLEARED;
    if (!op_flag(call, "force")) {
        if (named && strcmp(project, named) != 0)
            return op_fail(call, -EPERM,
                           "task '%s' is of project '%s', not of '%s'; force moves a draft there",
                           engine_task_id(call->engine, item->task, id), project,
                           op_quote(named).text);
        int r = check_state(call, item, &t);
        if (r < 0)
            return r;
    }
    if (item->already)
        return 0;
    if (item->moves)
        project = named;
    sling_look_at_family(call, item, &t, &spec);
    if (!item->skipped && !item->container
        && config_number(config, "projects.P.coordination", project))
        item->skipped = "its project only coordinates (projects.P.coordination)";
    int r = item->step ? 0 : check_until(call, item, &t);
    if (r == 0 && !item->skipped)
        r = check_merge(call, project);
    return r < 0 || item->skipped ? r : check_group(call, item);
}

static int check_names(struct op_call *call) {
    const struct config *config = engine_config(call->engine);
    const char *agent = op_text(call, "agent"), *limiter = op_text(call, "limiter");
    const char *group = op_text(call, "group");
    const struct engine_group *there = group ? engine_find_group(call->engine, group) : NULL;
    if (op_text(call, "project") && !op_project(call, op_text(call, "project")))
        return call->err.code;
    if (agent && !config_has_agent(config, agent))
        return op_unknown(call->engine, "agent", agent, op_agent_at, &call->err);
    if (limiter && !config_has_limiter(config, limiter))
        return op_unknown(call->engine, "limiter", limiter, op_limiter_at, &call->err);
    if (op_flag(call, "no_group") && (group || op_flag(call, "owned")))
        return op_fail(call, -EINVAL, "'no_group' does not go with 'group' or 'owned'");
    if (there && there->owned && there->closed)
        return op_fail(call, -EBUSY, "group '%s' was closed by its owner: choose another name",
                       op_quote(group).text);
    return 0;
}

static int look_at_all(struct op_call *call, struct slinging *s) {
    int r = check_names(call);
    s->fresh = 0;
    for (size_t i = 0; r == 0 && i < s->count; i++) {
        r = look(call, &s->items[i]);
        s->fresh += r == 0 && !s->items[i].already && !s->items[i].skipped;
    }
    return r < 0 ? r : sling_admit(call, s);
}

/* --- telling --------------------------------------------------------------------------------- */

/* What was said, as it is kept beside each of them; NULL: nothing. */
static json_t *context_of(struct op_call *call) {
    static const char *const members[] = { "agent",       "limiter", "merge",
                                           "base_branch", "args",    "meta" };
    json_t *context = json_object();
    for (size_t i = 0; i < ARRAY_SIZE(members); i++)
        if (op_json(call, members[i]))
            json_object_set(context, members[i], (json_t *)op_json(call, members[i]));
    if (op_flag(call, "no_merge"))
        json_object_set_new(context, "merge", json_string("none"));
    return context;
}

static void tell_feed(struct op_call *call, const struct sling_item *item, uint32_t group,
                      const json_t *context) {
    json_t *data =
        json_pack("{s:s*, s:s*, s:O*}", "group", op_group_name(call->engine, group), "by",
                  op_actor(call), "context", json_object_size(context) > 0 ? context : NULL);
    char *text = json_dumps(data, JSON_COMPACT | JSON_REAL_PRECISION(15));
    engine_event(call->engine, "task.slung", item->task, 0, text);
    freep(&text);
    json_decref(data);
}

/* The steps do the work: it waits for all of them. The first thing told, because it may be
 * refused. */
static int wait_for_steps(struct op_call *call, const struct slinging *s) {
    task_id task = s->items[0].task;
    const struct core *core = engine_core(call->engine);
    size_t before = core_task_depends(core, task, NULL, 0), count = before;
    task_id *needs = arena_alloc(op_arena(call), (before + s->count) * sizeof(*needs));
    (void)core_task_depends(core, task, needs, before);
    for (size_t i = 1; i < s->count; i++) {
        bool known = false;
        for (size_t k = 0; k < before; k++)
            known = known || needs[k] == s->items[i].task;
        if (!known)
            needs[count++] = s->items[i].task;
    }
    struct fact fact = { .kind = FACT_DEPENDENCIES, .task = task };
    fact.dependencies.items = needs;
    fact.dependencies.count = count;
    int r = engine_tell(call->engine, &fact, &call->err);
    if (r == -ELOOP)
        return op_fail(call, r, "a step waits for the task that it is a step of");
    return r < 0 ? r : 0;
}

static bool needs_group(const struct op_call *call, const struct slinging *s) {
    bool untracked = op_text(call, "group") != NULL;
    for (size_t i = 0; i < s->count; i++)
        untracked =
            untracked || (!s->items[i].already && !s->items[i].skipped && s->items[i].group == 0);
    return untracked && s->fresh > 0 && !op_flag(call, "no_group");
}

static const char *said_or(const struct op_call *call, const char *param, const char *submitted) {
    return op_text(call, param) ? op_text(call, param) : submitted;
}

static void hold_as_submitted(struct op_call *call, const struct sling_item *item) {
    bool hold = item->hold && !item->cleared;
    struct fact fact = { .kind = FACT_HOLD, .task = item->task };
    fact.until = hold ? 0 : item->not_before;
    if (hold || item->not_before > engine_now(call->engine))
        (void)engine_tell(call->engine, &fact, NULL);
}

static json_t *numbers_of(const struct sling_work *work) {
    json_t *numbers = json_array();
    for (size_t i = 0; i < work->batch.added; i++)
        json_array_append_new(numbers, json_integer((json_int_t)(work->batch.first + i)));
    return numbers;
}

static void sling_one(struct op_call *call, struct slinging *s, struct sling_item *item,
                      const json_t *context) {
    bool own_steps = item->container || ((op_json(call, "steps") || item->work) && !item->step);
    bool joins = s->group && (item->group == 0 || op_text(call, "group"));
    struct fact fact = { .kind = FACT_SLING, .task = item->task };
    fact.sling.renames = true;
    if (!own_steps) { /* who runs nothing needs nobody */
        const char *agent = said_or(call, "agent", item->agent);
        const char *limiter = said_or(call, "limiter", item->limiter);
        if (agent)
            (void)engine_know_agent(call->engine, agent, NULL);
        fact.sling.agent = agent ? op_symbol(call->engine, agent) : 0;
        fact.sling.limiter = limiter ? op_symbol(call->engine, limiter) : 0;
    }
    fact.sling.group = joins ? s->group : 0;
    if (engine_tell(call->engine, &fact, NULL) != 0) {
        item->already = true;
        return;
    }
    item->group = joins ? s->group : item->group;
    hold_as_submitted(call, item);
    json_t *own = json_deep_copy(context);
    if (own_steps)
        json_object_set_new(own, "steps", item->work ? numbers_of(item->work) : json_true());
    if (item->work)
        item->generation = item->work->generation;
    if (item->generation > 0)
        json_object_set_new(own, "generation", json_integer(item->generation));
    char *text =
        json_object_size(own) > 0 ? json_dumps(own, JSON_COMPACT | JSON_REAL_PRECISION(15)) : NULL;
    engine_put_context(call->engine, item->task, text); /* NULL: what an earlier sling said goes */
    tell_feed(call, item, item->group, own);
    freep(&text);
    json_decref(own);
}

static int sling(struct op_call *call, struct slinging *s) {
    if (op_json(call, "steps") && !s->items[0].already && !s->items[0].skipped) {
        int r = wait_for_steps(call, s);
        if (r < 0)
            return r;
    }
    for (size_t i = 0; i < s->count; i++)
        if (s->items[i].container && !s->items[i].already && !s->items[i].skipped
            && !s->items[i].work) {
            int r = sling_wait_for_children(call, &s->items[i]);
            if (r < 0)
                return r;
        }
    if (needs_group(call, s)) {
        int r = engine_open_group(call->engine, op_text(call, "group"), op_flag(call, "owned"),
                                  &s->group, &call->err);
        if (r < 0)
            return r;
    }
    json_t *context = context_of(call);
    for (size_t i = 0; i < s->count; i++)
        if (!s->items[i].already && !s->items[i].skipped)
            sling_one(call, s, &s->items[i], context);
    json_decref(context);
    return 0;
}

/* --- the answer ------------------------------------------------------------------------------ */

/* clang-format off */
#define SLUNG_TASK(X) \
    X(print_id, "id", T_TEXT | T_NULL, "its id; of a step that would be added, its external id", "web-17", call->engine, item->task) \
    X(print_text, "state", T_WORD, "its state", &words_state, task_state_name(t.state)) \
    X(print_bool, "already", T_BOOL, "it was scheduled before", NULL, item->already) \
    X(print_text, "result", T_TEXT, "`slung`, `already`, `skipped` or `deferred`", "slung", item->already ? "already" : item->skipped == sling_deferred ? "deferred" : item->skipped ? "skipped" : "slung") \
    X(print_text, "group", T_TEXT | T_NULL, "the group that follows it", "group-3", op_group_name(call->engine, item->group))
static const struct shape slung_task_shape = { "SlungTask", "a task that was to be slung", .members = SHAPE_ROWS(
    SLUNG_TASK(SHAPE_ROW)
    { "moved_from", T_TEXT | T_MAYBE, "its id before it moved to another project", "api-17" },
    { "why", T_TEXT | T_MAYBE, "of one that is skipped or deferred" }) };
/* clang-format on */

static void print_item(struct op_call *call, struct json_writer *w, const struct sling_item *item) {
    struct task_view t = { .state = TASK_DRAFT };
    (void)core_task(engine_core(call->engine), item->task, &t);
    json_write_object_begin(w);
    SLUNG_TASK(SHAPE_PRINT)
    if (item->moved_from)
        print_text(w, "moved_from", item->moved_from);
    if (item->skipped)
        print_text(w, "why", item->skipped);
    json_write_object_end(w);
}

/* Steps that would be added have no ids yet. */
static void print_planned(struct json_writer *w, const struct slinging *s) {
    for (size_t i = 0; i < s->works.count; i++)
        for (size_t k = 0; k < s->works.items[i].batch.count; k++) {
            json_write_object_begin(w);
            print_text(w, "id", s->works.items[i].batch.entries[k].s.external_id);
            print_text(w, "state", task_state_name(TASK_DRAFT));
            print_bool(w, "already", false);
            print_text(w, "result", "slung");
            print_text(w, "group", NULL);
            json_write_object_end(w);
        }
}

static void print_answer(struct op_call *call, const struct slinging *s) {
    struct json_writer w = op_begin(call);
    print_list(&w, "tasks");
    for (size_t i = 0; i < s->count; i++)
        print_item(call, &w, &s->items[i]);
    if (op_flag(call, "dry_run"))
        print_planned(&w, s);
    json_write_array_end(&w);
    print_text(&w, "group", op_group_name(call->engine, s->group));
    print_bool(&w, "dry_run", op_flag(call, "dry_run"));
    queue_room_print(call, &w, &s->room);
    json_write_object_end(&w);
}

/* --- what was submitted ---------------------------------------------------------------------- */

static uint32_t generation_of(const char *context) {
    json_t *said = context ? json_loads(context, 0, NULL) : NULL;
    uint32_t generation = (uint32_t)json_integer_value(json_object_get(said, "generation"));
    json_decref(said);
    return generation;
}

/* An earlier sling may have named others: what counts is what was submitted, and what is said
 * now. */
static void take_specs(struct op_call *call, const struct store_answer *answer) {
    struct slinging *s = slinging_of(call);
    for (size_t i = 0; i < answer->count; i++) {
        const struct spec_row *row = &answer->specs[i];
        uint32_t handle = id_map_find(&s->seen, hash_u64(row->id), &row->id);
        json_t *spec = json_loadb(row->json, row->json_size, 0, NULL);
        const char *agent = json_string_value(json_object_get(spec, "agent"));
        const char *limiter = json_string_value(json_object_get(spec, "limiter"));
        if (handle) {
            struct sling_item *item = &s->items[handle - 1];
            item->agent = agent ? arena_strdup(op_arena(call), agent) : NULL;
            item->limiter = limiter ? arena_strdup(op_arena(call), limiter) : NULL;
            item->prompted = json_object_get(spec, "prompt") != NULL;
            item->hold = json_is_true(json_object_get(spec, "hold"));
            item->not_before = json_integer_value(json_object_get(spec, "not_before"));
            item->generation = generation_of(row->context);
            json_decref(item->spec);
            item->spec = item->moves ? json_incref(spec) : NULL;
        }
        json_decref(spec);
    }
}

/* Names that were good when it was submitted may be gone from the configuration. */
static int check_submitted(struct op_call *call, const struct sling_item *item) {
    const struct config *config = engine_config(call->engine);
    char id[ENGINE_ID_MAX];
    bool no_agent =
        item->agent && !op_text(call, "agent") && !config_has_agent(config, item->agent);
    bool no_limiter =
        item->limiter && !op_text(call, "limiter") && !config_has_limiter(config, item->limiter);
    if (!no_agent && !no_limiter)
        return 0;
    return op_fail(call, -ENOENT, "%s '%s' of task '%s' is not configured any more",
                   no_agent ? "agent" : "limiter",
                   op_quote(no_agent ? item->agent : item->limiter).text,
                   engine_task_id(call->engine, item->task, id));
}

static int check_agent(struct op_call *call, const struct sling_item *item) {
    const char *agent = op_text(call, "agent");
    char id[ENGINE_ID_MAX];
    if (!agent || item->already || item->skipped || !item->prompted
        || engine_check_agent(call->engine, agent, NULL) == 0)
        return 0;
    return op_fail(call, -EINVAL,
                   "task '%s' is a prompt, and agent '%s' has no command to be told it",
                   engine_task_id(call->engine, item->task, id), op_quote(agent).text);
}

/* They follow a prompt; steps get them where a task has some. */
static int check_args(struct op_call *call, const struct sling_item *item) {
    char id[ENGINE_ID_MAX];
    if (!op_text(call, "args") || item->already || item->skipped || item->prompted || item->work
        || item->container || op_json(call, "steps"))
        return 0;
    return op_fail(call, -EINVAL, "task '%s' is a command: 'args' is a text that follows a prompt",
                   engine_task_id(call->engine, item->task, id));
}

/* Formulas are expanded for the tasks as they are after the move. */
static int sling_all(struct op_call *call, struct slinging *s) {
    int r = sling_move_add(call, s);
    if (r < 0)
        return r;
    r = sling_check_works(call, s);
    if (r == 0)
        r = sling_add_works(call, s);
    if (r == 0) {
        r = sling(call, s);
        if (r < 0)
            sling_take_back_works(call, s);
    }
    if (r == 0)
        sling_move_leave(call, s);
    else
        sling_move_take_back(call, s);
    return r;
}

/* Turns may have passed since the store was asked: everything is looked at again. */
static int finish(struct op_call *call) {
    struct slinging *s = slinging_of(call);
    int r = look_at_all(call, s);
    for (size_t i = 0; r == 0 && i < s->count; i++) {
        r = check_submitted(call, &s->items[i]);
        if (r == 0)
            r = check_agent(call, &s->items[i]);
        if (r == 0)
            r = check_args(call, &s->items[i]);
    }
    if (r == 0)
        r = sling_move_check(call, s);
    if (r == 0 && op_flag(call, "dry_run"))
        r = sling_check_works(call, s);
    else if (r == 0)
        r = sling_all(call, s);
    if (r == 0)
        print_answer(call, s);
    return r;
}

static int ask_specs(struct op_call *call) {
    struct slinging *s = slinging_of(call);
    task_id *tasks = arena_alloc(op_arena(call), SPECS_EACH * sizeof(*tasks));
    size_t count = 0;
    for (; s->asked < s->count && count < SPECS_EACH; s->asked++)
        if (!s->items[s->asked].already && !s->items[s->asked].skipped)
            tasks[count++] = s->items[s->asked].task;
    if (count == 0)
        return finish(call);
    struct store_question question = { .kind = ASK_SPECS, .tasks = tasks, .task_count = count };
    return op_ask(call, &question, take_specs, ask_specs);
}

static int run(struct op_call *call) {
    struct slinging *s = slinging_of(call);
    int r = sling_collect(call, s);
    if (r == 0)
        r = sling_find_works(call, s);
    if (r == 0)
        r = look_at_all(call, s);
    return r < 0 ? r : ask_specs(call);
}

static const char *const merges[] = { "none", "local", "direct", "mr", NULL };

#define TEXT_PARAM(name_, max_, text_)                                                             \
    { .name = name_, .type = OP_TEXT, .place = OP_IN_BODY, .min = 1, .max = (max_), .text = text_ }
#define FLAG_PARAM(name_, text_)                                                                   \
    { .name = name_, .type = OP_BOOLEAN, .place = OP_IN_BODY, .text = text_ }

const struct op op_task_sling = {
    OP("task.sling", "POST", "/v1/tasks/sling", "schedule drafts"),
    .text = "All or none, unless `partial`. What is scheduled already is `already`; tasks of a "
            "project that only coordinates are `skipped`. What is said of agent, account and "
            "merging stands beside the task as its `context`; what was submitted stays as it is.",
    .params = PARAMS(
        PARAM(LIST, BODY, "tasks",
              .text = "task ids, or names of groups: all drafts of them; with a task go all drafts "
                      "below it",
              .required = true, .min = 1, .max = OP_LIST_MAX),
        TEXT_PARAM("project", 128, "the project they must belong to, or move to with `force`"),
        FLAG_PARAM("force", "overrides the guards: another project (a draft moves there, with a "
                            "new id), another group, a task that is at work or final"),
        FLAG_PARAM("dry_run", "only says what would be slung"),
        FLAG_PARAM("partial", "each of `tasks` by itself: those that the queue has no room for are "
                              "`deferred`, the others slung"),
        TEXT_PARAM("group", 128,
                   "the group that follows them; a new one is made for those that none follows"),
        FLAG_PARAM("owned", "a group that is made is closed by hand only"),
        FLAG_PARAM("no_group", "makes no group"),
        TEXT_PARAM("agent", 128, "who runs them, instead of the agent they name"),
        TEXT_PARAM("limiter", 128, "the provider account they use"),
        PARAM(TEXT, BODY, "merge",
              .text = "how the work is brought in, instead of what the task says",
              .choices = merges),
        TEXT_PARAM("base_branch", 255, "the branch they start from, instead of the task's"),
        FLAG_PARAM("no_merge", "the same as `merge: none`"),
        PARAM(TEXT, BODY, "args", .text = "a text that is put behind the prompt", .lines = true,
              .min = 1, .max = 65536),
        PARAM(OBJECT, BODY, "meta", .text = "anything to keep with them: formula, vars, mode …"),
        PARAM(LIST, BODY, "steps",
              .text = "drafts that do the work of the one task that is named: they are slung with "
                      "it, it waits for them and runs nothing of its own",
              .min = 1, .max = 256),
        PARAM(ARRAY, BODY, "work",
              .text = "formulas: `{task, formula, steps}`. The steps, objects as task.add takes "
                      "them, are added and slung with the task, all of the call or none; it waits "
                      "for them and runs nothing of its own",
              .max = 1000)),
    .answers = ANSWERS(
        { "tasks", T_OBJECT | T_LIST, "those that were named, and their steps", &slung_task_shape },
        { "group", T_TEXT | T_NULL, "the group that was made or named", "group-3" },
        { "dry_run", T_BOOL, "nothing was changed" }, SHAPE_ROOM),
    .right = OP_SUBMIT,
    .writes = true,
    .run = run,
};
