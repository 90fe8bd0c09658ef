/* cmd_graph.c: draws the dependency graph. The daemon computes it; this file only renders. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/arena.h"
#include "base/hash.h"
#include "base/id_map.h"
#include "cli/graph_view.h"
#include "cli/output.h"
#include "cli/page.h"
#include "cli/print_task.h"
#include "cli/request.h"
#include "core/state_style.h"
#include "os/terminal.h"
#include "sim/text.h"

static bool same_id(const void *ctx, uint32_t handle, const void *key) {
    return strcmp(((const struct graph_view *)ctx)->boxes[handle - 1].id, key) == 0;
}

static uint32_t find(const struct id_map *map, const char *id) {
    return id_map_find(map, hash_bytes(id, strlen(id)), id);
}

void graph_view_read(const json_t *answer, struct graph_view *ret) {
    const json_t *nodes = json_object_get(answer, "nodes");
    const json_t *edges = json_object_get(answer, "edges");
    _cleanup_(id_map_finish) struct id_map map = { 0 };
    *ret = (struct graph_view){ .critical = get_int(answer, "critical_ms", 0),
                                .truncated = get_true(answer, "truncated") };
    ret->boxes = xcalloc(json_array_size(nodes) + 1, sizeof(*ret->boxes));
    ret->lines = xcalloc(json_array_size(edges) + 1, sizeof(*ret->lines));
    id_map_init(&map, same_id, ret);
    EACH_ITEM(node, nodes) {
        const char *id = get_text(node, "id", NULL);
        if (!id || find(&map, id))
            continue;
        ret->boxes[ret->count++] = (struct graph_box){
            .id = id,
            .title = get_text(node, "title", ""),
            .state = get_text(node, "state", "?"),
            .gate = get_text(node, "gate", NULL),
            .level = (uint32_t)get_int(node, "level", 0),
            .critical = get_true(node, "critical"),
        };
        id_map_add(&map, hash_bytes(id, strlen(id)), (uint32_t)ret->count);
    }
    EACH_ITEM(edge, edges) {
        uint32_t from = find(&map, get_text(edge, "from", ""));
        uint32_t to = find(&map, get_text(edge, "to", ""));
        if (from && to && from != to)
            ret->lines[ret->line_count++] = (struct graph_line){
                .from = from - 1,
                .to = to - 1,
                .is_parent = member_is(edge, "type", "parent"),
                .critical = get_true(edge, "critical"),
            };
    }
}

void graph_view_finish(struct graph_view *view) {
    free(view->boxes);
    free(view->lines);
    *view = (struct graph_view){ 0 };
}

/* The lines of box i are lines[first[i] .. first[i + 1]): those into it, and with `both` also those
 * out of it. */
static void index_lines(const struct graph_view *view, bool both, uint32_t *first,
                        uint32_t *lines) {
    uint32_t *used = xcalloc(view->count + 1, sizeof(*used));
    for (size_t i = 0; i < view->line_count; i++) {
        first[view->lines[i].to + 1]++;
        first[view->lines[i].from + 1] += both;
    }
    for (size_t i = 0; i < view->count; i++)
        first[i + 1] += first[i];
    for (size_t i = 0; i < view->line_count; i++) {
        uint32_t to = view->lines[i].to, from = view->lines[i].from;
        if (both)
            lines[first[from] + used[from]++] = (uint32_t)i;
        lines[first[to] + used[to]++] = (uint32_t)i;
    }
    free(used);
}

/* --- tree ------------------------------------------------------------------------------------- */

/* Each task is shown once, under one of its predecessors: the one on the longest chain, else its
 * parent, else the deepest one, so that a task is next to the one that ends last. The others are
 * named after its title. A tree deeper than the screen stops indenting and shows the depth instead.
 * Nothing recurses: a chain may have twenty thousand tasks. */
#define NONE        UINT32_MAX
#define INDENTS_MAX 12u /* levels that are drawn */
#define OTHERS_MAX  3u  /* names of other predecessors */

struct tree {
    const struct graph_view *view;
    uint32_t *above;               /* of each box: the edge to its parent, or NONE */
    uint32_t *first, *next;        /* first child of a box; next sibling */
    uint32_t *incoming, *in_first; /* edges into a box: incoming[in_first[i] …] */
    bool *last;                    /* by depth: the branch has ended */
};

static uint32_t rank(const struct graph_view *view, const struct graph_line *line) {
    return line->critical ? UINT32_MAX
                          : (line->is_parent ? UINT32_MAX / 2 : view->boxes[line->from].level);
}

