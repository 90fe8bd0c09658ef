/* files.h: reads and writes complete files: the owner's and the kernel's. Files that a run can
 * write: os/outside.h. */
#pragma once

#include <stddef.h>
#include <stdio.h>

#include "base/error.h"
#include "base/strbuf.h"

/* The file's bytes behind what `out` holds already. -EFBIG if there are more than `max`, with `out`
 * as it was. Links are followed; anything but a regular file is refused, and nothing is waited for.
 * Errors name the path. */
int file_read(const char *path, size_t max, struct strbuf *out, struct error *err);

/* After a crash there is the old file or the new one, never a part. A link stays a link: the file
 * that it leads to is replaced, and keeps its mode. Anything but a regular file is refused. */
int file_write(const char *path, const void *bytes, size_t size, struct error *err);

/* The path without links, for an open that follows none; of one that does not exist yet its folder
 * is resolved. The caller frees. */
char *file_resolve(const char *path);

/* Makes all folders of an absolute path that are missing, for their owner alone. The first `known`
 * bytes of it are a folder that is there. */
int folders_make(const char *path, size_t known, struct error *err);

/* For _cleanup_: closes it unless it is negative. */
void fd_closep(const int *fd);

/* The name of a file system (f_type of statfs) that several hosts may share: locks and fsync of one
 * host need not be visible to the others. NULL: it is local. */
const char *file_system_shared(unsigned long magic);
/* The same of the one that `path` is on; NULL also if it is unknown. */
const char *file_system_of(const char *path);

/* --- what the user of a command names ---------------------------------------------------------
 *
 * A pipe, /dev/stdin and /dev/stdout are as good as a file, and the command waits for them. Not for the daemon
 * (scripts/check-opens). */

int file_read_any(const char *path, size_t max, struct strbuf *out, struct error *err);
int file_write_any(const char *path, const void *bytes, size_t size, struct error *err);

/* For reading; "-" is the standard input. Errors name the path. End with file_close. */
int file_open(const char *path, FILE **ret_file, struct error *err);
void file_close(FILE *file); /* leaves the standard input open */
