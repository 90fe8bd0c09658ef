/* op_groups.c: groups of tasks. A group tracks its tasks and never blocks them. */
#include <errno.h>

#include "base/utf8.h"
#include "ops/print.h"

#define TASKS_SHOWN 1000u

static void print_one(struct json_writer *w, struct op_call *call, size_t index) {
    const struct engine_group *group = engine_group_at(call->engine, index);
    if (!*group->name) /* deleted, and its slot is not reused yet */
        return;
    json_write_object_begin(w);
    print_group(w, group);
    json_write_object_end(w);
}

static int run_list(struct op_call *call) {
    return names_list(call, engine_group_count(call->engine), print_one);
}

/* clang-format off */
#define GROUP_TASK(X) \
    X(print_id, "id", T_ID, "its id", NULL, call->engine, members[i]) \
    X(json_put_string, "state", T_WORD, "its state", &words_state, task_state_name(view.state))
static const struct shape group_task_shape = { "GroupTask", "a task of a group", .members = SHAPE_ALL(GROUP_TASK) };
/* clang-format on */

static int run_show(struct op_call *call) {
    const struct engine_group *group = op_group(call, op_text(call, "name"));
    if (!group)
        return call->err.code;
    struct json_writer w = op_begin(call);
    print_group(&w, group);
    const struct core *core = engine_core(call->engine);
    task_id *members = arena_alloc(op_arena(call), TASKS_SHOWN * sizeof(*members));
    size_t all = core_group_members(core, group->id, false, members, TASKS_SHOWN);
    json_put_array(&w, "tasks");
    for (size_t i = 0; i < all && i < TASKS_SHOWN; i++) {
        struct task_view view;
        (void)core_task(core, members[i], &view);
        SHAPE_OBJECT_TO(GROUP_TASK)
    }
    json_write_array_end(&w);
    return op_end(&w);
}

static int run_add(struct op_call *call) {
    const char *name = op_text(call, "name");
    const struct engine_group *before = name ? engine_find_group(call->engine, name) : NULL;
    bool already = before && !before->closed;
    uint32_t id = 0;
    if (name && !utf8_is_name(name, json_string_length(op_json(call, "name"))))
        return op_fail(call, -EINVAL,
                       "'%s' is not a name: no control characters, no blank at the ends",
                       utf8_quote(name).text);
    int r = engine_open_group(call->engine, name, op_flag(call, "owned"), &id, &call->err);
    return r < 0 ? r
                 : op_answer(call, "s:s, s:b", "name", op_group_name(call->engine, id), "already",
                             already);
}

static int run_close(struct op_call *call) {
    const struct engine_group *group = op_group(call, op_text(call, "name"));
    if (!group)
        return call->err.code;
    int r = engine_close_group(call->engine, group->name, &call->err);
    return r < 0 ? r
                 : op_answer(call, "s:s, s:b, s:b", "name", op_text(call, "name"), "closed", true,
                             "already", r == 1);
}

const struct op op_group_list = {
    OP("group.list", "GET", "/v1/groups", "list the groups"),
    .params = PARAMS(OP_PARAM_LIMIT, OP_PARAM_CURSOR),
    .answers = ANSWERS(SHAPE_PAGE(&shape_group)),
    OP_READS(READ, NONE, run_list),
};

static const struct op_param name_params[] = { OP_PARAM_NAME("the group"), { .name = NULL } };

const struct op op_group_show = {
    OP("group.show", "GET", "/v1/groups/{name}", "show a group and its tasks"),
    .text = "`GET /v1/tasks?group=` lists all of its tasks.",
    .params = name_params,
    .answers =
        &(const struct shape){ .base = &shape_group,
                               .members = SHAPE_ROWS({ "tasks", T_OBJECT | T_LIST,
                                                       "up to 1,000 of its tasks, newest first",
                                                       &group_task_shape }) },
    OP_READS(READ, NONE, run_show),
};

const struct op op_group_add = {
    OP("group.add", "POST", "/v1/groups", "open a group"),
    .params = PARAMS(
        PARAM(TEXT, BODY, "name", .text = "its name; made up when not given", .min = 1, .max = 128),
        PARAM(BOOLEAN, BODY, "owned",
              .text = "closed only manually, not when all its tasks are final")),
    .answers = ANSWERS({ "name", T_TEXT, "its name", "night" }, SHAPE_ALREADY),
    OP_WRITES(SUBMIT, NONE, run_add),
};

const struct op op_group_close = {
    OP("group.close", "POST", "/v1/groups/{name}/close", "close a group"),
    .text = "Its tasks are left alone.",
    .params = name_params,
    .answers = ANSWERS({ "name", T_TEXT, "its name", "night" },
                       { "closed", T_BOOL, "it is closed" }, SHAPE_ALREADY),
    OP_WRITES(SUBMIT, NONE, run_close),
};