/* Only from earlier levels, so that nothing can be its own ancestor. */
static void choose_parents(struct tree *t) {
    const struct graph_view *view = t->view;
    for (uint32_t box = 0; box < view->count; box++) {
        t->above[box] = NONE;
        for (uint32_t k = t->in_first[box]; k < t->in_first[box + 1]; k++) {
            uint32_t line = t->incoming[k];
            if (view->boxes[view->lines[line].from].level >= view->boxes[box].level)
                continue;
            if (t->above[box] == NONE
                || rank(view, &view->lines[line]) > rank(view, &view->lines[t->above[box]]))
                t->above[box] = line;
        }
    }
}

/* From last to first, so that each list keeps the order of the boxes. */
static void link_children(struct tree *t) {
    const struct graph_view *view = t->view;
    for (uint32_t i = 0; i < view->count; i++)
        t->first[i] = t->next[i] = NONE;
    for (uint32_t i = (uint32_t)view->count; i-- > 0;) {
        if (t->above[i] == NONE)
            continue;
        uint32_t from = view->lines[t->above[i]].from;
        t->next[i] = t->first[from];
        t->first[from] = i;
    }
}

/* --- one line -------------------------------------------------------------------------------- */

/* Returns the columns used. */
static size_t put_branches(const struct tree *t, const struct graph_text *how, uint32_t depth,
                           struct strbuf *out) {
    static const char *const drawn[2][4] = { { "|  ", "   ", "|- ", "`- " },
                                             { "│  ", "   ", "├─ ", "└─ " } };
    const char *const *branch = drawn[how->unicode];
    if (depth == 0)
        return 0;
    if (depth > INDENTS_MAX) {
        size_t before = out->length;
        strbuf_printf(out, "(%" PRIu32 ") ", depth);
        return out->length - before;
    }
    for (uint32_t d = 1; d < depth; d++)
        strbuf_puts(out, branch[t->last[d] ? 1 : 0]);
    strbuf_puts(out, branch[t->last[depth] ? 3 : 2]);
    return (size_t)depth * 3;
}

static void put_others(const struct tree *t, uint32_t box, struct strbuf *out) {
    const struct graph_view *view = t->view;
    uint32_t count = 0;
    for (uint32_t k = t->in_first[box]; k < t->in_first[box + 1]; k++) {
        if (t->incoming[k] == t->above[box])
            continue;
        if (count < OTHERS_MAX)
            strbuf_printf(out, "%s%s", count ? ", " : " after ",
                          view->boxes[view->lines[t->incoming[k]].from].id);
        count++;
    }
    if (count > OTHERS_MAX)
        strbuf_printf(out, " and %" PRIu32 " more", count - OTHERS_MAX);
}

static void put_line(const struct tree *t, const struct graph_text *how, uint32_t box,
                     uint32_t depth, struct strbuf *out) {
    const struct graph_box *b = &t->view->boxes[box];
    const struct output_style *style = output_style();
    const char *colour = print_state_colour(b->state);
    _cleanup_(strbuf_finish) struct strbuf tail = STRBUF_INIT;
    size_t indent = put_branches(t, how, depth, out);
    _cleanup_(freep) char *head = xasprintf(
        "%s %s %s", state_symbol(task_state_find(b->state), how->unicode), b->id, b->state);
    if (b->critical)
        strbuf_puts(&tail, " *");
    put_others(t, box, &tail);
    strbuf_printf(out, "%s%s%s%s", b->critical ? style->bold : "", colour, head,
                  *colour || b->critical ? style->reset : "");
    size_t taken = indent + text_columns(head) + text_columns(strbuf_text(&tail)) + 2;
    if (*b->title && (how->width == 0 || how->width > taken + 8)) {
        strbuf_puts(out, "  ");
        print_line(out, b->title, how->width ? how->width - taken : 0);
    }
    strbuf_puts(out, strbuf_text(&tail));
    strbuf_putc(out, '\n');
}

/* --- all lines ------------------------------------------------------------------------------- */

/* A box, then its children, each with its own. */
static void print_tree(struct tree *t, const struct graph_text *how, uint32_t root,
                       struct strbuf *out) {
    uint32_t depth = 0;
    for (uint32_t box = root;;) {
        t->last[depth] = t->next[box] == NONE;
        put_line(t, how, box, depth, out);
        if (t->first[box] != NONE) {
            box = t->first[box];
            depth++;
            continue;
        }
        for (; depth > 0 && t->next[box] == NONE; depth--)
            box = t->view->lines[t->above[box]].from;
        if (depth == 0)
            return;
        box = t->next[box];
    }
}

