/* sqlite_file.c: checks that a folder is suitable for a database, and locks it.
 *
 * SQLite needs two things that network file systems promise but do not deliver: exclusive locks,
 * and a sync that reaches the disk. The file system behind FUSE is unknown, so it is also refused.
 * The lock is flock on a separate file: it is released with the process, however that ends, and
 * does not touch SQLite's POSIX locks on the database. */
#include "store/sqlite_internal.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/strbuf.h"
#include "os/files.h"
#include "os/outside.h"
#include "os/proc.h"
#include "store/await.h"

#define TRIES_MAX     100 /* of 10 ms, while the holder of the lock is unknown */
#define TRIES_ENDED   500 /* the same while the lock's owner is known to have ended */
#define COPY_BYTES    (256 << 10)
#define VOUCHER_EPOCH " epoch "

void sqlite_file_finish(struct sqlite_file *file) {
    fd_closep(&file->lock);
    free(file->path);
    *file = (struct sqlite_file)SQLITE_FILE_INIT;
}

/* Opens and syncs it. */
static int sync_path(const char *path, int flags, const char *what, struct error *err) {
    _cleanup_(fd_closep) int fd = outside_open(AT_FDCWD, path, flags | OUTSIDE_LINKS, NULL, err);
    if (fd < 0)
        return fd;
    return fsync(fd) < 0 ? error_set_errno(err, what, path) : 0;
}

int path_sync(const char *path, struct error *err) {
    return sync_path(path, O_RDWR, "sync", err);
}

/* "/a/b" of "/a/b/c", "." of "c"; the caller frees. */
static char *parent_of(const char *path) {
    const char *slash = strrchr(path, '/');
    if (!slash)
        return xstrdup(".");
    return slash == path ? xstrdup("/") : xstrndup(path, (size_t)(slash - path));
}

int path_sync_folder(const char *path, struct error *err) {
    _cleanup_(freep) char *folder = parent_of(path);
    return sync_path(folder, O_RDONLY | O_DIRECTORY, "sync folder", err);
}

int sqlite_file_find(const char *path, struct sqlite_file *ret_file, struct error *err) {
    const char *slash = strrchr(path, '/');
    const char *name = slash ? slash + 1 : path;
    if (!*name || strcmp(name, ".") == 0 || strcmp(name, "..") == 0)
        return error_set(err, -EINVAL, "'%s' is not the name of a file", path);
    _cleanup_(freep) char *folder = parent_of(path);
    int r = mkdir(folder, 0700) == 0 ? path_sync_folder(folder, err)
            : errno == EEXIST        ? 0
                                     : error_set_errno(err, "make folder", folder);
    if (r < 0)
        return r;
    _cleanup_(freep) char *real = realpath(folder, NULL);
    if (!real)
        return error_set_errno(err, "find folder", folder);
    const char *shared = file_system_of(real);
    if (shared)
        return error_set(err, -ENOTSUP,
                         "'%s' is on a file system that cannot be trusted to keep data (%s): "
                         "use a folder on a local disk",
                         real, shared);
    ret_file->path = xasprintf("%s/%s", strcmp(real, "/") == 0 ? "" : real, name);
    ret_file->lock = -1;
    return 0;
}

char *path_with_suffix(const char *path, const char *suffix) {
    return xasprintf("%s%s", path, suffix);
}

char *path_of_missing_log(const char *path) {
    struct stat st;
    _cleanup_(freep) char *log = path_with_suffix(path, "-wal");
    return lstat(log, &st) < 0 && errno == ENOENT ? TAKE_PTR(log) : NULL;
}

int sqlite_file_choose_name(const struct sqlite_file *file, const char *what, char ret_path[512]) {
    struct stat st;
    for (unsigned n = 1;; n++) {
        int length = snprintf(ret_path, 512, "%s.%s.%u", file->path, what, n);
        if (length < 0 || length >= 512 - (int)strlen("-journal")) {
            ret_path[0] = '\0';
            return -ENAMETOOLONG;
        }
        if (lstat(ret_path, &st) < 0 && errno == ENOENT)
            return 0;
    }
}

/* --- the lock -------------------------------------------------------------------------------- */

/* The first line of the lock file: its holder. */
static void read_holder(int fd, char *ret_who, size_t size) {
    ssize_t length = pread(fd, ret_who, size - 1, 0);
    ret_who[length > 0 ? length : 0] = '\0';
    ret_who[strcspn(ret_who, "\n")] = '\0';
}

