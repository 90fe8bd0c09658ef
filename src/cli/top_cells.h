/* top_cells.h: a screen as a grid of cells, before any terminal sees it.
 *
 *     struct top_cells cells = { .unicode = true };
 *     top_cells_size(&cells, 80, 24);                        // blank
 *     top_cells_put(&cells, 0, 0, 80, TOP_BOLD, "sluice");   // line, column, room, style
 *     top_cells_print(&cells, &out);                         // as plain lines
 *     top_cells_finish(&cells);
 *
 * Promises: a text never leaves its room, whatever is in it. A wide character has two cells or none;
 * combining characters stay with their letter, at most two of them. What a terminal could obey, or
 * what has no width that all terminals agree on (joiners, variations, skin tones), is left out.
 * Without `unicode` everything beyond ASCII is a '?'.
 * Widths are those of the C library, which the terminal library uses too: with `unicode` the
 * process needs a UTF-8 locale. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/strbuf.h"
#include "core/model.h"

/* What a cell means; top_screen.c decides how that looks. */
enum top_style {
    TOP_PLAIN,
    TOP_DIM,
    TOP_BOLD,
    TOP_BAR, /* the line of the panes, the titles of columns */
    TOP_ALERT,
    TOP_STATE, /* + a state: as core/state_look.h has it */
    TOP_WARNING = TOP_STATE + TASK_HELD,
    TOP_ERROR = TOP_STATE + TASK_FAILED,
    TOP_STYLE_MAX = TOP_STATE + TASK_STATE_MAX,
    TOP_SELECTED = 0x80, /* with any of them */
};

struct top_cell {
    char text[16]; /* one character and what combines with it; "" = the second half of a wide one */
    uint8_t style;
};

struct top_cells {
    bool unicode;
    unsigned width, height;
    struct top_cell *cells;
};

/* Makes it so large, and blank. */
void top_cells_size(struct top_cells *cells, unsigned width, unsigned height);
void top_cells_finish(struct top_cells *cells); /* safe on a zeroed one */

struct top_cell *top_cells_at(const struct top_cells *cells, unsigned y, unsigned x);
/* Puts a text, cut with a mark at its end when `room` is too small. Outside of the grid: nothing.
 * Returns the columns it took. */
unsigned top_cells_put(struct top_cells *cells, unsigned y, unsigned x, unsigned room,
                       unsigned style, const char *text);
/* Gives a part of a line a style; the texts stay. */
void top_cells_style(struct top_cells *cells, unsigned y, unsigned x, unsigned room,
                     unsigned style);
/* The lines without the blanks at their ends. */
void top_cells_print(const struct top_cells *cells, struct strbuf *out);

/* --- texts ----------------------------------------------------------------------------------- */

/* How many columns a text takes when it is put. */
unsigned top_cells_columns(bool unicode, const char *text);
/* How many bytes of `text`, of which there are `size`, fit into `room` columns: up to the last blank
 * with `at_blank`, if there is one. At least one character. */
size_t top_cells_fit(bool unicode, const char *text, size_t size, unsigned room, bool at_blank);
