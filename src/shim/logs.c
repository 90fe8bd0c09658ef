/* logs.c: output of any amount in a bounded part of the disk, without ever blocking its writer.
 *
 * The command writes straight into the file; what is between the first bytes and the last ones is
 * given back to the file system as a hole. Offsets stay true, readers see zeros where the middle was.
 *
 * How often: after a look the shim rests for as long as the log would take to grow by LOOK_BYTES at the
 * speed just seen, and never longer than LOOK_MAX, so that a sudden flood of 1 GB/s stays below 64 MB
 * too. While nothing is written nobody wakes (src/shim/watch.c).
 *
 * Where holes cannot be punched the log may grow to OVER_BYTES beyond what is kept; then the run ends:
 * to cut the file would move the offsets under the reader. */
#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "os/clock.h"
#include "shim/shim.h"

#define BLOCK_BYTES   4096u
#define PUNCH_BYTES   (1u << 20) /* less is not worth the call */
#define LOOK_BYTES    (8u << 20)
#define LOOK_MIN      1  /* ms */
#define LOOK_MAX      60 /* ms */
#define LOOK_FIRST    4  /* ms, after it was quiet for LOOK_QUIET: a flood is seen early */
#define LOOK_QUIET    500
#define OVER_BYTES    (64u << 20)
#define OVER_TIME     SECONDS(10)
#define OVER_MOST     (512u << 20) /* no matter for how short a time */
#define STAT_UNIT     512u         /* of st_blocks */
#define NOT_SUPPORTED (errno == EOPNOTSUPP || errno == ENOSYS || errno == EINVAL || errno == EPERM)

/* A FIFO in its place would block the shim, which would enforce no deadline. */
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
    /* Another run may have put something there before this one began. */
    if (log->fd < 0 && (errno == ENXIO || errno == ELOOP) && unlinkat(FD_FOLDER, name, 0) == 0)
        log->fd = open_regular(name);
}

/* Gives back what is neither head nor tail, if it is worth it. */
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

/* How much more of the disk it holds than it may, after it was punched. */
static uint64_t bytes_beyond(const struct shim *s, const struct shim_log *log) {
    uint64_t kept = s->spec.log_head + s->spec.log_tail;
    struct stat st;
    if (kept == 0 || log->size - log->punched <= kept || fstat(log->fd, &st) < 0)
        return 0;
    uint64_t bytes = (uint64_t)st.st_blocks * STAT_UNIT;
    return bytes > kept ? bytes - kept : 0;
}

time_ms logs_look(struct shim *s, struct shim_log *logs, unsigned count,
                  enum verdict *ret_verdict) {
    time_ms now = clock_read_steady();
    uint64_t grown = 0, most = 0; /* most: beyond what is kept, of any of them */
    bool over = false;
    for (unsigned i = 0; i < count; i++) {
        struct stat st;
        if (fstat(logs[i].fd, &st) < 0)
            continue;
        /* The command may have cut its own log. */
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
    time_ms span = time_max(now - s->looked_at, 1);
    s->looked_at = now;
    time_ms rest = grown == 0 ? LOOK_MAX : (time_ms)(LOOK_BYTES * (uint64_t)span / grown);
    time_ms longest = span > LOOK_QUIET ? LOOK_FIRST : 2 * s->look_rest;
    s->look_rest = time_max(LOOK_MIN, time_min(time_min(rest, longest), LOOK_MAX));
    return s->look_rest;
}

void logs_finish(struct shim *s, struct shim_log *logs, unsigned count) {
    for (unsigned i = 0; i < count; i++) {
        struct stat st;
        if (fstat(logs[i].fd, &st) == 0) {
            logs[i].size = (uint64_t)st.st_size;
            punch(s, &logs[i], BLOCK_BYTES);
        }
        secrets_cover(&logs[i]);
        close(logs[i].fd);
    }
}
