/* op_task_sling.c: drafts are scheduled; one by one, or all of a group.
 *
 * Slinging what is scheduled already changes nothing and says so. Two guards: a task that is at work, and
 * a task of another project than the one that was named; `force` overrides both. */
#include <errno.h>
#include <string.h>

#include "base/alloc.h"
#include "ops/print.h"

#define GROUP_LOOKED 20000u

struct slinging {
    task_id *tasks;
    size_t count, capacity;
    bool *already;
};

static void slinging_finish(void *state) {
    struct slinging *s = state;
    freep(&s->tasks);
}

static void push(struct slinging *s, task_id task) {
    s->tasks = xgrow(s->tasks, &s->capacity, s->count + 1, sizeof(*s->tasks));
    s->tasks[s->count++] = task;
}

/* The newest first, as many as one call may look at: a group is slung while it is new. */
static void push_group(struct op_call *call, struct slinging *s, uint32_t group) {
    const struct core *core = engine_core(call->engine);
    task_id task = engine_last_task(call->engine);
    size_t first = s->count;
    for (unsigned looked = 0; task > 0 && looked < GROUP_LOOKED; task--, looked++) {
        struct task_spec spec;
        if (core_task_spec(core, task, &spec) && spec.group == group && spec.state == TASK_DRAFT)
            push(s, task);
    }
    for (size_t i = first, k = s->count; i + 1 < k; i++) { /* oldest first */
        task_id other = s->tasks[--k];
        s->tasks[k] = s->tasks[i];
        s->tasks[i] = other;
    }
}

static int collect(struct op_call *call, struct slinging *s) {
    const json_t *list = op_json(call, "tasks");
    for (size_t i = 0; i < json_array_size(list); i++) {
        const char *name = json_string_value(json_array_get(list, i));
        const struct engine_group *group = engine_find_group(call->engine, name);
        task_id task = group ? 0 : engine_find_task(call->engine, name, &call->err);
        if (group) {
            push_group(call, s, group->id);
        } else if (task) {
            push(s, task);
        } else {
            call->index = (int64_t)i;
            return op_fail(call, -ENOENT, "there is no task and no group '%s'",
                           op_quote(name).text);
        }
    }
    return 0;
}

static int look(struct op_call *call, task_id task, bool *ret_already) {
    struct task_view t;
    char id[ENGINE_ID_MAX];
    const char *project = op_text(call, "project");
    (void)core_task(engine_core(call->engine), task, &t);
    *ret_already = t.state != TASK_DRAFT;
    if (op_flag(call, "force"))
        return 0;
    if (project && t.project != op_symbol(call->engine, project))
        return op_fail(call, -EPERM, "task '%s' is of project '%s', not of '%s'; force overrides",
                       engine_task_id(call->engine, task, id), op_name_of(call->engine, t.project),
                       op_quote(project).text);
    if (task_state_is_live(t.state) || task_state_is_final(t.state))
        return op_fail(call, -EBUSY, "task '%s' is %s: only a draft can be slung",
                       engine_task_id(call->engine, task, id), task_state_name(t.state));
    return 0;
}

static int run(struct op_call *call) {
    struct slinging *s = op_state(call, sizeof(*s), slinging_finish);
    const char *project = op_text(call, "project");
    if (project && !op_project(call, project))
        return call->err.code;
    int r = collect(call, s);
    if (r < 0)
        return r;
    s->already = arena_alloc(op_arena(call), s->count + 1);
    for (size_t i = 0; r == 0 && i < s->count; i++)
        r = look(call, s->tasks[i], &s->already[i]);
    if (r < 0)
        return r;
    for (size_t i = 0; i < s->count; i++) {
        struct fact fact = { .kind = FACT_SLING, .task = s->tasks[i] };
        if (!s->already[i])
            s->already[i] = engine_tell(call->engine, &fact, NULL) != 0;
    }
    print_states(call, op_ids(call, s->tasks, s->count), s->tasks, s->count, s->already);
    return 0;
}

static const struct op_param params[] = {
    { .name = "tasks",
      .type = OP_LIST,
      .place = OP_IN_BODY,
      .required = true,
      .min = 1,
      .max = OP_LIST_MAX,
      .text = "task ids, or names of groups: all drafts of them" },
    { .name = "project",
      .type = OP_TEXT,
      .place = OP_IN_BODY,
      .min = 1,
      .max = 128,
      .text = "the project they must belong to" },
    { .name = "force",
      .type = OP_BOOLEAN,
      .place = OP_IN_BODY,
      .text = "overrides the guards: another project, a task that is at work or final" },
    { .name = NULL },
};

const struct op op_task_sling = {
    .name = "task.sling",
    .method = "POST",
    .path = "/v1/tasks/sling",
    .summary = "schedule drafts",
    .params = params,
    .result = "{\"tasks\":[{\"id\":\"web-17\",\"state\":\"ready\",\"already\":false}]}",
    .right = OP_SUBMIT,
    .writes = true,
    .run = run,
};
