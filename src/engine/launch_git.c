/* launch_git.c: what may a run in a sandbox change of a repository?
 *
 * In a worktree of its own: its index and its branch, and new objects. Not the settings, the hooks, other branches or
 * what is packed. TODO(sandbox): objects and branches of its own, imported after the run; until then it can remove
 * loose objects of the repository, and move the branches of other tasks.
 * In a checkout or a clone: nothing of .git. The list sandbox_write can say otherwise. */
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "engine/launch_box.h"
#include "engine/workspace.h"
#include "os/files.h"
#include "workspace/repository.h"
#include "workspace/worktree.h"

#define FILE_MOST  4096u
#define LINKS_MOST (64u << 10)

struct repository {
    char *top;    /* the folder with .git in it */
    char *common; /* what all its worktrees share */
};

/* "gitdir: ../.git/modules/x" */
static char *read_link(struct launch_box *box, const char *top) {
    static const char mark[] = "gitdir: ";
    _cleanup_(strbuf_finish) struct strbuf text = STRBUF_INIT;
    if (file_read(box_text(box, "%s/.git", top), FILE_MOST, &text, NULL) < 0
        || strncmp(strbuf_text(&text), mark, strlen(mark)) != 0)
        return NULL;
    const char *where = strbuf_text(&text) + strlen(mark);
    int length = (int)strcspn(where, "\n");
    return *where == '/' ? box_text(box, "%.*s", length, where)
                         : box_text(box, "%s/%.*s", top, length, where);
}

/* A worktree is known to its repository: that names the file which names it. A run can write such a file, but not the other
 * side of it. */
static bool points_back(struct launch_box *box, const char *git, const char *top) {
    _cleanup_(strbuf_finish) struct strbuf text = STRBUF_INIT;
    char full[PATH_MAX];
    if (file_read(box_text(box, "%s/gitdir", git), FILE_MOST, &text, NULL) < 0)
        return false;
    char *path = box_text(box, "%.*s", (int)strcspn(strbuf_text(&text), "\n"), strbuf_text(&text));
    return realpath(path, full) && strcmp(full, box_text(box, "%s/.git", top)) == 0;
}

/* Upwards from a folder, as git looks. False: it is in none. `is_trusted`: no run has written there. */
static bool find_repository(struct launch_box *box, const char *folder, bool is_trusted,
                            struct repository *ret) {
    char *top = box_text(box, "%s", folder), full[PATH_MAX];
    struct stat st;
    while (lstat(box_text(box, "%s/.git", top), &st) < 0) {
        char *slash = strrchr(top, '/');
        if (!slash || slash == top)
            return false;
        *slash = '\0';
    }
    char *git = S_ISDIR(st.st_mode)   ? box_text(box, "%s/.git", top)
                : S_ISREG(st.st_mode) ? read_link(box, top)
                                      : NULL;
    if (!git || !realpath(git, full)
        || (S_ISREG(st.st_mode) && !is_trusted && !points_back(box, full, top)))
        return false;
    _cleanup_(strbuf_finish) struct strbuf common = STRBUF_INIT;
    if (repository_common_dir(full, &common) < 0)
        return false;
    *ret = (struct repository){ top, box_text(box, "%s", strbuf_text(&common)) };
    return true;
}

/* Objects of other repositories that this one uses. Only of a repository that no run can have made: such a file could
 * name any folder. */
static void show_alternates(struct launch_box *box, const char *common) {
    _cleanup_(strbuf_finish) struct strbuf text = STRBUF_INIT;
    if (file_read(box_text(box, "%s/objects/info/alternates", common), LINKS_MOST, &text, NULL) < 0)
        return;
    for (const char *at = strbuf_text(&text); *at; at += *at == '\n') {
        size_t length = strcspn(at, "\n");
        char *path = *at == '/' ? box_text(box, "%.*s", (int)length, at)
                                : box_text(box, "%s/objects/%.*s", common, (int)length, at);
        if (length > 0)
            (void)box_show(box, SANDBOX_READ, path);
        at += length;
    }
}

/* --- a checkout --------------------------------------------------------------------------------- */

