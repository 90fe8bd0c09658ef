/* outside.c: see outside.h.
 *
 * O_NONBLOCK keeps the open from blocking on a FIFO, a device, or a lease. It has no effect on the
 * regular file that is returned. openat2 lets the kernel reject links in one call. */
#include "os/outside.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <linux/openat2.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/alloc.h"
#include "os/files.h"
#include "os/random.h"

#define OUTSIDE_FLAGS (OUTSIDE_PARENT_LINKS | OUTSIDE_LINKS | OUTSIDE_SHARED)
#define ALWAYS        (O_NONBLOCK | O_CLOEXEC | O_NOCTTY)
#define READ_CHUNK    65536
#define TEMP_TRIES    16

/* --- trusted folders -------------------------------------------------------------------------- */

/* A list that only grows: the data directory, in tests rarely a second one. */
struct trusted {
    const struct trusted *next;
    char *given, *real;
    size_t length; /* of `given` */
};

static _Atomic(const struct trusted *) all_trusted;

void outside_trust(const char *folder) {
    _cleanup_(freep) char *real = realpath(folder, NULL);
    const struct trusted *first = all_trusted;
    if (!real || strcmp(folder, real) == 0)
        return;
    for (const struct trusted *t = first; t; t = t->next)
        if (strcmp(t->given, folder) == 0 && strcmp(t->real, real) == 0)
            return;
    struct trusted *new = xcalloc(1, sizeof(*new));
    *new = (struct trusted){ .next = first, .given = xstrdup(folder), .length = strlen(folder) };
    new->real = TAKE_PTR(real);
    all_trusted = new;
}

/* Resolves trusted links; `path` itself if there are none. */
static const char *without_trusted(const char *path, struct strbuf *buffer) {
    for (const struct trusted *t = all_trusted; t; t = t->next)
        if (strncmp(path, t->given, t->length) == 0
            && (path[t->length] == '/' || path[t->length] == '\0')) {
            strbuf_printf(buffer, "%s%s", t->real, path + t->length);
            return strbuf_text(buffer);
        }
    return path;
}

/* --- without links ---------------------------------------------------------------------------- */

/* One byte more than a name can have: the kernel rejects truncated names. */
#define PART_MAX (NAME_MAX + 2)

/* The next path component. False: it was the last one. */
static bool next_part(const char **path, char part[PART_MAX]) {
    const char *at = *path + strspn(*path, "/");
    size_t length = strcspn(at, "/");
    (void)snprintf(part, PART_MAX, "%.*s", (int)length, at);
    at += length;
    *path = at + strspn(at, "/");
    return **path != '\0';
}

/* A link instead of a directory is ENOTDIR in openat, and ELOOP in openat2. */
static int open_part(int at, const char *part, int flags, mode_t mode) {
    struct stat st;
    int fd = openat(at, *part ? part : ".", flags | O_NOFOLLOW, mode);
    if (fd < 0 && errno == ENOTDIR)
        errno = fstatat(at, part, &st, AT_SYMLINK_NOFOLLOW) == 0 && S_ISLNK(st.st_mode) ? ELOOP
                                                                                        : ENOTDIR;
    return fd < 0 ? -errno : fd;
}

int outside_open_by_steps(int dir, const char *path, int flags, mode_t mode) {
    bool is_relative_to_dir = dir != AT_FDCWD, has_more = true;
    if (is_relative_to_dir && *path == '/')
        return -EXDEV;
    int at = *path == '/' ? open("/", O_PATH | O_DIRECTORY | O_CLOEXEC) : dir;
    if (at < 0 && at != AT_FDCWD)
        return -errno;
    while (has_more) {
        char part[PART_MAX];
        has_more = next_part(&path, part);
        int how = has_more ? O_PATH | O_DIRECTORY | O_CLOEXEC : flags;
        int next =
            is_relative_to_dir && strcmp(part, "..") == 0 ? -EXDEV : open_part(at, part, how, mode);
        if (at != dir)
            close(at);
        if (next < 0)
            return next;
        at = next;
    }
    return at;
}

/* One call if the kernel supports it. */
static int open_without_links(int dir, const char *path, int flags, mode_t mode) {
    static atomic_bool is_missing;
    _cleanup_(strbuf_finish) struct strbuf buffer = STRBUF_INIT;
    path = without_trusted(path, &buffer);
    struct open_how how = { .flags = (uint64_t)(unsigned)flags,
                            .mode = flags & O_CREAT ? mode : 0,
                            .resolve =
                                RESOLVE_NO_SYMLINKS | (dir == AT_FDCWD ? 0 : RESOLVE_BENEATH) };
    if (!is_missing) {
        long fd = syscall(SYS_openat2, dir, path, &how, sizeof(how));
        if (fd >= 0)
            return (int)fd;
        if (errno != ENOSYS && errno != EPERM)
            return -errno;
        is_missing = errno == ENOSYS;
    }
    return outside_open_by_steps(dir, path, flags, mode);
}

