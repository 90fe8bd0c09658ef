/* bus.h: append-only messages of projects and tasks, in files that anybody may read.
 *
 *     ROOT/web.md         the bus of project web       ROOT/web/web-17.md   that of its task web-17
 *
 * Writing:  every writer, in whatever process, asks for an exclusive lock on the file every lock_every until
 *           lock_timeout is over, and does one append per lock, with one write. Only when the lock did not
 *           come in time it is tried again, `attempts` times in all, after retry_delay, twice that, …;
 *           any other error is told at once.
 * Reading:  reader.h; without a lock.
 * Crash:    a message is in the file when its append has returned, and survives a power cut when bus_sync has.
 *           A writer that dies in the middle leaves a torn message, which the next one closes and nobody
 *           shows.
 * Growth:   files are never made smaller. The file of a task is removed with it (bus_remove), that of a
 *           project moved aside when it is old (bus_retire): writers and readers notice it.
 *
 * Nothing here is safe to use from two threads at once on the same struct bus. */
#pragma once

#include "bus/message.h"

#define BUS_FOLDER     "bus"
#define BUS_OLD_FOLDER ".old" /* below the root; no project begins with a point there */

struct bus_limits {
    time_ms lock_every, lock_timeout, retry_delay;
    unsigned attempts;
};
extern const struct bus_limits bus_limits_standard; /* 10 ms, 10 s, 100 ms; 3 */

/* Time, replaceable for tests. */
struct bus_clock {
    time_ms (*now)(void *ctx);
    time_ms (*steady)(void *ctx);
    bool (*wait)(void *ctx, time_ms span); /* false: give up, nobody needs it any more */
    void *ctx;
};

/* How much writers got in each other's way. */
struct bus_counts {
    uint64_t messages; /* appended */
    uint64_t attempts; /* to append one */
    uint64_t retries;  /* of these: not the first */
    uint64_t timeouts; /* of these: the lock did not come */
    uint64_t waits;    /* of these: the lock was not free at once */
};

struct bus {
    char *root;
    struct bus_limits limits;
    struct bus_clock clock;
    struct bus_counts counts; /* of this one, and not yet in the file */
    uint64_t serial;          /* of message ids */
    int (*sync)(int fd);      /* fsync, replaceable for tests */

    /* Of bus_sync. */
    struct bus_unsynced *unsynced;
    struct bus_folder *folders; /* that were synced */
    size_t unsynced_count, unsynced_capacity, folder_count, folder_capacity;
    uint64_t round; /* of bus_sync */
};

/* Which file. task NULL: that of the project. */
struct bus_place {
    const char *project, *task;
};

/* BUS_FOLDER of the home, in a folder whose path os/outside.h trusts, or that has no links; makes nothing. */
void bus_init(struct bus *bus, const char *root);
void bus_finish(struct bus *bus); /* usable with _cleanup_; counts are flushed */

/* The path of a file: names as they are, but '/', '%', control characters and a point in front as %XX.
 * -EINVAL: no names; -ENAMETOOLONG. */
int bus_path(const struct bus *bus, const struct bus_place *place, struct strbuf *out,
             struct error *err);
/* Makes the folder of that file. */
int bus_make_folder(const struct bus *bus, const struct bus_place *place, struct error *err);
/* The project whose folder has a file of this task, without knowing any other way; NULL: none, or more than
 * one. The caller frees it. */
char *bus_find_project(const struct bus *bus, const char *task);

/* Checked already. message->project, ->task and ->to_project say where. `once`: it has an id, and one that is there already
 * is left as it is: 1. `ret_id`: of a message without. Errors: -ETIMEDOUT the lock did not come,
 * -ECANCELED the clock gave up, others as the system says. */
int bus_append(struct bus *bus, const struct bus_message *message, bool once,
               char ret_id[BUS_ID_MAX], struct error *err);

/* What was appended since the last call survives a power cut from now on. <0: some of it may not; it is in the
 * files all the same. Nobody is kept from writing meanwhile. */
int bus_sync(struct bus *bus, struct error *err);

/* Removes that file; 0 also when there was none. Errors as those of bus_append, but it is not tried again. */
int bus_remove(struct bus *bus, const struct bus_place *place, struct error *err);
/* Moves the file of a project to BUS_OLD_FOLDER if its first message is older than `before`; 1: it did.
 * What was there before is replaced, or removed if all of it is older. */
int bus_retire(struct bus *bus, const char *project, time_ms before, struct error *err);

/* Of all processes that ever wrote here; what cannot be read counts nothing. */
void bus_counts_read(const struct bus *bus, struct bus_counts *ret);
/* Adds what this one has counted. */
void bus_counts_flush(struct bus *bus);