static void print_foot(const struct graph_view *view, struct strbuf *out) {
    bool marked = false;
    for (size_t i = 0; i < view->count && !marked; i++)
        marked = view->boxes[i].critical;
    if (!marked)
        return;
    strbuf_puts(out, "* the longest chain");
    if (view->critical > 0) {
        strbuf_puts(out, ": about ");
        text_duration(out, view->critical);
    }
    strbuf_putc(out, '\n');
}

void graph_print_text(const struct graph_view *view, const struct graph_text *how,
                      struct strbuf *out) {
    _cleanup_(arena_finish) struct arena arena = ARENA_INIT;
    size_t count = view->count + 2;
    struct tree t = { .view = view };
    t.above = arena_alloc(&arena, count * sizeof(*t.above));
    t.first = arena_alloc(&arena, count * sizeof(*t.first));
    t.next = arena_alloc(&arena, count * sizeof(*t.next));
    t.in_first = arena_alloc(&arena, count * sizeof(*t.in_first));
    t.incoming = arena_alloc(&arena, (view->line_count + 1) * sizeof(*t.incoming));
    t.last = arena_alloc(&arena, count * sizeof(*t.last));
    index_lines(view, false, t.in_first, t.incoming);
    choose_parents(&t);
    link_children(&t);
    for (uint32_t i = 0; i < view->count; i++)
        if (t.above[i] == NONE)
            print_tree(&t, how, i, out);
    print_foot(view, out);
}

/* --- Graphviz and Mermaid --------------------------------------------------------------------- */

/* Node names are positions, so that no id can be a keyword; user text is quoted and escaped. */
#define LABEL_MAX 40 /* columns of a title */

/* Symbol, id and title, escaped by `put`. */
static void put_label(struct strbuf *out, const struct graph_box *b, const char *newline,
                      void (*put)(struct strbuf *out, const char *text)) {
    _cleanup_(strbuf_finish) struct strbuf title = STRBUF_INIT;
    print_line(&title, b->title, LABEL_MAX);
    strbuf_printf(out, "%s ", state_symbol(task_state_find(b->state), true));
    put(out, b->id);
    strbuf_puts(out, title.length > 0 ? newline : "");
    put(out, strbuf_text(&title));
}

static void put_dot_text(struct strbuf *out, const char *text) {
    for (; *text; text++) {
        if (*text == '"' || *text == '\\')
            strbuf_putc(out, '\\');
        strbuf_putc(out, *text);
    }
}

void graph_print_dot(const struct graph_view *view, struct strbuf *out) {
    strbuf_puts(out, "digraph sluice {\n  rankdir=LR;\n"
                     "  node [shape=box, style=\"rounded,filled\", fontname=\"sans-serif\"];\n");
    for (size_t i = 0; i < view->count; i++) {
        const struct graph_box *b = &view->boxes[i];
        strbuf_printf(out, "  n%zu [label=\"", i);
        put_label(out, b, "\\n", put_dot_text);
        strbuf_printf(out, "\", fillcolor=\"%s\"%s];\n",
                      state_fill(task_state_find(b->state), false).text,
                      b->critical ? ", penwidth=3" : "");
    }
    for (size_t i = 0; i < view->line_count; i++) {
        const struct graph_line *line = &view->lines[i];
        strbuf_printf(out, "  n%" PRIu32 " -> n%" PRIu32 "%s%s%s%s;\n", line->from, line->to,
                      line->is_parent || line->critical ? " [" : "",
                      line->is_parent ? "style=dashed" : "",
                      line->critical ? (line->is_parent ? ", penwidth=3" : "penwidth=3") : "",
                      line->is_parent || line->critical ? "]" : "");
    }
    strbuf_puts(out, "}\n");
}

/* Escapes everything that Mermaid or the page could interpret. */
static void put_mermaid_text(struct strbuf *out, const char *text) {
    for (; *text; text++) {
        if (strchr("\"#&;<>`\\|[]{}()*_~:%$@", *text))
            strbuf_printf(out, "#%d;", *text);
        else
            strbuf_putc(out, *text);
    }
}

