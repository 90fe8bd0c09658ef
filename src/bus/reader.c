/* reader.c: finds the messages in a file.
 *
 * A state machine fed with lines. Only marks matter to it: `---` begins a message and its body,
 * `...` ends it, in any state. So it resynchronizes after any garbage, and can start anywhere:
 * after the first `...`.
 *
 * An unfinished message at the end of the file is dropped and read again from its beginning next
 * time: a writer whose disk was full undoes its partial write. */
#include "bus/reader.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "os/outside.h"

#define CHUNK          65536u
#define BODY_MAX       (4 * BUS_BODY_MAX) /* of text that others wrote into the file */
#define LINE_MAX_BYTES BODY_MAX
#define BLOCK          65536u /* first step of a search backwards */
#define BLOCK_MORE     4u

struct bus_chunk {
    size_t used, size;
    char bytes[CHUNK];
};

enum state {
    STATE_OUT, /* between messages */
    STATE_HEAD,
    STATE_BODY,
    STATE_LOST_LINE, /* in the middle of a line */
    STATE_LOST,      /* at the beginning of an unknown line */
};

void bus_reader_borrow(struct bus_reader *r, int fd) {
    r->fd = fd;
    r->borrowed = true;
    r->chunk = xcalloc(1, sizeof(*r->chunk));
}

int bus_reader_open(struct bus_reader *r, const char *path, struct error *err) {
    struct error why = { 0 };
    int fd = outside_open(AT_FDCWD, path, O_RDONLY, NULL, &why);
    if (fd < 0 && fd != -ENOENT)
        return error_set(err, fd, "%s", why.text);
    bus_reader_borrow(r, fd < 0 ? -1 : fd);
    r->borrowed = false;
    return 0;
}

static void drop(struct bus_reader *r) {
    strbuf_clear(&r->line);
    strbuf_clear(&r->body);
    arena_reset(&r->head);
    r->message = (struct bus_message){ 0 };
    r->bad = r->long_line = false;
}

void bus_reader_finish(struct bus_reader *r) {
    if (r->fd >= 0 && !r->borrowed)
        close(r->fd);
    free(r->chunk);
    strbuf_finish(&r->line);
    strbuf_finish(&r->body);
    arena_finish(&r->head);
    *r = (struct bus_reader)BUS_READER_INIT;
}

static void move_to(struct bus_reader *r, uint64_t at, enum state state) {
    drop(r);
    r->at = r->begin = at;
    r->chunk->used = r->chunk->size = 0;
    r->state = state;
}

/* --- front matter ---------------------------------------------------------------------------- */

/* Plain, "JSON string", or 'YAML string'. NULL: malformed. */
static const char *read_text(struct bus_reader *r, const char *text, size_t size) {
    if (size >= 2 && text[0] == '\'' && text[size - 1] == '\'')
        return arena_strndup(&r->head, text + 1, size - 2);
    if (size == 0 || text[0] != '"')
        return size ? arena_strndup(&r->head, text, size) : NULL;
    json_t *value = json_loadb(text, size, JSON_DECODE_ANY, NULL);
    const char *decoded = json_string_value(value);
    decoded = decoded ? arena_strdup(&r->head, decoded) : NULL;
    json_decref(value);
    return decoded;
}

static const char *read_json(struct bus_reader *r, const char *text, size_t size, bool list) {
    json_t *value = json_loadb(text, size, 0, NULL);
    bool good = list ? json_is_array(value) : json_is_object(value);
    char *dumped = good ? json_dumps(value, JSON_COMPACT | JSON_REAL_PRECISION(15)) : NULL;
    const char *kept = dumped ? arena_strdup(&r->head, dumped) : NULL;
    free(dumped);
    json_decref(value);
    return kept;
}

static void read_key(struct bus_reader *r, const char *line, size_t size) {
    const char *colon = memchr(line, ':', size);
    if (!colon || isspace((unsigned char)line[0]))
        return; /* unknown keys are ignored */
    size_t named = (size_t)(colon - line);
    const char *value = colon + 1, *end = line + size;
    while (value < end && isspace((unsigned char)*value))
        value++;
    while (end > value && isspace((unsigned char)end[-1]))
        end--;
    size_t length = (size_t)(end - value);
    if (named == strlen("ts") && memcmp(line, "ts", named) == 0) {
        const char *text = read_text(r, value, length);
        r->message.at = text ? bus_time_parse(text) : 0;
    }
    for (const struct bus_key *key = bus_keys; key->key; key++)
        if (named == strlen(key->key) && memcmp(line, key->key, named) == 0)
            *bus_member(&r->message, key) =
                key->kind == BUS_TEXT ? read_text(r, value, length)
                                      : read_json(r, value, length, key->kind == BUS_LIST);
}

