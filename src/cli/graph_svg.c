/* graph_svg.c: a graph as a picture, drawn by ourselves.
 *
 * A column for each level, from left to right, so that every line leads to the right. Inside a column boxes
 * are sorted by where their neighbours stand, a few times to and fro, which keeps most lines from
 * crossing. Tasks that nothing is tied to are put below, in rows: they need no column. The picture has no
 * script and asks for nothing from elsewhere. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "cli/graph_view.h"
#include "cli/print_task.h"
#include "sim/text.h"

#define BOX_WIDTH  230
#define BOX_HEIGHT 40
#define GAP_X      70
#define GAP_Y      14
#define MARGIN     20
#define HEAD       40 /* the line above everything */
#define TITLE_MAX  32 /* columns */
#define SWEEPS     6u
#define FREE_WIDTH 5u /* boxes in a row of those that nothing is tied to */

struct place {
    uint32_t column;
    double order; /* inside its column; first its row, then the mean of its neighbours */
    int x, y;
    bool tied;
};

struct drawing {
    const struct graph_view *view;
    struct place *places;
    uint32_t *sorted; /* boxes by column and order */
    uint32_t *begin;  /* of column c: sorted[begin[c] .. begin[c + 1]) */
    uint32_t columns;
    uint32_t *first, *ends; /* neighbours of a box: ends[first[i] .. first[i + 1]) */
    int width, height;
};

/* --- where everything stands ----------------------------------------------------------------- */

static void index_neighbours(struct drawing *d) {
    const struct graph_view *view = d->view;
    for (size_t i = 0; i < view->line_count; i++) {
        const struct graph_line *line = &view->lines[i];
        d->first[line->from + 1]++;
        d->first[line->to + 1]++;
        d->places[line->from].tied = d->places[line->to].tied = true;
    }
    for (size_t i = 0; i < view->count; i++)
        d->first[i + 1] += d->first[i];
    uint32_t *used = xcalloc(view->count + 1, sizeof(*used));
    for (size_t i = 0; i < view->line_count; i++) {
        uint32_t a = view->lines[i].from, b = view->lines[i].to;
        d->ends[d->first[a] + used[a]++] = b;
        d->ends[d->first[b] + used[b]++] = a;
    }
    free(used);
}

static int by_order(const void *a, const void *b, void *ctx) {
    const struct place *places = ctx;
    const struct place *x = &places[*(const uint32_t *)a], *y = &places[*(const uint32_t *)b];
    if (x->column != y->column)
        return x->column < y->column ? -1 : 1;
    if (x->order < y->order || x->order > y->order)
        return x->order < y->order ? -1 : 1;
    return *(const uint32_t *)a < *(const uint32_t *)b ? -1 : 1;
}

/* Columns without gaps, whatever the levels are. */
static void make_columns(struct drawing *d) {
    const struct graph_view *view = d->view;
    uint32_t tied = 0, last_level = 0;
    for (uint32_t i = 0; i < view->count; i++) {
        d->places[i].column = view->boxes[i].level;
        d->places[i].order = i;
        if (d->places[i].tied)
            d->sorted[tied++] = i;
    }
    if (tied > 1)
        qsort_r(d->sorted, tied, sizeof(*d->sorted), by_order, d->places);
    for (uint32_t k = 0; k < tied; k++) {
        uint32_t level = view->boxes[d->sorted[k]].level;
        if (k == 0 || level != last_level)
            d->begin[d->columns++] = k;
        last_level = level;
        d->places[d->sorted[k]].column = d->columns - 1;
        d->places[d->sorted[k]].order = k - d->begin[d->columns - 1];
    }
    d->begin[d->columns] = tied;
}

static void sort_column(struct drawing *d, uint32_t column, bool from_left) {
    uint32_t *boxes = d->sorted + d->begin[column];
    uint32_t count = d->begin[column + 1] - d->begin[column];
    for (uint32_t k = 0; k < count; k++) {
        uint32_t box = boxes[k], seen = 0;
        double sum = 0;
        for (uint32_t n = d->first[box]; n < d->first[box + 1]; n++) {
            const struct place *other = &d->places[d->ends[n]];
            if (from_left ? other->column >= column : other->column <= column)
                continue;
            sum += other->order;
            seen++;
        }
        d->places[box].order = seen ? sum / seen : k;
    }
    if (count > 1)
        qsort_r(boxes, count, sizeof(*boxes), by_order, d->places);
    for (uint32_t k = 0; k < count; k++)
        d->places[boxes[k]].order = k;
}

