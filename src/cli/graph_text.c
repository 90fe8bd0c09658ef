/* graph_text.c: a graph as a tree of lines.
 *
 * Each task stands once, below one of those that come before it: the one on the longest chain, else its
 * parent, else the one that stands deepest itself, so that what is last to be over is next to it. The others
 * are named behind its title. A tree deeper than a screen is wide goes on at the same column, and its lines
 * begin with their depth. Nothing recurses: a chain may have twenty thousand tasks. */
#include "cli/graph_view.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "cli/output.h"
#include "cli/print_task.h"
#include "sim/text.h"

#define NONE        UINT32_MAX
#define INDENTS_MAX 12u /* levels that are drawn */
#define OTHERS_MAX  3u  /* names of what else comes before */

struct tree {
    const struct graph_view *view;
    uint32_t *above;               /* of each box: the line that it hangs on, or NONE */
    uint32_t *first, *next;        /* children of a box, in order; next of its own kind */
    uint32_t *incoming, *in_first; /* lines that lead to a box: incoming[in_first[i] …] */
    uint32_t *stack, *depth;       /* boxes to be printed, the next one last */
    bool *last;                    /* by depth: the branch there has ended */
};

static uint32_t rank(const struct graph_view *view, const struct graph_line *line) {
    return line->critical ? UINT32_MAX
                          : (line->is_parent ? UINT32_MAX / 2 : view->boxes[line->from].level);
}

static void index_lines(struct tree *t) {
    const struct graph_view *view = t->view;
    uint32_t *used = xcalloc(view->count + 1, sizeof(*used));
    for (size_t i = 0; i < view->line_count; i++)
        t->in_first[view->lines[i].to + 1]++;
    for (size_t i = 0; i < view->count; i++)
        t->in_first[i + 1] += t->in_first[i];
    for (size_t i = 0; i < view->line_count; i++) {
        uint32_t to = view->lines[i].to;
        t->incoming[t->in_first[to] + used[to]++] = (uint32_t)i;
    }
    free(used);
}

/* Only upwards, so that nothing can hang on itself. */
static void hang(struct tree *t) {
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

/* From the last to the first, so that each list is in the order of the boxes. */
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

/* Returns the columns it takes. */
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

/* What else comes before it. */
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
    _cleanup_(strbuf_finish) struct strbuf head = STRBUF_INIT, tail = STRBUF_INIT;
    size_t indent = put_branches(t, how, depth, out);
    strbuf_printf(&head, "%s %s %s", graph_mark(b->state, how->unicode), b->id, b->state);
    if (b->critical)
        strbuf_puts(&tail, " *");
    put_others(t, box, &tail);
    strbuf_printf(out, "%s%s%s%s", b->critical ? style->bold : "", colour, strbuf_text(&head),
                  *colour || b->critical ? style->reset : "");
    size_t taken = indent + text_columns(strbuf_text(&head)) + text_columns(strbuf_text(&tail)) + 2;
    if (*b->title && (how->width == 0 || how->width > taken + 8)) {
        strbuf_puts(out, "  ");
        print_line(out, b->title, how->width ? how->width - taken : 0);
    }
    strbuf_puts(out, strbuf_text(&tail));
    strbuf_putc(out, '\n');
}

/* --- all of them ----------------------------------------------------------------------------- */

/* Children go onto the stack from the last to the first. */
static size_t push_children(struct tree *t, uint32_t box, uint32_t depth, size_t count) {
    size_t begin = count;
    for (uint32_t child = t->first[box]; child != NONE; child = t->next[child]) {
        t->stack[count] = child;
        t->depth[count++] = depth;
    }
    for (size_t i = begin, k = count; i + 1 < k; i++) {
        uint32_t other = t->stack[--k];
        t->stack[k] = t->stack[i];
        t->stack[i] = other;
    }
    return count;
}

static void print_tree(struct tree *t, const struct graph_text *how, uint32_t root,
                       struct strbuf *out) {
    size_t count = 0;
    t->stack[count] = root;
    t->depth[count++] = 0;
    while (count > 0) {
        uint32_t box = t->stack[--count], depth = t->depth[count];
        t->last[depth] = t->next[box] == NONE;
        put_line(t, how, box, depth, out);
        count = push_children(t, box, depth + 1, count);
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
    size_t count = view->count + 2;
    struct tree t = { .view = view };
    uint32_t **arrays[] = { &t.above, &t.first, &t.next, &t.in_first, &t.stack, &t.depth };
    for (size_t i = 0; i < ARRAY_SIZE(arrays); i++)
        *arrays[i] = xcalloc(count, sizeof(uint32_t));
    t.incoming = xcalloc(view->line_count + 1, sizeof(*t.incoming));
    t.last = xcalloc(count, sizeof(*t.last));
    index_lines(&t);
    hang(&t);
    link_children(&t);
    for (uint32_t i = 0; i < view->count; i++)
        if (t.above[i] == NONE)
            print_tree(&t, how, i, out);
    print_foot(view, out);
    for (size_t i = 0; i < ARRAY_SIZE(arrays); i++)
        free(*arrays[i]);
    free(t.incoming);
    free(t.last);
}
