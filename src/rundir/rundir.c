/* rundir.c: creates and locks the directory of a run.
 *
 * Creating it twice is refused: an existing directory belongs to a run that was started, and an
 * attempt is started at most once. */
#include "rundir/rundir.h"

#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/macros.h"
#include "os/outside.h"
#include "rundir/record.h"

#define FOLDER_MAX 512 /* bytes of a path below the root */

void rundir_name(struct strbuf *out, const char *task, uint32_t attempt) {
    strbuf_printf(out, "%s/%u", task, attempt);
}

/* Names come from the daemon, but must never escape the root. */
static int check_folder(const char *folder, struct error *err) {
    const char *at = folder;
    while (*at != '\0') {
        size_t length = strcspn(at, "/");
        if (length == 0 || *at == '.')
            break;
        at += length + (at[length] == '/' && at[length + 1] != '\0');
    }
    if (*folder == '\0' || *at != '\0' || strlen(folder) >= FOLDER_MAX)
        return error_set(err, -EINVAL, "'%.80s' is not a run folder (example: web-17/2)", folder);
    return 0;
}

/* Result of outside_open: the name was replaced. Treated as missing. */
static bool is_replaced(int error) {
    return error == -EINVAL || error == -EISDIR || error == -ELOOP;
}

static int open_lock(int dir, int *ret_fd, struct error *err) {
    int fd = outside_open(dir, "lock", O_RDWR | O_CREAT, NULL, err);
    if (is_replaced(fd) && unlinkat(dir, "lock", 0) == 0)
        fd = outside_open(dir, "lock", O_RDWR | O_CREAT, NULL, err);
    if (fd >= 0)
        *ret_fd = fd;
    return fd < 0 ? fd : 0;
}

