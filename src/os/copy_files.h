/* copy_files.h: copies a few small files from one folder into another, never through a link.
 *
 * Files are named by patterns: paths relative to the folder, whose parts may have the wildcards of
 * a shell (*, ? and [...]; a leading dot must be written). A path without wildcards must exist; a
 * pattern may match nothing. Only regular files are copied: a symbolic link, anywhere in the path
 * and on either side, is an error. A file that exists in the target stays as it is. Folders are
 * made as needed; `.git` is left out.
 *
 * It runs in the event loop, so what it copies is bounded: COPY_FILE_MAX bytes a file,
 * COPY_TOTAL_MAX in all, COPY_COUNT_MAX files. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"

#define COPY_FILE_MAX  (4u << 20)
#define COPY_TOTAL_MAX (16u << 20)
#define COPY_COUNT_MAX 500u

struct copy_files {
    const char *from, *to; /* folders; links in their own paths count */
    const char *to_subdir; /* where in `to`, which may not exist yet; "": at its top */
    const char *const *patterns;
    size_t count;
};

/* How many were copied. <0: one could not be, and the message names it; those before it are
 * there. */
int copy_files(const struct copy_files *what, struct error *err);

/* May it be a pattern? Relative, without empty parts, `.`, `..` and `.git`. */
bool copy_pattern_is_valid(const char *pattern);
