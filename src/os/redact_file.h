/* redact_file.h: reads files with the values of redact.h replaced, and replaces them in a file.
 * Without heap.
 *
 * Sizes and offsets are those of the file: a replacement has the size of its value. Values that
 * cross the bounds of a read are replaced, too: the surrounding bytes are read as well. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "base/redact.h"

/* Maximum size of a value, in all its forms. */
#define REDACT_FILE_LONGEST ((size_t)32 << 10)
/* Bytes of `space` for a read of `size` bytes. */
#define REDACT_FILE_SPACE(size) ((size) + 2 * REDACT_FILE_LONGEST)

struct redact_range {
    off_t offset;
    size_t size;
    bool grows; /* the file: trailing bytes that may begin a value are left for the next read */
    /* no other read follows: includes a trailing part of a few bytes, which is harmless */
    bool once;
};

/* As pread(2): at most the bytes of the range, replaced. They are at *ret_bytes, inside `space`,
 * which has REDACT_FILE_SPACE(range->size) bytes. */
ssize_t redact_pread(const struct redact_index *index, int fd, const struct redact_range *range,
                     char *space, const char **ret_bytes);

/* Replaces the values in the file itself, which is open for reading and writing, without O_APPEND.
 * `space` has `size` bytes, at least REDACT_FILE_SPACE(1). Holes stay holes. 0, or a negative
 * errno. */
int redact_file(const struct redact_index *index, int fd, char *space, size_t size);
