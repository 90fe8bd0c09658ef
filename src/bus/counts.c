/* counts.c: how much writers got in each other's way, added up over all processes.
 *
 * One small file with a lock of its own, which is held for a moment only: whoever does not get it soon keeps
 * what it has counted, and adds it the next time. Counting never stops a message. */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

#include "bus/bus.h"
#include "os/outside.h"

#define FILE_NAME ".contention" /* the file of a project never begins with a point */
#define TRIES     100
#define FORM                                                                                       \
    "messages %20" PRIu64 "\nattempts %20" PRIu64 "\nretries %20" PRIu64 "\ntimeouts %20" PRIu64   \
    "\nwaits %20" PRIu64 "\n"
#define SCAN                                                                                       \
    "messages %" SCNu64 " attempts %" SCNu64 " retries %" SCNu64 " timeouts %" SCNu64              \
    " waits %" SCNu64

static void read_from(int fd, struct bus_counts *ret) {
    char text[256];
    struct bus_counts c;
    ssize_t n = pread(fd, text, sizeof(text) - 1, 0);
    *ret = (struct bus_counts){ 0 };
    if (n <= 0)
        return;
    text[n] = '\0';
    if (sscanf(text, SCAN, &c.messages, &c.attempts, &c.retries, &c.timeouts, &c.waits) == 5)
        *ret = c;
}

static int open_counts(const struct bus *bus, int flags) {
    struct strbuf path = STRBUF_INIT;
    strbuf_printf(&path, "%s/" FILE_NAME, bus->root);
    int fd = outside_open(AT_FDCWD, strbuf_text(&path), flags, NULL, NULL);
    strbuf_finish(&path);
    return fd;
}

static void add(struct bus_counts *to, const struct bus_counts *more) {
    to->messages += more->messages;
    to->attempts += more->attempts;
    to->retries += more->retries;
    to->timeouts += more->timeouts;
    to->waits += more->waits;
}

void bus_counts_read(const struct bus *bus, struct bus_counts *ret) {
    int fd = open_counts(bus, O_RDONLY);
    *ret = (struct bus_counts){ 0 };
    if (fd >= 0) {
        read_from(fd, ret);
        close(fd);
    }
    add(ret, &bus->counts);
}

static bool lock_soon(struct bus *bus, int fd) {
    for (int n = 0; n < TRIES; n++) {
        if (flock(fd, LOCK_EX | LOCK_NB) == 0)
            return true;
        if (errno != EWOULDBLOCK && errno != EINTR)
            return false;
        if (!bus->clock.wait(bus->clock.ctx, 2))
            return false;
    }
    return false;
}

void bus_counts_flush(struct bus *bus) {
    if (bus->counts.attempts == 0)
        return;
    int fd = open_counts(bus, O_RDWR | O_CREAT);
    if (fd < 0)
        return;
    if (lock_soon(bus, fd)) {
        struct bus_counts all;
        char text[256];
        read_from(fd, &all);
        add(&all, &bus->counts);
        int size = snprintf(text, sizeof(text), FORM, all.messages, all.attempts, all.retries,
                            all.timeouts, all.waits);
        if (pwrite(fd, text, (size_t)size, 0) == size)
            bus->counts = (struct bus_counts){ 0 };
    }
    close(fd);
}