static void add_checkout(struct launch_box *box) {
    struct repository r;
    if (!find_repository(box, box->root, false, &r))
        return;
    if (strcmp(r.top, box->root) != 0) /* a folder of it is the workspace */
        sandbox_add(&box->plan, SANDBOX_READ, r.top, NULL);
    sandbox_add(&box->plan, SANDBOX_READ, r.common, NULL);
    sandbox_add(&box->plan, SANDBOX_READ, box_text(box, "%s/.git", r.top), NULL);
    if (strcmp(r.top, box->root) != 0)
        sandbox_add(&box->plan, SANDBOX_WRITE, box->root, NULL);
}

/* --- a worktree --------------------------------------------------------------------------------- */

static int make_folder(const char *path, struct error *err) {
    return mkdir(path, 0777) == 0 || errno == EEXIST
               ? 0
               : error_set_errno(err, "make the folder", path);
}

/* refs/heads/sluice/web-17 is a file that git replaces: its folder must be there, and writable. */
static int show_branches(struct launch_box *box, const char *common, const char *branch,
                         struct error *err) {
    const char *slash = strrchr(branch, '/');
    char *refs =
        box_text(box, "%s/refs/heads/%.*s", common, (int)(slash ? slash - branch : 0), branch);
    char *above = box_text(box, "%s/logs", common);
    char *logs =
        box_text(box, "%s/refs/heads/%.*s", above, (int)(slash ? slash - branch : 0), branch);
    int r = make_folder(refs, err);
    if (r == 0)
        r = make_folder(above, err);
    if (r == 0)
        r = make_folder(box_text(box, "%s/refs", above), err);
    if (r == 0)
        r = make_folder(box_text(box, "%s/refs/heads", above), err);
    if (r == 0)
        r = make_folder(logs, err);
    if (r < 0)
        return r;
    sandbox_add(&box->plan, SANDBOX_WRITE, refs, NULL);
    sandbox_add(&box->plan, SANDBOX_WRITE, logs, NULL);
    return 0;
}

static void show_if_there(struct launch_box *box, const char *path) {
    if (access(path, F_OK) == 0)
        sandbox_add(&box->plan, SANDBOX_READ, path, NULL);
}

static int add_worktree(struct launch_box *box, const char *branch, struct error *err) {
    char full[PATH_MAX];
    struct repository own, theirs;
    const struct engine_project *project = engine_find_project(box->e, box->project);
    _cleanup_(strbuf_finish) struct strbuf git = STRBUF_INIT;
    if (worktree_git_dir(box->root, &git) < 0 || !realpath(strbuf_text(&git), full)
        || !find_repository(box, box->root, false, &own))
        return error_set(err, -EUCLEAN, "'%.120s' is not a worktree any more", box->root);
    /* A run can have changed where it belongs, if it was not in a sandbox. */
    if (!project || !project->path || !find_repository(box, project->path, true, &theirs)
        || strcmp(own.common, theirs.common) != 0)
        return error_set(err, -EPERM, "the worktree '%.80s' says that it belongs to '%.80s'",
                         box->root, own.common);
    sandbox_add(&box->plan, SANDBOX_READ, own.common, NULL);
    sandbox_add(&box->plan, SANDBOX_WRITE, full, NULL);
    show_if_there(box, box_text(box, "%s/commondir", full));
    show_if_there(box, box_text(box, "%s/gitdir", full));
    show_if_there(box, box_text(box, "%s/config.worktree", full));
    sandbox_add(&box->plan, SANDBOX_WRITE, box_text(box, "%s/objects", own.common), NULL);
    show_if_there(box, box_text(box, "%s/objects/info", own.common));
    show_if_there(box, box_text(box, "%s/objects/pack", own.common));
    show_alternates(box, own.common);
    sandbox_add(&box->plan, SANDBOX_READ, box_text(box, "%s/.git", box->root), NULL);
    return show_branches(box, own.common, branch, err);
}

int box_add_repository(struct launch_box *box, struct error *err) {
    const char *branch = NULL, *base = NULL;
    (void)workspace_path(box->e, box->run->task, &branch, &base);
    if (branch)
        return add_worktree(box, branch, err);
    add_checkout(box);
    return 0;
}
