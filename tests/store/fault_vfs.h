/* fault_vfs.h: a simulated disk error, full disk, crash or power cut at a chosen operation.
 *
 * An SQLite VFS on top of "unix". Operations that change the disk (write, sync, truncate, delete,
 * create) are counted from 1; the fault happens at the chosen one. As the default VFS it handles all
 * operations of the store that go through SQLite.
 *
 * A power cut keeps synced data. Every block of 512 bytes that was written since then has the new
 * bytes, the old bytes or junk, depending on the seed; a deleted file may exist again, and a file
 * that was created and never synced may be missing. After a failed sync reads return the new bytes, but they reach
 * the disk only when they are written again, as with Linux: a later sync succeeds without them. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

enum fault_plan {
    FAULT_NONE,
    FAULT_KILL,       /* the process exits before the operation */
    FAULT_KILL_TORN,  /* … in the middle of the write */
    FAULT_POWER,      /* the power fails before the operation */
    FAULT_EIO,        /* the operation fails, once */
    FAULT_EIO_ALWAYS, /* this operation and all that follow fail */
    FAULT_FULL,       /* no space, once; syncs succeed */
    FAULT_FULL_ALWAYS,
    FAULT_PLANS,
};

const char *fault_plan_name(enum fault_plan plan);

/* Makes it the default VFS. Once per process. */
void fault_install(void);
/* From now on: `plan` at operation number `at`, counted from here. */
void fault_set(enum fault_plan plan, uint64_t at, uint64_t seed);
uint64_t fault_count(void); /* operations since fault_set */

/* Called before each operation; NULL: none. In the callback, fault_now() applies `plan` to this operation: for a
 * child that was just forked and has its own files. */
void fault_watch(void (*before)(void *ctx), void *ctx);
void fault_now(enum fault_plan plan, uint64_t seed);
bool fault_happened(void);

#define FAULT_EXIT 77 /* exit code of a process that was killed here */
