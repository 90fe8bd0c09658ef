/* place.h: the location of a store, and exclusive access to it. Private to store/.
 *
 * Beside the database PATH there are PATH-wal (SQLite's log), PATH-lock (held while the store is
 * open; may name the holder) and PATH-reserve (reserved disk space). An unfinished restore is in
 * PATH-restored. */
#pragma once

#include "base/error.h"

struct place {
    char *path; /* of the database: absolute, no symlink in its folder */
    int lock;   /* descriptor; -1: not held */
};

#define PLACE_INIT                                                                                 \
    { NULL, -1 }

void place_finish(struct place *place); /* releases the lock; safe on PLACE_INIT */

/* Finds the folder, creates its last component if missing, and refuses file systems without
 * reliable sync or locks (-ENOTSUP). */
int place_find(const char *path, struct place *ret_place, struct error *err);
int place_lock(struct place *place, struct error *err); /* -EBUSY: another process has it */
/* Writes the holder into the lock file; NULL: none. The content is valid only while the file is
 * locked. */
void place_sign(const struct place *place, const char *who);
/* The same without retries: -EAGAIN, without a message, while another process has it. */
int place_try_lock(struct place *place, struct error *err);
/* The holder's `who`; "": not held, or unknown. */
void place_read_sign(const struct place *place, char *ret_who, size_t size);

/* PATH + suffix; the caller frees. */
char *path_with_suffix(const char *path, const char *suffix);
/* The first free name "PATH.WHAT.N"; -ENAMETOOLONG: "", and no message. */
int place_choose_name(const struct place *place, const char *what, char ret_path[512]);
/* Makes renamed and created files survive a power failure. */
int place_sync_folder_of(const char *path, struct error *err);
int place_sync_file(const char *path, struct error *err);
