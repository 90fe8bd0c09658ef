/* append.c: how does a message get into a file that many processes write at once?
 *
 * One write under the lock. Before it, the end of the file is looked at: what a writer that died has left
 * there is closed, in the same write, so that it cannot swallow what comes behind it. What a full disk has
 * cut off is taken back while the lock still keeps others away. */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "bus/bus.h"
#include "bus/bus_internal.h"
#include "bus/reader.h"
#include "os/files.h"
#include "os/outside.h"

#define REOPEN_MAX 8           /* while others keep moving the file away */
#define LOOK_SLACK MINUTES(10) /* the clocks of writers may differ */

static struct bus_place place_of(const struct bus_message *message) {
    return (struct bus_place){ message->project, message->to_project ? NULL : message->task };
}

/* --- the lock -------------------------------------------------------------------------------- */

/* 0: we have it. */
static int take_lock(struct bus *bus, int fd, const char *path, struct error *err) {
    time_ms begin = bus->clock.steady(bus->clock.ctx);
    bool waited = false;
    for (;;) {
        if (flock(fd, LOCK_EX | LOCK_NB) == 0)
            return 0;
        if (errno == EINTR)
            continue;
        if (errno != EWOULDBLOCK)
            return error_set_errno(err, "lock", path);
        bus->counts.waits += !waited;
        waited = true;
        if (bus->clock.steady(bus->clock.ctx) - begin >= bus->limits.lock_timeout) {
            bus->counts.timeouts++;
            return error_set(err, -ETIMEDOUT,
                             "'%s' is locked by somebody else for more than %" PRId64 " ms", path,
                             bus->limits.lock_timeout);
        }
        if (!bus->clock.wait(bus->clock.ctx, bus->limits.lock_every))
            return error_set(err, -ECANCELED, "'%s' is locked, and nobody waits any more", path);
    }
}

/* Is the file that was opened still the one of that name? */
static bool is_in_place(int fd, const char *path) {
    struct stat ours, there;
    return fstat(fd, &ours) == 0 && stat(path, &there) == 0 && ours.st_dev == there.st_dev
           && ours.st_ino == there.st_ino;
}

static int open_file(struct bus *bus, const struct bus_place *place, const char *path, bool make,
                     int *ret_fd, struct error *err) {
    const int flags = O_RDWR | O_APPEND | (make ? O_CREAT : 0);
    int fd = outside_open(AT_FDCWD, path, flags, NULL, err);
    if (fd == -ENOENT && make) {
        int r = bus_make_folder(bus, place, err);
        if (r < 0)
            return r;
        fd = outside_open(AT_FDCWD, path, flags, NULL, err);
    }
    if (fd < 0)
        return fd;
    *ret_fd = fd;
    return 0;
}

int bus_open_locked(struct bus *bus, const struct bus_place *place, const char *path, bool make,
                    int *ret_fd, struct error *err) {
    for (unsigned n = 0; n < REOPEN_MAX; n++) {
        int fd = -1;
        int r = open_file(bus, place, path, make, &fd, err);
        if (r < 0)
            return r;
        r = take_lock(bus, fd, path, err);
        if (r == 0 && is_in_place(fd, path)) {
            *ret_fd = fd;
            return 0;
        }
        close(fd);
        if (r < 0)
            return r;
    }
    return error_set(err, -EAGAIN, "'%s' is moved away again and again", path);
}

/* --- the write ------------------------------------------------------------------------------- */

/* What must stand before the next message so that it begins where nothing is open. */
static int close_torn(int fd, off_t size, const char *path, struct strbuf *out, struct error *err) {
    const char end[] = "\n" BUS_END_LINE;
    char last[sizeof(end) - 1] = { 0 };
    if (size == 0)
        return 0;
    size_t want = size < (off_t)sizeof(last) ? (size_t)size : sizeof(last);
    ssize_t n = pread(fd, last, want, size - (off_t)want);
    if (n < 0)
        return error_set_errno(err, "read", path);
    if ((size_t)n == sizeof(last) && memcmp(last, end, sizeof(last)) == 0)
        return 0;
    strbuf_puts(out, n > 0 && last[n - 1] != '\n' ? "\n" BUS_TORN_LINE : BUS_TORN_LINE);
    return 0;
}

