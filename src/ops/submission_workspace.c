/* submission_workspace.c: can a task work where it says, and be merged as it says?
 *
 * Looked at when it comes, because the answer would otherwise be a launch that fails in the night.
 * The configuration may change after that; then the launch does say it. */
#include <errno.h>
#include <string.h>

#include "engine/worktrees.h"
#include "ops/batch.h"
#include "ops/op_internal.h"
#include "workspace/git.h"

static int check_wish(const struct config *config, const char *project, const char *wish,
                      bool has_worktrees, struct error *err) {
    const char *const *paths;
    size_t count = config_words(config, "projects.P.workspace_paths", project, &paths);
    if (has_worktrees)
        return error_set(err, -EINVAL,
                         "project '%s' makes a worktree for each task: 'workspace' is for a pool",
                         project);
    _cleanup_(strbuf_finish) struct strbuf known = STRBUF_INIT;
    for (size_t i = 0; i < count; i++) {
        if (strcmp(paths[i], wish) == 0)
            return 0;
        strbuf_printf(&known, "%s%s", i > 0 ? ", " : "", paths[i]);
    }
    return count == 0 ? 0
                      : error_set(err, -EINVAL, "workspace '%s' is none of project '%s': %.300s",
                                  op_quote(wish).text, project, strbuf_text(&known));
}

static bool makes_worktrees(const struct config *config, const char *project) {
    return strcmp(config_text(config, "projects.P.workspace_mode", project), "worktree") == 0;
}

int submission_check_merge(const struct config *config, const struct submission_merge *wish,
                           struct error *err) {
    const char *const *words;
    const char *merge = wish->merge, *project = wish->project;
    if (merge && strcmp(merge, "none") != 0 && !makes_worktrees(config, project))
        return error_set(err, -EINVAL,
                         "merge '%s' needs a branch to merge: 'sluice config set "
                         "projects.%s.workspace_mode=worktree' makes one for each task",
                         merge, project);
    if (merge && strcmp(merge, "mr") == 0
        && config_words(config, "projects.P.mr_command", project, &words) == 0)
        return error_set(err, -EINVAL, "merge 'mr' needs a command: set projects.%s.mr_command",
                         project);
    if (wish->base_branch && !git_branch_is_valid(wish->base_branch))
        return error_set(err, -EINVAL, "'base_branch' '%s' is no name of a branch",
                         op_quote(wish->base_branch).text);
    return 0;
}

int submission_check_workspace(const struct batch *batch, const struct batch_entry *entry,
                               struct error *err) {
    const struct submission *s = &entry->s;
    const struct config *config = engine_config(batch->engine);
    struct submission_merge wish = {
        .project = submission_project(s),
        .merge = s->merge,
        .base_branch = s->base_branch,
    };
    int r = s->workspace ? check_wish(config, wish.project, s->workspace,
                                      makes_worktrees(config, wish.project), err)
                         : 0;
    if (r == 0)
        r = engine_check_worktrees(batch->engine, wish.project, err);
    return r < 0 ? r : submission_check_merge(config, &wish, err);
}

const char *submission_branch_note(const struct config *config, const char *project,
                                   struct arena *arena) {
    _cleanup_(strbuf_finish) struct strbuf text = STRBUF_INIT;
    if (makes_worktrees(config, project))
        return NULL;
    strbuf_printf(
        &text,
        "'base_branch' has no effect: project '%s' has no worktrees (projects.%s.workspace_mode)",
        op_quote(project).text, op_quote(project).text);
    return arena_strdup(arena, strbuf_text(&text));
}
