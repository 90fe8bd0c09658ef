/* top_log.c: a growing text, wrapped to rows of one width.
 *
 * Only the last row changes when data arrives, so ten megabytes on one line in a thousand chunks
 * cost no more than ten megabytes in lines. */
#include "cli/top.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"

#define TAB           8
#define BYTES_PER_ROW 16 /* per column: a letter and combining characters */

void top_log_open(struct top_log *log, const char *task, const char *stream) {
    _cleanup_(freep) char *id = xstrdup(task); /* may be the log's own */
    top_log_finish(log);
    log->task = TAKE_PTR(id);
    log->stream = stream;
    log->follow = true;
}

void top_log_finish(struct top_log *log) {
    unsigned width = log->width;
    bool unicode = log->unicode;
    size_t height = log->height;
    free(log->task);
    strbuf_finish(&log->text);
    free(log->rows);
    *log = (struct top_log){ .width = width, .unicode = unicode, .height = height };
}

static size_t last_top(const struct top_log *log) {
    return log->count > log->height ? log->count - log->height : 0;
}

/* --- rows ------------------------------------------------------------------------------------ */

/* Wraps from `at`, the start of a row, to the end. */
static void break_from(struct top_log *log, size_t at) {
    const char *text = log->text.text;
    while (at < log->text.length) {
        size_t span = log->text.length - at, most = (size_t)log->width * BYTES_PER_ROW;
        span = span < most ? span : most;
        const char *newline = memchr(text + at, '\n', span);
        size_t line = newline ? (size_t)(newline - text) - at : span;
        size_t size =
            line > 0 ? top_cells_fit(log->unicode, text + at, line, log->width, false) : 0;
        log->rows = xgrow(log->rows, &log->capacity, log->count + 1, sizeof(*log->rows));
        log->rows[log->count++] = (struct top_log_row){ (uint32_t)at, (uint32_t)size };
        at += size;
        at += at < log->text.length && text[at] == '\n';
    }
}

static size_t row_of(const struct top_log *log, size_t at) {
    size_t low = 0, high = log->count;
    while (low + 1 < high) {
        size_t middle = low + (high - low) / 2;
        if (log->rows[middle].at <= at)
            low = middle;
        else
            high = middle;
    }
    return low;
}

static bool is_seen(const struct top_log *log, size_t row) {
    return row >= log->top && row < log->top + log->height;
}

/* Scrolls to the match, centered if it was not visible. */
static void show_match(struct top_log *log) {
    size_t row = row_of(log, log->match), most = last_top(log);
    if (!is_seen(log, row))
        log->top = row > log->height / 2 ? row - log->height / 2 : 0;
    log->top = log->top < most ? log->top : most;
}

void top_log_size(struct top_log *log, unsigned width, size_t height, bool unicode) {
    width = width > 0 ? width : 1;
    bool found = log->match_size > 0 && !log->follow && is_seen(log, row_of(log, log->match));
    if (log->width == width && log->height == height && log->unicode == unicode)
        return;
    log->height = height;
    if (log->width != width || log->unicode != unicode) {
        size_t seen = log->top < log->count ? log->rows[log->top].at : 0;
        log->width = width;
        log->unicode = unicode;
        log->count = 0;
        break_from(log, 0);
        log->top = row_of(log, seen);
    }
    if (log->follow)
        log->top = last_top(log);
    if (found)
        show_match(log);
}

/* Drops the older half. */
static void cut_front(struct top_log *log) {
    size_t first = row_of(log, log->text.length / 2), bytes = log->rows[first].at;
    memmove(log->text.text, log->text.text + bytes, log->text.length - bytes + 1);
    log->text.length -= bytes;
    for (size_t i = first; i < log->count; i++)
        log->rows[i - first] =
            (struct top_log_row){ log->rows[i].at - (uint32_t)bytes, log->rows[i].size };
    log->count -= first;
    log->top -= first < log->top ? first : log->top;
    log->match_size = log->match < bytes ? 0 : log->match_size;
    log->match -= bytes < log->match ? bytes : log->match;
    log->cut = true;
}

