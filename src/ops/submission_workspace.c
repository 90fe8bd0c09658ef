/* submission_workspace.c: can a task work where it says, and be merged as it says?
 *
 * Looked at when it comes, because the answer would otherwise be a launch that fails in the night. The
 * configuration may change after that; then the launch does say it. */
#include <errno.h>
#include <string.h>

#include "ops/batch.h"
#include "ops/op_internal.h"
#include "workspace/git.h"

static int check_wish(const struct config *config, const char *project, const char *wish,
                      bool makes_worktrees, struct error *err) {
    const char *const *paths;
    size_t count = config_words(config, "projects.P.workspace_paths", project, &paths);
    if (makes_worktrees)
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

static int check_merge(const struct config *config, const char *project, const char *merge,
                       bool makes_worktrees, struct error *err) {
    const char *const *words;
    if (strcmp(merge, "none") == 0)
        return 0;
    if (!makes_worktrees)
        return error_set(err, -EINVAL,
                         "merge '%s' needs a branch to merge: 'sluice config set "
                         "projects.%s.workspace_mode=worktree' makes one for each task",
                         merge, project);
    if (strcmp(merge, "mr") == 0
        && config_words(config, "projects.P.mr_command", project, &words) == 0)
        return error_set(err, -EINVAL, "merge 'mr' needs a command: set projects.%s.mr_command",
                         project);
    return 0;
}

/* A merge would come before the approval. */
static int check_review(const struct submission *s, const char *merge, struct error *err) {
    bool by_person = s->review == 1 || (s->until && strcmp(s->until, "external") == 0);
    if (!by_person || strcmp(merge, "direct") != 0)
        return 0;
    return error_set(err, -EINVAL,
                     "merge 'direct' does not wait for a person: a task with %s has merge 'local' "
                     "or 'mr'",
                     s->review == 1 ? "a review" : "until 'external'");
}

int submission_check_workspace(const struct batch *batch, const struct batch_entry *entry,
                               struct error *err) {
    const struct submission *s = &entry->s;
    const struct config *config = engine_config(batch->engine);
    const char *project = submission_project(s);
    bool makes_worktrees =
        strcmp(config_text(config, "projects.P.workspace_mode", project), "worktree") == 0;
    int r = s->workspace ? check_wish(config, project, s->workspace, makes_worktrees, err) : 0;
    if (r == 0 && s->merge)
        r = check_merge(config, project, s->merge, makes_worktrees, err);
    const char *merge = s->merge ? s->merge : config_text(config, "projects.P.merge", project);
    if (r == 0)
        r = check_review(s, merge, err);
    if (r == 0 && s->base_branch && !git_branch_is_valid(s->base_branch))
        r = error_set(err, -EINVAL, "'base_branch' '%s' is no name of a branch",
                      op_quote(s->base_branch).text);
    return r;
}