void graph_print_mermaid(const struct graph_view *view, struct strbuf *out) {
    strbuf_puts(out, "flowchart LR\n");
    for (size_t i = 0; i < view->count; i++) {
        strbuf_printf(out, "  n%zu[\"", i);
        put_label(out, &view->boxes[i], "<br/>", put_mermaid_text);
        strbuf_printf(out, "\"]:::%s\n", task_state_name(task_state_find(view->boxes[i].state)));
    }
    for (size_t i = 0; i < view->line_count; i++) {
        const struct graph_line *line = &view->lines[i];
        strbuf_printf(out, "  n%" PRIu32 " %s n%" PRIu32 "\n", line->from,
                      line->critical    ? "==>"
                      : line->is_parent ? "-.->"
                                        : "-->",
                      line->to);
    }
    for (int state = TASK_ABSENT; state < TASK_STATE_MAX; state++)
        strbuf_printf(out, "  classDef %s fill:%s,stroke:#555,color:#111\n",
                      task_state_name((enum task_state)state),
                      state_fill((enum task_state)state, false).text);
    for (size_t i = 0; i < view->count; i++)
        if (view->boxes[i].critical)
            strbuf_printf(out, "  style n%zu stroke-width:4px\n", i);
}

/* --- SVG -------------------------------------------------------------------------------------- */

/* One column per level, from left to right, so that every edge points right. A few sweeps sort the
 * boxes of a column by the positions of their neighbors, which avoids most crossings. Isolated
 * tasks are in rows at the bottom. The picture has no script and loads nothing. */
#define BOX_WIDTH  230
#define BOX_HEIGHT 40
#define GAP_X      70
#define GAP_Y      14
#define MARGIN     20
#define HEAD       40 /* the title line */
#define TITLE_MAX  32 /* columns */
#define SWEEPS     6u
#define FREE_WIDTH 5u /* isolated boxes per row */

struct place {
    uint32_t column;
    double order; /* in its column: first its row, then the mean of its neighbors */
    int x, y;
};

struct drawing {
    const struct graph_view *view;
    struct place *places;
    uint32_t *sorted; /* boxes by column and order */
    uint32_t *begin;  /* of column c: sorted[begin[c] .. begin[c + 1]) */
    uint32_t columns;
    uint32_t *first, *lines; /* of a box: lines[first[i] .. first[i + 1]) */
    int width, height;
};

/* --- layout ---------------------------------------------------------------------------------- */

