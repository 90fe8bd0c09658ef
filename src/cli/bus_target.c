/* bus_target.c: see bus_target.h. */
#include "cli/bus_target.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "cli/ask.h"
#include "config/config.h"
#include "os/files.h"
#include "os/home.h"

static const char *environment(const char *name) {
    const char *value = getenv(name);
    return value && *value ? value : NULL;
}

static void init_bus(struct bus_target *t, const char *root) {
    _cleanup_(freep) char *real = file_resolve(root);
    bus_init(&t->bus, real);
}

/* A run has no SLUICE_HOME, but is told where the bus of its daemon is. */
static int find_root(struct bus_target *t) {
    const char *told = environment("SLUICE_BUS");
    if (told && !environment("SLUICE_HOME")) {
        init_bus(t, told);
        return CMD_OK;
    }
    _cleanup_(home_finish) struct home home = { 0 };
    _cleanup_(strbuf_finish) struct strbuf root = STRBUF_INIT;
    struct error err = { 0 };
    if (home_find(&home, &err) < 0)
        return cmd_error(&err);
    struct config *config = config_new(); /* one that cannot be read: the usual one */
    (void)config_read_file(config, home.config_file, NULL);
    _cleanup_(freep) char *data = config_data_folder(config, home.data);
    config_free(config);
    strbuf_printf(&root, "%s/" BUS_FOLDER, data);
    init_bus(t, strbuf_text(&root));
    return CMD_OK;
}

/* A task by its number alone, or of a project that nobody named. */
static int ask_task(struct bus_target *t) {
    _cleanup_(ask_finish) struct ask ask = { 0 };
    _cleanup_(strbuf_finish) struct strbuf path = STRBUF_INIT;
    ask_path(&path, "/v1/tasks/", t->task, "");
    int code = ask_open(&ask, ASK_TRY);
    if (code == CMD_OK && ask_try_get(&ask, strbuf_text(&path)) == 0) {
        free(t->task);
        t->task = xstrdup(ask_text(ask.answer, "id", ""));
        if (!t->project)
            t->project = xstrdup(ask_text(ask.answer, "project", ""));
        return CMD_OK;
    }
    if (!t->project)
        t->project = bus_find_project(&t->bus, t->task);
    if (t->project)
        return CMD_OK; /* the files know it, whether the daemon still does or not */
    if (code == CMD_OK && ask_was_answered(&ask))
        return ask_failed(&ask);
    cmd_warn("no daemon can say which project '%s' belongs to: give '--project'", t->task);
    return CMD_NO_DAEMON;
}

static bool has_prefix(const char *task) {
    const char *dash = strrchr(task, '-');
    return dash && dash > task;
}

int bus_target_find(const struct cmd_call *call, bool optional, struct bus_target *t) {
    const char *project = cmd_value(call, "project"), *task = cmd_value(call, "task");
    const char *own_project = environment("SLUICE_PROJECT"), *own_task = environment("SLUICE_TASK");
    if ((project && !*project) || (task && !*task))
        return cmd_usage_error(call->cmd, "the name of a %s is empty", task ? "task" : "project");
    int code = find_root(t);
    if (code != CMD_OK)
        return code;
    if (!project && (!task || (own_task && strcmp(task, own_task) == 0))) {
        task = own_task;
        project = own_project;
        t->own = project != NULL;
    }
    if (project && !task && own_project && strcmp(project, own_project) == 0)
        t->sender = own_task;
    t->project = project ? xstrdup(project) : NULL;
    t->task = task ? xstrdup(task) : NULL;
    if (!project && !task)
        return optional ? CMD_OK
                        : cmd_usage_error(call->cmd, "whose bus? give '--project' or '--task'");
    if (task && (!project || !has_prefix(task)))
        code = ask_task(t);
    struct bus_place place = { t->project, t->task };
    struct error err = { 0 };
    if (code == CMD_OK && bus_path(&t->bus, &place, &t->path, &err) < 0)
        code = cmd_usage_error(call->cmd, "%s", err.text);
    return code;
}

static int check_answer(const struct bus_target *t, const struct ask *ask) {
    const char *project = ask_text(ask->answer, "project", t->project);
    if (!t->task || strcmp(project, t->project) == 0)
        return CMD_OK;
    cmd_warn("task '%s' belongs to project '%s', not to '%s'", t->task, project, t->project);
    return CMD_FAILED;
}

int bus_target_check(const struct bus_target *t) {
    _cleanup_(ask_finish) struct ask ask = { 0 };
    _cleanup_(strbuf_finish) struct strbuf path = STRBUF_INIT;
    if (t->own || access(strbuf_text(&t->path), F_OK) == 0 || ask_open(&ask, ASK_TRY) != CMD_OK)
        return CMD_OK;
    if (t->task)
        ask_path(&path, "/v1/tasks/", t->task, "");
    else
        ask_path(&path, "/v1/projects/", t->project, "");
    if (ask_try_get(&ask, strbuf_text(&path)) == 0)
        return check_answer(t, &ask);
    return ask_was_answered(&ask) ? ask_failed(&ask) : CMD_OK;
}

void bus_target_finish(struct bus_target *t) {
    bus_finish(&t->bus);
    free(t->project);
    free(t->task);
    strbuf_finish(&t->path);
}
