/* top_cells.c: measures and places text.
 *
 * One function decides width and visibility, so that measured and shown text agree. Characters
 * whose width depends on the terminal would shift the rest of a line: they are dropped. */
#include "cli/top.h"

#include <stdlib.h>
#include <string.h>
#include <wchar.h>

#include "base/alloc.h"
#include "base/safe_text.h"
#include "base/utf8.h"

#define COMBINING_MAX 2

void top_cells_size(struct top_cells *cells, unsigned width, unsigned height) {
    size_t count = (size_t)width * height;
    cells->width = cells->stride = width;
    cells->height = height;
    cells->cells = xrealloc(cells->cells, (count > 0 ? count : 1) * sizeof(*cells->cells));
    for (size_t i = 0; i < count; i++)
        cells->cells[i] = (struct top_cell){ .text = " " };
}

void top_cells_finish(struct top_cells *cells) {
    free(cells->cells);
    cells->cells = NULL;
    cells->width = cells->height = 0;
}

struct top_cell *top_cells_at(const struct top_cells *cells, unsigned y, unsigned x) {
    return &cells->cells[(size_t)y * cells->stride + x];
}

struct top_cells top_cells_part(const struct top_cells *cells, struct top_area area) {
    unsigned y = area.y < cells->height ? area.y : cells->height;
    unsigned x = area.x < cells->width ? area.x : cells->width;
    return (struct top_cells){
        .unicode = cells->unicode,
        .width = area.width < cells->width - x ? area.width : cells->width - x,
        .height = area.height < cells->height - y ? area.height : cells->height - y,
        .stride = cells->stride,
        .cells = cells->cells + (size_t)y * cells->stride + x,
    };
}

/* --- characters ------------------------------------------------------------------------------ */

struct character {
    const char *text; /* visible text */
    size_t length;    /* of that */
    size_t taken;     /* source bytes */
    int columns;      /* 0: combines with the previous one; -1: hidden */
};

static uint32_t decode(const char *text, size_t length) {
    const unsigned char *u = (const unsigned char *)text;
    uint32_t code = length == 1 ? u[0] : u[0] & (0x7fu >> length);
    for (size_t i = 1; i < length; i++)
        code = code << 6 | (u[i] & 0x3f);
    return code;
}

/* Joiners, directions, variations, skin tones, tags: terminals disagree about them. */
static bool is_left_out(uint32_t code) {
    return code == 0x00ad || code == 0x061c || (code >= 0x200b && code <= 0x200f)
           || (code >= 0x202a && code <= 0x202e) || (code >= 0x2060 && code <= 0x206f)
           || (code >= 0xfe00 && code <= 0xfe0f) || code == 0xfeff
           || (code >= 0x1f3fb && code <= 0x1f3ff) || code >= 0xe0000;
}

static struct character character_at(bool unicode, const char *text, size_t left) {
    size_t length = utf8_length(text, left);
    struct character c = { text, length, length > 0 ? length : 1, 1 };
    uint32_t code = length > 0 ? decode(text, length) : 0;
    if (length == 1 && code >= 0x20 && code < 0x7f)
        return c;
    if (length > 0 && code >= 0xa0 && is_left_out(code)) {
        c.columns = -1;
        return c;
    }
    if (unicode && code >= 0xa0)
        c.columns = wcwidth((wchar_t)code);
    if (!unicode || code < 0xa0 || c.columns < 0) {
        bool blank = code == '\t' || code == '\n';
        c.text = blank ? " " : "?";
        c.length = 1;
        c.columns = 1;
    }
    return c;
}

/* --- placing --------------------------------------------------------------------------------- */

/* Adds to the cell before `x`, or to the first half of a wide one. */
static void combine(struct top_cells *cells, unsigned y, unsigned x, const struct character *c) {
    if (x == 0)
        return;
    struct top_cell *cell = top_cells_at(cells, y, x - 1);
    if (!*cell->text && x > 1)
        cell = top_cells_at(cells, y, x - 2);
    size_t have = strlen(cell->text);
    size_t marks = 0;
    for (size_t i = 1; i < have; i++)
        marks += ((unsigned char)cell->text[i] & 0xc0) != 0x80;
    if (marks >= COMBINING_MAX || have + c->length >= sizeof(cell->text))
        return;
    memcpy(cell->text + have, c->text, c->length);
    cell->text[have + c->length] = '\0';
}

