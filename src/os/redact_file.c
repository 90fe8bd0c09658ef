/* redact_file.c: see redact_file.h. */
#include "os/redact_file.h"

#include <assert.h>
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "os/fd.h"

/* Bytes before and after a range that may belong to a value that touches it. */
static size_t margin_of(const struct redact_index *index) {
    assert(index->longest <= REDACT_FILE_LONGEST);
    return index->longest > 0 ? index->longest - 1 : 0;
}

ssize_t redact_pread(const struct redact_index *index, int fd, const struct redact_range *range,
                     char *space, const char **ret_bytes) {
    size_t margin = margin_of(index), size = range->size;
    size_t back = (uint64_t)range->offset < margin ? (size_t)range->offset : margin;
    ssize_t got = fd_pread_all(fd, space, back + size + margin, range->offset - (off_t)back);
    if (got < 0)
        return -1;
    size_t length = (size_t)got;
    bool at_end = length < back + size + margin;
    /* The start of an incomplete value must be known before anything is replaced. */
    size_t end = range->grows && at_end ? redact_open(index, space, length) : length;
    if (range->once && length - end < REDACT_LEAST / 2)
        end = length;
    (void)redact_in_place(index, space, length);
    *ret_bytes = space + back;
    if (end <= back)
        return 0;
    return (ssize_t)(end - back < size ? end - back : size);
}

/* --- in place --------------------------------------------------------------------------------- */

static int write_hit(int fd, const struct redact_hit *hit, off_t offset) {
    char bytes[256];
    for (size_t at = 0; at < hit->end - hit->begin;) {
        size_t left = hit->end - hit->begin - at;
        size_t size = left < sizeof(bytes) ? left : sizeof(bytes);
        redact_fill(hit, at, bytes, size);
        ssize_t put = pwrite(fd, bytes, size, offset + (off_t)(hit->begin + at));
        if (put < 0 && errno != EINTR)
            return -errno;
        at += put > 0 ? (size_t)put : 0;
    }
    return 0;
}

/* The range from `begin` to `end`, without holes. The bytes in `space` stay as in the file: a
 * replaced part may belong to a value that continues after it. */
static int redact_stretch(const struct redact_index *index, int fd, off_t begin, off_t end,
                          char *space, size_t size) {
    size_t margin = margin_of(index), kept = 0;
    while (begin + (off_t)kept < end) {
        off_t from = begin + (off_t)kept;
        size_t room = size - kept;
        ssize_t got = fd_pread_all(fd, space + kept,
                                   end - from < (off_t)room ? (size_t)(end - from) : room, from);
        if (got < 0)
            return -errno;
        if (got == 0)
            return 0; /* truncated meanwhile */
        struct redact_hit hit;
        size_t length = kept + (size_t)got;
        for (size_t at = 0; redact_find(index, space, length, at, &hit); at = hit.end) {
            int r = write_hit(fd, &hit, begin);
            if (r < 0)
                return r;
        }
        kept = length < margin ? length : margin;
        memmove(space, space + length - kept, kept);
        begin += (off_t)(length - kept);
    }
    return 0;
}

int redact_file(const struct redact_index *index, int fd, char *space, size_t size) {
    off_t at = 0;
    if (index->longest == 0)
        return 0;
    for (;;) {
        off_t begin = lseek(fd, at, SEEK_DATA);
        if (begin < 0)
            return errno == ENXIO ? 0 : -errno; /* only a hole is left */
        off_t end = lseek(fd, begin, SEEK_HOLE);
        if (end < 0)
            return -errno;
        int r = redact_stretch(index, fd, begin, end, space, size);
        if (r < 0)
            return r;
        at = end;
    }
}
