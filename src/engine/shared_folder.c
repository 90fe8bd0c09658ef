/* shared_folder.c: do agents work in the same folder at the same time?
 *
 * Each would find half-done changes of the other. A worktree, a pool, or a task that wants its folder alone
 * (`workspace`) keeps them apart; then there is nothing to tell. */
#include <string.h>

#include "engine/engine_internal.h"
#include "engine/shared_folder.h"

#define LOOKED_MAX 200u /* runs, of which each is compared with as many */

const char *engine_task_folder(const struct engine *e, const char *project, const char *agent,
                               const char *cwd) {
    const char *const *paths;
    const char *folder = cwd ? cwd : config_text(e->config, "projects.P.path", project);
    if (!agent || !*folder
        || strcmp(config_text(e->config, "projects.P.workspace_mode", project), "worktree") == 0
        || config_words(e->config, "projects.P.workspace_paths", project, &paths) > 0)
        return NULL;
    return folder;
}

/* One that waits for its own children does not touch anything. */
static bool works(const struct engine *e, const struct live_run *run) {
    struct task_view view;
    return run->agent && run->cwd && core_task(e->core, run->task, &view)
           && view.phase != PHASE_WAITING;
}

task_id engine_agent_in_folder(const struct engine *e, const char *folder) {
    for (size_t i = 0; i < run_count(e); i++) {
        const struct live_run *run = run_live_at(e, i);
        if (works(e, run) && strcmp(run->cwd, folder) == 0)
            return run->task;
    }
    return 0;
}

static const struct live_run *find_other(const struct engine *e, const struct live_run *run,
                                         size_t from) {
    for (size_t i = from; i < run_count(e) && i < from + LOOKED_MAX; i++) {
        const struct live_run *other = run_live_at(e, i);
        if (other->task != run->task && works(e, other) && strcmp(other->cwd, run->cwd) == 0)
            return other;
    }
    return NULL;
}

bool engine_shared_folder(const struct engine *e, task_id task, struct strbuf *out) {
    char id[ENGINE_ID_MAX];
    for (size_t i = 0; i < run_count(e) && (task || i < LOOKED_MAX); i++) {
        const struct live_run *run = run_live_at(e, i);
        if (!works(e, run) || (task && run->task != task))
            continue;
        const struct live_run *other = find_other(e, run, task ? 0 : i + 1);
        if (!other)
            continue;
        strbuf_printf(out, "the agents of '%s'", engine_task_id(e, run->task, id));
        strbuf_printf(out, " and '%s' work in the same folder '%.200s': " SHARED_FOLDER_FIX,
                      engine_task_id(e, other->task, id), run->cwd);
        return true;
    }
    return false;
}
