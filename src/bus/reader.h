/* reader.h: reads the messages of a file, without a lock, while others write.
 *
 *     _cleanup_(bus_reader_finish) struct bus_reader reader = BUS_READER_INIT;
 *     bus_reader_open(&reader, path, &err);
 *     while ((r = bus_reader_next(&reader, &message, &err)) > 0) …
 *
 * A reader takes no lock, so it never blocks or is blocked. Incomplete messages are not returned:
 * at the end `next` returns 0, and a later call returns what has become complete. Memory is bounded
 * by the size of one message. Invalid messages (torn, longer than can be posted, without an id) are
 * skipped and counted. */
#pragma once

#include "base/arena.h"
#include "bus/message.h"

struct bus_reader {
    int fd;         /* -1: no file (yet) */
    bool borrowed;  /* the caller owns it */
    uint64_t at;    /* file offset of the next byte in the chunk */
    uint64_t begin; /* offset of the message being read */
    uint64_t end;   /* offset after the last returned message */
    uint64_t damaged;
    uint64_t gap_max;    /* bytes without a message until the reader gives up; 0: unlimited */
    uint64_t give_up_at; /* file offset */
    struct bus_chunk *chunk;
    struct strbuf line, body;
    struct arena head;
    struct bus_message message;
    unsigned state;
    bool bad;       /* the current message is invalid */
    bool long_line; /* the rest of the line is dropped */
};
#define BUS_READER_INIT                                                                            \
    { .fd = -1 }

/* For a reader that must not block: any process can grow the file without limit. */
#define BUS_GAP_MAX (8u << 20)

/* A missing file is not an error: it has no messages. */
int bus_reader_open(struct bus_reader *reader, const char *path, struct error *err);
/* The caller keeps the descriptor. */
void bus_reader_borrow(struct bus_reader *reader, int fd);
void bus_reader_finish(struct bus_reader *reader); /* usable with _cleanup_ */

/* 1: a message; its strings are valid until the next call. 0: no more for now. <0: read error. */
int bus_reader_next(struct bus_reader *reader, const struct bus_message **ret_message,
                    struct error *err);

typedef bool (*bus_wanted)(void *ctx, const struct bus_message *message);
/* Positions before the last `count` messages that match (`wanted` NULL: all), at most `most` bytes
 * from the end (0: unlimited). Cost is proportional to what follows them. */
int bus_reader_seek_tail(struct bus_reader *reader, size_t count, uint64_t most, bus_wanted wanted,
                         void *ctx, struct error *err);
/* Positions after the last message with this id. 0: not found. Searches backwards from the end,
 * while messages are not older than `since` (0: to the beginning). */
int bus_reader_seek_after(struct bus_reader *reader, const char *id, time_ms since,
                          struct error *err);
/* A former `reader->end`. -EINVAL: no message ends there. */
int bus_reader_seek_to(struct bus_reader *reader, uint64_t end, struct error *err);