static void sort_columns(struct drawing *d) {
    for (unsigned sweep = 0; sweep < SWEEPS; sweep++)
        for (uint32_t c = 0; c < d->columns; c++)
            sort_column(d, sweep % 2 ? d->columns - 1 - c : c, sweep % 2 == 0);
}

/* Each column stands in the middle of the highest. */
static void place_tied(struct drawing *d, int *ret_bottom) {
    uint32_t most = 0;
    for (uint32_t c = 0; c < d->columns; c++)
        most = d->begin[c + 1] - d->begin[c] > most ? d->begin[c + 1] - d->begin[c] : most;
    for (uint32_t c = 0; c < d->columns; c++) {
        uint32_t count = d->begin[c + 1] - d->begin[c];
        int top = HEAD + (int)(most - count) * (BOX_HEIGHT + GAP_Y) / 2;
        for (uint32_t k = 0; k < count; k++) {
            struct place *p = &d->places[d->sorted[d->begin[c] + k]];
            p->x = MARGIN + (int)c * (BOX_WIDTH + GAP_X);
            p->y = top + (int)k * (BOX_HEIGHT + GAP_Y);
        }
    }
    d->width = MARGIN + (int)d->columns * (BOX_WIDTH + GAP_X);
    *ret_bottom = HEAD + (int)most * (BOX_HEIGHT + GAP_Y);
}

static void place_free(struct drawing *d, int top) {
    uint32_t at = 0;
    uint32_t row = d->columns > FREE_WIDTH ? d->columns : FREE_WIDTH;
    for (uint32_t i = 0; i < d->view->count; i++) {
        struct place *p = &d->places[i];
        if (p->tied)
            continue;
        p->x = MARGIN + (int)(at % row) * (BOX_WIDTH + GAP_X);
        p->y = top + GAP_Y + (int)(at / row) * (BOX_HEIGHT + GAP_Y);
        if (p->x + BOX_WIDTH + GAP_X > d->width)
            d->width = p->x + BOX_WIDTH + GAP_X;
        at++;
    }
    uint32_t rows = (at + row - 1) / row;
    d->height = top + (int)rows * (BOX_HEIGHT + GAP_Y) + (rows ? GAP_Y : 0) + MARGIN;
    d->width += MARGIN - GAP_X;
    if (d->width < 4 * MARGIN + BOX_WIDTH)
        d->width = 4 * MARGIN + BOX_WIDTH;
}

/* --- the picture ----------------------------------------------------------------------------- */

static void put_xml(struct strbuf *out, const char *text, size_t columns) {
    _cleanup_(strbuf_finish) struct strbuf safe = STRBUF_INIT;
    print_line(&safe, text, columns);
    for (const char *c = strbuf_text(&safe); *c; c++) {
        if (*c == '&')
            strbuf_puts(out, "&amp;");
        else if (*c == '<')
            strbuf_puts(out, "&lt;");
        else if (*c == '>')
            strbuf_puts(out, "&gt;");
        else if (*c == '"')
            strbuf_puts(out, "&quot;");
        else if (*c == '\'')
            strbuf_puts(out, "&#39;");
        else
            strbuf_putc(out, *c);
    }
}

static void put_head(struct strbuf *out, const struct drawing *d) {
    strbuf_printf(out,
                  "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%d\" height=\"%d\" "
                  "viewBox=\"0 0 %d %d\" font-family=\"sans-serif\" font-size=\"12\">\n",
                  d->width, d->height, d->width, d->height);
    strbuf_puts(
        out,
        "<style>\n"
        ".page{fill:#fff}.box{fill:#fff;stroke:#667}.name{font-weight:bold}text{fill:#223}\n"
        ".line{fill:none;stroke:#889;marker-end:url(#to)}.parent{stroke-dasharray:5 4}\n"
        ".critical{stroke:#c25a00;stroke-width:3}\n"
        ".done{fill:#d5ead8}.failed{fill:#f6d5d0}.running,.starting{fill:#cfe2f7}"
        ".ready{fill:#fdf3cf}.held{fill:#eadcf4}.canceled,.invalidated{fill:#e4e4e4}\n"
        "@media(prefers-color-scheme:dark){.page{fill:#16181d}.box{fill:#23262d;stroke:#8a90a0}"
        "text{fill:#e6e8ee}.line{stroke:#778}.critical{stroke:#ff9d45}.done{fill:#1f4527}"
        ".failed{fill:#5a2620}.running,.starting{fill:#1d3f63}.ready{fill:#51461c}"
        ".held{fill:#43305a}.canceled,.invalidated{fill:#3a3c42}}\n"
        "</style>\n"
        "<defs><marker id=\"to\" viewBox=\"0 0 8 8\" refX=\"7\" refY=\"4\" "
        "markerUnits=\"userSpaceOnUse\" "
        "markerWidth=\"9\" markerHeight=\"9\" orient=\"auto\"><path d=\"M0 0L8 4L0 8z\" "
        "fill=\"#889\"/></marker>"
        "</defs>\n");
    strbuf_printf(out, "<rect class=\"page\" width=\"%d\" height=\"%d\"/>\n", d->width, d->height);
}

