/* copy_files.c: see copy_files.h.
 *
 * A run may have written in both directories, and may do so concurrently. So every path component
 * is opened relative to its parent and without following links, and only the opened file is
 * examined. */
#include "os/copy_files.h"

#include <errno.h>
#include <fcntl.h>
#include <fnmatch.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/strbuf.h"
#include "os/files.h"

#define NAMES_MAX 100000u /* examined per directory */
#define PART_MAX  256u
#define CHUNK     65536u

#define FOLDER_FLAGS (O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_NONBLOCK)

struct copying {
    const struct copy_files *what;
    int to;             /* target directory */
    struct strbuf path; /* of the current file, relative to the source */
    size_t files, bytes;
    struct error *err;
};

static int refuse(struct copying *c, int code, const char *why) {
    return error_set(c->err, code, "cannot copy '%s' from '%s': %s", strbuf_text(&c->path),
                     c->what->from, why);
}

static int refuse_errno(struct copying *c) {
    return refuse(c, -errno, errno == ELOOP ? "it is a symbolic link" : strerror(errno));
}

/* --- into the target -------------------------------------------------------------------------- */

/* Opens or creates the directory. Closes `dir`. */
static int enter(int dir, const char *name, size_t length) {
    char part[PART_MAX];
    int next = -1;
    errno = ENAMETOOLONG;
    if (snprintf(part, sizeof(part), "%.*s", (int)length, name) < (int)sizeof(part)
        && (mkdirat(dir, part, 0777) == 0 || errno == EEXIST))
        next = openat(dir, part, FOLDER_FLAGS | O_CLOEXEC);
    int error = errno;
    close(dir);
    errno = error;
    return next;
}

/* Opens the parent of the last path component; *ret_name: that component. */
static int open_parent(int root, const char *path, const char **ret_name) {
    int dir = fcntl(root, F_DUPFD_CLOEXEC, 0);
    const char *slash;
    for (; dir >= 0 && (slash = strchr(path, '/')); path = slash + 1)
        if (slash > path)
            dir = enter(dir, path, (size_t)(slash - path));
    *ret_name = path;
    return dir;
}

static int refuse_target(struct copying *c) {
    bool link = errno == ELOOP || errno == ENOTDIR;
    return error_set(
        c->err, -errno, "cannot copy '%s' into '%s': %s", strbuf_text(&c->path), c->what->to,
        link ? "a part of its path is a file or a symbolic link there" : strerror(errno));
}

/* At most the allowed size: the file may grow meanwhile. */
static int copy_bytes(struct copying *c, int from, int to) {
    char chunk[CHUNK];
    size_t copied = 0;
    for (;;) {
        ssize_t got = read(from, chunk, sizeof(chunk));
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            return refuse_errno(c);
        if (got == 0)
            return 0;
        copied += (size_t)got;
        c->bytes += (size_t)got;
        if (copied > COPY_FILE_MAX)
            return refuse(c, -EFBIG, "it is larger than 4 MB");
        if (c->bytes > COPY_TOTAL_MAX)
            return refuse(c, -EFBIG, "all files together are larger than 16 MB");
        if (fd_write_all(to, chunk, (size_t)got) < 0)
            return refuse_target(c);
    }
}

