/* graph_view.h: the dependency graph that `sluice graph` draws.
 *
 * graph_view_read parses the daemon's answer (GET /v1/graph); each printer draws it in one format.
 * Titles are untrusted: every printer escapes them. All take time linear in boxes and lines, so
 * thousands of tasks are drawn at once. */
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/strbuf.h"
#include "base/time_ms.h"

struct graph_box {
    const char *id, *title, *state; /* borrowed from the answer; title "": none */
    const char *gate;               /* NULL: none is closed */
    uint32_t level;
    bool critical;
};

struct graph_line {
    uint32_t from, to; /* positions of boxes */
    bool is_parent, critical;
};

struct graph_view {
    struct graph_box *boxes;
    size_t count;
    struct graph_line *lines;
    size_t line_count;
    time_ms critical; /* duration of the marked chain; 0: nothing is left */
    bool truncated;
};

/* Borrows texts from the answer. Skips lines that refer to unknown boxes. */
void graph_view_read(const json_t *answer, struct graph_view *ret);
void graph_view_finish(struct graph_view *view); /* safe on a zeroed struct */

/* A tree: each task once, under the predecessor that ends last; the others are named after its
 * title. `width` 0: lines are not cut. */
struct graph_text {
    size_t width;
    bool unicode;
};
void graph_print_text(const struct graph_view *view, const struct graph_text *how,
                      struct strbuf *out);
/* For Graphviz, and for Markdown with Mermaid. */
void graph_print_dot(const struct graph_view *view, struct strbuf *out);
void graph_print_mermaid(const struct graph_view *view, struct strbuf *out);
/* A self-contained picture, light or dark as the viewer prefers. */
void graph_print_svg(const struct graph_view *view, struct strbuf *out);
