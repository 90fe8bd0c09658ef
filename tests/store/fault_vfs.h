/* fault_vfs.h: a disk that fails, or whose machine dies, at a chosen moment.
 *
 * A VFS of SQLite over "unix". Operations that change the disk (write, sync, truncate, delete,
 * making a file) are counted from 1; at the chosen one the plan happens. Everything the store does
 * through SQLite goes through here when it is the default VFS.
 *
 * A power cut keeps what was synced. Of every piece of 512 bytes that was written since, the new
 * bytes, the old ones or junk are left, as the seed says; a file that was deleted may be there again,
 * one that was made and never synced may be gone. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

enum fault_plan {
    FAULT_NONE,
    FAULT_KILL,       /* the process ends before the operation */
    FAULT_KILL_TORN,  /* … in the middle of the write */
    FAULT_POWER,      /* the power fails before the operation */
    FAULT_EIO,        /* the operation fails, once */
    FAULT_EIO_ALWAYS, /* it and all that follow */
    FAULT_FULL,       /* no space, once; syncs work */
    FAULT_FULL_ALWAYS,
    FAULT_PLANS,
};

const char *fault_plan_name(enum fault_plan plan);

/* Makes it the default VFS. Once per process. */
void fault_install(void);
/* From now on: `plan` at operation number `at`, counted from here. */
void fault_set(enum fault_plan plan, uint64_t at, uint64_t seed);
uint64_t fault_count(void); /* operations since fault_set */

/* Before each operation; NULL: no more. Inside, fault_now() makes `plan` happen at this very operation: for a
 * child that was just forked, with files of its own. */
void fault_watch(void (*before)(void *ctx), void *ctx);
void fault_now(enum fault_plan plan, uint64_t seed);
bool fault_happened(void);

#define FAULT_EXIT 77 /* code of a process that was killed here */
