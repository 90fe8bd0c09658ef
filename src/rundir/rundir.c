/* rundir.c: makes and locks the folder of a run.
 *
 * Making it twice is refused: a folder that is already there belongs to a run that was started, and
 * an attempt is started at most once, whatever the caller believes. */
#include "rundir/rundir.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/macros.h"
#include "os/files.h"
#include "os/outside.h"

#define FOLDER_MAX 512 /* bytes of a folder's name below the root */

void rundir_name(struct strbuf *out, const char *task, uint32_t attempt) {
    strbuf_printf(out, "%s/%u", task, attempt);
}

/* Names come from the daemon, but a folder is never looked for outside of the root. */
static int check_folder(const char *folder, struct error *err) {
    const char *at = folder;
    while (*at != '\0') {
        size_t length = strcspn(at, "/");
        if (length == 0 || *at == '.')
            break;
        at += length + (at[length] == '/' && at[length + 1] != '\0');
    }
    if (*folder == '\0' || *at != '\0' || strlen(folder) >= FOLDER_MAX)
        return error_set(err, -EINVAL, "'%.80s' is no folder of a run (example: web-17/2)", folder);
    return 0;
}

static int write_whole(int fd, const char *name, const char *bytes, size_t size,
                       struct error *err) {
    while (size > 0) {
        ssize_t put = write(fd, bytes, size);
        if (put < 0 && errno != EINTR)
            return error_set_errno(err, "write", name);
        if (put > 0) {
            bytes += put;
            size -= (size_t)put;
        }
    }
    return 0;
}

static int write_file(int dir, const char *name, const char *bytes, size_t size,
                      struct error *err) {
    _cleanup_(fd_closep) int fd = outside_create(dir, name, err);
    return fd < 0 ? fd : write_whole(fd, name, bytes, size, err);
}

/* Of outside_open: something else has the name. That is as good as gone. */
static bool is_replaced(int error) {
    return error == -EINVAL || error == -EISDIR || error == -ELOOP;
}

static int open_lock(int dir, int *ret_fd, struct error *err) {
    int fd = outside_open(dir, "lock", O_RDWR | O_CREAT, NULL, err);
    if (is_replaced(fd) && unlinkat(dir, "lock", 0) == 0)
        fd = outside_open(dir, "lock", O_RDWR | O_CREAT, NULL, err);
    if (fd < 0)
        return fd;
    *ret_fd = fd;
    return 0;
}

/* Locked before anything is in it. The room before the spec is written too: it must be there when the
 * disk is full. */
static int write_lock(int dir, const struct run_spec *spec, int *ret_lock, struct error *err) {
    static const char room[RUN_LOCK_SPEC];
    _cleanup_(strbuf_finish) struct strbuf text = STRBUF_INIT;
    int lock = -1;
    int r = spec->unlocked ? open_lock(dir, &lock, err) : rundir_lock_at(dir, &lock, err);
    if (r < 0)
        return r;
    strbuf_add(&text, room, sizeof(room));
    run_spec_format(spec, &text);
    r = write_whole(lock, "lock", text.text, text.length, err);
    if (r < 0)
        close(lock);
    else
        *ret_lock = lock;
    return r;
}

static int make_parents(int root, const char *folder, struct error *err) {
    char path[FOLDER_MAX];
    for (const char *slash = strchr(folder, '/'); slash; slash = strchr(slash + 1, '/')) {
        (void)snprintf(path, sizeof(path), "%.*s", (int)(slash - folder), folder);
        if (mkdirat(root, path, 0700) < 0 && errno != EEXIST)
            return error_set_errno(err, "make folder", path);
    }
    return 0;
}

/* Names are public, values never. */
static int check_secrets(const struct run_spec *spec, size_t envs, struct error *err) {
    size_t count = 0, bytes = 0;
    for (; spec->secrets && spec->secrets[count]; count++) {
        const char *pair = spec->secrets[count];
        size_t size = strlen(pair) + 1;
        bytes += size;
        if (size > RUN_SECRET_BYTES)
            return error_set(err, -E2BIG, "secret '%.*s' has more than %u bytes",
                             (int)strcspn(pair, "="), pair, RUN_SECRET_BYTES);
    }
    if (count > RUN_SECRETS_MAX || bytes > RUN_SECRETS_BYTES || envs + count > RUN_ENV_MAX)
        return error_set(err, -E2BIG,
                         "run '%s' has too many secrets: at most %d, %u bytes, and %d variables",
                         spec->run, RUN_SECRETS_MAX, RUN_SECRETS_BYTES, RUN_ENV_MAX);
    return 0;
}