static int write_all_or_nothing(int fd, off_t size, const char *path, const struct strbuf *bytes,
                                struct error *err) {
    ssize_t n;
    do
        n = write(fd, strbuf_text(bytes), bytes->length);
    while (n < 0 && errno == EINTR);
    if (n == (ssize_t)bytes->length)
        return 0;
    int code = n < 0 ? errno : ENOSPC;
    if (n > 0 && ftruncate(fd, size) < 0)
        code = errno; /* the next writer closes it */
    errno = code;
    return error_set_errno(err, "write", path);
}

/* 1: it is there already. */
static int look_for(int fd, const struct bus_message *message, struct error *err) {
    _cleanup_(bus_reader_finish) struct bus_reader reader = BUS_READER_INIT;
    reader.gap_max = BUS_GAP_MAX;
    bus_reader_borrow(&reader, fd);
    return bus_reader_seek_behind(&reader, message->id, message->at - LOOK_SLACK, err);
}

static void make_id(struct bus *bus, time_ms now, char ret_id[BUS_ID_MAX]) {
    struct strbuf id = STRBUF_INIT;
    bus_id_begin(now, &id);
    strbuf_printf(&id, "PID%05d-%04" PRIu64, (int)getpid(), ++bus->serial);
    snprintf(ret_id, BUS_ID_MAX, "%s", strbuf_text(&id));
    strbuf_finish(&id);
}

/* With the lock. */
static int append_locked(struct bus *bus, int fd, const char *path, struct bus_message *message,
                         char ret_id[BUS_ID_MAX], struct error *err) {
    _cleanup_(strbuf_finish) struct strbuf bytes = STRBUF_INIT;
    struct stat st;
    char id[BUS_ID_MAX];
    if (fstat(fd, &st) < 0)
        return error_set_errno(err, "look at", path);
    if (message->at == 0)
        message->at = bus->clock.now(bus->clock.ctx);
    bool is_new = !message->id;
    if (is_new) { /* under the lock: the order of ids is the order in the file */
        make_id(bus, message->at, id);
        message->id = id;
    }
    int r = close_torn(fd, st.st_size, path, &bytes, err);
    if (r == 0) {
        bus_message_print(message, &bytes);
        r = write_all_or_nothing(fd, st.st_size, path, &bytes, err);
    }
    if (r == 0 && ret_id)
        snprintf(ret_id, BUS_ID_MAX, "%s", message->id);
    if (is_new)
        message->id = NULL;
    return r;
}

static int append_once(struct bus *bus, const char *path, const struct bus_message *message,
                       bool once, char ret_id[BUS_ID_MAX], struct error *err) {
    struct bus_place place = place_of(message);
    struct bus_message copy = *message;
    struct stat st;
    int fd = -1;
    bus->counts.attempts++;
    int r = bus_open_locked(bus, &place, path, true, &fd, err);
    if (r < 0)
        return r;
    bool is_new = fstat(fd, &st) == 0 && st.st_size == 0;
    r = once ? look_for(fd, message, err) : 0;
    if (r == 0)
        r = append_locked(bus, fd, path, &copy, ret_id, err);
    if (r < 0) {
        close(fd); /* and with it the lock */
        return r;
    }
    (void)flock(fd, LOCK_UN);
    /* Also one that was there: whoever wrote it may have died before it was safe. */
    bus_note_unsynced(bus, fd, path, is_new);
    return r;
}

int bus_append(struct bus *bus, const struct bus_message *message, bool once,
               char ret_id[BUS_ID_MAX], struct error *err) {
    _cleanup_(strbuf_finish) struct strbuf path = STRBUF_INIT;
    struct bus_place place = place_of(message);
    int r = bus_path(bus, &place, &path, err);
    if (r < 0)
        return r;
    time_ms delay = bus->limits.retry_delay;
    for (unsigned n = 1;; n++, delay *= 2) {
        r = append_once(bus, strbuf_text(&path), message, once, ret_id, err);
        bus->counts.messages += r == 0;
        if (r != -ETIMEDOUT || n >= bus->limits.attempts)
            break;
        if (!bus->clock.wait(bus->clock.ctx, delay))
            return error_set(err, -ECANCELED, "nobody waits any more for '%s'", strbuf_text(&path));
        bus->counts.retries++;
    }
    if (r == -ETIMEDOUT && err)
        (void)error_prefix(err, "not posted after %u attempts", bus->limits.attempts);
    return r;
}
