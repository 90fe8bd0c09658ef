/* op_projects.c: lists, adds, changes and deletes projects.
 *
 * The store has the existence of a project and its task prefix; the configuration has its settings.
 * Adding one with a weight changes both: the values are checked first, then the project is created,
 * then the file is written. */
#include <errno.h>
#include <string.h>
#include <sys/stat.h>

#include "base/alloc.h"
#include "base/utf8.h"
#include "config/settings.h"
#include "engine/descendants.h"
#include "ops/print.h"

static void print_one(struct json_writer *w, struct op_call *call, size_t index) {
    struct share_sums *sums = op_state(call, sizeof(*sums), NULL);
    if (engine_project_at(call->engine, index)->standing != PROJECT_DELETED)
        print_project(w, call->engine, engine_project_at(call->engine, index), sums);
}

static int run_list(struct op_call *call) {
    sum_shares(call->engine, op_state(call, sizeof(struct share_sums), NULL));
    return names_list(call, engine_project_count(call->engine), print_one);
}

static int answer_project(struct op_call *call, const struct engine_project *project) {
    struct share_sums sums;
    struct json_writer w;
    sum_shares(call->engine, &sums);
    json_write_init(&w, &call->answer, false);
    print_project(&w, call->engine, project, &sums);
    return 0;
}

static int run_show(struct op_call *call) {
    const struct engine_project *project = op_project(call, op_text(call, "name"));
    return project ? answer_project(call, project) : call->err.code;
}

/* --- changing -------------------------------------------------------------------------------- */

#define PROJECT_SETTINGS "projects.P."

/* A missing folder would otherwise be found only at launch. "": removes the folder. */
static int check_path(struct op_call *call) {
    const char *path = op_text(call, "path");
    struct stat st;
    if (!path || !*path)
        return 0;
    if (path[0] != '/')
        return op_fail(call, -EINVAL, "'%s' is no absolute path", utf8_quote(path).text);
    if (stat(path, &st) < 0)
        return op_fail(call, -EINVAL, "cannot use the folder '%s': %s", utf8_quote(path).text,
                       strerror(errno));
    if (!S_ISDIR(st.st_mode))
        return op_fail(call, -EINVAL, "'%s' is not a directory", utf8_quote(path).text);
    return 0;
}

extern const struct op op_project_add;

/* Adds a project, or changes the settings of one. */
static int run_change(struct op_call *call) {
    _cleanup_(change_finish) struct change change = { 0 };
    struct config_change *items = NULL;
    bool adds = call->op == &op_project_add;
    const char *name = op_text(call, "name");
    if (adds && !utf8_is_name(name, strlen(name)))
        return op_fail(call, -EINVAL,
                       "'%s' is not a name: no control characters, no blank at the ends",
                       utf8_quote(name).text);
    if (adds && engine_find_project(call->engine, name))
        return op_fail(call, -EEXIST, "project '%s' already exists", utf8_quote(name).text);
    if (!adds && !op_project(call, name))
        return call->err.code;
    size_t count = section_changes(call, PROJECT_SETTINGS, name, false, &items);
    if (!adds && count == 0)
        return op_fail(call, -EINVAL, "nothing to change: give a setting, such as weight");
    int r = check_path(call);
    if (r == 0 && count > 0)
        r = change_prepare(call, items, count, &change);
    if (r == 0 && adds)
        r = engine_add_project(call->engine, name, op_text(call, "prefix"), &call->err);
    if (r == 0 && count > 0)
        r = change_apply(call, &change);
    return r < 0 ? r : answer_project(call, engine_find_project(call->engine, name));
}

/* --- deleting -------------------------------------------------------------------------------- */

/* Counts unfinished tasks; `cancel`: cancels them. Walks all task numbers, once in the life of a
 * project. */
static size_t each_unfinished(struct op_call *call, const struct engine_project *p, bool cancel) {
    size_t count = 0;
    for (task_id task = 1; task <= engine_last_task(call->engine); task++) {
        struct task_view t;
        if (!core_task(engine_core(call->engine), task, &t) || t.project != p->symbol
            || task_state_is_final(t.state))
            continue;
        count++;
        if (!cancel)
            continue;
        struct fact fact = { .kind = FACT_CANCEL, .task = task };
        (void)engine_apply(call->engine, &fact, NULL);
        engine_cancel_descendants(call->engine, task, false);
    }
    return count;
}

