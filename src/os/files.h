/* files.h: whole files, in and out. */
#pragma once

#include <stddef.h>
#include <stdio.h>

#include "base/error.h"
#include "base/strbuf.h"

/* The file's bytes behind what `out` holds already. -EFBIG if there are more than `max`, with `out`
 * as it was. Errors name the path. */
int file_read(const char *path, size_t max, struct strbuf *out, struct error *err);

/* After a crash there is the old file or the new one, never a part: written beside it, fsynced,
 * renamed, and the folder fsynced. A path that is no regular file (/dev/stdout, a pipe) is
 * written as it is. */
int file_write(const char *path, const void *bytes, size_t size, struct error *err);

/* For _cleanup_: closes it unless it is negative. */
void fd_closep(const int *fd);

/* For reading; "-" is the standard input. Errors name the path. End with file_close. */
int file_open(const char *path, FILE **ret_file, struct error *err);
void file_close(FILE *file); /* leaves the standard input open */