static void put_caption(struct strbuf *out, const struct graph_view *view) {
    strbuf_printf(out, "<text x=\"%d\" y=\"24\">%zu task%s", MARGIN, view->count,
                  view->count == 1 ? "" : "s");
    if (view->critical > 0) {
        strbuf_puts(out, " · longest chain (thick): about ");
        text_duration(out, view->critical);
    }
    strbuf_printf(out, "%s</text>\n", view->truncated ? " · there are more tasks" : "");
}

static void put_curve(struct strbuf *out, const struct drawing *d, const struct graph_line *line) {
    const struct place *a = &d->places[line->from], *b = &d->places[line->to];
    int x1 = a->x + BOX_WIDTH, y1 = a->y + BOX_HEIGHT / 2;
    int x2 = b->x, y2 = b->y + BOX_HEIGHT / 2;
    int bend = x2 - x1 > 2 * GAP_X ? GAP_X : (x2 - x1) / 2;
    strbuf_printf(out, "<path class=\"line%s%s\" d=\"M%d %dC%d %d %d %d %d %d\"/>\n",
                  line->is_parent ? " parent" : "", line->critical ? " critical" : "", x1, y1,
                  x1 + bend, y1, x2 - bend, y2, x2, y2);
}

/* A state that this program does not know gets no colour, and no class of its own. */
static const char *class_of(const char *state) {
    return strcmp(graph_mark(state, false), "?") == 0 ? "" : state;
}

static void put_box(struct strbuf *out, const struct drawing *d, size_t i) {
    const struct graph_box *b = &d->view->boxes[i];
    const struct place *p = &d->places[i];
    strbuf_puts(out, "<g><title>");
    put_xml(out, b->id, 0);
    strbuf_puts(out, ": ");
    put_xml(out, b->state, 0);
    if (b->gate) {
        strbuf_puts(out, ", ");
        put_xml(out, b->gate, 0);
    }
    strbuf_puts(out, ". ");
    put_xml(out, b->title, 0);
    strbuf_printf(out,
                  "</title><rect class=\"box %s%s\" x=\"%d\" y=\"%d\" width=\"%d\" height=\"%d\" "
                  "rx=\"6\"/>",
                  class_of(b->state), b->critical ? " critical" : "", p->x, p->y, BOX_WIDTH,
                  BOX_HEIGHT);
    strbuf_printf(out, "<text class=\"name\" x=\"%d\" y=\"%d\">%s ", p->x + 8, p->y + 16,
                  graph_mark(b->state, true));
    put_xml(out, b->id, TITLE_MAX);
    strbuf_printf(out, "</text><text x=\"%d\" y=\"%d\">", p->x + 8, p->y + 32);
    put_xml(out, b->title, TITLE_MAX);
    strbuf_puts(out, "</text></g>\n");
}

void graph_print_svg(const struct graph_view *view, struct strbuf *out) {
    struct drawing d = { .view = view };
    size_t count = view->count + 2;
    int bottom;
    d.places = xcalloc(count, sizeof(*d.places));
    d.sorted = xcalloc(count, sizeof(*d.sorted));
    d.begin = xcalloc(count, sizeof(*d.begin));
    d.first = xcalloc(count, sizeof(*d.first));
    d.ends = xcalloc(2 * view->line_count + 1, sizeof(*d.ends));
    index_neighbours(&d);
    make_columns(&d);
    sort_columns(&d);
    place_tied(&d, &bottom);
    place_free(&d, bottom);
    put_head(out, &d);
    put_caption(out, view);
    for (size_t i = 0; i < view->line_count; i++)
        put_curve(out, &d, &view->lines[i]);
    for (size_t i = 0; i < view->count; i++)
        put_box(out, &d, i);
    strbuf_puts(out, "</svg>\n");
    free(d.places);
    free(d.sorted);
    free(d.begin);
    free(d.first);
    free(d.ends);
}
