/* logs.c: unlimited output in bounded disk space, without ever blocking the writer.
 *
 * The command writes directly to the file; the part between the head and the tail is punched out as
 * a hole. Offsets stay valid; readers see zeros in the middle.
 *
 * Polling: logs_trim is called again after the time in which the log would grow by TRIM_BYTES at the current
 * rate, at most TRIM_MAX, so that a sudden flood of 1 GB/s stays below 64 MB too. Without output
 * the shim does not wake (src/shim/watch.c).
 *
 * If holes are not supported the log may exceed the limit by OVER_BYTES; then the run ends:
 * truncating would move the offsets under the reader. */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/redact.h"
#include "os/clock.h"
#include "os/fd.h"
#include "os/redact_file.h"
#include "rundir/record.h"
#include "shim/shim.h"

/* --- secrets ---------------------------------------------------------------------------------- */

/* Variables of the run that are in no file.
 *
 * They come through a descriptor and stay in the memory of the shim, which no other process of the
 * user can read. Occurrences in the logs are replaced before the end of the run is recorded. While
 * the command runs they may be on disk; the daemon masks them in what it shows. */

#define WINDOW_BYTES ((size_t)64 << 10) /* of a log, scanned at once */

static char block[RUN_SECRETS_BYTES];          /* NAME=VALUE, each NUL-terminated */
static char json_forms[2 * RUN_SECRETS_BYTES]; /* values that JSON escapes */
static struct redact_value values[2 * RUN_SECRETS_MAX];
static struct redact_index index_of_values;
static char space[REDACT_FILE_SPACE(WINDOW_BYTES)];

/* --- the environment ------------------------------------------------------------------------- */

static bool put_variable(struct shim *s, const char *pair, size_t name) {
    size_t at = 0;
    while (s->words.env[at] && strncmp(s->words.env[at], pair, name + 1) != 0)
        at++;
    if (at == RUN_ENV_MAX)
        return false;
    if (!s->words.env[at])
        s->words.env[at + 1] = NULL;
    s->words.env[at] = pair;
    return true;
}

static void add_value(size_t *count, const char *pair, size_t name, size_t *forms) {
    const char *value = pair + name + 1;
    size_t size = strlen(value);
    values[(*count)++] = (struct redact_value){ pair, name, value, size, 0 };
    size_t room = sizeof(json_forms) - *forms;
    size_t form = redact_json_form(value, size, json_forms + *forms,
                                   room < REDACT_FILE_LONGEST ? room : REDACT_FILE_LONGEST);
    if (form > 0)
        values[(*count)++] = (struct redact_value){ pair, name, json_forms + *forms, form, 0 };
    *forms += form;
}

/* Is this the next name in the spec's list? */
static bool take_name(const char **names, const char *pair, size_t name) {
    if (strncmp(*names, pair, name) != 0 || ((*names)[name] != ' ' && (*names)[name] != '\0'))
        return false;
    *names += name + ((*names)[name] == ' ');
    return true;
}

/* Accepts exactly the variables that the spec names. */
static bool take_block(struct shim *s, size_t size) {
    const char *names = s->spec.secret_names;
    size_t count = 0, forms = 0, taken = 0;
    for (size_t at = 0; at < size; taken++) {
        const char *pair = block + at;
        size_t length = strnlen(pair, size - at);
        size_t name = length < size - at ? strcspn(pair, "=") : 0;
        if (name == 0 || name == length || taken == RUN_SECRETS_MAX
            || !take_name(&names, pair, name) || !put_variable(s, pair, name))
            return false;
        add_value(&count, pair, name, &forms);
        at += length + 1;
    }
    redact_index_init(&index_of_values, values, count, NULL);
    return *names == '\0';
}

int secrets_take(struct shim *s, struct error *err) {
    if (!s->spec.secret_names)
        return 0;
    ssize_t size = fd_pread_all(FD_SECRETS, block, sizeof(block), 0);
    (void)close(FD_SECRETS);
    if (size < 0 || !take_block(s, (size_t)size))
        return error_set(err, -ENODATA, "the secrets of this run did not reach its shim");
    return 0;
}