static int open_raw(int dir, const char *path, int flags) {
    mode_t mode = flags & OUTSIDE_SHARED ? 0644 : 0600;
    int plain = (flags & ~OUTSIDE_FLAGS) | ALWAYS;
    if (!(flags & (OUTSIDE_LINKS | OUTSIDE_PARENT_LINKS)))
        return open_without_links(dir, path, plain, mode);
    int fd = openat(dir, path, flags & OUTSIDE_LINKS ? plain : plain | O_NOFOLLOW, mode);
    return fd < 0 ? -errno : fd;
}

/* --- error messages --------------------------------------------------------------------------- */

static const char *kind_of(mode_t mode) {
    switch (mode & S_IFMT) {
    case S_IFDIR:
        return "a directory";
    case S_IFLNK:
        return "a symbolic link";
    case S_IFIFO:
        return "a FIFO";
    case S_IFSOCK:
        return "a socket";
    default:
        return "a device";
    }
}

int outside_refuse(const char *path, mode_t mode, struct error *err) {
    int code = S_ISDIR(mode) ? -EISDIR : S_ISLNK(mode) ? -ELOOP : -EINVAL;
    return error_set(err, code, "'%s' is %s, not a regular file", path, kind_of(mode));
}

/* Names what was found, if errno alone would be unclear. */
static int refuse(int dir, const char *path, int flags, int error, struct error *err) {
    struct stat st;
    bool is_there =
        error != ENOENT
        && fstatat(dir, path, &st, flags & OUTSIDE_LINKS ? 0 : AT_SYMLINK_NOFOLLOW) == 0;
    switch (error) {
    case ELOOP:
        if (is_there && S_ISLNK(st.st_mode))
            break;
        return error_set(err, -ELOOP, "'%s' leads through a symbolic link", path);
    case EXDEV:
        return error_set(err, -EXDEV, "'%s' leads out of its folder", path);
    case EWOULDBLOCK:
        return error_set(err, -EAGAIN, "cannot open '%s': another process has a lease on it", path);
    case ENXIO:
    case EISDIR:
        break;
    case EACCES: /* a device, where none may be opened (nodev) */
        is_there = is_there && !(flags & O_DIRECTORY);
        break;
    default:
        is_there = false;
    }
    if (is_there && !S_ISREG(st.st_mode))
        return outside_refuse(path, st.st_mode, err);
    errno = error;
    return error_set_errno(err, "open", path);
}

/* --- opening ---------------------------------------------------------------------------------- */

int outside_open(int dir, const char *path, int flags, off_t *ret_size, struct error *err) {
    int fd = open_raw(dir, path, flags);
    if (fd < 0)
        return refuse(dir, path, flags, -fd, err);
    if (flags & O_DIRECTORY)
        return fd;
    struct stat st;
    int r = fstat(fd, &st) < 0 ? error_set_errno(err, "look at", path) : 0;
    if (r == 0 && !S_ISREG(st.st_mode))
        r = outside_refuse(path, st.st_mode, err);
    if (r < 0) {
        close(fd);
        return r;
    }
    if (ret_size)
        *ret_size = st.st_size;
    return fd;
}

int outside_folder(struct folder *folder, int dir, const char *path) {
    return folder_use(folder, outside_open(dir, path, O_RDONLY | O_DIRECTORY, NULL, NULL));
}

/* The parent of the path, and its last component. */
static int open_parent(int dir, const char *path, const char **ret_name) {
    const char *slash = strrchr(path, '/');
    *ret_name = slash ? slash + 1 : path;
    if (!slash)
        return open_without_links(dir, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC, 0);
    _cleanup_(freep) char *folder = xstrndup(path, slash == path ? 1 : (size_t)(slash - path));
    return open_without_links(dir, folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC, 0);
}

/* In its own directory, which may have been renamed. */
static int remove_old(int dir, const char *path, struct error *err) {
    const char *name;
    _cleanup_(fd_closep) int parent = open_parent(dir, path, &name);
    if (parent < 0)
        return refuse(dir, path, 0, -parent, err);
    if (unlinkat(parent, name, 0) == 0 || errno == ENOENT)
        return 0;
    return errno == EISDIR ? outside_refuse(path, S_IFDIR, err)
                           : error_set_errno(err, "replace", path);
}

