/* graph_view.h: what waits for what, as `sluice graph` draws it.
 *
 * graph_view_read takes the daemon's answer apart (GET /v1/graph); each printer draws it in one way. Titles come
 * from outside: every printer makes them safe for what it writes. All of them cost the boxes and the lines, so
 * that thousands of tasks are drawn at once. */
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/strbuf.h"
#include "base/time_ms.h"

struct graph_box {
    const char *id, *title, *state; /* the answer's; title "": none */
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
    time_ms critical; /* how long the marked chain takes; 0: nothing is left */
    bool truncated;
};

/* The texts stay the answer's. What the answer does not explain is left out. */
void graph_view_read(const json_t *answer, struct graph_view *ret);
void graph_view_finish(struct graph_view *view); /* safe on a zeroed one; usable with _cleanup_ */

/* As a tree: each task once, below what must be over last before it; what else comes before it is named
 * behind. `width` 0: lines are not cut. */
struct graph_text {
    size_t width;
    bool unicode;
};
void graph_print_text(const struct graph_view *view, const struct graph_text *how,
                      struct strbuf *out);
/* For Graphviz, and for Markdown pages that draw Mermaid. */
void graph_print_dot(const struct graph_view *view, struct strbuf *out);
void graph_print_mermaid(const struct graph_view *view, struct strbuf *out);
/* A picture that needs nothing else, light or dark as its reader wishes. */
void graph_print_svg(const struct graph_view *view, struct strbuf *out);