static bool has_lines(const struct drawing *d, size_t box) {
    return d->first[box] < d->first[box + 1];
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

/* Numbers columns without gaps. */
static void make_columns(struct drawing *d) {
    const struct graph_view *view = d->view;
    uint32_t tied = 0, last_level = 0;
    for (uint32_t i = 0; i < view->count; i++) {
        d->places[i].column = view->boxes[i].level;
        d->places[i].order = i;
        if (has_lines(d, i))
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
            const struct graph_line *line = &d->view->lines[d->lines[n]];
            const struct place *other = &d->places[line->from == box ? line->to : line->from];
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

/* Centers each column on the tallest. */
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
        if (has_lines(d, i))
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

/* --- drawing --------------------------------------------------------------------------------- */

static void put_xml(struct strbuf *out, const char *text, size_t columns) {
    _cleanup_(strbuf_finish) struct strbuf safe = STRBUF_INIT;
    print_line(&safe, text, columns);
    page_put_html(out, strbuf_text(&safe));
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
        "@media(prefers-color-scheme:dark){.page{fill:#16181d}.box{fill:#23262d;stroke:#8a90a0}"
        "text{fill:#e6e8ee}.line{stroke:#778}.critical{stroke:#ff9d45}}\n");
    for (int state = TASK_DRAFT; state < TASK_STATE_MAX; state++) {
        const char *name = task_state_name((enum task_state)state);
        strbuf_printf(out, ".%s{fill:%s}@media(prefers-color-scheme:dark){.%s{fill:%s}}\n", name,
                      state_fill((enum task_state)state, false).text, name,
                      state_fill((enum task_state)state, true).text);
    }
    strbuf_puts(out,
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

static void put_box(struct strbuf *out, const struct drawing *d, size_t i) {
    const struct graph_box *b = &d->view->boxes[i];
    const struct place *p = &d->places[i];
    _cleanup_(freep) char *text = xasprintf("%s: %s%s%s. %s", b->id, b->state, b->gate ? ", " : "",
                                            b->gate ? b->gate : "", b->title);
    strbuf_puts(out, "<g><title>");
    put_xml(out, text, 0);
    strbuf_printf(out,
                  "</title><rect class=\"box %s%s\" x=\"%d\" y=\"%d\" width=\"%d\" height=\"%d\" "
                  "rx=\"6\"/>",
                  task_state_name(task_state_find(b->state)), b->critical ? " critical" : "", p->x,
                  p->y, BOX_WIDTH, BOX_HEIGHT);
    strbuf_printf(out, "<text class=\"name\" x=\"%d\" y=\"%d\">%s ", p->x + 8, p->y + 16,
                  state_symbol(task_state_find(b->state), true));
    put_xml(out, b->id, TITLE_MAX);
    strbuf_printf(out, "</text><text x=\"%d\" y=\"%d\">", p->x + 8, p->y + 32);
    put_xml(out, b->title, TITLE_MAX);
    strbuf_puts(out, "</text></g>\n");
}

void graph_print_svg(const struct graph_view *view, struct strbuf *out) {
    _cleanup_(arena_finish) struct arena arena = ARENA_INIT;
    struct drawing d = { .view = view };
    size_t count = view->count + 2;
    int bottom;
    d.places = arena_alloc(&arena, count * sizeof(*d.places));
    d.sorted = arena_alloc(&arena, count * sizeof(*d.sorted));
    d.begin = arena_alloc(&arena, count * sizeof(*d.begin));
    d.first = arena_alloc(&arena, count * sizeof(*d.first));
    d.lines = arena_alloc(&arena, (2 * view->line_count + 1) * sizeof(*d.lines));
    index_lines(view, true, d.first, d.lines);
    make_columns(&d);
    for (unsigned sweep = 0; sweep < SWEEPS; sweep++)
        for (uint32_t c = 0; c < d.columns; c++)
            sort_column(&d, sweep % 2 ? d.columns - 1 - c : c, sweep % 2 == 0);
    place_tied(&d, &bottom);
    place_free(&d, bottom);
    put_head(out, &d);
    put_caption(out, view);
    for (size_t i = 0; i < view->line_count; i++)
        put_curve(out, &d, &view->lines[i]);
    for (size_t i = 0; i < view->count; i++)
        put_box(out, &d, i);
    strbuf_puts(out, "</svg>\n");
}

/* --- the command ------------------------------------------------------------------------------ */

static void print_ascii(const struct graph_view *view, struct strbuf *out) {
    struct graph_text how = { .width = print_width(), .unicode = terminal_is_utf8() };
    if (view->count == 0)
        strbuf_puts(out, "no matching open task; --all includes finished tasks\n");
    graph_print_text(view, &how, out);
}

static int make_path(const struct cmd_call *call, struct strbuf *path) {
    const char *project = cmd_value(call, "project"), *group = cmd_value(call, "group");
    int64_t limit = 0;
    int code = cmd_number(call, "limit", 1, 20000, &limit);
    if (code != CMD_OK)
        return code;
    if ((call->arg_count > 0) + (project != NULL) + (group != NULL) > 1)
        return cmd_usage_error(call->cmd, "a task, --project and --group cannot be used together");
    strbuf_puts(path, "/v1/graph");
    if (call->arg_count > 0) {
        code = request_check_name(call, call->args[0]);
        client_query(path, "root", call->args[0]);
    }
    client_query(path, "project", project);
    client_query(path, "group", group);
    if (cmd_has(call, "all"))
        client_query(path, "state", "all");
    if (limit > 0)
        client_query(path, "limit", cmd_value(call, "limit"));
    return code;
}

static int run(const struct cmd_call *call) {
    static const char *const formats[] = { "ascii", "dot", "mermaid", "svg", NULL };
    static void (*const prints[])(const struct graph_view *view,
                                  struct strbuf *out) = { print_ascii, graph_print_dot,
                                                          graph_print_mermaid, graph_print_svg };
    _cleanup_(request_finish) struct request req = { 0 };
    _cleanup_(strbuf_finish) struct strbuf path = STRBUF_INIT, out = STRBUF_INIT;
    int format = cmd_choice(call, "format", formats);
    int code = format < 0 ? CMD_USAGE : make_path(call, &path);
    if (code == CMD_OK)
        code = request_get(&req, strbuf_text(&path));
    if (request_ended(call, &req, &code))
        return code;
    _cleanup_(graph_view_finish) struct graph_view view = { 0 };
    graph_view_read(req.answer, &view);
    prints[format](&view, &out);
    output_rest(&out);
    if (view.truncated)
        cmd_warn("only the first %zu tasks are shown; use '--limit N' to show up to 20000",
                 view.count);
    return CMD_OK;
}

static const struct cmd_option options[] = {
    { "project", 'p', "NAME", "the open tasks of this project" },
    { "group", 'g', "NAME", "the tasks of this group" },
    { "format", 'f', "FORMAT", "ascii (the default), dot, mermaid or svg" },
    { "all", 'a', NULL, "include finished tasks" },
    { "limit", 'n', "N", "maximum number of tasks, 1 to 20000; default 2000" },
    { NULL },
};

const struct cmd cmd_graph = { "graph", .options = options, .max_args = 1, .run = run };