/* A limit that the reader has is told by the writer, who can still refuse the start. */
static int check_spec(const struct run_spec *spec, size_t size, struct error *err) {
    size_t args = 0, envs = 0, words = 0, wraps = 0, prepares = 0;
    while (spec->command.argv[args])
        args++;
    while (spec->env && spec->env[envs])
        envs++;
    for (size_t i = 0; i < spec->check_count; i++)
        for (size_t k = 0; spec->checks[i].argv[k]; k++)
            words++;
    while (spec->wrap && spec->wrap[wraps])
        wraps++;
    while (spec->prepare.argv && spec->prepare.argv[prepares])
        prepares++;
    if (args == 0)
        return error_set(err, -EINVAL, "run '%s' has no command", spec->run);
    if (args > RUN_ARGS_MAX || envs > RUN_ENV_MAX || spec->check_count > RUN_CHECKS_MAX
        || words > RUN_ARGS_MAX || prepares > RUN_ARGS_MAX || size > RUN_SPEC_MAX)
        return error_set(
            err, -E2BIG,
            "run '%s' is too large: at most %d words, %d variables, %d checks, %u bytes;"
            " put long texts into files",
            spec->run, RUN_ARGS_MAX, RUN_ENV_MAX, RUN_CHECKS_MAX, RUN_SPEC_MAX);
    if (wraps > RUN_WRAP_MAX)
        return error_set(err, -E2BIG, "the sandbox of run '%s' has %zu words; the maximum is %d",
                         spec->run, wraps, RUN_WRAP_MAX);
    return check_secrets(spec, envs, err);
}

/* What could not be made whole is not left as a part. */
static void unmake(int root, const char *folder, int dir) {
    const char *const files[] = { "prompt", "lock", "out.log", "err.log" };
    for (size_t i = 0; i < ARRAY_SIZE(files); i++)
        (void)unlinkat(dir, files[i], 0);
    (void)unlinkat(dir, "tmp", AT_REMOVEDIR);
    (void)unlinkat(root, folder, AT_REMOVEDIR);
}

int rundir_check(const char *folder, const struct run_spec *spec, struct error *err) {
    _cleanup_(strbuf_finish) struct strbuf text = STRBUF_INIT;
    int r = check_folder(folder, err);
    if (r < 0)
        return r;
    struct run_spec untagged = *spec; /* its size is known */
    untagged.key = NULL;
    run_spec_format(&untagged, &text);
    return check_spec(spec, text.length + (spec->key ? TAG_RECORD_SIZE : 0), err);
}

int rundir_fill_at(int root, const char *folder, const struct run_spec *spec,
                   struct rundir_open *ret, struct error *err) {
    struct rundir_open open = { -1, -1 };
    int r = rundir_open_at(root, folder, &open.dir, err);
    if (r < 0)
        return r;
    r = write_lock(open.dir, spec, &open.lock, err);
    if (r >= 0 && spec->prompt)
        r = write_file(open.dir, "prompt", spec->prompt, spec->prompt_size, err);
    if (r >= 0 && mkdirat(open.dir, "tmp", 0700) < 0 && errno != EEXIST)
        r = error_set_errno(err, "make folder", "tmp");
    if (r < 0) {
        (void)error_prefix(err, "run folder '%s'", folder);
        unmake(root, folder, open.dir);
        fd_closep(&open.lock);
        close(open.dir);
        return r;
    }
    *ret = open;
    return 0;
}

int rundir_make_at(int root, const char *folder, struct error *err) {
    int r = check_folder(folder, err);
    if (r < 0 || mkdirat(root, folder, 0700) == 0)
        return r;
    if (errno != ENOENT)
        return error_set_errno(err, "make folder", folder);
    r = make_parents(root, folder, err);
    if (r < 0)
        return r;
    return mkdirat(root, folder, 0700) < 0 ? error_set_errno(err, "make folder", folder) : 0;
}

int rundir_create_at(int root, const char *folder, const struct run_spec *spec,
                     struct rundir_open *ret, struct error *err) {
    int r = rundir_check(folder, spec, err);
    if (r == 0)
        r = rundir_make_at(root, folder, err);
    return r < 0 ? r : rundir_fill_at(root, folder, spec, ret, err);
}

