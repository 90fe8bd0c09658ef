/* bus.h: append-only messages of projects and tasks, in plain files.
 *
 *     ROOT/web.md         the bus of project web       ROOT/web/web-17.md   that of its task web-17
 *
 * Writing:  every writer, in any process, polls for an exclusive lock on the file every lock_every
 *           until lock_timeout, and does one append per lock, with one write. Only a lock timeout
 *           is retried, `attempts` times in all, after retry_delay, twice that, …; other errors
 *           are returned at once.
 * Reading:  reader.h; without a lock.
 * Crash:    a message is in the file when its append has returned, and survives a power cut when
 *           bus_sync has. A writer that dies midway leaves a torn message, which the next writer
 *           closes and readers skip.
 * Growth:   files are never truncated. The file of a task is removed with it (bus_remove), that of
 *           a project is moved when it is old (bus_retire): writers and readers detect it.
 *
 * A struct bus is not thread-safe. */
#pragma once

#include "bus/message.h"

#define BUS_FOLDER     "bus"
#define BUS_OLD_FOLDER ".old" /* below the root; no project begins with a dot there */

struct bus_limits {
    time_ms lock_every, lock_timeout, retry_delay;
    unsigned attempts;
};

/* Time, replaceable for tests. */
struct bus_clock {
    time_ms (*now)(void *ctx);
    time_ms (*steady)(void *ctx);
    bool (*wait)(void *ctx, time_ms span); /* false: canceled */
    void *ctx;
};

/* Lock contention. */
struct bus_counts {
    uint64_t messages; /* appended */
    uint64_t attempts; /* attempts to append */
    uint64_t retries;  /* of these: repeated */
    uint64_t timeouts; /* of these: lock timeouts */
    uint64_t waits;    /* of these: the lock was contended */
};

struct bus {
    char *root;
    struct bus_limits limits;
    struct bus_clock clock;
    struct bus_counts counts; /* of this process, not yet in the file */
    uint64_t serial;          /* of message ids */
    int (*sync)(int fd);      /* fsync, replaceable for tests */

    /* State of bus_sync. */
    struct bus_unsynced *unsynced;
    struct bus_folder *folders; /* already synced */
    size_t unsynced_count, unsynced_capacity, folder_count, folder_capacity;
    uint64_t round; /* of bus_sync */
};

/* Which file. task NULL: that of the project. */
struct bus_place {
    const char *project, *task;
};

/* BUS_FOLDER of the home, in a directory whose path os/outside.h trusts, or that has no links.
 * Creates nothing. */
void bus_init(struct bus *bus, const char *root);
void bus_finish(struct bus *bus); /* usable with _cleanup_; flushes counts */

/* Path of a file: names verbatim, but '/', '%', control characters and a leading dot as %XX.
 * -EINVAL: invalid names; -ENAMETOOLONG. */
int bus_path(const struct bus *bus, const struct bus_place *place, struct strbuf *out,
             struct error *err);
int bus_make_folder(const struct bus *bus, const struct bus_place *place, struct error *err);
/* The project whose directory has a file of this task, when it is otherwise unknown; NULL: none, or
 * several. The caller frees it. */
char *bus_find_project(const struct bus *bus, const char *task);

/* The message was checked; its project, task and to_project select the file. `once`: it has an id,
 * and is not appended again if present: 1. `ret_id`: for a message without an id. -ETIMEDOUT: lock
 * timeout; -ECANCELED: the clock canceled; others from the system. */
int bus_append(struct bus *bus, const struct bus_message *message, bool once,
               char ret_id[BUS_ID_MAX], struct error *err);

/* Makes everything appended since the last call durable. <0: some may not be; it is still in the
 * files. Does not block other writers. */
int bus_sync(struct bus *bus, struct error *err);

/* Removes that file; 0 also if there was none. Errors as bus_append, without retries. */
int bus_remove(struct bus *bus, const struct bus_place *place, struct error *err);
/* Moves the file of a project to BUS_OLD_FOLDER if its first message is older than `before`; 1:
 * moved. A previous file there is replaced, or removed if all of it is older. */
int bus_retire(struct bus *bus, const char *project, time_ms before, struct error *err);

/* Summed over all processes that ever wrote here; unreadable counts are 0. */
void bus_counts_read(const struct bus *bus, struct bus_counts *ret);
/* Adds the counts of this process. */
void bus_counts_flush(struct bus *bus);
