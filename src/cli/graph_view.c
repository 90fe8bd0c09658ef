/* graph_view.c: see graph_view.h. */
#include "cli/graph_view.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/hash.h"
#include "base/id_map.h"
#include "cli/ask.h"

static bool same_id(const void *ctx, uint32_t handle, const void *key) {
    return strcmp(((const struct graph_view *)ctx)->boxes[handle - 1].id, key) == 0;
}

static uint32_t find(const struct id_map *map, const char *id) {
    return id_map_find(map, hash_bytes(id, strlen(id)), id);
}

static void read_boxes(const json_t *nodes, struct graph_view *view, struct id_map *map) {
    size_t i;
    json_t *node;
    json_array_foreach((json_t *)nodes, i, node) {
        const char *id = ask_text(node, "id", NULL);
        if (!id || find(map, id))
            continue;
        view->boxes[view->count++] = (struct graph_box){
            .id = id,
            .title = ask_text(node, "title", ""),
            .state = ask_text(node, "state", "?"),
            .gate = ask_text(node, "gate", NULL),
            .level = (uint32_t)ask_int(node, "level", 0),
            .critical = ask_true(node, "critical"),
        };
        id_map_add(map, hash_bytes(id, strlen(id)), (uint32_t)view->count);
    }
}

static void read_lines(const json_t *edges, struct graph_view *view, const struct id_map *map) {
    size_t i;
    json_t *edge;
    json_array_foreach((json_t *)edges, i, edge) {
        uint32_t from = find(map, ask_text(edge, "from", ""));
        uint32_t to = find(map, ask_text(edge, "to", ""));
        if (from && to && from != to)
            view->lines[view->line_count++] = (struct graph_line){
                .from = from - 1,
                .to = to - 1,
                .is_parent = strcmp(ask_text(edge, "type", ""), "parent") == 0,
                .critical = ask_true(edge, "critical"),
            };
    }
}

void graph_view_read(const json_t *answer, struct graph_view *ret) {
    const json_t *nodes = json_object_get(answer, "nodes");
    const json_t *edges = json_object_get(answer, "edges");
    _cleanup_(id_map_finish) struct id_map map = { 0 };
    *ret = (struct graph_view){ .critical = ask_int(answer, "critical_ms", 0),
                                .truncated = ask_true(answer, "truncated") };
    ret->boxes = xcalloc(json_array_size(nodes) + 1, sizeof(*ret->boxes));
    ret->lines = xcalloc(json_array_size(edges) + 1, sizeof(*ret->lines));
    id_map_init(&map, same_id, ret);
    read_boxes(nodes, ret, &map);
    read_lines(edges, ret, &map);
}

void graph_view_finish(struct graph_view *view) {
    free(view->boxes);
    free(view->lines);
    *view = (struct graph_view){ 0 };
}

const char *graph_mark(const char *state, bool unicode) {
    static const struct {
        const char *state, *unicode, *plain;
    } marks[] = {
        { "done", "✓", "+" },    { "failed", "✗", "x" },   { "canceled", "⊘", "-" },
        { "running", "▶", ">" }, { "starting", "▷", ">" }, { "ready", "○", "o" },
        { "waiting", "·", "." }, { "held", "‖", "=" },     { "invalidated", "~", "~" },
        { "draft", "…", "_" },
    };
    for (size_t i = 0; i < ARRAY_SIZE(marks); i++)
        if (strcmp(marks[i].state, state) == 0)
            return unicode ? marks[i].unicode : marks[i].plain;
    return "?";
}