static int copy_open_file(struct copying *c, int from, mode_t mode) {
    const char *name;
    _cleanup_(fd_closep) int dir = open_parent(c->to, strbuf_text(&c->path), &name);
    if (dir < 0)
        return refuse_target(c);
    _cleanup_(fd_closep) int to =
        openat(dir, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (to < 0 && errno == EEXIST)
        return 0;
    if (to < 0)
        return refuse_target(c);
    if (++c->files > COPY_COUNT_MAX)
        return refuse(c, -E2BIG, "there are more than 500 files to copy");
    int r = copy_bytes(c, from, to);
    return r < 0 || fchmod(to, mode & 0777) == 0 ? r : refuse_target(c);
}

/* --- from the source -------------------------------------------------------------------------- */

/* `matched`: found by a wildcard, so it may disappear, and a directory is skipped. */
static int copy_file(struct copying *c, int dir, const char *name, bool matched) {
    struct stat st;
    _cleanup_(fd_closep) int from =
        openat(dir, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
    if (from < 0 && errno == ENOENT)
        return matched ? 0 : refuse(c, -ENOENT, "there is no such file");
    if (from < 0 && errno == ENXIO) /* a socket */
        return refuse(c, -EINVAL, "it is not a regular file");
    if (from < 0 || fstat(from, &st) < 0)
        return refuse_errno(c);
    if (matched && S_ISDIR(st.st_mode))
        return 0;
    if (!S_ISREG(st.st_mode))
        return refuse(c, -EINVAL, "it is not a regular file");
    return copy_open_file(c, from, st.st_mode);
}

static int copy_pattern(struct copying *c, int dir, const char *pattern, bool matched);

/* One match of the first component of the pattern; `rest`: the others, or NULL. */
static int copy_name(struct copying *c, int dir, const char *name, const char *rest, bool matched) {
    size_t before = c->path.length;
    int r = 0;
    strbuf_printf(&c->path, "%s%s", before > 0 ? "/" : "", name);
    if (!rest) {
        r = copy_file(c, dir, name, matched);
    } else {
        _cleanup_(fd_closep) int next = openat(dir, name, FOLDER_FLAGS | O_CLOEXEC);
        bool skip = next < 0 && matched && (errno == ENOENT || errno == ENOTDIR);
        if (next < 0 && errno == ENOENT && !matched)
            r = refuse(c, -ENOENT, "there is no such folder");
        else if (next < 0 && errno == ENOTDIR && !matched)
            r = refuse(c, -ENOTDIR, "it is not a directory, or it is a symbolic link");
        else if (next < 0 && !skip)
            r = refuse_errno(c);
        else if (next >= 0)
            r = copy_pattern(c, next, rest, matched);
    }
    c->path.length = before;
    c->path.text[before] = '\0';
    return r;
}

static int copy_matches(struct copying *c, int dir, const char *part, const char *rest) {
    struct folder names;
    /* Its own descriptor, because it needs its own offset. */
    int r =
        folder_use(&names, openat(dir, ".", FOLDER_FLAGS | O_CLOEXEC)) < 0 ? refuse_errno(c) : 0;
    const char *name;
    for (unsigned i = 0; r == 0 && (name = folder_next(&names)); i++)
        if (i == NAMES_MAX)
            r = refuse(c, -E2BIG, "the folder has too many files");
        else if (strcmp(name, ".git") != 0 && fnmatch(part, name, FNM_PERIOD) == 0)
            r = copy_name(c, dir, name, rest, true);
    folder_close(&names);
    return r;
}

static int copy_pattern(struct copying *c, int dir, const char *pattern, bool matched) {
    char part[PART_MAX];
    size_t length = strcspn(pattern, "/");
    const char *rest = pattern[length] ? pattern + length + 1 : NULL;
    if (snprintf(part, sizeof(part), "%.*s", (int)length, pattern) >= (int)sizeof(part))
        return refuse(c, -ENAMETOOLONG, "a part of it is too long");
    return strpbrk(part, "*?[") ? copy_matches(c, dir, part, rest)
                                : copy_name(c, dir, part, rest, matched);
}

/* --- entry point ------------------------------------------------------------------------------ */

bool copy_pattern_is_valid(const char *pattern) {
    if (!*pattern || strlen(pattern) > 1000)
        return false;
    for (;;) {
        size_t length = strcspn(pattern, "/");
        bool bad = length == 0 || (length == 1 && pattern[0] == '.')
                   || (length == 2 && memcmp(pattern, "..", 2) == 0)
                   || (length == 4 && memcmp(pattern, ".git", 4) == 0);
        if (bad || pattern[length] == '\0')
            return !bad;
        pattern += length + 1;
    }
}

/* `to` with its subdirectory, parts of which may not exist yet. */
static int open_target(const struct copy_files *what, struct error *err) {
    const char *name;
    _cleanup_(freep) char *path = xasprintf("%s/", what->to_subdir);
    _cleanup_(fd_closep) int top = open(what->to, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    int dir = top >= 0 ? open_parent(top, path, &name) : -1;
    return dir < 0 ? error_set_errno(err, "open folder", what->to) : dir;
}

int copy_files(const struct copy_files *what, struct error *err) {
    struct copying c = { .what = what, .to = -1, .path = STRBUF_INIT, .err = err };
    _cleanup_(fd_closep) int from = open(what->from, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    int r = from < 0 ? error_set_errno(err, "open folder", what->from) : 0;
    if (r == 0) {
        c.to = open_target(what, err);
        r = c.to < 0 ? c.to : 0;
    }
    for (size_t i = 0; r == 0 && i < what->count; i++) {
        strbuf_clear(&c.path);
        r = copy_pattern_is_valid(what->patterns[i])
                ? copy_pattern(&c, from, what->patterns[i], false)
                : error_set(err, -EINVAL, "cannot copy '%.200s': it is not a path in the folder",
                            what->patterns[i]);
    }
    strbuf_finish(&c.path);
    fd_closep(&c.to);
    return r < 0 ? r : (int)c.files;
}