/* The pid in a holder line, "host/pid address..."; 0: none. */
static long holder_pid(int fd) {
    char who[STORE_WHO_MAX];
    read_holder(fd, who, sizeof(who));
    who[strcspn(who, " ")] = '\0';
    const char *pid = strrchr(who, '/');
    return pid ? strtol(pid + 1, NULL, 10) : 0;
}

/* A daemon killed while spawning leaves a child that holds this lock until its exec, normally for a
 * moment, but longer on a busy machine. Does not wait for a live holder that has signed. */
static int lock_soon(int fd) {
    int r;
    for (int tries = 0; (r = flock(fd, LOCK_EX | LOCK_NB)) < 0 && errno == EWOULDBLOCK; tries++) {
        long pid = holder_pid(fd);
        bool has_ended = pid > 0 && proc_has_ended(pid);
        if (tries >= (has_ended ? TRIES_ENDED : TRIES_MAX) || (pid > 0 && !has_ended)) {
            errno = EWOULDBLOCK;
            break;
        }
        (void)poll(NULL, 0, 10);
    }
    return r;
}

/* -EBUSY without a message: another process has it. */
static int open_and_lock(struct sqlite_file *file, bool retries, struct error *err) {
    _cleanup_(freep) char *path = path_with_suffix(file->path, "-lock");
    int fd = outside_open(AT_FDCWD, path, O_RDWR | O_CREAT | OUTSIDE_PARENT_LINKS, NULL, err);
    if (fd < 0)
        return fd;
    if ((retries ? lock_soon(fd) : flock(fd, LOCK_EX | LOCK_NB)) == 0) {
        file->lock = fd;
        return 0;
    }
    int r = errno == EWOULDBLOCK ? -EBUSY : error_set_errno(err, "lock", file->path);
    (void)close(fd);
    return r;
}

int sqlite_file_lock(struct sqlite_file *file, struct error *err) {
    int r = open_and_lock(file, true, err);
    char who[256], by[300] = "";
    if (r != -EBUSY)
        return r;
    sqlite_file_read_holder(file, who, sizeof(who));
    if (*who)
        (void)snprintf(by, sizeof(by), " (%s)", who);
    return error_set(err, -EBUSY,
                     "store '%s' is in use by another process%s: stop that daemon first",
                     file->path, by);
}

int sqlite_file_try_lock(struct sqlite_file *file, struct error *err) {
    int r = open_and_lock(file, false, err);
    return r == -EBUSY ? -EAGAIN : r;
}

void sqlite_file_set_holder(const struct sqlite_file *file, const char *who) {
    if (ftruncate(file->lock, 0) < 0 || !who)
        return; /* informational only */
    ssize_t n = pwrite(file->lock, who, strlen(who), 0);
    (void)n;
}

void sqlite_file_read_holder(const struct sqlite_file *file, char *ret_who, size_t size) {
    _cleanup_(freep) char *path = path_with_suffix(file->path, "-lock");
    _cleanup_(fd_closep) int fd =
        outside_open(AT_FDCWD, path, O_RDONLY | OUTSIDE_PARENT_LINKS, NULL, NULL);
    ret_who[0] = '\0';
    if (fd < 0 || flock(fd, LOCK_SH | LOCK_NB) == 0)
        return; /* unlocked; our lock ends with the descriptor */
    read_holder(fd, ret_who, size);
}

/* --- the voucher -------------------------------------------------------------------------------
 *
 * A process that is killed cannot damage the database: the kernel has all that it wrote. A power
 * cut can, on a disk that promises too much. The voucher shows which it was: it names the boot of
 * the kernel, the mount, the file and the epoch. A copy of the file, an older state of it, another
 * boot or mount, or an error since then have none, and a large file is then checked. It needs no
 * sync: it counts only while the kernel that has it is running. */

/* Since Linux 6.8: an identifier of the mount that is not used again. STATX_MNT_ID is given to the
 * next mount after an unmount. */
#ifndef STATX_MNT_ID_UNIQUE
#define STATX_MNT_ID_UNIQUE 0x00004000U
#endif

