/* sqlite_file.h: the file of a SQLite store, and exclusive access to it. Private to store/.
 *
 * Beside the database PATH there are PATH-wal (SQLite's log), PATH-lock (held while the store is
 * open; may name the holder) and PATH-reserve (reserved disk space). An unfinished restore is in
 * PATH-restored. */
#pragma once

#include "base/error.h"

struct sqlite_file {
    char *path; /* of the database: absolute, no symlink in its folder */
    int lock;   /* descriptor; -1: not held */
};

#define SQLITE_FILE_INIT                                                                           \
    { NULL, -1 }

void sqlite_file_finish(struct sqlite_file *file); /* releases the lock; safe on SQLITE_FILE_INIT */

/* Finds the folder, creates its last component if missing, and refuses file systems without
 * reliable sync or locks (-ENOTSUP). */
int sqlite_file_find(const char *path, struct sqlite_file *ret_file, struct error *err);
/* Retries for a while if the holder seems to have ended. -EBUSY: another process has it. */
int sqlite_file_lock(struct sqlite_file *file, struct error *err);
/* The same without retries: -EAGAIN, without a message, while another process has it. */
int sqlite_file_try_lock(struct sqlite_file *file, struct error *err);
/* Writes the holder into the lock file; NULL: none. The content is valid only while the file is
 * locked. */
void sqlite_file_set_holder(const struct sqlite_file *file, const char *who);
/* The holder's `who`; "": not held, or unknown. */
void sqlite_file_read_holder(const struct sqlite_file *file, char *ret_who, size_t size);

/* PATH + suffix; the caller frees. */
char *path_with_suffix(const char *path, const char *suffix);
/* The path of the database's log, which SQLite creates even to read; NULL: it exists. The caller
 * frees. */
char *path_of_missing_log(const char *path);
/* The first free name "PATH.WHAT.N"; -ENAMETOOLONG: "", and no message. */
int sqlite_file_choose_name(const struct sqlite_file *file, const char *what, char ret_path[512]);
/* Makes renamed and created files survive a power failure. */
int path_sync_folder(const char *path, struct error *err);
int path_sync(const char *path, struct error *err);