/* --- the logs -------------------------------------------------------------------------------- */

/* The command may have replaced its log, for instance with a symlink to another user's file: the
 * shim writes only to a file that it created. */
static void secrets_redact(const struct shim_log *log) {
    struct stat made, found;
    if (index_of_values.longest == 0)
        return;
    _cleanup_(fd_closep) int fd =
        openat(FD_FOLDER, log->name, O_RDWR | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    if (fd >= 0 && fstat(log->fd, &made) == 0 && fstat(fd, &found) == 0
        && made.st_dev == found.st_dev && made.st_ino == found.st_ino)
        (void)redact_file(&index_of_values, fd, space, sizeof(space));
}

/* --- their size -------------------------------------------------------------------------------- */

#define BLOCK_BYTES   4096u
#define PUNCH_BYTES   (1u << 20) /* less is not worth the call */
#define TRIM_BYTES    (8u << 20)
#define TRIM_MIN      1  /* ms */
#define TRIM_MAX      60 /* ms */
#define TRIM_FIRST    4  /* ms, after TRIM_QUIET without output: detects a flood early */
#define TRIM_QUIET    500
#define OVER_BYTES    (64u << 20)
#define OVER_TIME     SECONDS(10)
#define OVER_MOST     (512u << 20) /* even briefly */
#define STAT_UNIT     512u         /* of st_blocks */
#define NOT_SUPPORTED (errno == EOPNOTSUPP || errno == ENOSYS || errno == EINVAL || errno == EPERM)

/* A FIFO instead would block the shim, which would then enforce no deadline. */
static int open_regular(const char *name) {
    struct stat st;
    int fd = openat(FD_FOLDER, name,
                    O_WRONLY | O_CREAT | O_APPEND | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, 0600);
    if (fd < 0)
        return -1;
    if (fstat(fd, &st) == 0 && S_ISREG(st.st_mode)) {
        (void)fcntl(fd, F_SETFL, O_APPEND); /* the command inherits it */
        return fd;
    }
    close(fd);
    errno = ENXIO;
    return -1;
}

void logs_open(struct shim_log *log, const char *name) {
    *log = (struct shim_log){ .name = name };
    log->fd = open_regular(name);
    /* Another run may have created something there before this one began. */
    if (log->fd < 0 && (errno == ENXIO || errno == ELOOP) && unlinkat(FD_FOLDER, name, 0) == 0)
        log->fd = open_regular(name);
}

/* Punches out what is neither head nor tail, if it is worth it. */
static void punch(struct shim *s, struct shim_log *log, uint64_t least) {
    uint64_t head = s->spec.log_head, tail = s->spec.log_tail;
    if (head + tail == 0 || s->cannot_punch || log->size <= head + tail)
        return;
    uint64_t from = log->punched > head ? log->punched : head;
    from = (from + BLOCK_BYTES - 1) / BLOCK_BYTES * BLOCK_BYTES;
    uint64_t to = (log->size - tail) / BLOCK_BYTES * BLOCK_BYTES;
    if (to <= from || to - from < least)
        return;
    if (fallocate(log->fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, (off_t)from,
                  (off_t)(to - from))
        == 0) {
        log->punched = to;
        limits_note(s, "log.punch");
    } else if (NOT_SUPPORTED) {
        s->cannot_punch = true;
        limits_note(s, "log.limit");
    }
}

/* Disk space beyond the limit, after punching. */
static uint64_t bytes_beyond(const struct shim *s, const struct shim_log *log) {
    uint64_t kept = s->spec.log_head + s->spec.log_tail;
    struct stat st;
    if (kept == 0 || log->size - log->punched <= kept || fstat(log->fd, &st) < 0)
        return 0;
    uint64_t bytes = (uint64_t)st.st_blocks * STAT_UNIT;
    return bytes > kept ? bytes - kept : 0;
}

time_ms logs_trim(struct shim *s, struct shim_log *logs, unsigned count,
                  enum verdict *ret_verdict) {
    time_ms now = clock_read_steady();
    uint64_t grown = 0, most = 0; /* most: the largest excess of any log */
    bool over = false;
    for (unsigned i = 0; i < count; i++) {
        struct stat st;
        if (fstat(logs[i].fd, &st) < 0)
            continue;
        /* The command may have truncated its own log. */
        uint64_t size = (uint64_t)st.st_size;
        if (size < logs[i].punched)
            logs[i].punched = 0;
        grown += size > logs[i].size ? size - logs[i].size : 0;
        logs[i].size = size;
        punch(s, &logs[i], PUNCH_BYTES);
        uint64_t beyond = bytes_beyond(s, &logs[i]);
        most = beyond > most ? beyond : most;
        over = over || beyond > OVER_BYTES;
    }
    if (!over)
        s->over_since = 0;
    else if (s->over_since == 0)
        s->over_since = now;
    if (over && (s->cannot_punch || most > OVER_MOST || now - s->over_since >= OVER_TIME))
        *ret_verdict = VERDICT_OUTPUT;
    time_ms span = time_max(now - s->trimmed_at, 1);
    s->trimmed_at = now;
    time_ms rest = grown == 0 ? TRIM_MAX : (time_ms)(TRIM_BYTES * (uint64_t)span / grown);
    time_ms longest = span > TRIM_QUIET ? TRIM_FIRST : 2 * s->trim_pause;
    s->trim_pause = time_max(TRIM_MIN, time_min(time_min(rest, longest), TRIM_MAX));
    return s->trim_pause;
}

/* --- their order ------------------------------------------------------------------------------- */

/* Two files lose the order of what was written to them. The sizes of both, at moments when the
 * command went from err.log back to out.log, are enough to merge them again: what is between two
 * lines is first output, then errors. Writes that follow each other faster than the shim looks
 * are seen together. */

#define ORDER_MIXED SECONDS(1)
#define ORDER_PAUSE 2 /* ms, while both logs grow */

static void end_order(struct log_order *order) {
    if (order->fd > 0)
        close(order->fd);
    order->fd = -1;
}

static void put_order(struct shim *s, uint64_t out, uint64_t err) {
    char text[48];
    struct log_order *order = &s->order;
    struct record_out line = { .text = text, .size = sizeof(text) };
    record_put_number(&line, (int64_t)out);
    record_puts(&line, " ");
    record_put_number(&line, (int64_t)err);
    record_puts(&line, "\n");
    if (order->fd == 0)
        order->fd = open_regular(RUN_ORDER_NAME);
    if (order->fd < 0)
        return;
    if (order->size + line.length > RUN_ORDER_MAX
        || write(order->fd, text, line.length) != (ssize_t)line.length)
        end_order(order);
    order->size += line.length;
    order->recorded_err = err;
}

time_ms logs_note_order(struct shim *s, const struct shim_log logs[SHIM_LOGS_MAX], bool err_first) {
    struct log_order *order = &s->order;
    uint64_t out = logs[0].size, err = logs[1].size;
    if (out < order->out || err < order->err) /* the command has truncated one */
        end_order(order);
    bool out_grew = out > order->out, err_grew = err > order->err;
    time_ms now = clock_read_steady();
    if (err_grew)
        order->mixed_until = now + ORDER_MIXED;
    if (out_grew && err_grew && err_first)
        put_order(s, order->out, err);
    else if (out_grew && order->err > order->recorded_err)
        put_order(s, order->out, order->err);
    order->out = out;
    order->err = err;
    return out > 0 && now < order->mixed_until ? ORDER_PAUSE : TRIM_MAX;
}

/* --- the end ----------------------------------------------------------------------------------- */

void logs_finish(struct shim *s, struct shim_log *logs, unsigned count) {
    for (unsigned i = 0; i < count; i++) {
        struct stat st;
        if (fstat(logs[i].fd, &st) == 0) {
            logs[i].size = (uint64_t)st.st_size;
            punch(s, &logs[i], BLOCK_BYTES);
        }
        secrets_redact(&logs[i]);
        close(logs[i].fd);
    }
}
