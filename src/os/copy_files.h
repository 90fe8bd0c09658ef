/* copy_files.h: copies a few small files between directories, never through a link.
 *
 * Files are selected by patterns: paths relative to the directory, whose components may have shell
 * wildcards (*, ? and [...]; a leading dot must be explicit). A path without wildcards must exist;
 * a pattern may match nothing. Only regular files are copied: a symlink, anywhere in the path and
 * on either side, is an error. An existing file in the target is kept. Directories are created as
 * needed; `.git` is skipped.
 *
 * It runs in the event loop, so its work is bounded: COPY_FILE_MAX bytes per file, COPY_TOTAL_MAX
 * in all, COPY_COUNT_MAX files. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"

#define COPY_FILE_MAX  (4u << 20)
#define COPY_TOTAL_MAX (16u << 20)
#define COPY_COUNT_MAX 500u

struct copy_files {
    const char *from, *to; /* directories; links in their own paths are followed */
    const char *to_subdir; /* subdirectory of `to`, which may not exist yet; "": none */
    const char *const *patterns;
    size_t count;
};

/* Returns the number copied. <0: the message names the file that failed; those before it were
 * copied. */
int copy_files(const struct copy_files *what, struct error *err);

/* Is it a valid pattern? Relative, without empty components, `.`, `..` and `.git`. */
bool copy_pattern_is_valid(const char *pattern);
