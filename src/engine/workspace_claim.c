/* workspace_claim.c: a path of a pool has one run at a time, whichever home that is from.
 *
 * The places of this home are known (workspace.c). Other homes are not, and may be of other users: so a run
 * is written down where everybody who wants the path must look. In a repository that is its git folder,
 * where no status shows it; else the path itself. The file is locked while a daemon knows of the run, and
 * names the run's folder, whose own lock is held as long as the run lives: so the claim of a daemon that
 * was killed is good until its run is over, and no longer. It goes with the end of the run. */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/hash.h"
#include "engine/workspace_internal.h"
#include "os/files.h"
#include "os/outside.h"
#include "workspace/worktree.h"

#define CLAIM_MAX 8192
#define RACES_MAX 5 /* times that somebody else has just removed the file */

/* 1: the git folder of the repository that `path` is in; 0: it is in none. */
static int find_repository(const char *path, struct strbuf *out, struct error *err) {
    _cleanup_(strbuf_finish) struct strbuf at = STRBUF_INIT, git = STRBUF_INIT;
    struct stat st;
    strbuf_puts(&at, path);
    while (at.length > 0) {
        strbuf_clear(&git);
        strbuf_printf(&git, "%s/.git", strbuf_text(&at));
        if (stat(strbuf_text(&git), &st) == 0) {
            if (S_ISREG(st.st_mode))
                return worktree_git_dir(strbuf_text(&at), out) == 0;
            if (!S_ISDIR(st.st_mode))
                return outside_refuse(strbuf_text(&git), st.st_mode, err);
            strbuf_puts(out, strbuf_text(&git));
            return 1;
        }
        char *slash = strrchr(at.text, '/');
        at.length = (size_t)(slash - at.text);
        *slash = '\0';
    }
    return 0;
}

/* One name for one folder, however it is written. */
static int find_file(const char *path, struct strbuf *out, struct error *err) {
    char real[PATH_MAX];
    struct stat st;
    if (!realpath(path, real) || stat(real, &st) < 0)
        return error_set_errno(err, "look at", path);
    int r = find_repository(real, out, err);
    if (r < 0)
        return error_prefix(err, "cannot claim workspace '%s'", path);
    if (r > 0)
        strbuf_printf(out, "/sluice-workspace-%016llx.lock",
                      (unsigned long long)hash_mix(st.st_dev, st.st_ino));
    else
        strbuf_printf(out, "%s/.sluice-workspace.lock", real);
    return 0;
}

/* Whose claim it is: the folder of runs and the run in it. False: nobody's. */
static bool read_claim(int fd, char text[CLAIM_MAX], const char **ret_root,
                       const char **ret_folder) {
    ssize_t size = pread(fd, text, CLAIM_MAX - 1, 0);
    text[size > 0 ? size : 0] = '\0';
    char *line = strchr(text, '\n'), *end = line ? strchr(line + 1, '\n') : NULL;
    if (!end)
        return false;
    *line = *end = '\0';
    *ret_root = text;
    *ret_folder = line + 1;
    return true;
}

static int refuse(const char *path, int fd, struct error *err) {
    char text[CLAIM_MAX];
    const char *root = "", *folder = "";
    if (!read_claim(fd, text, &root, &folder))
        return error_set(err, -EBUSY, "workspace '%s' is in use by another home", path);
    return error_set(err, -EBUSY,
                     "workspace '%s' is in use by run '%s' in '%s': give each home its own paths",
                     path, folder, root);
}

static int refuse_file(const char *path, const struct error *why, struct error *err) {
    return error_set(err, why->code, "cannot claim workspace '%s': %s", path, why->text);
}

static bool is_same_file(int fd, const char *path) {
    struct stat a, b;
    return fstat(fd, &a) == 0 && stat(path, &b) == 0 && a.st_dev == b.st_dev
           && a.st_ino == b.st_ino;
}

static int write_claim(int fd, const struct workspace_claim *claim, struct error *err) {
    _cleanup_(strbuf_finish) struct strbuf text = STRBUF_INIT;
    strbuf_printf(&text, "%s\n%s\n", claim->root, claim->folder);
    ssize_t wrote = ftruncate(fd, 0) < 0 ? -1 : pwrite(fd, text.text, text.length, 0);
    if (wrote == (ssize_t)text.length)
        return 0;
    int code = wrote < 0 ? errno : ENOSPC;
    return error_set(err, -code, "cannot claim workspace '%s': %s", claim->path, strerror(code));
}

/* Whoever may not look there cannot know that the run is over. */
static bool is_alive(const char *root, const char *folder) {
    int r = rundir_is_locked(root, folder);
    return r > 0 || r == -EACCES;
}

/* 0: it is locked, and nobody else's. -EAGAIN: somebody has just removed it. */
static int take(int fd, const char *file, const struct workspace_claim *claim, struct error *err) {
    char text[CLAIM_MAX];
    const char *root = NULL, *folder = NULL;
    if (flock(fd, LOCK_EX | LOCK_NB) < 0)
        return errno == EWOULDBLOCK ? refuse(claim->path, fd, err)
                                    : error_set_errno(err, "lock", file);
    if (!is_same_file(fd, file))
        return -EAGAIN;
    bool is_other = read_claim(fd, text, &root, &folder)
                    && (strcmp(root, claim->root) != 0 || strcmp(folder, claim->folder) != 0);
    return is_other && is_alive(root, folder) ? refuse(claim->path, fd, err) : 0;
}

/* A file of another user can be looked at, at the most; then the path goes unclaimed. */
static int try_claim(const char *file, const struct workspace_claim *claim, int *ret_fd,
                     struct error *err) {
    struct error why = { 0 };
    int fd = outside_open(AT_FDCWD, file, O_RDWR | O_CREAT | OUTSIDE_PARENT_LINKS | OUTSIDE_SHARED,
                          NULL, &why);
    bool is_ours = fd >= 0;
    if (!is_ours && fd != -EROFS && fd != -EACCES && fd != -EPERM)
        return refuse_file(claim->path, &why, err);
    if (!is_ours)
        fd = outside_open(AT_FDCWD, file, O_RDONLY | OUTSIDE_PARENT_LINKS, NULL, &why);
    if (fd == -ENOENT || fd == -EACCES) {
        *ret_fd = -1; /* there is none, or only its owner can look at it */
        return 0;
    }
    if (fd < 0)
        return refuse_file(claim->path, &why, err);
    int r = take(fd, file, claim, err);
    if (r == 0 && is_ours)
        r = write_claim(fd, claim, err);
    if (r == 0)
        *ret_fd = is_ours ? fd : -1;
    if (r < 0 || !is_ours)
        close(fd);
    return r;
}

int workspace_claim(const struct workspace_claim *claim, int *ret_fd, struct error *err) {
    _cleanup_(strbuf_finish) struct strbuf file = STRBUF_INIT;
    int r = find_file(claim->path, &file, err);
    if (r < 0)
        return r;
    for (int i = 0; i < RACES_MAX; i++) {
        r = try_claim(strbuf_text(&file), claim, ret_fd, err);
        if (r != -EAGAIN)
            return r;
    }
    return error_set(err, -EBUSY, "workspace '%s' is in use by another home", claim->path);
}

void workspace_unclaim(const char *path, int fd) {
    _cleanup_(strbuf_finish) struct strbuf file = STRBUF_INIT;
    if (fd >= 0 && find_file(path, &file, NULL) == 0 && is_same_file(fd, strbuf_text(&file)))
        (void)unlink(strbuf_text(&file));
    fd_closep(&fd);
}
