/* workspace_look.c: what people are told of workspaces: where a task works, what is done around its run,
 * which worktrees are left over. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "engine/job.h"
#include "engine/secrets.h"
#include "engine/workspace_internal.h"
#include "engine/worktrees.h"

const char *engine_run_doing(const struct engine *e, task_id task) {
    for (const struct job *job = workspaces_of(e)->jobs; job; job = job->next)
        if (job->key.task == task && job->kind != JOB_CLEAN && job->kind != JOB_DIFF)
            return job->doing;
    if (secrets_are_read_for(e, task))
        return "reads its secrets";
    const struct live_run *run = run_find(e, task);
    return run && run->prepares && !run->view.started_at ? "prepares its worktree" : NULL;
}

void engine_workspace(const struct engine *e, task_id task, struct engine_workspace *ret) {
    const struct workspace_place *place = workspace_find(e, task);
    char id[ENGINE_ID_MAX];
    *ret = (struct engine_workspace){ 0 };
    struct worktree_record record = { 0 };
    if (worktree_record_read(e->data, engine_task_id(e, task, id), &record, NULL) == 0) {
        struct strbuf path = STRBUF_INIT, branch = STRBUF_INIT;
        worktree_path(e->data, id, &path);
        git_branch_of_task(id, &branch);
        ret->path = strbuf_take(&path);
        ret->branch = strbuf_take(&branch);
        ret->base = xstrdup(record.base);
        ret->merge = xstrdup(record.merge);
        worktree_record_finish(&record);
    } else if (place) {
        ret->path = xstrdup(place->path);
    }
}

const char *engine_project_merge(const struct config *config, const char *project) {
    const char *mode = config_text(config, "projects.P.workspace_mode", project);
    bool is_set = config_is_set(config, "projects.P.merge", project);
    return is_set || strcmp(mode, "worktree") == 0
               ? config_text(config, "projects.P.merge", project)
               : "none";
}

int engine_check_worktrees(const struct engine *e, const char *project, struct error *err) {
    static const char *const keys[] = { "prepare", "copy" };
    static const char *const patterns[] = { "projects.P.prepare", "projects.P.copy" };
    const char *mode = config_text(e->config, "projects.P.workspace_mode", project);
    const char *const *words = NULL;
    for (size_t i = 0; strcmp(mode, "worktree") != 0 && i < ARRAY_SIZE(keys); i++)
        if (config_words(e->config, patterns[i], project, &words) > 0)
            return error_set(err, -EINVAL,
                             "projects.%s.%s is for worktrees: set projects.%s.workspace_mode to "
                             "worktree, or unset it",
                             project, keys[i], project);
    return 0;
}

void engine_workspace_finish(struct engine_workspace *workspace) {
    free(workspace->path);
    free(workspace->branch);
    free(workspace->base);
    free(workspace->merge);
    *workspace = (struct engine_workspace){ 0 };
}

task_id engine_workspace_holder(const struct engine *e, const char *path) {
    for (size_t i = 0; i < workspaces_of(e)->places.count; i++)
        if (strcmp(workspaces_of(e)->places.items[i].path, path) == 0)
            return workspaces_of(e)->places.items[i].task;
    return 0;
}

struct kept {
    const struct engine *e;
    size_t count;
};

static void count_kept(void *ctx, const char *id) {
    struct kept *kept = ctx;
    struct task_view view;
    _cleanup_(strbuf_finish) struct strbuf path = STRBUF_INIT;
    task_id task = engine_task_of_id(kept->e, id, NULL);
    worktree_path(kept->e->data, id, &path);
    kept->count += task && core_task(kept->e->core, task, &view) && task_state_is_final(view.state)
                   && access(strbuf_text(&path), F_OK) == 0;
}

size_t engine_kept_worktrees(const struct engine *e) {
    struct kept kept = { .e = e };
    worktree_each(e->data, count_kept, &kept);
    return kept.count;
}

size_t engine_leftover_count(const struct engine *e) {
    return workspaces_of(e)->leftovers.count;
}

const char *engine_leftover_at(const struct engine *e, size_t index, const char **ret_why) {
    *ret_why = workspaces_of(e)->leftovers.items[index].why;
    return workspaces_of(e)->leftovers.items[index].path;
}
