/* launch_git.c: what may a run in a sandbox change of a repository?
 *
 * In a worktree of its own: its index. Objects, branches and settings are a private copy, of which the commits of its
 * branch are taken over after the run (worktree_import.c).
 * In a checkout or a clone: nothing of .git. The list sandbox_write can say otherwise. */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "engine/job.h"
#include "engine/launch_box.h"
#include "os/files.h"
#include "os/outside.h"
#include "workspace/private_git.h"
#include "workspace/repository.h"
#include "workspace/worktree.h"

#define FILE_MOST 4096u

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

/* Upwards from a folder, as git looks. False: it is in none. */
static bool find_repository(struct launch_box *box, const char *folder, struct repository *ret) {
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
    if (!git || !realpath(git, full) || (S_ISREG(st.st_mode) && !points_back(box, full, top)))
        return false;
    _cleanup_(strbuf_finish) struct strbuf common = STRBUF_INIT;
    if (repository_common_dir(full, &common) < 0)
        return false;
    *ret = (struct repository){ top, box_text(box, "%s", strbuf_text(&common)) };
    return true;
}

/* --- a checkout --------------------------------------------------------------------------------- */

static void add_checkout(struct launch_box *box) {
    struct repository r;
    if (!find_repository(box, box->root, &r))
        return;
    if (strcmp(r.top, box->root) != 0) /* a folder of it is the workspace */
        sandbox_add(&box->plan, SANDBOX_READ, r.top, NULL);
    sandbox_add(&box->plan, SANDBOX_READ, r.common, NULL);
    sandbox_add(&box->plan, SANDBOX_READ, box_text(box, "%s/.git", r.top), NULL);
    if (strcmp(r.top, box->root) != 0)
        sandbox_add(&box->plan, SANDBOX_WRITE, box->root, NULL);
}

/* --- a worktree --------------------------------------------------------------------------------- */

static void show_alternate(void *ctx, const char *path) {
    (void)box_show(ctx, SANDBOX_READ, path);
}

/* The shared folder is a private one (workspace/private_git.h), with what is not written in it shown as it is. */
static int show_private(struct launch_box *box, const char *common, const char *branch,
                        struct error *err) {
    _cleanup_(strbuf_finish) struct strbuf folder = STRBUF_INIT;
    private_git_path(box->data, box->id, &folder);
    const char *own = arena_strdup(box->arena, strbuf_text(&folder));
    int r = private_git_is_there(own) ? 0 : private_git_make(own, common, branch, err);
    if (r < 0)
        return r;
    sandbox_add(&box->plan, SANDBOX_WRITE, common, box_text(box, "%s/common", own));
    for (const char *const *name = private_git_shown(); *name; name++)
        (void)box_show(box, SANDBOX_READ, box_text(box, "%s/%s", common, *name));
    sandbox_add(&box->plan, SANDBOX_READ, box_text(box, "%s/shared", own),
                box_text(box, "%s/objects", common));
    private_git_each_alternate(common, show_alternate, box);
    return 0;
}

/* Git of the daemon reads them, outside the sandbox. A file that is not there could be made by the run. */
static int close_settings(struct launch_box *box, const char *git_dir, struct error *err) {
    static const char *const names[] = { "commondir", "gitdir", "config.worktree" };
    for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
        const char *path = box_text(box, "%s/%s", git_dir, names[i]);
        _cleanup_(fd_closep) int fd = outside_open(AT_FDCWD, path, O_RDONLY, NULL, err);
        if (fd == -ENOENT)
            fd = outside_create(AT_FDCWD, path, err);
        if (fd < 0)
            return fd;
        sandbox_add(&box->plan, SANDBOX_READ, path, NULL);
    }
    return 0;
}

static int add_worktree(struct launch_box *box, const char *branch, struct error *err) {
    _cleanup_(worktree_record_finish) struct worktree_record record = { 0 };
    char git_dir[PATH_MAX], common[PATH_MAX];
    int r = worktree_record_read(box->e->data, box->id, &record, err);
    if (r < 0)
        return r;
    r = worktree_find(box->root, &record);
    if (r == -EPERM)
        return error_set(err, -EPERM, WORKTREE_FOREIGN, box->root);
    if (r < 0 || !realpath(record.git_dir, git_dir) || !realpath(record.common_dir, common))
        return error_set(err, -EUCLEAN, "'%.120s' is not a worktree any more", box->root);
    r = show_private(box, common, branch, err);
    if (r < 0)
        return r;
    sandbox_add(&box->plan, SANDBOX_WRITE, git_dir, NULL);
    sandbox_add(&box->plan, SANDBOX_READ, box_text(box, "%s/.git", box->root), NULL);
    return close_settings(box, git_dir, err);
}

int box_add_repository(struct launch_box *box, struct error *err) {
    const char *branch = NULL, *base = NULL;
    (void)workspace_path(box->e, box->run->task, &branch, &base);
    if (branch)
        return add_worktree(box, branch, err);
    add_checkout(box);
    return 0;
}
