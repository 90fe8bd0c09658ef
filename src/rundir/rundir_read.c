/* rundir_read.c: what a shim left in its folder, read by somebody who does not trust it.
 *
 * The command runs as the same user and can write here, a disk can be full, an old shim knows less: each
 * file is bounded, opened without following links, and what does not read as a record is -EPROTO with
 * a sentence, never a guess. */
#include "rundir/rundir.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <jansson.h>

#include "base/alloc.h"
#include "base/macros.h"
#include "os/files.h"
#include "os/outside.h"
#include "rundir/record.h"

#define LOCK_MAX 8192

/* At most `size` bytes of the file, from `at` on. */
static ssize_t read_part(int dir, const char *name, off_t at, char *out, size_t size,
                         struct error *err) {
    struct error why = { 0 };
    _cleanup_(fd_closep) int fd = outside_open(dir, name, O_RDONLY, NULL, &why);
    if (fd < 0) /* something else in its place is no record */
        return error_set(err, fd == -EINVAL || fd == -EISDIR ? -EPROTO : fd, "%s", why.text);
    size_t length = 0;
    while (length < size) {
        ssize_t got = pread(fd, out + length, size - length, at + (off_t)length);
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            return error_set_errno(err, "read", name);
        if (got == 0)
            break;
        length += (size_t)got;
    }
    return (ssize_t)length;
}

static ssize_t read_file(int dir, const char *name, char *out, size_t size, struct error *err) {
    return read_part(dir, name, 0, out, size, err);
}

/* --- started --------------------------------------------------------------------------------- */

static bool take_started(struct run_started *started, const char *name, const char *value) {
    int64_t number = 0;
    if (strcmp(name, "boot_id") == 0) {
        size_t length = strlen(value);
        if (length >= sizeof(started->boot_id))
            return false;
        memcpy(started->boot_id, value, length + 1);
        return true;
    }
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
    ssize_t size = read_file(dir, "lock", text, sizeof(text), err);
    if (size < 0)
        return (int)size;
    if (size == 0 || text[0] == '\0')
        return error_set(err, -ENOENT, "the shim has not said yet who it is");
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
        return error_set(err, -EPROTO, "the lock file is not as the shim has written it");
    started.version = (uint32_t)version;
    if (!good || started.shim == 0 || started.boot_id[0] == '\0')
        return error_set(err, -EPROTO, "the lock file does not say who holds it");
    *ret = started;
    return 0;
}

/* --- spec ------------------------------------------------------------------------------------ */

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
    if (size == 0) /* version 1, or nobody has written it yet */
        size = read_file(dir, "spec", read->text, RUN_SPEC_MAX, err);
    if (size < 0)
        return (int)size;
    int r = run_spec_parse(read->text, (size_t)size, key, &read->words, &read->spec, err);
    if (r < 0)
        return r;
    *ret = TAKE_PTR(read);
    return 0;
}

/* --- end ------------------------------------------------------------------------------------- */

static void json_freep(json_t **json) {
    json_decref(*json);
}

/* All that version 1 has is always there: a missing code must not read as 0. */
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
    size_t length = text ? strnlen(text, size - 1) : 0;
    if (text)
        memcpy(out, text, length);
    out[length] = '\0';
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

/* A shim of an earlier version writes none. */
static enum launch_cause find_cause(const json_t *json) {
    enum launch_cause cause = launch_cause_find(json_string_value(json_object_get(json, "cause")));
    return cause < LAUNCH_CAUSE_MAX ? cause : LAUNCH_PROGRAM;
}

/* {…,"tag":"0123…"}: of all that is before its comma. A line that came by the pipe has lost its newline. */
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
        return error_set(err, -EPROTO, "'end.json' is not as the shim has written it");
    _cleanup_(json_freep) json_t *json = json_loadb(text, size, JSON_REJECT_DUPLICATES, &why);
    if (!json)
        return error_set(err, -EPROTO, "'end.json' is not readable: %s", why.text);
    struct run_end end = { 0 };
    bool good = json_is_object(json) && find_kind(json, &end.kind);
    (void)member(json, "version", RUNDIR_OLDEST, INT_MAX, &good);
    end.code = (int)member(json, "code", -1, 255, &good);
    end.signal = (int)member(json, "signal", 0, 64, &good);
    end.exec_errno = (int)member(json, "exec_errno", 0, 4095, &good);
    end.cause = find_cause(json);
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
        return error_set(err, -EPROTO, "'end.json' is not the end of a run");
    *ret = end;
    return 0;
}

/* The record `end` that a shim leaves in its lock file when the disk has no room for another file. */
static int read_end_in_lock(int dir, const struct tag_key *key, struct run_end *ret) {
    char text[LOCK_MAX];
    ssize_t size = read_file(dir, "lock", text, sizeof(text), NULL);
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
    ssize_t size = read_file(dir, "end.json", text, sizeof(text), err);
    if (size == 0) /* it was killed before it could tell */
        size = error_set(err, -ENOENT, "'end.json' is empty");
    int r = size < 0 ? (int)size : run_end_parse(text, (size_t)size, key, ret, err);
    if (r < 0 && read_end_in_lock(dir, key, ret) == 0)
        return 0;
    return r;
}
