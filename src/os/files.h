/* files.h: reads and writes complete files of the owner and the kernel. For files that a run can
 * write: os/outside.h. */
#pragma once

#include <stddef.h>
#include <stdio.h>

#include "base/error.h"
#include "base/strbuf.h"
#include "os/fd.h"

/* Appends the file's bytes to `out`. -EFBIG if there are more than `max`, with `out` unchanged.
 * Links are followed; anything but a regular file is refused, and it never blocks. Errors name the
 * path. */
int file_read(const char *path, size_t max, struct strbuf *out, struct error *err);

/* Atomic: after a crash there is the old file or the new one. A symlink is kept: its target is
 * replaced, and keeps its mode. Anything but a regular file is refused. */
int file_write(const char *path, const void *bytes, size_t size, struct error *err);

/* The path without links, for an open that follows none; if it does not exist, its parent is
 * resolved. The caller frees it. */
char *file_resolve(const char *path);

/* Creates all missing directories of an absolute path, mode 0700. The first `known` bytes of it are
 * an existing directory. */
int folders_make(const char *path, size_t known, struct error *err);

/* The name of a network file system (f_type of statfs): locks and fsync of one host may be
 * invisible to others. NULL: local. */
const char *file_system_shared(unsigned long magic);
/* Same for the file system of `path`; NULL also if unknown. */
const char *file_system_of(const char *path);

/* --- what the user of a command names ---------------------------------------------------------
 *
 * A pipe, /dev/stdin and /dev/stdout are accepted like a file and may block. Not for the daemon
 * (scripts/check-opens). */

int file_read_any(const char *path, size_t max, struct strbuf *out, struct error *err);
int file_write_any(const char *path, const void *bytes, size_t size, struct error *err);

/* For reading; "-" is standard input. Errors name the path. End with file_close. */
int file_open(const char *path, FILE **ret_file, struct error *err);
void file_close(FILE *file); /* leaves standard input open */