static void put_character(struct top_cells *cells, unsigned y, unsigned x, unsigned style,
                          const struct character *c) {
    struct top_cell *cell = top_cells_at(cells, y, x);
    *cell = (struct top_cell){ .style = (uint8_t)style };
    memcpy(cell->text, c->text, c->length);
    if (c->columns == 2)
        *top_cells_at(cells, y, x + 1) = (struct top_cell){ .style = (uint8_t)style };
}

unsigned top_cells_put(struct top_cells *cells, unsigned y, unsigned x, unsigned room,
                       unsigned style, const char *text) {
    if (y >= cells->height || x >= cells->width)
        return 0;
    room = room < cells->width - x ? room : cells->width - x;
    bool cut = top_cells_columns(cells->unicode, text) > room;
    unsigned used = 0, most = cut && room > 0 ? room - 1 : room;
    for (size_t left = strlen(text); left > 0;) {
        struct character c = character_at(cells->unicode, text, left);
        if (c.columns > 0 && used + (unsigned)c.columns > most)
            break;
        if (c.columns == 0 && used > 0)
            combine(cells, y, x + used, &c);
        if (c.columns > 0) {
            put_character(cells, y, x + used, style, &c);
            used += (unsigned)c.columns;
        }
        text += c.taken;
        left -= c.taken;
    }
    if (cut && used < room) {
        static const struct character marks[] = { { "~", 1, 1, 1 }, { "…", 3, 3, 1 } };
        put_character(cells, y, x + used, style, &marks[cells->unicode]);
        used++;
    }
    return used;
}

void top_cells_style(struct top_cells *cells, unsigned y, unsigned x, unsigned room,
                     unsigned style) {
    for (unsigned i = 0; y < cells->height && i < room && x + i < cells->width; i++)
        top_cells_at(cells, y, x + i)->style = (uint8_t)style;
}

void top_cells_print(const struct top_cells *cells, struct strbuf *out) {
    for (unsigned y = 0; y < cells->height; y++) {
        for (unsigned x = 0; x < cells->width; x++)
            strbuf_puts(out, top_cells_at(cells, y, x)->text);
        while (out->length > 0 && out->text[out->length - 1] == ' ')
            out->text[--out->length] = '\0';
        strbuf_putc(out, '\n');
    }
}

/* --- measuring ------------------------------------------------------------------------------- */

unsigned top_cells_columns(bool unicode, const char *text) {
    unsigned total = 0;
    for (size_t left = strlen(text); left > 0;) {
        struct character c = character_at(unicode, text, left);
        total += c.columns > 0 ? (unsigned)c.columns : 0;
        text += c.taken;
        left -= c.taken;
    }
    return total;
}

size_t top_cells_fit(bool unicode, const char *text, size_t size, unsigned room, bool at_blank) {
    size_t at = 0, blank = 0;
    for (unsigned used = 0; at < size;) {
        struct character c = character_at(unicode, text + at, size - at);
        unsigned columns = c.columns > 0 ? (unsigned)c.columns : 0;
        if (used + columns > room)
            return at_blank && blank > 0 ? blank : at > 0 ? at : c.taken;
        if (text[at] == ' ' && at > 0)
            blank = at;
        used += columns;
        at += c.taken;
    }
    return at;
}

/* --- long texts ------------------------------------------------------------------------------- */

/* Wrapped again at each drawing: texts are short, and the size changes. */

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
    CMD_PRINT_ARGS(raw, format);
    _cleanup_(strbuf_finish) struct strbuf safe = STRBUF_INIT;
    sanitize_line(strbuf_text(&raw), &safe);
    text->lines = xgrow(text->lines, &text->capacity, text->count + 1, sizeof(*text->lines));
    text->lines[text->count++] = (struct top_line){
        arena_strdup(&text->arena, strbuf_text(&safe)),
        style,
        indent,
    };
}

struct drawing {
    struct top_cells *cells; /* NULL: only count */
    unsigned y, height, width;
    size_t first; /* row at line `y` */
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
    for (int pass = 0; pass < 2; pass++) { /* counts, then draws */
        d.rows = 0;
        for (size_t i = 0; i < text->count; i++)
            draw_line(&d, cells->unicode, &text->lines[i]);
        size_t most = d.rows > height ? d.rows - height : 0;
        d.first = text->top = text->top < most ? text->top : most;
        d.cells = cells;
    }
    return d.rows;
}