/* --- lines ----------------------------------------------------------------------------------- */

static void add_body(struct bus_reader *r, const char *line, size_t size) {
    if (r->body.length + size > BODY_MAX)
        r->bad = true;
    if (r->bad)
        return;
    if (size > 0 && line[0] == '\\' && bus_line_is_like_mark(line, size)) {
        line++;
        size--;
    }
    strbuf_add(&r->body, line, size);
    strbuf_putc(&r->body, '\n');
}

static void begin_message(struct bus_reader *r, uint64_t at) {
    drop(r);
    r->begin = at;
    r->state = STATE_HEAD;
}

/* At its end: is it a valid message? */
static bool end_message(struct bus_reader *r, bool torn) {
    bool is_complete = r->state == STATE_BODY && !r->bad && !torn && r->message.id;
    r->damaged += !is_complete;
    r->state = STATE_OUT;
    if (r->body.length > 0)
        r->body.text[--r->body.length] = '\0';
    r->message.body = strbuf_text(&r->body);
    return is_complete;
}

/* Handles the line that begins at `at`. True: a message is complete. */
static bool handle_line(struct bus_reader *r, uint64_t at) {
    const char *line = strbuf_text(&r->line);
    size_t size = r->line.length;
    enum bus_mark mark = r->long_line ? BUS_NO_MARK : bus_line_mark(line, size);
    bool ends = mark == BUS_MARK_END || mark == BUS_MARK_TORN;
    switch ((enum state)r->state) {
    case STATE_LOST_LINE:
        r->state = STATE_LOST;
        return false;
    case STATE_LOST:
        if (ends)
            r->state = STATE_OUT;
        return false;
    case STATE_OUT:
        if (mark == BUS_MARK_HEAD)
            begin_message(r, at);
        return false;
    case STATE_HEAD:
    case STATE_BODY:
        break;
    }
    if (ends)
        return end_message(r, mark == BUS_MARK_TORN);
    if (mark == BUS_MARK_HEAD && r->state == STATE_BODY) { /* the previous one was never ended */
        (void)end_message(r, true);
        begin_message(r, at);
    } else if (mark == BUS_MARK_HEAD) {
        r->state = STATE_BODY;
    } else if (r->long_line) {
        r->bad = true;
    } else if (r->state == STATE_HEAD) {
        read_key(r, line, size);
    } else {
        add_body(r, line, size);
    }
    return false;
}

/* --- the file -------------------------------------------------------------------------------- */

static int64_t file_size(const struct bus_reader *r) {
    struct stat st;
    return r->fd >= 0 && fstat(r->fd, &st) == 0 ? st.st_size : 0;
}

/* 1: the chunk has data; 0: end of file. */
static int fill(struct bus_reader *r, struct error *err) {
    struct bus_chunk *c = r->chunk;
    if (c->used < c->size)
        return 1;
    if (r->at >= r->give_up_at)
        return error_set(err, -EUCLEAN,
                         "the message file has more than %" PRIu64
                         " bytes without a message; remove it",
                         r->gap_max);
    ssize_t n;
    do
        n = pread(r->fd, c->bytes, sizeof(c->bytes), (off_t)r->at);
    while (n < 0 && errno == EINTR);
    if (n < 0)
        return error_set(err, -errno, "cannot read the messages: %s", strerror(errno));
    c->used = 0;
    c->size = (size_t)n;
    return n > 0;
}

/* 1: a complete line is in r->line. */
static int read_line(struct bus_reader *r, uint64_t *ret_begin, struct error *err) {
    int filled;
    *ret_begin = r->at;
    strbuf_clear(&r->line);
    r->long_line = false;
    while ((filled = fill(r, err)) > 0) {
        struct bus_chunk *c = r->chunk;
        const char *begin = c->bytes + c->used;
        const char *newline = memchr(begin, '\n', c->size - c->used);
        size_t size = newline ? (size_t)(newline - begin) : c->size - c->used;
        if (r->line.length + size > LINE_MAX_BYTES)
            r->long_line = true;
        if (!r->long_line)
            strbuf_add(&r->line, begin, size);
        size += newline != NULL;
        c->used += size;
        r->at += size;
        if (newline)
            return 1;
    }
    return filled;
}