int outside_create(int dir, const char *path, struct error *err) {
    const int flags = O_WRONLY | O_CREAT | O_EXCL;
    for (int tries = 0;; tries++) {
        int fd = open_raw(dir, path, flags);
        if (fd >= 0)
            return fd; /* created: always a regular file */
        if (fd != -EEXIST || tries == TEMP_TRIES)
            return refuse(dir, path, 0, -fd, err);
        int r = remove_old(dir, path, err);
        if (r < 0)
            return r;
    }
}

int outside_create_with(int dir, const char *path, const void *bytes, size_t size,
                        struct error *err) {
    _cleanup_(fd_closep) int fd = outside_create(dir, path, err);
    if (fd < 0)
        return fd;
    return fd_write_all(fd, bytes, size) < 0 ? error_set_errno(err, "write", path) : 0;
}

/* --- reading ---------------------------------------------------------------------------------- */

static int too_large(const char *path, size_t max, struct error *err) {
    return error_set(err, -EFBIG, "file '%s' is larger than %zu bytes", path, max);
}

/* The kernel's files have no size, and others grow: only the bytes read count. */
int outside_read(int dir, const char *path, int flags, size_t max, struct strbuf *out,
                 struct error *err) {
    off_t size = 0;
    _cleanup_(fd_closep) int fd = outside_open(dir, path, flags | O_RDONLY, &size, err);
    if (fd < 0)
        return fd;
    if ((uintmax_t)size > max)
        return too_large(path, max, err);
    char chunk[READ_CHUNK];
    size_t before = out->length;
    for (;;) {
        ssize_t got = read(fd, chunk, sizeof(chunk));
        if (got < 0 && errno == EINTR)
            continue;
        if (got == 0)
            return 0;
        int r = 0;
        if (got < 0)
            r = error_set_errno(err, "read", path);
        else if (out->length - before + (size_t)got > max)
            r = too_large(path, max, err);
        if (r < 0) {
            if (out->text)
                out->text[out->length = before] = '\0';
            return r;
        }
        strbuf_add(out, chunk, (size_t)got);
    }
}

/* --- writing ---------------------------------------------------------------------------------- */

/* Creates a file in the directory; its name begins with a dot, so that it is not taken for a task
 * or run. */
static int make_temporary(int parent, const char *name, mode_t mode, struct strbuf *ret_name) {
    for (int tries = 0;; tries++) {
        uint64_t number;
        random_bytes(&number, sizeof(number));
        strbuf_clear(ret_name);
        strbuf_printf(ret_name, ".%.200s.%016" PRIx64, name, number);
        int fd = openat(parent, strbuf_text(ret_name),
                        O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, mode);
        if (fd >= 0 || errno != EEXIST || tries == TEMP_TRIES)
            return fd;
    }
}

int outside_write(const char *path, mode_t mode, const void *bytes, size_t size,
                  struct error *err) {
    const char *name;
    bool is_usual = mode == OUTSIDE_USUAL_MODE;
    _cleanup_(strbuf_finish) struct strbuf temporary = STRBUF_INIT;
    _cleanup_(fd_closep) int parent = open_parent(AT_FDCWD, path, &name);
    if (parent == -ELOOP)
        return error_set(err, -ELOOP, "'%s' leads through a symbolic link", path);
    errno = parent < 0 ? -parent : 0;
    _cleanup_(fd_closep) int fd =
        parent < 0 ? -1 : make_temporary(parent, name, is_usual ? 0666 : 0600, &temporary);
    if (fd < 0)
        return error_set_errno(err, "write", path);
    if ((!is_usual && mode != 0600 && fchmod(fd, mode) < 0) || fd_write_all(fd, bytes, size) < 0
        || fsync(fd) < 0 || renameat(parent, strbuf_text(&temporary), parent, name) < 0) {
        int r = error_set_errno(err, "write", path);
        (void)unlinkat(parent, strbuf_text(&temporary), 0);
        return r;
    }
    (void)fsync(parent); /* makes the rename durable; not every file system can sync directories */
    return 0;
}

/* --- folders ---------------------------------------------------------------------------------- */

int outside_list_open(struct outside_list *list, const char *path, unsigned max) {
    list->left = max;
    return outside_folder(&list->folder, AT_FDCWD, path);
}

const char *outside_list_next(struct outside_list *list) {
    if (list->left == 0)
        return NULL;
    list->left--;
    return folder_next(&list->folder);
}

void outside_list_close(struct outside_list *list) {
    folder_close(&list->folder);
}