/* Locked while still empty. The space before the spec is written too: it must be allocated when the
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
    r = fd_write_all(lock, text.text, text.length);
    if (r < 0) {
        (void)error_set_errno(err, "write", "lock");
        close(lock);
    } else {
        *ret_lock = lock;
    }
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

static size_t count_words(const char *const *words) {
    size_t count = 0;
    while (words && words[count])
        count++;
    return count;
}

/* The writer checks the reader's limits, because it can still refuse the start. */
static int check_spec(const struct run_spec *spec, size_t size, struct error *err) {
    size_t args = count_words(spec->command.argv), envs = count_words(spec->env);
    size_t wraps = count_words(spec->wrap), words = 0;
    for (size_t i = 0; i < spec->check_count; i++)
        words += count_words(spec->checks[i].argv);
    if (args == 0)
        return error_set(err, -EINVAL, "run '%s' has no command", spec->run);
    if (args > RUN_ARGS_MAX || envs > RUN_ENV_MAX || spec->check_count > RUN_CHECKS_MAX
        || words > RUN_ARGS_MAX || count_words(spec->prepare.argv) > RUN_ARGS_MAX
        || size > RUN_SPEC_MAX)
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

/* Removes an incomplete directory. */
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
        r = outside_create_with(open.dir, "prompt", spec->prompt, spec->prompt_size, err);
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

int rundir_prepare_at(int parent, const char *name, const char *tmp) {
    const char *const files[] = { "lock", "out.log", "err.log" };
    if (mkdirat(parent, name, 0700) < 0 && errno != EEXIST)
        return -errno;
    _cleanup_(fd_closep) int dir = outside_open(parent, name, O_RDONLY | O_DIRECTORY, NULL, NULL);
    if (dir < 0)
        return dir;
    for (size_t i = 0; i < ARRAY_SIZE(files); i++) {
        if (mknodat(dir, files[i], S_IFREG | 0600, 0) == 0)
            continue;
        int fd = outside_open(dir, files[i], O_WRONLY | O_CREAT, NULL, NULL);
        if (fd < 0)
            return fd;
        close(fd);
    }
    if (tmp && renameat(parent, tmp, dir, "tmp") == 0)
        return 0;
    return mkdirat(dir, "tmp", 0700) < 0 && errno != EEXIST ? -errno : 0;
}

int rundir_open_at(int root, const char *folder, int *ret_dir, struct error *err) {
    int r = check_folder(folder, err);
    if (r < 0)
        return r;
    int dir = outside_open(root, folder, O_RDONLY | O_DIRECTORY, NULL, err);
    if (dir >= 0)
        *ret_dir = dir;
    return dir < 0 ? dir : 0;
}

int rundir_lock_at(int dir, int *ret_fd, struct error *err) {
    int fd = -1;
    int opened = open_lock(dir, &fd, err);
    if (opened < 0)
        return opened;
    if (flock(fd, LOCK_EX | LOCK_NB) < 0) {
        int r = errno == EWOULDBLOCK
                    ? error_set(err, -EBUSY, "the run folder is locked by a live shim")
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
        return 0; /* closing releases it */
    return errno == EWOULDBLOCK ? 1 : -errno;
}

/* --- by path ---------------------------------------------------------------------------------- */

static int open_folder(const char *root, const char *folder, int *ret_dir, struct error *err) {
    _cleanup_(fd_closep) int fd =
        outside_open(AT_FDCWD, root, O_RDONLY | O_DIRECTORY | OUTSIDE_LINKS, NULL, err);
    return fd < 0 ? fd : rundir_open_at(fd, folder, ret_dir, err);
}

int rundir_is_locked(const char *root, const char *folder) {
    _cleanup_(fd_closep) int dir = -1;
    int r = open_folder(root, folder, &dir, NULL);
    if (r == -ENOENT)
        return 0;
    return r < 0 ? r : rundir_is_locked_at(dir);
}

/* rundir_read_RECORD: opens the directory for rundir_read_RECORD_at. */
#define READ_BY_PATH(record, type)                                                                 \
    int rundir_read_##record(const char *root, const char *folder, const struct tag_key *key,      \
                             type *ret, struct error *err) {                                       \
        _cleanup_(fd_closep) int dir = -1;                                                         \
        int r = open_folder(root, folder, &dir, err);                                              \
        return r < 0 ? r : rundir_read_##record##_at(dir, key, ret, err);                          \
    }                                                                                              \
    struct read_needs_a_semicolon_
READ_BY_PATH(end, struct run_end);
READ_BY_PATH(started, struct run_started);
READ_BY_PATH(spec, struct run_spec_read *);
#undef READ_BY_PATH

/* --- reading a shim's records ----------------------------------------------------------------- */

/* They are not trusted. The command runs as the same user and can write here, a disk can be full,
 * an old shim knows less: each file is bounded and opened without following links. A malformed
 * record is -EPROTO with a message. */

#define LOCK_MAX 8192

/* At most `size` bytes of the file, starting at `at`. */
static ssize_t read_part(int dir, const char *name, off_t at, char *out, size_t size,
                         struct error *err) {
    struct error why = { 0 };
    _cleanup_(fd_closep) int fd = outside_open(dir, name, O_RDONLY, NULL, &why);
    if (fd < 0) /* anything else there is not a record */
        return error_set(err, fd == -EINVAL || fd == -EISDIR ? -EPROTO : fd, "%s", why.text);
    ssize_t got = fd_pread_all(fd, out, size, at);
    return got < 0 ? error_set_errno(err, "read", name) : got;
}

/* Unknown names and invalid numbers are skipped. */
static bool take_started(struct run_started *started, const char *name, const char *value) {
    int64_t number = 0;
    if (strcmp(name, "boot_id") == 0)
        return snprintf(started->boot_id, sizeof(started->boot_id), "%s", value)
               < (int)sizeof(started->boot_id);
    if (strcmp(name, "shim") == 0 && record_number(value, 2, INT_MAX, &number))
        started->shim = (pid_t)number;
    else if (strcmp(name, "command") == 0 && record_number(value, 0, INT_MAX, &number))
        started->command = (pid_t)number;
    else if (strcmp(name, "exec_errno") == 0 && record_number(value, 0, INT_MAX, &number))
        started->exec_errno = (int)number;
    else if (strcmp(name, "at") == 0 && record_number(value, 0, INT64_MAX, &number))
        started->at = number;
    else if (strcmp(name, "validating") == 0 && record_number(value, 0, 1, &number))
        started->validating = number == 1;
    return true;
}

int rundir_read_started_at(int dir, const struct tag_key *key, struct run_started *ret,
                           struct error *err) {
    char text[RUN_LOCK_END];
    text[0] = '\0';
    ssize_t size = read_part(dir, "lock", 0, text, sizeof(text), err);
    if (size < 0)
        return (int)size;
    if (size == 0 || text[0] == '\0')
        return error_set(err, -ENOENT, "the shim has not identified itself yet");
    struct run_started started = { 0 };
    struct record_in in = { .at = text, .end = text + size };
    const char *name, *value;
    int64_t version = 0;
    if (!record_next(&in, &name, &value) || strcmp(name, "version") != 0
        || !record_number(value, RUNDIR_OLDEST, UINT32_MAX, &version))
        return error_set(err, -EPROTO, "the lock file does not begin with a version");
    bool good = true, tagged = false;
    while (good && !tagged && record_next(&in, &name, &value) && *name) {
        tagged = key && strcmp(name, TAG_NAME) == 0;
        good = tagged ? tag_is_right(key, TAG_STARTED, text, (size_t)(name - text), value)
                      : take_started(&started, name, value);
    }
    if (key && !(good && tagged))
        return error_set(err, -EPROTO, "the lock file is damaged");
    started.version = (uint32_t)version;
    if (!good || started.shim == 0 || started.boot_id[0] == '\0')
        return error_set(err, -EPROTO, "the lock file does not name its holder");
    *ret = started;
    return 0;
}

void run_spec_read_free(struct run_spec_read **read) {
    if (*read)
        free((*read)->text);
    free(*read);
    *read = NULL;
}

int rundir_read_spec_at(int dir, const struct tag_key *key, struct run_spec_read **ret,
                        struct error *err) {
    _cleanup_(run_spec_read_free) struct run_spec_read *read = xcalloc(1, sizeof(*read));
    read->text = xmalloc(RUN_SPEC_MAX);
    ssize_t size = read_part(dir, "lock", RUN_LOCK_SPEC, read->text, RUN_SPEC_MAX, err);
    if (size == 0) /* version 1, or not written yet */
        size = read_part(dir, "spec", 0, read->text, RUN_SPEC_MAX, err);
    if (size < 0)
        return (int)size;
    int r = run_spec_parse(read->text, (size_t)size, key, &read->words, &read->spec, err);
    if (r < 0)
        return r;
    *ret = TAKE_PTR(read);
    return 0;
}

static void json_freep(json_t **json) {
    json_decref(*json);
}

/* All members of version 1 are required: a missing code must not read as 0. */
static int64_t member(const json_t *json, const char *name, int64_t min, int64_t max, bool *good) {
    const json_t *value = json_object_get(json, name);
    int64_t number = json_integer_value(value);
    if (!json_is_integer(value) || number < min || number > max) {
        *good = false;
        return 0;
    }
    return number;
}

static bool flag(const json_t *json, const char *name) {
    return json_is_true(json_object_get(json, name));
}

static void copy_text(const json_t *json, const char *name, char *out, size_t size) {
    const char *text = json_string_value(json_object_get(json, name));
    (void)snprintf(out, size, "%s", text ? text : "");
}

static bool find_kind(const json_t *json, enum run_end_kind *ret_kind) {
    const char *text = json_string_value(json_object_get(json, "kind"));
    for (int kind = 0; text && kind < RUN_END_LOST; kind++) { /* LOST is never written */
        if (strcmp(text, run_end_kind_name((enum run_end_kind)kind)) == 0) {
            *ret_kind = (enum run_end_kind)kind;
            return true;
        }
    }
    return false;
}

/* {…,"tag":"0123…"}: covers everything before its comma. A line from the pipe has no newline. */
static bool has_right_tag(const char *text, size_t size, const struct tag_key *key) {
    static const char begin[] = ",\"" TAG_NAME "\":\"", end[] = "\"}";
    const size_t before = sizeof(begin) - 1, length = SHA256_HEX_SIZE - 1, after = sizeof(end) - 1;
    char tag[SHA256_HEX_SIZE];
    size -= size > 0 && text[size - 1] == '\n';
    if (size < before + length + after)
        return false;
    const char *at = text + size - before - length - after;
    memcpy(tag, at + before, length);
    tag[length] = '\0';
    return memcmp(at, begin, before) == 0 && memcmp(at + before + length, end, after) == 0
           && tag_is_right(key, TAG_END, text, (size_t)(at - text), tag);
}

int run_end_parse(const char *text, size_t size, const struct tag_key *key, struct run_end *ret,
                  struct error *err) {
    json_error_t why;
    if (key && !has_right_tag(text, size, key))
        return error_set(err, -EPROTO, "'end.json' is damaged");
    _cleanup_(json_freep) json_t *json = json_loadb(text, size, JSON_REJECT_DUPLICATES, &why);
    if (!json)
        return error_set(err, -EPROTO, "'end.json' is not readable: %s", why.text);
    struct run_end end = { 0 };
    bool good = json_is_object(json) && find_kind(json, &end.kind);
    (void)member(json, "version", RUNDIR_OLDEST, INT_MAX, &good);
    end.code = (int)member(json, "code", -1, 255, &good);
    end.signal = (int)member(json, "signal", 0, 64, &good);
    end.exec_errno = (int)member(json, "exec_errno", 0, 4095, &good);
    end.cause = launch_cause_find(json_string_value(json_object_get(json, "cause")));
    if (end.cause == LAUNCH_CAUSE_MAX) /* older shims write none */
        end.cause = LAUNCH_PROGRAM;
    end.check = (int)member(json, "check", 0, RUN_CHECKS_MAX, &good);
    end.idle = flag(json, "idle");
    end.core_dumped = flag(json, "core_dumped");
    end.durable = flag(json, "durable");
    end.started_at = member(json, "started_at", 0, INT64_MAX, &good);
    end.ended_at = member(json, "ended_at", 0, INT64_MAX, &good);
    end.cpu_ms = member(json, "cpu_ms", 0, INT64_MAX, &good);
    end.memory_kb = member(json, "memory_kb", 0, INT64_MAX, &good);
    end.out_bytes = (uint64_t)member(json, "out_bytes", 0, INT64_MAX, &good);
    end.err_bytes = (uint64_t)member(json, "err_bytes", 0, INT64_MAX, &good);
    end.leftover = (uint32_t)member(json, "leftover", 0, UINT32_MAX, &good);
    copy_text(json, "applied", end.applied, sizeof(end.applied));
    copy_text(json, "message", end.message, sizeof(end.message));
    if (!good)
        return error_set(err, -EPROTO, "'end.json' does not describe the end of a run");
    *ret = end;
    return 0;
}

/* The `end` record that a shim leaves in its lock file if the disk is too full for another file. */
static int read_end_in_lock(int dir, const struct tag_key *key, struct run_end *ret) {
    char text[LOCK_MAX];
    ssize_t size = read_part(dir, "lock", 0, text, sizeof(text), NULL);
    if (size <= RUN_LOCK_END)
        return -ENOENT;
    struct record_in in = { .at = text + RUN_LOCK_END, .end = text + size };
    const char *name, *value;
    if (!record_next(&in, &name, &value) || strcmp(name, "end") != 0)
        return -ENOENT;
    return run_end_parse(value, strlen(value), key, ret, NULL);
}

int rundir_read_end_at(int dir, const struct tag_key *key, struct run_end *ret, struct error *err) {
    char text[2 * RUN_RECORD_MAX];
    ssize_t size = read_part(dir, "end.json", 0, text, sizeof(text), err);
    if (size == 0) /* killed before it could record it */
        size = error_set(err, -ENOENT, "'end.json' is empty");
    int r = size < 0 ? (int)size : run_end_parse(text, (size_t)size, key, ret, err);
    if (r < 0 && read_end_in_lock(dir, key, ret) == 0)
        return 0;
    return r;
}
