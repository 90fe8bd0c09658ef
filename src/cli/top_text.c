/* top_text.c: see top_text.h. Broken anew at each drawing: the texts are short, the screen changes. */
#include "cli/top_text.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/safe_text.h"

void top_text_clear(struct top_text *text) {
    arena_reset(&text->arena);
    text->count = 0;
}

void top_text_finish(struct top_text *text) {
    arena_finish(&text->arena);
    free(text->lines);
    *text = (struct top_text){ 0 };
}

void top_text_add(struct top_text *text, unsigned style, unsigned indent, const char *format, ...) {
    _cleanup_(strbuf_finish) struct strbuf raw = STRBUF_INIT, safe = STRBUF_INIT;
    va_list args;
    va_start(args, format);
    strbuf_vprintf(&raw, format, args);
    va_end(args);
    sanitize_line(strbuf_text(&raw), &safe);
    text->lines = xgrow(text->lines, &text->capacity, text->count + 1, sizeof(*text->lines));
    text->lines[text->count++] = (struct top_line){
        arena_strdup(&text->arena, strbuf_text(&safe)),
        style,
        indent,
    };
}

struct drawing {
    struct top_cells *cells; /* NULL: only counts */
    unsigned y, height, width;
    size_t first; /* row that comes to `y` */
    size_t rows;
};

static void draw_row(struct drawing *d, const struct top_line *line, unsigned x, const char *part,
                     size_t size) {
    size_t row = d->rows++;
    if (!d->cells || row < d->first || row - d->first >= d->height)
        return;
    _cleanup_(freep) char *copy = xstrndup(part, size);
    unsigned y = d->y + (unsigned)(row - d->first);
    (void)top_cells_put(d->cells, y, x, d->width, line->style, copy);
}

static void draw_line(struct drawing *d, bool unicode, const struct top_line *line) {
    const char *rest = line->text;
    unsigned indent = line->indent + 8 < d->width ? line->indent : 0, x = 0;
    do {
        size_t size = top_cells_fit(unicode, rest, strlen(rest), d->width - x, true);
        draw_row(d, line, x, rest, size);
        rest += size;
        rest += *rest == ' ';
        x = indent;
    } while (*rest);
}

size_t top_text_draw(struct top_text *text, struct top_cells *cells, unsigned y, unsigned height) {
    struct drawing d = { NULL, y, height, cells->width, 0, 0 };
    if (cells->width == 0)
        return 0;
    for (size_t i = 0; i < text->count; i++)
        draw_line(&d, cells->unicode, &text->lines[i]);
    size_t most = d.rows > height ? d.rows - height : 0;
    text->top = text->top < most ? text->top : most;
    d.cells = cells;
    d.first = text->top;
    d.rows = 0;
    for (size_t i = 0; i < text->count; i++)
        draw_line(&d, cells->unicode, &text->lines[i]);
    return d.rows;
}
