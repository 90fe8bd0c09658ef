/* op_task_graph.c: dependencies as nodes and edges.
 *
 * Without a root: the open tasks, newest first, and the final ones that they directly depend on.
 * With a root: everything that it waits for and everything that waits for it. A large graph is
 * built in pieces, one per turn, so that other calls are served in between: tasks deleted meanwhile
 * are left out, added ones are not seen. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/hash.h"
#include "base/id_map.h"
#include "core/model.h"
#include "engine/outlook.h"
#include "ops/print.h"

#define NODES_DEFAULT  2000
#define NODES_MAX      20000
#define EDGES_EACH     5u      /* of each node, on average */
#define WALKED_EACH    20000u  /* numbers, in one turn */
#define WALKED_MAX     400000u /* in all */
#define PRINTED_EACH   2000u   /* nodes, in one turn; twice as many edges */
#define NEIGHBOURS_MAX 10000u  /* of one task */

enum { SPREAD_UP = 1, SPREAD_DOWN = 2 }; /* towards prerequisites, towards dependants */

/* --- the graph ------------------------------------------------------------------------------- */

/* Level:     0 if nothing in the graph precedes the task, else one more than the highest level
 *            before it.
 * Critical:  on the chain that takes longest, by remaining run time; if no time remains, the chain
 *            with the most tasks. With enough slots, only shortening it finishes sooner.
 * Costs O(nodes + edges). */
struct graph_node {
    task_id task;
    const char *title;
    time_ms left;   /* expected remaining run time; 0: none */
    uint32_t level; /* set by graph_solve */
    bool critical;
    unsigned marks; /* the directions in which its neighbours were searched */
    /* For graph_solve. */
    uint32_t first;   /* the first edge from here, or NO_EDGE */
    uint32_t missing; /* number of unsettled predecessors */
    int64_t longest;  /* the longest chain up to its end */
    uint32_t by;      /* the edge on that chain, or NO_EDGE */
};

struct graph_edge {
    uint32_t from, to; /* positions of nodes */
    uint32_t next;     /* the next edge from the same node, or NO_EDGE */
    bool is_parent;    /* else a dependency */
    bool orders;       /* `to` waits for `from` */
    bool critical;
};

/* The state of the call. */
struct graph {
    struct op_rows rows; /* the titles that were queried last */
    struct graph_node *nodes;
    size_t count, node_capacity, max;
    struct graph_edge *edges;
    size_t edge_count, edge_capacity, edge_max;
    bool truncated; /* there were more than `max` nodes or `edge_max` edges */
    struct id_map map;
    struct json_writer w;
    sym project;
    uint32_t group;
    task_id root;
    task_id walk; /* the next number to visit */
    unsigned walked;
    bool finished_too; /* final tasks are included */
    task_id *buffer;   /* NEIGHBOURS_MAX */
    size_t at;         /* the next node to title or print */
};

#define NO_EDGE UINT32_MAX

static void graph_finish(void *state) {
    struct graph *graph = state;
    id_map_finish(&graph->map);
    free(graph->nodes);
    free(graph->edges);
}

static struct graph *graph_of(struct op_call *call) {
    return op_state(call, sizeof(struct graph), graph_finish);
}

static bool same_task(const void *ctx, uint32_t handle, const void *key) {
    return ((const struct graph *)ctx)->nodes[handle - 1].task == *(const task_id *)key;
}

static struct graph_node *graph_find(const struct graph *graph, task_id task) {
    uint32_t handle = id_map_find(&graph->map, hash_u64(task), &task);
    return handle ? &graph->nodes[handle - 1] : NULL;
}

/* Finds or adds the node of a task; NULL: too many, or deleted. Invalidates pointers to other
 * nodes. */