int bus_reader_next(struct bus_reader *r, const struct bus_message **ret_message,
                    struct error *err) {
    uint64_t begin = 0;
    int got = 0;
    if (r->fd < 0)
        return 0;
    if (r->state == STATE_OUT)
        drop(r); /* the message that was returned last */
    r->give_up_at = r->gap_max > 0 ? r->at + r->gap_max : UINT64_MAX;
    while ((got = read_line(r, &begin, err)) > 0) {
        if (!handle_line(r, begin))
            continue;
        r->end = r->at;
        *ret_message = &r->message;
        return 1;
    }
    if (got < 0)
        return got;
    /* An incomplete message is read again, and so is everything if the file was replaced. */
    bool inside = r->state == STATE_HEAD || r->state == STATE_BODY;
    uint64_t again = inside ? r->begin : begin;
    enum state state = inside ? STATE_OUT : (enum state)r->state;
    if ((uint64_t)file_size(r) < again) {
        again = 0;
        state = STATE_OUT;
    }
    move_to(r, again, state);
    return 0;
}

/* --- seeking --------------------------------------------------------------------------------- */

/* At any offset: the first message returned begins after it. */
static void seek_anywhere(struct bus_reader *r, uint64_t at) {
    move_to(r, at, at > 0 ? STATE_LOST_LINE : STATE_OUT);
}

struct tail {
    bus_wanted wanted;
    void *ctx;
    uint64_t *ring; /* offsets of the last messages */
    size_t size;    /* of the ring */
    uint64_t found; /* number of messages found */
};

/* From the current position to the end. */
static int find_last(struct bus_reader *r, struct tail *tail, struct error *err) {
    const struct bus_message *message;
    int got;
    tail->found = 0;
    while ((got = bus_reader_next(r, &message, err)) > 0)
        if (!tail->wanted || tail->wanted(tail->ctx, message))
            tail->ring[tail->found++ % tail->size] = r->begin;
    return got;
}

int bus_reader_seek_tail(struct bus_reader *r, size_t count, uint64_t most, bus_wanted wanted,
                         void *ctx, struct error *err) {
    uint64_t size = (uint64_t)file_size(r);
    _cleanup_(freep) uint64_t *ring = xcalloc(count + 1, sizeof(*ring));
    struct tail tail = { .wanted = wanted, .ctx = ctx, .ring = ring, .size = count + 1 };
    for (uint64_t block = BLOCK;; block *= BLOCK_MORE) {
        if (most > 0 && block > most)
            block = most;
        uint64_t from = size > block ? size - block : 0;
        seek_anywhere(r, from);
        int got = find_last(r, &tail, err);
        if (got < 0)
            return got;
        if (tail.found >= count || from == 0 || block == most)
            break;
    }
    if (count == 0 || tail.found == 0)
        return 0; /* positioned at the end */
    uint64_t first = tail.found > count ? tail.found - count : 0;
    move_to(r, ring[first % tail.size], STATE_OUT);
    return 0;
}

struct search {
    const char *id;
    uint64_t end; /* of the last message with that id */
    time_ms oldest;
};

static int search(struct bus_reader *r, struct search *s, struct error *err) {
    const struct bus_message *message;
    int got;
    s->oldest = TIME_NEVER;
    while ((got = bus_reader_next(r, &message, err)) > 0) {
        if (strcmp(message->id, s->id) == 0)
            s->end = r->end;
        s->oldest = time_min(s->oldest, message->at);
    }
    return got;
}

int bus_reader_seek_after(struct bus_reader *r, const char *id, time_ms since, struct error *err) {
    uint64_t size = (uint64_t)file_size(r);
    struct search s = { .id = id };
    for (uint64_t block = BLOCK;; block *= BLOCK_MORE) {
        uint64_t from = size > block ? size - block : 0;
        seek_anywhere(r, from);
        int got = search(r, &s, err);
        if (got < 0)
            return got;
        if (s.end > 0) {
            move_to(r, s.end, STATE_OUT);
            return 1;
        }
        if (from == 0 || (since > 0 && s.oldest < since))
            return 0;
    }
}

int bus_reader_seek_to(struct bus_reader *r, uint64_t end, struct error *err) {
    const char mark[] = "\n" BUS_END_LINE;
    char before[sizeof(mark) - 1];
    if (end > 0
        && (r->fd < 0 || end < sizeof(before)
            || pread(r->fd, before, sizeof(before), (off_t)(end - sizeof(before)))
                   != (ssize_t)sizeof(before)
            || memcmp(before, mark, sizeof(before)) != 0))
        return error_set(err, -EINVAL, "no message ends at this position: the file was replaced");
    move_to(r, end, STATE_OUT);
    r->end = end;
    return 0;
}