int rundir_prepare_at(int parent, const char *name) {
    const char *const files[] = { "lock", "out.log", "err.log" };
    if (mkdirat(parent, name, 0700) < 0 && errno != EEXIST)
        return -errno;
    _cleanup_(fd_closep) int dir = outside_open(parent, name, O_RDONLY | O_DIRECTORY, NULL, NULL);
    if (dir < 0)
        return dir;
    for (size_t i = 0; i < ARRAY_SIZE(files); i++) {
        int fd = outside_open(dir, files[i], O_WRONLY | O_CREAT, NULL, NULL);
        if (fd < 0)
            return fd;
        close(fd);
    }
    return mkdirat(dir, "tmp", 0700) < 0 && errno != EEXIST ? -errno : 0;
}

int rundir_open_at(int root, const char *folder, int *ret_dir, struct error *err) {
    int r = check_folder(folder, err);
    if (r < 0)
        return r;
    int dir = outside_open(root, folder, O_RDONLY | O_DIRECTORY, NULL, err);
    if (dir < 0)
        return dir;
    *ret_dir = dir;
    return 0;
}

int rundir_lock_at(int dir, int *ret_fd, struct error *err) {
    int fd = -1;
    int opened = open_lock(dir, &fd, err);
    if (opened < 0)
        return opened;
    if (flock(fd, LOCK_EX | LOCK_NB) < 0) {
        int r = errno == EWOULDBLOCK
                    ? error_set(err, -EBUSY, "the run folder is locked: a shim lives there")
                    : error_set_errno(err, "lock", "lock");
        close(fd);
        return r;
    }
    *ret_fd = fd;
    return 0;
}

int rundir_is_locked_at(int dir) {
    _cleanup_(fd_closep) int fd = outside_open(dir, "lock", O_RDONLY, NULL, NULL);
    if (fd < 0)
        return fd == -ENOENT || is_replaced(fd) ? 0 : fd;
    if (flock(fd, LOCK_EX | LOCK_NB) == 0)
        return 0; /* closing gives it back */
    return errno == EWOULDBLOCK ? 1 : -errno;
}

/* --- by path --------------------------------------------------------------------------------- */

static int open_root(const char *root, int *ret_fd, struct error *err) {
    int fd = outside_open(AT_FDCWD, root, O_RDONLY | O_DIRECTORY | OUTSIDE_LINKS, NULL, err);
    if (fd < 0)
        return fd;
    *ret_fd = fd;
    return 0;
}

static int open_folder(const char *root, const char *folder, int *ret_dir, struct error *err) {
    _cleanup_(fd_closep) int fd = -1;
    int r = open_root(root, &fd, err);
    return r < 0 ? r : rundir_open_at(fd, folder, ret_dir, err);
}

int rundir_create(const char *root, const char *folder, const struct run_spec *spec,
                  struct error *err) {
    _cleanup_(fd_closep) int fd = -1;
    struct rundir_open open = { -1, -1 };
    int r = open_root(root, &fd, err);
    if (r >= 0)
        r = rundir_create_at(fd, folder, spec, &open, err);
    if (r < 0)
        return r;
    close(open.lock);
    close(open.dir);
    return 0;
}

int rundir_lock(const char *root, const char *folder, int *ret_fd, struct error *err) {
    _cleanup_(fd_closep) int dir = -1;
    int r = open_folder(root, folder, &dir, err);
    return r < 0 ? r : rundir_lock_at(dir, ret_fd, err);
}

int rundir_is_locked(const char *root, const char *folder) {
    _cleanup_(fd_closep) int dir = -1;
    int r = open_folder(root, folder, &dir, NULL);
    if (r == -ENOENT)
        return 0;
    return r < 0 ? r : rundir_is_locked_at(dir);
}

int rundir_read_end(const char *root, const char *folder, const struct tag_key *key,
                    struct run_end *ret, struct error *err) {
    _cleanup_(fd_closep) int dir = -1;
    int r = open_folder(root, folder, &dir, err);
    return r < 0 ? r : rundir_read_end_at(dir, key, ret, err);
}

int rundir_read_started(const char *root, const char *folder, const struct tag_key *key,
                        struct run_started *ret, struct error *err) {
    _cleanup_(fd_closep) int dir = -1;
    int r = open_folder(root, folder, &dir, err);
    return r < 0 ? r : rundir_read_started_at(dir, key, ret, err);
}

int rundir_read_spec(const char *root, const char *folder, const struct tag_key *key,
                     struct run_spec_read **ret, struct error *err) {
    _cleanup_(fd_closep) int dir = -1;
    int r = open_folder(root, folder, &dir, err);
    return r < 0 ? r : rundir_read_spec_at(dir, key, ret, err);
}
