/* repository.c: reads `.git` and `commondir`. See repository.h. */
#include "workspace/repository.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/macros.h"
#include "os/outside.h"

#define LINE_MAX_BYTES 8192 /* of a file that contains one path */

int repository_read_line(const char *path, struct strbuf *out) {
    _cleanup_(strbuf_finish) struct strbuf text = STRBUF_INIT;
    int r = outside_read(AT_FDCWD, path, OUTSIDE_PARENT_LINKS, LINE_MAX_BYTES - 1, &text, NULL);
    if (r < 0 || text.length == 0 || memchr(text.text, '\0', text.length))
        return r == -ENOENT ? -ENOENT : -EUCLEAN;
    strbuf_add(out, text.text, strcspn(text.text, "\n"));
    return 0;
}

/* Resolves a path relative to this directory. */
static void resolve(const char *folder, const char *name, struct strbuf *out) {
    if (*name != '/')
        strbuf_printf(out, "%s/", folder);
    strbuf_puts(out, name);
}

int repository_git_file(const char *folder, struct strbuf *out) {
    static const char mark[] = "gitdir: ";
    _cleanup_(strbuf_finish) struct strbuf line = STRBUF_INIT, dir = STRBUF_INIT;
    struct stat st;
    _cleanup_(freep) char *file = xasprintf("%s/.git", folder);
    int r = repository_read_line(file, &line);
    if (r < 0)
        return r;
    if (strncmp(strbuf_text(&line), mark, strlen(mark)) != 0)
        return -EUCLEAN;
    resolve(folder, strbuf_text(&line) + strlen(mark), &dir);
    if (lstat(strbuf_text(&dir), &st) < 0 || !S_ISDIR(st.st_mode))
        return -ENOTDIR;
    strbuf_puts(out, strbuf_text(&dir));
    return 0;
}

int repository_common_dir(const char *git_dir, struct strbuf *out) {
    _cleanup_(strbuf_finish) struct strbuf line = STRBUF_INIT, dir = STRBUF_INIT;
    _cleanup_(freep) char *file = xasprintf("%s/commondir", git_dir);
    int r = repository_read_line(file, &line);
    if (r == -ENOENT) {
        strbuf_puts(out, git_dir);
        return 0;
    }
    if (r < 0)
        return r;
    resolve(git_dir, strbuf_text(&line), &dir);
    char real[PATH_MAX];
    if (!realpath(strbuf_text(&dir), real))
        return -EUCLEAN;
    strbuf_puts(out, real);
    return 0;
}

/* By git's own criteria: also true for a bare repository. */
static bool is_git_dir(const char *path) {
    static const char *const parts[] = { "HEAD", "objects", "refs" };
    _cleanup_(strbuf_finish) struct strbuf part = STRBUF_INIT;
    for (size_t i = 0; i < ARRAY_SIZE(parts); i++) {
        strbuf_clear(&part);
        strbuf_printf(&part, "%s/%s", path, parts[i]);
        if (access(strbuf_text(&part), F_OK) != 0)
            return false;
    }
    return true;
}

/* Is there a repository in this directory itself? Then sets its git directory and its top. */
static bool take_git_dir(const char *folder, struct repository_checkout *ret) {
    _cleanup_(freep) char *git = xasprintf("%s/.git", folder);
    bool is_folder = is_git_dir(git);
    if (is_folder)
        strbuf_puts(&ret->git_dir, git);
    if (is_folder || repository_git_file(folder, &ret->git_dir) == 0) {
        strbuf_puts(&ret->top, folder);
        return true;
    }
    if (!is_git_dir(folder))
        return false;
    strbuf_puts(&ret->git_dir, folder); /* bare */
    return true;
}

int repository_find(const char *folder, struct repository_checkout *ret) {
    char at[PATH_MAX];
    *ret = (struct repository_checkout){ 0 };
    if (!realpath(folder, at))
        return -ENOENT;
    for (;;) {
        if (take_git_dir(at, ret)) {
            int r = repository_common_dir(strbuf_text(&ret->git_dir), &ret->common_dir);
            if (r < 0)
                repository_checkout_finish(ret);
            return r;
        }
        char *slash = strrchr(at, '/');
        if (!slash || slash == at)
            return -ENOENT;
        *slash = '\0';
    }
}

void repository_checkout_finish(struct repository_checkout *checkout) {
    strbuf_finish(&checkout->top);
    strbuf_finish(&checkout->git_dir);
    strbuf_finish(&checkout->common_dir);
}

bool repository_is_same(const char *folder, const char *other) {
    struct stat a, b;
    return stat(folder, &a) == 0 && stat(other, &b) == 0 && S_ISDIR(a.st_mode)
           && a.st_dev == b.st_dev && a.st_ino == b.st_ino;
}
