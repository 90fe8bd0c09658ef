/* top_log.h: what a run has printed, as rows of the screen that can be scrolled and searched.
 *
 *     top_log_open(&log, "web-17", "out");
 *     top_log_size(&log, 80, 22, unicode); // breaks everything anew when the width is another one
 *     top_log_feed(&log, bytes, size);     // safe for a terminal already (cli/sanitize.h)
 *     top_log_draw(&log, &cells, 1, 22);
 *
 * A line that is longer than the screen goes on in the next row. Of a long log the last megabytes are
 * kept (TOP_LOG_MOST); `cut` says that there was more. While `follow` is set the end is seen. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/strbuf.h"
#include "cli/top_cells.h"

#define TOP_LOG_MOST ((size_t)4 * 1024 * 1024)

struct top_log_row {
    uint32_t at, size; /* bytes of the text, without the newline */
};

struct top_log {
    char *task;         /* its id; NULL: no log is open */
    const char *stream; /* "out", "err", "check", "prepare" */
    bool follow;
    bool ended; /* the run has, or there is no such log */
    bool cut;   /* the beginning is not here */
    size_t top; /* the first row that is seen */

    /* Its own. */
    size_t height;
    struct strbuf text;
    struct top_log_row *rows;
    size_t count, capacity;
    unsigned width;
    bool unicode;
    size_t column; /* of the line that is not ended, for tabs */
    size_t match, match_size;
};

void top_log_open(struct top_log *log, const char *task, const char *stream);
void top_log_finish(struct top_log *log); /* safe on a zeroed one */
/* The rows of the screen that it has. What was at the top stays there; what was found and seen stays
 * in sight. */
void top_log_size(struct top_log *log, unsigned width, size_t height, bool unicode);
void top_log_feed(struct top_log *log, const char *bytes, size_t size);
/* Forgets what it has, to be fed from the beginning of another run. */
void top_log_clear(struct top_log *log);

/* Moves by rows; going up ends the following, coming to the end begins it. */
void top_log_move(struct top_log *log, long by);
void top_log_first(struct top_log *log);
void top_log_last(struct top_log *log);

/* Shows the next place with this text (letters of ASCII in any case), behind the last one or before it.
 * 1: found. 2: found, but beyond the end, where it began anew. 0: nowhere. */
int top_log_search(struct top_log *log, const char *text, bool backward);

void top_log_draw(const struct top_log *log, struct top_cells *cells, unsigned y, unsigned height);