static int run_delete(struct op_call *call) {
    _cleanup_(change_finish) struct change change = { 0 };
    struct config_change *items = NULL;
    const char *name = op_text(call, "name");
    const struct engine_project *project = op_project(call, name);
    if (!project)
        return call->err.code;
    bool cancel = op_flag(call, "cancel");
    size_t unfinished = each_unfinished(call, project, false);
    if (unfinished > 0 && !cancel)
        return op_fail(
            call, -EBUSY,
            "project '%s' has %zu unfinished task%s: wait for them, or cancel them with --cancel",
            utf8_quote(name).text, unfinished, unfinished == 1 ? "" : "s");
    size_t count = config_has_project(engine_config(call->engine), name)
                       ? section_removal(call, PROJECT_SETTINGS, name, &items)
                       : 0;
    int r = count > 0 ? change_prepare(call, items, count, &change) : 0;
    if (r == 0 && count > 0 && config_has_project(change.config, name))
        r = op_fail(call, -EINVAL,
                    "projects.%s cannot be removed from the configuration here: edit the file",
                    utf8_quote(name).text);
    if (r == 0)
        r = engine_delete_project(call->engine, name, op_actor(call), &call->err);
    if (r == 0 && count > 0) {
        r = change_apply(call, &change);
        if (r < 0) /* the file cannot be written */
            (void)engine_add_project(call->engine, name, NULL, NULL);
    }
    if (r < 0)
        return r;
    if (unfinished > 0)
        (void)each_unfinished(call, project, true);
    return op_answer(call, "s:s, s:I", "name", name, "canceled", (int64_t)unfinished);
}

/* --- the operations -------------------------------------------------------------------------- */

const struct op op_project_list = {
    OP("project.list", "GET", "/v1/projects", "list the projects"),
    .params = PARAMS(OP_PARAM_LIMIT, OP_PARAM_CURSOR),
    .answers = ANSWERS(SHAPE_PAGE(&shape_project)),
    OP_READS(READ, NONE, run_list),
};

#define PARAM_NAME(place_)                                                                         \
    PARAM(TEXT, place_, "name", .text = "the project", .required = true, .min = 1, .max = 128)
#define PARAM_SETTINGS                                                                             \
    PARAM(SETTINGS, BODY, "KEY", .min = 1, .max = 4096, .settings = PROJECT_SETTINGS,              \
          .text =                                                                                  \
              "any setting `projects.P.KEY` of the configuration, such as `weight` or `path`, "    \
              "a folder that must be there")

const struct op op_project_show = {
    OP("project.show", "GET", "/v1/projects/{name}", "show a project"),
    .params = PARAMS(PARAM_NAME(PATH)),
    .answers = &shape_project,
    OP_READS(READ, NONE, run_show),
};

const struct op op_project_add = {
    OP("project.add", "POST", "/v1/projects", "add a project"),
    .params = PARAMS(
        PARAM_NAME(BODY),
        PARAM(TEXT, BODY, "prefix",
              .text = "what the ids of its tasks begin with; made from the name when not given",
              .min = 1, .max = 16),
        PARAM_SETTINGS),
    .answers = &shape_project,
    OP_WRITES(ADMIN, NONE, run_change),
};

const struct op op_project_set = {
    OP("project.set", "POST", "/v1/projects/{name}/set", "change the settings of a project"),
    .text = "The same as changing `projects.NAME.*` of the configuration.",
    .params = PARAMS(PARAM_NAME(PATH), PARAM_SETTINGS),
    .answers = &shape_project,
    OP_WRITES(ADMIN, NONE, run_change),
};

const struct op op_project_delete = {
    OP("project.delete", "POST", "/v1/projects/{name}/delete", "delete a project"),
    .text = "Removes it from the lists, and its section from the configuration. Its finished tasks "
            "stay until retention removes them, and its prefix stays taken: `project.add` with the "
            "same name brings it back.",
    .params = PARAMS(PARAM_NAME(PATH),
                     PARAM(BOOLEAN, BODY, "cancel",
                           .text = "cancel its unfinished tasks; without it they are a conflict")),
    .answers = ANSWERS({ "name", T_TEXT, "the project", "web" },
                       { "canceled", T_INT, "how many of its tasks were canceled" }),
    OP_WRITES(ADMIN, NONE, run_delete),
};