static void describe(const struct sqlite_file *file, uint64_t epoch, char ret[SQLITE_VOUCHER_MAX]) {
    _cleanup_(strbuf_finish) struct strbuf boot = STRBUF_INIT;
    struct statx st;
    ret[0] = '\0';
    if (file_read("/proc/sys/kernel/random/boot_id", 64, &boot, NULL) < 0
        || statx(AT_FDCWD, file->path, AT_SYMLINK_NOFOLLOW,
                 STATX_INO | STATX_MNT_ID | STATX_MNT_ID_UNIQUE, &st)
               < 0
        || !(st.stx_mask & (STATX_MNT_ID | STATX_MNT_ID_UNIQUE)))
        return;
    const char *text = strbuf_text(&boot);
    (void)snprintf(ret, SQLITE_VOUCHER_MAX,
                   "vouched: boot %.*s mount %" PRIu64 " device %u:%u inode %" PRIu64 VOUCHER_EPOCH
                   "%" PRIu64,
                   (int)strcspn(text, "\n"), text, (uint64_t)st.stx_mnt_id, st.stx_dev_major,
                   st.stx_dev_minor, (uint64_t)st.stx_ino, epoch);
}

void sqlite_file_read_voucher(const struct sqlite_file *file, char ret[SQLITE_VOUCHER_MAX]) {
    char text[STORE_WHO_MAX + SQLITE_VOUCHER_MAX];
    ssize_t length = pread(file->lock, text, sizeof(text) - 1, 0);
    text[length > 0 ? length : 0] = '\0';
    const char *line = strchr(text, '\n');
    (void)snprintf(ret, SQLITE_VOUCHER_MAX, "%.*s", (int)strcspn(line ? line + 1 : "", "\n"),
                   line ? line + 1 : "");
}

bool sqlite_file_is_vouched(const struct sqlite_file *file, const char *voucher, uint64_t epoch) {
    char expected[SQLITE_VOUCHER_MAX];
    describe(file, epoch, expected);
    return *expected && strcmp(voucher, expected) == 0;
}

void sqlite_file_vouch(const struct sqlite_file *file, uint64_t epoch) {
    char voucher[SQLITE_VOUCHER_MAX], line[SQLITE_VOUCHER_MAX + 2];
    struct stat st;
    describe(file, epoch, voucher);
    int length = snprintf(line, sizeof(line), "\n%s\n", voucher);
    if (fstat(file->lock, &st) == 0)
        (void)!pwrite(file->lock, line, (size_t)length, st.st_size);
}

void sqlite_file_revoke(const struct sqlite_file *file) {
    (void)!ftruncate(file->lock, 0);
}

bool sqlite_file_had_no_error(const struct sqlite_file *file, const char *voucher) {
    const char *epoch = strstr(voucher, VOUCHER_EPOCH);
    return epoch
           && sqlite_file_is_vouched(file, voucher,
                                     strtoull(epoch + strlen(VOUCHER_EPOCH), NULL, 10));
}

/* --- the log after an error ----------------------------------------------------------------------
 *
 * When a sync fails, Linux marks the pages clean. The next daemon reads them back, a later sync of
 * the file succeeds without them, and after a power cut the log would end there, whatever was
 * acknowledged since. So the log is replaced by a synced copy. In place the same bytes could be
 * torn by a power cut, and sharing blocks (copy_file_range) would share those that were not
 * written. The database needs nothing: the next checkpoint writes every frame of the log again. */

static int copy_bytes(int from, int to) {
    _cleanup_(freep) char *bytes = xmalloc(COPY_BYTES);
    ssize_t n;
    int r = 0;
    while (r >= 0 && (n = read(from, bytes, COPY_BYTES)) != 0)
        r = n < 0 ? -errno : fd_write_all(to, bytes, (size_t)n);
    return r < 0 ? r : fsync(to) < 0 ? -errno : 0;
}

static int replace_log(const struct sqlite_file *file, const char *log, const char *copy,
                       struct error *err) {
    off_t size = 0;
    struct stat st;
    if (lstat(log, &st) < 0 && errno == ENOENT)
        return 0;
    _cleanup_(fd_closep) int from =
        outside_open(AT_FDCWD, log, O_RDONLY | OUTSIDE_PARENT_LINKS, &size, err);
    if (from < 0 || size == 0)
        return from < 0 ? from : 0;
    _cleanup_(fd_closep) int to = outside_create(AT_FDCWD, copy, err);
    if (to < 0)
        return to;
    int r = copy_bytes(from, to);
    if (r >= 0 && rename(copy, log) < 0)
        r = -errno;
    errno = -r;
    return r < 0 ? error_set_errno(err, "write again", log) : path_sync_folder(file->path, err);
}

int sqlite_file_renew_log(const struct sqlite_file *file, struct error *err) {
    _cleanup_(freep) char *log = path_with_suffix(file->path, "-wal");
    _cleanup_(freep) char *copy = path_with_suffix(file->path, "-wal-copy");
    int r = replace_log(file, log, copy, err);
    (void)unlink(copy); /* of a failure, or of a process that was killed */
    return r;
}
