/* graph.c: see graph.h. Everything costs the nodes and the edges, nothing more: each node is settled when
 * all that goes before it are, and a circle, which the core does not let arise, is left unsettled. */
#include "ops/graph.h"

#include <stdlib.h>

#include "base/alloc.h"
#include "base/hash.h"

#define NONE UINT32_MAX

static bool same_task(const void *ctx, uint32_t handle, const void *key) {
    return ((const struct graph *)ctx)->nodes[handle - 1].task == *(const task_id *)key;
}

void graph_init(struct graph *graph, size_t max, size_t edge_max) {
    *graph = (struct graph){ .max = max, .edge_max = edge_max };
    id_map_init(&graph->map, same_task, graph);
}

void graph_finish(struct graph *graph) {
    if (!graph->max)
        return;
    id_map_finish(&graph->map);
    free(graph->nodes);
    free(graph->edges);
    *graph = (struct graph){ 0 };
}

struct graph_node *graph_find(const struct graph *graph, task_id task) {
    uint32_t handle = id_map_find(&graph->map, hash_u64(task), &task);
    return handle ? &graph->nodes[handle - 1] : NULL;
}

struct graph_node *graph_add(struct graph *graph, task_id task) {
    struct graph_node *node = graph_find(graph, task);
    if (node)
        return node;
    if (graph->count == graph->max) {
        graph->truncated = true;
        return NULL;
    }
    graph->nodes =
        xgrow(graph->nodes, &graph->node_capacity, graph->count + 1, sizeof(*graph->nodes));
    node = &graph->nodes[graph->count++];
    *node = (struct graph_node){ .task = task };
    id_map_add(&graph->map, hash_u64(task), (uint32_t)graph->count);
    return node;
}

void graph_connect(struct graph *graph, task_id from, task_id to, bool is_parent, bool orders) {
    const struct graph_node *a = graph_find(graph, from), *b = graph_find(graph, to);
    if (!a || !b)
        return;
    if (graph->edge_count == graph->edge_max) {
        graph->truncated = true;
        return;
    }
    graph->edges =
        xgrow(graph->edges, &graph->edge_capacity, graph->edge_count + 1, sizeof(*graph->edges));
    graph->edges[graph->edge_count++] = (struct graph_edge){ .from = (uint32_t)(a - graph->nodes),
                                                             .to = (uint32_t)(b - graph->nodes),
                                                             .is_parent = is_parent,
                                                             .orders = orders };
}

static int by_task(const void *a, const void *b) {
    const struct graph_node *x = a, *y = b;
    return x->task < y->task ? -1 : x->task > y->task;
}

void graph_sort(struct graph *graph) {
    if (graph->count > 1)
        qsort(graph->nodes, graph->count, sizeof(*graph->nodes), by_task);
    id_map_finish(&graph->map);
    id_map_init(&graph->map, same_task, graph);
    for (size_t i = 0; i < graph->count; i++)
        id_map_add(&graph->map, hash_u64(graph->nodes[i].task), (uint32_t)(i + 1));
}

/* --- levels and the longest chain ------------------------------------------------------------ */

struct solving {
    struct graph *graph;
    uint32_t *first;   /* of node i: out[first[i] .. first[i + 1]) */
    uint32_t *out;     /* edges, by `from` */
    uint32_t *missing; /* how many before it are not settled */
    uint32_t *queue;
    int64_t *longest; /* up to its end */
    uint32_t *by;     /* the edge that it comes by; or NONE */
};

static void index_edges(struct solving *s) {
    const struct graph *g = s->graph;
    for (size_t i = 0; i < g->edge_count; i++) {
        s->first[g->edges[i].from + 1]++;
        s->missing[g->edges[i].to]++;
    }
    for (size_t i = 0; i < g->count; i++)
        s->first[i + 1] += s->first[i];
    uint32_t *next = xcalloc(g->count + 1, sizeof(*next));
    for (size_t i = 0; i < g->edge_count; i++) {
        uint32_t from = g->edges[i].from;
        s->out[s->first[from] + next[from]++] = (uint32_t)i;
    }
    free(next);
}

/* What each task counts in the chain. */
static int64_t weight(const struct graph_node *node, bool by_length) {
    return by_length ? 1 : node->left;
}

static void reach(struct solving *s, uint32_t edge, bool by_length) {
    struct graph *g = s->graph;
    uint32_t from = g->edges[edge].from, to = g->edges[edge].to;
    if (g->nodes[to].level <= g->nodes[from].level)
        g->nodes[to].level = g->nodes[from].level + 1;
    int64_t length = s->longest[from] + weight(&g->nodes[to], by_length);
    if (g->edges[edge].orders && length > s->longest[to]) {
        s->longest[to] = length;
        s->by[to] = edge;
    }
}

static void settle_all(struct solving *s, bool by_length) {
    struct graph *g = s->graph;
    size_t head = 0, tail = 0;
    for (uint32_t i = 0; i < g->count; i++) {
        s->longest[i] = weight(&g->nodes[i], by_length);
        s->by[i] = NONE;
        if (s->missing[i] == 0)
            s->queue[tail++] = i;
    }
    while (head < tail) {
        uint32_t node = s->queue[head++];
        for (uint32_t k = s->first[node]; k < s->first[node + 1]; k++) {
            reach(s, s->out[k], by_length);
            uint32_t to = g->edges[s->out[k]].to;
            if (--s->missing[to] == 0)
                s->queue[tail++] = to;
        }
    }
}

/* From the end of the longest chain back to its beginning. Alone, a task is no chain. */
static void mark_critical(struct solving *s) {
    struct graph *g = s->graph;
    uint32_t best = NONE;
    for (uint32_t i = 0; i < g->count; i++)
        if (best == NONE || s->longest[i] > s->longest[best])
            best = i;
    if (best == NONE || s->by[best] == NONE)
        return;
    while (best != NONE) {
        uint32_t edge = s->by[best];
        g->nodes[best].critical = true;
        if (edge != NONE)
            g->edges[edge].critical = true;
        best = edge == NONE ? NONE : g->edges[edge].from;
    }
}

void graph_solve(struct graph *graph) {
    size_t count = graph->count + 1;
    struct solving s = { .graph = graph };
    s.first = xcalloc(count + 1, sizeof(*s.first));
    s.out = xcalloc(graph->edge_count + 1, sizeof(*s.out));
    s.missing = xcalloc(count, sizeof(*s.missing));
    s.queue = xcalloc(count, sizeof(*s.queue));
    s.longest = xcalloc(count, sizeof(*s.longest));
    s.by = xcalloc(count, sizeof(*s.by));
    bool by_length = true;
    for (size_t i = 0; i < graph->count; i++)
        by_length = by_length && graph->nodes[i].left == 0;
    index_edges(&s);
    settle_all(&s, by_length);
    mark_critical(&s);
    free(s.first);
    free(s.out);
    free(s.missing);
    free(s.queue);
    free(s.longest);
    free(s.by);
}