static struct graph_node *graph_add(struct graph *graph, const struct core *core, task_id task) {
    struct graph_node *node = graph_find(graph, task);
    struct task_view t;
    if (node || !core_task(core, task, &t))
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

/* The dependencies of a task, at most NEIGHBOURS_MAX, in `buffer`. */
static size_t find_depends(struct graph *g, const struct core *core, task_id task) {
    size_t count = core_task_depends(core, task, g->buffer, NEIGHBOURS_MAX);
    return count < NEIGHBOURS_MAX ? count : NEIGHBOURS_MAX;
}

/* Ignored unless both are nodes. */
static void graph_connect(struct graph *graph, task_id from, task_id to, bool is_parent,
                          bool orders) {
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

/* --- levels and the longest chain ------------------------------------------------------------ */

static void reach_node(struct graph *g, uint32_t edge, bool by_length) {
    const struct graph_node *from = &g->nodes[g->edges[edge].from];
    struct graph_node *to = &g->nodes[g->edges[edge].to];
    if (to->level <= from->level)
        to->level = from->level + 1;
    int64_t length = from->longest + (by_length ? 1 : to->left);
    if (g->edges[edge].orders && length > to->longest) {
        to->longest = length;
        to->by = edge;
    }
}

/* From the end of the longest chain back to its beginning. A single task is not a chain. */
static void mark_critical(struct graph *g) {
    struct graph_node *node = g->nodes;
    for (size_t i = 1; i < g->count; i++)
        if (g->nodes[i].longest > node->longest)
            node = &g->nodes[i];
    while (g->count > 0 && node->by != NO_EDGE) {
        struct graph_edge *edge = &g->edges[node->by];
        node->critical = edge->critical = true;
        node = &g->nodes[edge->from];
        node->critical = true;
    }
}

/* Sets `level` and `critical`. A cycle, which the core never admits, is left unsettled. */
static void graph_solve(struct graph *g) {
    _cleanup_(freep) uint32_t *queue = xcalloc(g->count + 1, sizeof(*queue));
    size_t head = 0, tail = 0;
    bool by_length = true;
    for (size_t i = 0; i < g->count; i++)
        by_length = by_length && g->nodes[i].left == 0;
    for (size_t i = 0; i < g->count; i++) {
        struct graph_node *node = &g->nodes[i];
        node->first = node->by = NO_EDGE;
        node->longest = by_length ? 1 : node->left;
    }
    for (size_t i = g->edge_count; i-- > 0;) {
        struct graph_edge *edge = &g->edges[i];
        edge->next = g->nodes[edge->from].first;
        g->nodes[edge->from].first = (uint32_t)i;
        g->nodes[edge->to].missing++;
    }
    for (size_t i = 0; i < g->count; i++)
        if (g->nodes[i].missing == 0)
            queue[tail++] = (uint32_t)i;
    while (head < tail)
        for (uint32_t edge = g->nodes[queue[head++]].first; edge != NO_EDGE;
             edge = g->edges[edge].next) {
            reach_node(g, edge, by_length);
            if (--g->nodes[g->edges[edge].to].missing == 0)
                queue[tail++] = g->edges[edge].to;
        }
    mark_critical(g);
}

/* --- the answer ------------------------------------------------------------------------------ */

/* clang-format off */
#define GRAPH_NODE(X) \
    X(print_id, "id", T_ID, "its id", NULL, engine, node->task) \
    X(json_put_string, "title", T_TEXT | T_NULL, "its title", "write the parser", node->title) \
    X(json_put_string, "project", T_TEXT, "its project", "web", op_name_of(engine, t.project)) \
    X(json_put_string, "kind", T_TEXT | T_NULL, "its kind", "implement", op_name_of(engine, t.kind)) \
    X(json_put_string, "agent", T_TEXT | T_NULL, "its agent", "claude", op_name_of(engine, t.agent)) \
    X(json_put_string, "group", T_TEXT | T_NULL, "its group", "night", op_group_name(engine, spec.group)) \
    X(json_put_string, "state", T_WORD, "its state", &words_state, task_state_name(t.state)) \
    X(json_put_string, "hold", T_WORD | T_NULL, "why it is held", &words_hold, t.state == TASK_HELD ? hold_name(t.hold) : NULL) \
    X(json_put_string, "gate", T_TEXT | T_NULL, "the first gate that stops it", "dependency", blocked ? strbuf_text(&gate) : NULL) \
    X(print_id, "parent", T_ID | T_NULL, "the task that it is below", NULL, engine, t.parent) \
    X(print_time, "started_at", T_TIME | T_NULL, "when its run started", NULL, t.started_at) \
    X(print_time, "forecast", T_TIME | T_NULL, "when it would start if runs take as long as usual", NULL, engine_forecast_start(engine, node->task)) \
    X(json_put_int, "left_ms", T_SPAN, "what is expected to be left of it", NULL, node->left) \
    X(json_put_int, "level", T_INT, "how many steps stand before it", NULL, node->level) \
    X(json_put_bool, "critical", T_BOOL, "it is on the chain that takes longest, by `left_ms`, or by its length when all are final", NULL, node->critical)
static const struct shape graph_node_shape = { "GraphNode", "a task in a graph", .members = SHAPE_ALL(GRAPH_NODE) };
/* clang-format on */

static void print_node(struct op_call *call, struct json_writer *w, size_t i) {
    const struct graph *g = graph_of(call);
    const struct graph_node *node = &g->nodes[i];
    const struct engine *engine = call->engine;
    struct task_view t;
    struct verdict first;
    struct task_spec spec;
    if (!core_task(engine_core(engine), node->task, &t)
        || !core_task_spec(engine_core(engine), node->task, &spec))
        return;
    json_write_object_begin(w);
    _cleanup_(strbuf_finish) struct strbuf gate = STRBUF_INIT;
    bool blocked = core_blocked(engine_core(engine), node->task, &first);
    if (blocked)
        verdict_code(&first, op_symbols(engine), &gate);
    GRAPH_NODE(SHAPE_PRINT)
    json_write_object_end(w);
}

static const struct words words_edge = { "EdgeType",
                                         (const char *const[]){ "dependency", "parent", NULL } };

/* clang-format off */
#define GRAPH_EDGE(X) \
    X(print_id, "from", T_ID, "what comes first; of a `parent` the parent", NULL, call->engine, g->nodes[edge->from].task) \
    X(print_id, "to", T_ID, "what comes after it", NULL, call->engine, g->nodes[edge->to].task) \
    X(json_put_string, "type", T_WORD, "what it is", &words_edge, edge->is_parent ? "parent" : "dependency") \
    X(json_put_bool, "critical", T_BOOL, "it is on that chain", NULL, edge->critical)
static const struct shape graph_edge_shape = { "GraphEdge", "an edge in a graph", .members = SHAPE_ALL(GRAPH_EDGE) };
/* clang-format on */

static void print_edge(struct op_call *call, struct json_writer *w, size_t i) {
    const struct graph *g = graph_of(call);
    const struct graph_edge *edge = &g->edges[i];
    struct task_view t;
    if (!core_task(engine_core(call->engine), g->nodes[edge->from].task, &t)
        || !core_task(engine_core(call->engine), g->nodes[edge->to].task, &t))
        return; /* deleted while the nodes were printed */
    SHAPE_OBJECT(GRAPH_EDGE)
}

static int print_edges(struct op_call *call) {
    struct graph *g = graph_of(call);
    for (size_t i = 0; i < 2 * PRINTED_EACH && g->at < g->edge_count; i++)
        print_edge(call, &g->w, g->at++);
    if (g->at < g->edge_count)
        return op_yield(call, print_edges);
    json_write_array_end(&g->w);
    time_ms left = 0;
    for (size_t i = 0; i < g->count; i++)
        left += g->nodes[i].critical ? g->nodes[i].left : 0;
    json_put_int(&g->w, "critical_ms", left);
    json_put_bool(&g->w, "truncated", g->truncated);
    json_write_object_end(&g->w);
    return 0;
}

static int print_nodes(struct op_call *call) {
    struct graph *g = graph_of(call);
    for (size_t i = 0; i < PRINTED_EACH && g->at < g->count; i++)
        print_node(call, &g->w, g->at++);
    if (g->at < g->count)
        return op_yield(call, print_nodes);
    json_write_array_end(&g->w);
    json_put_array(&g->w, "edges");
    g->at = 0;
    return op_yield(call, print_edges);
}

/* --- what goes before what ------------------------------------------------------------------- */

static time_ms left_of(const struct engine *engine, const struct task_view *t) {
    if (task_state_is_final(t->state))
        return 0;
    time_ms expected = engine_expected_run(engine, t->project, t->kind);
    time_ms elapsed = t->started_at > 0 ? engine_now(engine) - t->started_at : 0;
    return time_max(expected - elapsed, expected / 10 + 1);
}

static void connect_one(struct op_call *call, struct graph *g, struct graph_node *node) {
    const struct core *core = engine_core(call->engine);
    struct task_spec spec;
    struct task_view t;
    if (!core_task(core, node->task, &t) || !core_task_spec(core, node->task, &spec))
        return;
    node->left = left_of(call->engine, &t);
    size_t count = find_depends(g, core, t.id);
    for (size_t i = 0; i < count; i++)
        graph_connect(g, g->buffer[i], t.id, false, true);
    if (t.parent)
        graph_connect(g, t.parent, t.id, true, spec.parent_gate == PARENT_DONE);
}

static int query_titles(struct op_call *call);

static int take_titles(struct op_call *call) {
    struct graph *g = graph_of(call);
    for (size_t i = 0; i < g->rows.count; i++)
        g->nodes[g->at++].title = g->rows.titles[i];
    return op_yield(call, query_titles);
}

static int query_titles(struct op_call *call) {
    struct graph *g = graph_of(call);
    size_t left = g->count - g->at;
    g->rows.tasks = g->buffer + g->at;
    g->rows.count = left < STORE_ANSWER_MAX ? left : STORE_ANSWER_MAX;
    if (left > 0)
        return op_query_titles(call, &g->rows, take_titles);
    g->at = 0;
    g->w = op_begin(call);
    json_put_array(&g->w, "nodes");
    return print_nodes(call);
}

static int connect(struct op_call *call) {
    struct graph *g = graph_of(call);
    if (g->count > 1)
        qsort(g->nodes, g->count, sizeof(*g->nodes), by_task);
    id_map_finish(&g->map);
    id_map_init(&g->map, same_task, g);
    for (size_t i = 0; i < g->count; i++)
        id_map_add(&g->map, hash_u64(g->nodes[i].task), (uint32_t)(i + 1));
    for (size_t i = 0; i < g->count; i++)
        connect_one(call, g, &g->nodes[i]);
    graph_solve(g);
    g->buffer = arena_alloc(op_arena(call), (g->count + 1) * sizeof(*g->buffer));
    for (size_t i = 0; i < g->count; i++)
        g->buffer[i] = g->nodes[i].task;
    return op_wait_ready(call, engine_forecast, query_titles);
}

/* --- which tasks ----------------------------------------------------------------------------- */

/* Found tasks, each expanded once. */
struct spreading {
    struct graph *graph;
    const struct core *core;
    unsigned mark; /* for this direction */
    task_id *queue;
    size_t head, tail;
};

static void add_found(void *ctx, task_id task) {
    struct spreading *s = ctx;
    struct graph_node *node = graph_add(s->graph, s->core, task);
    if (!node || (node->marks & s->mark))
        return;
    node->marks |= s->mark;
    s->queue[s->tail++] = task;
}

static void find_neighbours(struct spreading *s, task_id task) {
    struct task_view t;
    task_id *buffer = s->graph->buffer;
    if (!core_task(s->core, task, &t))
        return;
    size_t count = s->mark == SPREAD_UP ? find_depends(s->graph, s->core, task)
                                        : core_task_children(s->core, task, buffer, NEIGHBOURS_MAX);
    for (size_t i = 0; i < count; i++)
        add_found(s, buffer[i]);
    if (s->mark == SPREAD_UP)
        add_found(s, t.parent);
    else
        core_each_dependant(s->core, task, add_found, s);
}

/* Everything before the root, or everything after it. */
static void spread(struct op_call *call, struct graph *g, unsigned direction) {
    struct spreading s = { .graph = g, .core = engine_core(call->engine), .mark = direction };
    s.queue = arena_alloc(op_arena(call), (g->max + 1) * sizeof(*s.queue));
    add_found(&s, g->root);
    while (s.head < s.tail)
        find_neighbours(&s, s.queue[s.head++]);
}

static void add_members(struct op_call *call, struct graph *g, bool drafts) {
    const struct core *core = engine_core(call->engine);
    size_t max = g->max + 1;
    task_id *members = arena_alloc(op_arena(call), max * sizeof(*members));
    size_t count = core_group_members(core, g->group, drafts, members, max);
    for (size_t i = 0; i < count && i < max; i++)
        (void)graph_add(g, core, members[i]);
}

static int walk(struct op_call *call) {
    struct graph *g = graph_of(call);
    const struct core *core = engine_core(call->engine);
    for (unsigned i = 0; i < WALKED_EACH && g->walk > 0 && !g->truncated; i++, g->walk--) {
        struct task_view t;
        if (core_task(core, g->walk, &t) && (!g->project || t.project == g->project)
            && (g->finished_too || !task_state_is_final(t.state)))
            (void)graph_add(g, core, g->walk);
    }
    g->walked += WALKED_EACH;
    if (g->walk > 0 && !g->truncated && g->walked < WALKED_MAX)
        return op_yield(call, walk);
    g->truncated = g->truncated || g->walk > 0;
    if (!g->finished_too) {
        /* Final tasks that an open one directly depends on explain its position. */
        size_t open = g->count;
        for (size_t i = 0; i < open; i++) {
            struct task_view t;
            if (!core_task(core, g->nodes[i].task, &t))
                continue;
            size_t count = find_depends(g, core, t.id);
            for (size_t k = 0; k < count; k++)
                (void)graph_add(g, core, g->buffer[k]);
            (void)graph_add(g, core, t.parent);
        }
    }
    return op_yield(call, connect);
}

/* --- the operation --------------------------------------------------------------------------- */

static int take_names(struct op_call *call, struct graph *g) {
    const char *project = op_text(call, "project"), *group = op_text(call, "group");
    const char *root = op_text(call, "root"), *state = op_text(call, "state");
    if ((project != NULL) + (group != NULL) + (root != NULL) > 1)
        return op_fail(call, -EINVAL, "give one of 'project', 'group' and 'root', not several");
    g->finished_too = state && strcmp(state, "all") == 0;
    if (project) {
        const struct engine_project *found = op_project(call, project);
        g->project = found ? found->symbol : 0;
    }
    if (group) {
        const struct engine_group *found = op_group(call, group);
        g->group = found ? found->id : 0;
    }
    if (root)
        g->root = op_named_task(call, root);
    return call->err.code;
}

static int run(struct op_call *call) {
    struct graph *g = graph_of(call);
    size_t limit = (size_t)op_number(call, "limit", NODES_DEFAULT);
    g->max = limit;
    g->edge_max = EDGES_EACH * limit;
    id_map_init(&g->map, same_task, g);
    int r = take_names(call, g);
    if (r < 0)
        return r;
    g->buffer = arena_alloc(op_arena(call), NEIGHBOURS_MAX * sizeof(*g->buffer));
    g->walk = engine_last_task(call->engine);
    if (g->root) {
        spread(call, g, SPREAD_UP);
        spread(call, g, SPREAD_DOWN);
    } else if (g->group) {
        add_members(call, g, false);
        add_members(call, g, true);
    } else {
        return walk(call);
    }
    return op_yield(call, connect);
}

static const char *const states[] = { "open", "all", NULL };

const struct op op_task_graph = {
    OP("task.graph", "GET", "/v1/graph", "show what waits for what, as nodes and edges"),
    .text = "Of a project, or of everything, the newest tasks.",
    .params = PARAMS(
        OP_PARAM_FILTER("project", "tasks of this project"),
        OP_PARAM_FILTER("group", "the tasks of this group, finished or not"),
        OP_PARAM_FILTER(
            "root", "this task, all that it waits for and all that waits for it, finished or not"),
        PARAM(TEXT, QUERY, "state",
              .text = "of a project, or of everything: tasks that are not final (when not given), "
                      "with those that they directly wait for, or `all`",
              .choices = states),
        PARAM(NUMBER, QUERY, "limit", .text = "most nodes in the answer; 2,000 when not given",
              .min = 1, .max = NODES_MAX)),
    .answers = ANSWERS(
        { "nodes", T_OBJECT | T_LIST, "tasks, by number", &graph_node_shape },
        { "edges", T_OBJECT | T_LIST, "what comes first, and what after it", &graph_edge_shape },
        { "critical_ms", T_SPAN, "how long that chain is" },
        { "truncated", T_BOOL,
          "there are more tasks, or more than five edges for each node that was asked for" }),
    OP_READS(READ, NONE, run),
};
