/* graph_export.c: a graph in the languages of two programs that draw: Graphviz and Mermaid.
 *
 * Names are made here, from positions, so that no id can be a word of the language; what people wrote is in
 * quotes, with everything escaped that could end them or mean something. */
#include <inttypes.h>
#include <string.h>

#include "cli/graph_view.h"
#include "cli/print_task.h"

#define LABEL_MAX 40 /* columns of a title */

/* The looks of a state, the same in both languages; readable without colour by their marks. */
static const struct look {
    const char *state, *fill;
} looks[] = {
    { "done", "#d5ead8" },    { "failed", "#f6d5d0" },   { "canceled", "#e4e4e4" },
    { "running", "#cfe2f7" }, { "starting", "#cfe2f7" }, { "ready", "#fdf3cf" },
    { "held", "#eadcf4" },    { "waiting", "#ffffff" },  { "invalidated", "#e4e4e4" },
    { "draft", "#ffffff" },
};

static const struct look *look_of(const char *state) {
    for (size_t i = 0; i < ARRAY_SIZE(looks); i++)
        if (strcmp(looks[i].state, state) == 0)
            return &looks[i];
    return &looks[ARRAY_SIZE(looks) - 1];
}

/* --- Graphviz -------------------------------------------------------------------------------- */

static void put_dot_text(struct strbuf *out, const char *text) {
    for (; *text; text++) {
        if (*text == '"' || *text == '\\')
            strbuf_putc(out, '\\');
        strbuf_putc(out, *text);
    }
}

static void put_dot_box(struct strbuf *out, const struct graph_view *view, size_t i) {
    const struct graph_box *b = &view->boxes[i];
    _cleanup_(strbuf_finish) struct strbuf title = STRBUF_INIT;
    print_line(&title, b->title, LABEL_MAX);
    strbuf_printf(out, "  n%zu [label=\"%s ", i, graph_mark(b->state, true));
    put_dot_text(out, b->id);
    if (title.length > 0) {
        strbuf_puts(out, "\\n");
        put_dot_text(out, strbuf_text(&title));
    }
    strbuf_printf(out, "\", fillcolor=\"%s\"%s];\n", look_of(b->state)->fill,
                  b->critical ? ", penwidth=3" : "");
}

void graph_print_dot(const struct graph_view *view, struct strbuf *out) {
    strbuf_puts(out, "digraph sluice {\n  rankdir=LR;\n"
                     "  node [shape=box, style=\"rounded,filled\", fontname=\"sans-serif\"];\n");
    for (size_t i = 0; i < view->count; i++)
        put_dot_box(out, view, i);
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

/* --- Mermaid --------------------------------------------------------------------------------- */

/* Everything that Mermaid or the page around it could read as more than a letter. */
static void put_mermaid_text(struct strbuf *out, const char *text) {
    for (; *text; text++) {
        if (strchr("\"#&;<>`\\|[]{}()*_~:%$@", *text))
            strbuf_printf(out, "#%d;", *text);
        else
            strbuf_putc(out, *text);
    }
}

static void put_mermaid_box(struct strbuf *out, const struct graph_view *view, size_t i) {
    const struct graph_box *b = &view->boxes[i];
    _cleanup_(strbuf_finish) struct strbuf title = STRBUF_INIT;
    print_line(&title, b->title, LABEL_MAX);
    strbuf_printf(out, "  n%zu[\"%s ", i, graph_mark(b->state, true));
    put_mermaid_text(out, b->id);
    if (title.length > 0) {
        strbuf_puts(out, "<br/>");
        put_mermaid_text(out, strbuf_text(&title));
    }
    strbuf_printf(out, "\"]:::%s\n", look_of(b->state)->state);
}

void graph_print_mermaid(const struct graph_view *view, struct strbuf *out) {
    strbuf_puts(out, "flowchart LR\n");
    for (size_t i = 0; i < view->count; i++)
        put_mermaid_box(out, view, i);
    for (size_t i = 0; i < view->line_count; i++) {
        const struct graph_line *line = &view->lines[i];
        strbuf_printf(out, "  n%" PRIu32 " %s n%" PRIu32 "\n", line->from,
                      line->critical    ? "==>"
                      : line->is_parent ? "-.->"
                                        : "-->",
                      line->to);
    }
    for (size_t i = 0; i < ARRAY_SIZE(looks); i++)
        strbuf_printf(out, "  classDef %s fill:%s,stroke:#555,color:#111\n", looks[i].state,
                      looks[i].fill);
    for (size_t i = 0; i < view->count; i++)
        if (view->boxes[i].critical)
            strbuf_printf(out, "  style n%zu stroke-width:4px\n", i);
}
