/* place.h: where a store lies, and that it lies there alone. Private to store/.
 *
 * Beside the database PATH lie PATH-wal (SQLite's log), PATH-lock (held by whoever has the store
 * open, who may have said there who he is) and PATH-reserve (disk kept aside). A restore that is not finished lies in
 * PATH-restored. */
#pragma once

#include "base/error.h"

struct place {
    char *path;   /* of the database: absolute, no link in its folder */
    char *folder; /* it lies in */
    int lock;     /* descriptor; -1: not held */
};

#define PLACE_INIT                                                                                 \
    { NULL, NULL, -1 }

void place_finish(struct place *place); /* gives the lock back; safe on PLACE_INIT */

/* Finds the folder, makes the last part of it if it is missing, and refuses file systems that do
 * not keep what was synced or not lock what was locked (-ENOTSUP). */
int place_find(const char *path, struct place *ret_place, struct error *err);
int place_lock(struct place *place, struct error *err); /* -EBUSY: somebody else */
/* Says in the lock's file who has it; NULL: does not say. What the file says counts while it is locked. */
void place_sign(const struct place *place, const char *who);
/* The same without any patience: -EAGAIN, without a sentence, while it is somebody else's. */
int place_try_lock(struct place *place, struct error *err);
/* What the holder of the lock has said; "": nobody has it, or he did not say. */
void place_read_sign(const struct place *place, char *ret_who, size_t size);

/* What the kernel calls a file system (statfs) that cannot be trusted, or NULL. */
const char *place_distrusted(unsigned long magic);

/* "PATH" + suffix; the caller frees. */
char *place_beside(const struct place *place, const char *suffix);
/* What was renamed or made in the folder survives a power cut. */
int place_sync_folder(const char *folder, struct error *err);
int place_sync_file(const char *path, struct error *err);
