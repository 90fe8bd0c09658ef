/* redact_file.h: reads files with the values of redact.h replaced, and replaces them in a file.
 * Without heap.
 *
 * Sizes and offsets are those of the file: what replaces a value is as long as the value. A value
 * that lies across the borders of a read is replaced, too: what lies around the bytes that are
 * asked for is read as well. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "base/redact.h"

/* Values are this long at most, in all their forms. */
#define REDACT_FILE_LONGEST ((size_t)32 << 10)
/* Bytes of `space` for a read of `size` bytes. */
#define REDACT_FILE_SPACE(size) ((size) + 2 * REDACT_FILE_LONGEST)

struct redact_range {
    off_t offset;
    size_t size;
    bool grows; /* the file: bytes at its end that may begin a value are left for the next read */
    bool once;  /* no other read follows: an end of a few bytes, which is harmless, is included */
};

/* As pread(2): at most the bytes of the range, replaced. They are at *ret_bytes, inside `space`,
 * which has REDACT_FILE_SPACE(range->size) bytes. */
ssize_t redact_pread(const struct redact_index *index, int fd, const struct redact_range *range,
                     char *space, const char **ret_bytes);

/* Replaces the values in the file itself, which is open for reading and writing, and not for
 * appending. `space` has `size` bytes, REDACT_FILE_SPACE(1) at least. Holes stay holes. 0, or a
 * negative errno. */
int redact_file(const struct redact_index *index, int fd, char *space, size_t size);
