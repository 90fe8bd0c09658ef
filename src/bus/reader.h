/* reader.h: the messages of a file, without a lock, while others write.
 *
 *     _cleanup_(bus_reader_finish) struct bus_reader reader = BUS_READER_INIT;
 *     bus_reader_open(&reader, path, &err);
 *     while ((r = bus_reader_next(&reader, &message, &err)) > 0) …
 *
 * Advisory locks are not asked for, so a reader neither waits nor makes anybody wait. What is not whole yet
 * is not shown: at the end `next` says 0, and when it is called again it shows what has become whole.
 * Memory is bounded by the size of one message, whatever the size of the file. What is no message
 * (torn, longer than any that can be posted, without an id) is left out and counted. */
#pragma once

#include "base/arena.h"
#include "bus/message.h"

struct bus_reader {
    int fd;         /* -1: there is no file (yet) */
    bool borrowed;  /* it is somebody else's */
    uint64_t at;    /* of the next byte of the chunk in the file */
    uint64_t begin; /* where the message that is being read begins */
    uint64_t end;   /* behind the last message that was shown */
    uint64_t damaged;
    uint64_t
        gap_max; /* bytes without a message until the reader gives up; 0: as many as there are */
    uint64_t give_up_at; /* in the file */
    struct bus_chunk *chunk;
    struct strbuf line, body;
    struct arena head;
    struct bus_message message;
    unsigned state;
    bool bad;       /* what is being read is no message */
    bool long_line; /* the rest of the line is not kept */
};
#define BUS_READER_INIT                                                                            \
    { .fd = -1 }

/* For a reader that others wait for: anybody can make the file larger than can ever be read. */
#define BUS_GAP_MAX (8u << 20)

/* No such file: no message, and that is no error. */
int bus_reader_open(struct bus_reader *reader, const char *path, struct error *err);
/* On a descriptor that stays the caller's. */
void bus_reader_borrow(struct bus_reader *reader, int fd);
void bus_reader_finish(struct bus_reader *reader); /* usable with _cleanup_ */

/* 1: a message; its texts live until the next call. 0: no more now. <0: it cannot be read. */
int bus_reader_next(struct bus_reader *reader, const struct bus_message **ret_message,
                    struct error *err);

typedef bool (*bus_wanted)(void *ctx, const struct bus_message *message);
/* The next ones are the last `count` that are wanted (`wanted` NULL: all), at most `most` bytes from the
 * end (0: however far). Costs what lies behind them. */
int bus_reader_seek_tail(struct bus_reader *reader, size_t count, uint64_t most, bus_wanted wanted,
                         void *ctx, struct error *err);
/* The next one is that behind the last message of this id. 0: there is none. Looks back from the end, as long
 * as messages are not older than `since` (0: to the beginning). */
int bus_reader_seek_behind(struct bus_reader *reader, const char *id, time_ms since,
                           struct error *err);
/* As `reader->end` was. -EINVAL: no message ends there. */
int bus_reader_seek_to(struct bus_reader *reader, uint64_t end, struct error *err);
