/* top_text.h: lines to read: the details of a task, the help, a long sentence.
 *
 *     top_text_clear(&text);
 *     top_text_add(&text, TOP_BOLD, 0, "web-17");
 *     top_text_add(&text, TOP_PLAIN, 12, "title       fix the login form");
 *     lines = top_text_draw(&text, &cells, 0, 23);   // from line 0, so many lines
 *
 * Lines that are too long are broken at blanks; what follows stands under column `indent`. Texts are
 * copied and made safe for a terminal. */
#pragma once

#include <stddef.h>

#include "base/arena.h"
#include "base/macros.h"
#include "cli/top_cells.h"

struct top_line {
    const char *text;
    unsigned style, indent;
};

struct top_text {
    struct arena arena;
    struct top_line *lines;
    size_t count, capacity;
    size_t top; /* the first row that is seen */
};

void top_text_clear(struct top_text *text);  /* keeps `top` */
void top_text_finish(struct top_text *text); /* safe on a zeroed one */
void top_text_add(struct top_text *text, unsigned style, unsigned indent, const char *format, ...)
    _printf_(4, 5);
/* Draws what is seen into `height` lines from `y` on, keeping `top` inside. Returns how many rows the
 * whole text has at this width. */
size_t top_text_draw(struct top_text *text, struct top_cells *cells, unsigned y, unsigned height);
