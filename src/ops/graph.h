/* graph.h: tasks and what goes before what. Private to ops/.
 *
 * Life:      graph_add, graph_connect … → graph_solve → read nodes and edges → graph_finish
 * Levels:    0: nothing of the graph goes before it; else one more than the highest of what does.
 * Critical:  the chain that takes longest, by what is left of each task; when nothing is left, the longest
 *            one by its number of tasks. It is what must get shorter for all to be finished sooner, were
 *            there places enough. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/id_map.h"
#include "core/model.h"

struct graph_node {
    task_id task;
    time_ms left;   /* what is still to be run of it; 0: nothing */
    uint32_t level; /* graph_solve */
    bool critical;
    unsigned marks; /* the caller's */
};

struct graph_edge {
    uint32_t from, to; /* positions of nodes */
    bool is_parent;    /* else a dependency */
    bool orders;       /* `to` waits for `from` */
    bool critical;
};

struct graph {
    struct graph_node *nodes;
    size_t count, node_capacity, max;
    struct graph_edge *edges;
    size_t edge_count, edge_capacity, edge_max;
    bool truncated; /* there was more than `max` nodes or `edge_max` edges */
    struct id_map map;
};

void graph_init(struct graph *graph, size_t max, size_t edge_max);
void graph_finish(struct graph *graph);
/* The node of a task, new or not; NULL: there are too many. Moves all others. */
struct graph_node *graph_add(struct graph *graph, task_id task);
struct graph_node *graph_find(const struct graph *graph, task_id task); /* NULL: it is not there */
/* Nothing happens when one of them is not there. */
void graph_connect(struct graph *graph, task_id from, task_id to, bool is_parent, bool orders);
/* By number; then the edges must be added. */
void graph_sort(struct graph *graph);
void graph_solve(struct graph *graph);