static void add_bytes(struct top_log *log, const char *bytes, size_t size) {
    for (size_t i = 0; i < size; i++) {
        unsigned char c = (unsigned char)bytes[i];
        if (c == '\t') {
            size_t blanks = TAB - log->column % TAB;
            strbuf_repeat(&log->text, " ", blanks);
            log->column += blanks;
            continue;
        }
        strbuf_putc(&log->text, bytes[i]);
        log->column = c == '\n' ? 0 : log->column + ((c & 0xc0) != 0x80);
    }
}

void top_log_feed(struct top_log *log, const char *bytes, size_t size) {
    assert(log->width > 0);
    while (size > 0) {
        size_t part = size < TOP_LOG_MOST / 4 ? size : TOP_LOG_MOST / 4;
        bool ended = log->text.length > 0 && log->text.text[log->text.length - 1] == '\n';
        size_t from = log->text.length;
        if (log->count > 0 && !ended)
            from = log->rows[--log->count].at;
        add_bytes(log, bytes, part);
        break_from(log, from);
        if (log->text.length > TOP_LOG_MOST)
            cut_front(log);
        bytes += part;
        size -= part;
    }
    if (log->follow)
        log->top = last_top(log);
}

/* --- moving ---------------------------------------------------------------------------------- */

void top_log_move(struct top_log *log, long by) {
    size_t most = last_top(log);
    log->top = top_moved(log->top, by);
    log->follow = log->top >= most;
    log->top = log->follow ? most : log->top;
}

/* --- searching ------------------------------------------------------------------------------- */

/* The first match from `from` to before `to`, or the last one. SIZE_MAX: none. */
static size_t find_between(const struct top_log *log, size_t from, size_t to, const char *wanted,
                           bool backward) {
    size_t size = strlen(wanted), last = log->text.length - size + 1;
    to = to < last ? to : last;
    for (size_t i = 0; from + i < to; i++) {
        size_t at = backward ? to - 1 - i : from + i;
        if (strncasecmp(log->text.text + at, wanted, size) == 0)
            return at;
    }
    return SIZE_MAX;
}

int top_log_search(struct top_log *log, const char *text, bool backward) {
    size_t size = strlen(text);
    if (size == 0 || size > log->text.length || log->count == 0)
        return 0;
    size_t begin = log->match_size > 0     ? log->match
                   : log->top < log->count ? log->rows[log->top].at
                                           : 0;
    size_t from = backward ? 0 : begin + (log->match_size > 0);
    size_t to = backward ? begin : SIZE_MAX;
    int found = 1;
    size_t at = find_between(log, from, to, text, backward);
    if (at == SIZE_MAX) {
        at = find_between(log, 0, SIZE_MAX, text, backward);
        found = 2;
    }
    if (at == SIZE_MAX)
        return 0;
    log->match = at;
    log->match_size = size;
    show_match(log);
    log->follow = false;
    return found;
}

/* --- drawing --------------------------------------------------------------------------------- */

static void draw_match(const struct top_log *log, struct top_cells *cells, unsigned y,
                       const struct top_log_row *row) {
    size_t from = log->match > row->at ? log->match : row->at;
    size_t to = log->match + log->match_size, end = (size_t)row->at + row->size;
    to = to < end ? to : end;
    if (log->match_size == 0 || from >= to)
        return;
    _cleanup_(freep) char *before = xstrndup(log->text.text + row->at, from - row->at);
    _cleanup_(freep) char *found = xstrndup(log->text.text + from, to - from);
    top_cells_style(cells, y, top_cells_columns(log->unicode, before),
                    top_cells_columns(log->unicode, found), TOP_BOLD | TOP_SELECTED);
}

void top_log_draw(const struct top_log *log, struct top_cells *cells, unsigned y, unsigned height) {
    for (unsigned i = 0; i < height && log->top + i < log->count; i++) {
        const struct top_log_row *row = &log->rows[log->top + i];
        _cleanup_(freep) char *text = xstrndup(log->text.text + row->at, row->size);
        (void)top_cells_put(cells, y + i, 0, cells->width, TOP_PLAIN, text);
        draw_match(log, cells, y + i, row);
    }
}
