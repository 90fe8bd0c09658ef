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

/* --- the graph ------------------------------------------------------------------------------- */

/* Level:     0 if nothing in the graph precedes the task, else one more than the highest level
 *            before it.
 * Critical:  on the chain that takes longest, by remaining run time; if no time remains, the chain
 *            with the most tasks. With enough slots, only shortening it finishes sooner.
 * Costs O(nodes + edges). */
struct graph_node {
    task_id task;
    time_ms left;   /* expected remaining run time; 0: none */
    uint32_t level; /* set by graph_solve */
    bool critical;
    unsigned marks; /* owned by the caller */
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
    bool truncated; /* there were more than `max` nodes or `edge_max` edges */
    struct id_map map;
};

#define NO_EDGE UINT32_MAX

static bool same_task(const void *ctx, uint32_t handle, const void *key) {
    return ((const struct graph *)ctx)->nodes[handle - 1].task == *(const task_id *)key;
}

static struct graph_node *graph_find(const struct graph *graph, task_id task) {
    uint32_t handle = id_map_find(&graph->map, hash_u64(task), &task);
    return handle ? &graph->nodes[handle - 1] : NULL;
}

/* Finds or adds the node of a task; NULL: too many. Invalidates pointers to other nodes. */
static struct graph_node *graph_add(struct graph *graph, task_id task) {
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

struct solving {
    struct graph *graph;
    uint32_t *first;   /* of node i: out[first[i] .. first[i + 1]) */
    uint32_t *out;     /* edges, by `from` */
    uint32_t *missing; /* number of unsettled predecessors */
    uint32_t *queue;
    int64_t *longest; /* up to its end */
    uint32_t *by;     /* the edge on its longest chain; or NONE */
};

static int64_t weight(const struct graph_node *node, bool by_length) {
    return by_length ? 1 : node->left;
}

static void reach_node(struct solving *s, uint32_t edge, bool by_length) {
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
        s->by[i] = NO_EDGE;
        if (s->missing[i] == 0)
            s->queue[tail++] = i;
    }
    while (head < tail) {
        uint32_t node = s->queue[head++];
        for (uint32_t k = s->first[node]; k < s->first[node + 1]; k++) {
            reach_node(s, s->out[k], by_length);
            uint32_t to = g->edges[s->out[k]].to;
            if (--s->missing[to] == 0)
                s->queue[tail++] = to;
        }
    }
}

/* From the end of the longest chain back to its beginning. A single task is not a chain. */
static void mark_critical(struct solving *s) {
    struct graph *g = s->graph;
    uint32_t best = NO_EDGE;
    for (uint32_t i = 0; i < g->count; i++)
        if (best == NO_EDGE || s->longest[i] > s->longest[best])
            best = i;
    if (best == NO_EDGE || s->by[best] == NO_EDGE)
        return;
    while (best != NO_EDGE) {
        uint32_t edge = s->by[best];
        g->nodes[best].critical = true;
        if (edge != NO_EDGE)
            g->edges[edge].critical = true;
        best = edge == NO_EDGE ? NO_EDGE : g->edges[edge].from;
    }
}

/* Sets `level` and `critical`. A cycle, which the core never admits, is left unsettled. */
static void graph_solve(struct graph *graph) {
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
    for (size_t i = 0; i < graph->edge_count; i++) {
        s.first[graph->edges[i].from + 1]++;
        s.missing[graph->edges[i].to]++;
    }
    for (size_t i = 0; i < graph->count; i++)
        s.first[i + 1] += s.first[i];
    uint32_t *next = s.queue; /* settle_all has not used it yet */
    for (size_t i = 0; i < graph->edge_count; i++) {
        uint32_t from = graph->edges[i].from;
        s.out[s.first[from] + next[from]++] = (uint32_t)i;
    }
    settle_all(&s, by_length);
    mark_critical(&s);
    free(s.first);
    free(s.out);
    free(s.missing);
    free(s.queue);
    free(s.longest);
    free(s.by);
}

#define NODES_DEFAULT  2000
#define NODES_MAX      20000
#define EDGES_EACH     5u      /* of each node, on average */
#define WALKED_EACH    20000u  /* numbers, in one turn */
#define WALKED_MAX     400000u /* in all */
#define PRINTED_EACH   2000u   /* nodes, in one turn; twice as many edges */
#define NEIGHBOURS_MAX 10000u  /* of one task */

enum { SPREAD_UP = 1, SPREAD_DOWN = 2 }; /* towards prerequisites, towards dependants */

struct drawing {
    struct graph graph;
    const char **titles; /* of the nodes, in the arena */
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

static void drawing_finish(void *state) {
    struct graph *graph = &((struct drawing *)state)->graph;
    if (!graph->max)
        return;
    id_map_finish(&graph->map);
    free(graph->nodes);
    free(graph->edges);
    *graph = (struct graph){ 0 };
}

static struct drawing *drawing_of(struct op_call *call) {
    return op_state(call, sizeof(struct drawing), drawing_finish);
}

/* --- which tasks ----------------------------------------------------------------------------- */

static size_t most(size_t count) {
    return count < NEIGHBOURS_MAX ? count : NEIGHBOURS_MAX;
}

/* Found tasks, each expanded once. */
struct spreading {
    struct drawing *drawing;
    const struct core *core;
    unsigned mark; /* for this direction */
    task_id *queue;
    size_t head, tail;
};

static void add_found(void *ctx, task_id task) {
    struct spreading *s = ctx;
    struct task_view t;
    struct graph_node *node =
        core_task(s->core, task, &t) ? graph_add(&s->drawing->graph, task) : NULL;
    if (!node || (node->marks & s->mark))
        return;
    node->marks |= s->mark;
    s->queue[s->tail++] = task;
}

static void add_each(struct spreading *s, size_t count) {
    for (size_t i = 0; i < most(count); i++)
        add_found(s, s->drawing->buffer[i]);
}

static void find_neighbours(struct spreading *s, task_id task) {
    const struct core *core = s->core;
    struct task_view t;
    task_id *buffer = s->drawing->buffer;
    if (!core_task(core, task, &t))
        return;
    if (s->mark == SPREAD_UP) {
        add_each(s, core_task_depends(core, task, buffer, NEIGHBOURS_MAX));
        add_found(s, t.parent);
    } else {
        add_each(s, core_task_children(core, task, buffer, NEIGHBOURS_MAX));
        core_each_dependant(core, task, add_found, s);
    }
}

/* Everything before the root, or everything after it. */
static void spread(struct op_call *call, struct drawing *d, unsigned direction) {
    struct spreading s = { .drawing = d, .core = engine_core(call->engine), .mark = direction };
    s.queue = arena_alloc(op_arena(call), (d->graph.max + 1) * sizeof(*s.queue));
    add_found(&s, d->root);
    while (s.head < s.tail)
        find_neighbours(&s, s.queue[s.head++]);
}

static void take_members(struct op_call *call, struct drawing *d, bool drafts) {
    size_t max = d->graph.max + 1;
    task_id *members = arena_alloc(op_arena(call), max * sizeof(*members));
    size_t count = core_group_members(engine_core(call->engine), d->group, drafts, members, max);
    for (size_t i = 0; i < count && i < max; i++)
        (void)graph_add(&d->graph, members[i]);
}

static void add_known(const struct core *core, struct drawing *d, task_id task) {
    struct task_view t;
    if (core_task(core, task, &t))
        (void)graph_add(&d->graph, task);
}

static int connect(struct op_call *call);

static int walk(struct op_call *call) {
    struct drawing *d = drawing_of(call);
    const struct core *core = engine_core(call->engine);
    for (unsigned i = 0; i < WALKED_EACH && d->walk > 0 && !d->graph.truncated; i++, d->walk--) {
        struct task_view t;
        if (core_task(core, d->walk, &t) && (!d->project || t.project == d->project)
            && (d->finished_too || !task_state_is_final(t.state)))
            (void)graph_add(&d->graph, d->walk);
    }
    d->walked += WALKED_EACH;
    if (d->walk > 0 && !d->graph.truncated && d->walked < WALKED_MAX)
        return op_yield(call, walk);
    d->graph.truncated = d->graph.truncated || d->walk > 0;
    if (!d->finished_too) {
        /* Final tasks that an open one directly depends on explain its position. */
        size_t open = d->graph.count;
        for (size_t i = 0; i < open; i++) {
            struct task_view t;
            if (!core_task(core, d->graph.nodes[i].task, &t))
                continue;
            size_t count = core_task_depends(core, t.id, d->buffer, NEIGHBOURS_MAX);
            for (size_t k = 0; k < most(count); k++)
                add_known(core, d, d->buffer[k]);
            add_known(core, d, t.parent);
        }
    }
    return op_yield(call, connect);
}

/* --- what goes before what ------------------------------------------------------------------- */

static time_ms left_of(const struct engine *engine, const struct task_view *t) {
    if (task_state_is_final(t->state))
        return 0;
    time_ms expected = engine_expected_run(engine, t->project, t->kind);
    time_ms elapsed = t->started_at > 0 ? engine_now(engine) - t->started_at : 0;
    return time_max(expected - elapsed, expected / 10 + 1);
}

static void connect_one(struct op_call *call, struct drawing *d, struct graph_node *node) {
    const struct core *core = engine_core(call->engine);
    struct task_spec spec;
    struct task_view t;
    if (!core_task(core, node->task, &t) || !core_task_spec(core, node->task, &spec))
        return;
    node->left = left_of(call->engine, &t);
    size_t count = core_task_depends(core, t.id, d->buffer, NEIGHBOURS_MAX);
    for (size_t i = 0; i < most(count); i++)
        graph_connect(&d->graph, d->buffer[i], t.id, false, true);
    if (t.parent)
        graph_connect(&d->graph, t.parent, t.id, true, spec.parent_gate == PARENT_DONE);
}

static int query_titles(struct op_call *call);

static int connect(struct op_call *call) {
    struct drawing *d = drawing_of(call);
    if (d->graph.count > 1)
        qsort(d->graph.nodes, d->graph.count, sizeof(*d->graph.nodes), by_task);
    id_map_finish(&d->graph.map);
    id_map_init(&d->graph.map, same_task, &d->graph);
    for (size_t i = 0; i < d->graph.count; i++)
        id_map_add(&d->graph.map, hash_u64(d->graph.nodes[i].task), (uint32_t)(i + 1));
    for (size_t i = 0; i < d->graph.count; i++)
        connect_one(call, d, &d->graph.nodes[i]);
    graph_solve(&d->graph);
    d->titles = arena_alloc(op_arena(call), (d->graph.count + 1) * sizeof(*d->titles));
    d->buffer = arena_alloc(op_arena(call), (d->graph.count + 1) * sizeof(*d->buffer));
    for (size_t i = 0; i < d->graph.count; i++)
        d->buffer[i] = d->graph.nodes[i].task;
    return op_wait_ready(call, engine_forecast, query_titles);
}

/* --- the answer ------------------------------------------------------------------------------ */

static void take_titles(struct op_call *call, const struct store_answer *answer) {
    struct drawing *d = drawing_of(call);
    for (size_t k = 0; k < answer->count; k++) {
        const struct graph_node *node = graph_find(&d->graph, answer->specs[k].id);
        const char *title = answer->specs[k].title;
        if (node && title)
            d->titles[node - d->graph.nodes] = arena_strdup(op_arena(call), title);
    }
}

static int begin_print(struct op_call *call);

static int rest_for_titles(struct op_call *call) {
    return op_yield(call, query_titles);
}

static int query_titles(struct op_call *call) {
    struct drawing *d = drawing_of(call);
    size_t from = d->at, left = d->graph.count - from;
    if (left == 0)
        return begin_print(call);
    size_t count = left < STORE_ANSWER_MAX ? left : STORE_ANSWER_MAX;
    d->at += count;
    struct store_query question = {
        .kind = QUERY_TITLES, .tasks = d->buffer + from, .task_count = count, .limit = count
    };
    return op_query(call, &question, take_titles, rest_for_titles);
}

/* clang-format off */
#define GRAPH_NODE(X) \
    X(print_id, "id", T_ID, "its id", NULL, engine, node->task) \
    X(print_text, "title", T_TEXT | T_NULL, "its title", "write the parser", d->titles[i]) \
    X(print_text, "project", T_TEXT, "its project", "web", op_name_of(engine, t.project)) \
    X(print_text, "kind", T_TEXT | T_NULL, "its kind", "implement", op_name_of(engine, t.kind)) \
    X(print_text, "agent", T_TEXT | T_NULL, "its agent", "claude", op_name_of(engine, t.agent)) \
    X(print_text, "state", T_WORD, "its state", &words_state, task_state_name(t.state)) \
    X(print_text, "hold", T_WORD | T_NULL, "why it is held", &words_hold, t.state == TASK_HELD ? hold_name(t.hold) : NULL) \
    X(print_text, "gate", T_TEXT | T_NULL, "the first gate that stops it", "dependency", blocked ? strbuf_text(&gate) : NULL) \
    X(print_id, "parent", T_ID | T_NULL, "the task that it is below", NULL, engine, t.parent) \
    X(print_time, "started_at", T_TIME | T_NULL, "when its run started", NULL, t.started_at) \
    X(print_time, "forecast", T_TIME | T_NULL, "when it would start if runs take as long as usual", NULL, engine_forecast_start(engine, node->task)) \
    X(print_int, "left_ms", T_SPAN, "what is expected to be left of it", NULL, node->left) \
    X(print_int, "level", T_INT, "how many steps stand before it", NULL, node->level) \
    X(print_bool, "critical", T_BOOL, "it is on the chain that takes longest, by `left_ms`, or by its length when all are final", NULL, node->critical)
static const struct shape graph_node_shape = { "GraphNode", "a task in a graph", .members = SHAPE_ALL(GRAPH_NODE) };
/* clang-format on */

static void print_node(struct op_call *call, struct json_writer *w, size_t i) {
    const struct drawing *d = drawing_of(call);
    const struct graph_node *node = &d->graph.nodes[i];
    const struct engine *engine = call->engine;
    struct task_view t;
    struct verdict first;
    if (!core_task(engine_core(engine), node->task, &t))
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
    X(print_id, "from", T_ID, "what comes first; of a `parent` the parent", NULL, call->engine, d->graph.nodes[edge->from].task) \
    X(print_id, "to", T_ID, "what comes after it", NULL, call->engine, d->graph.nodes[edge->to].task) \
    X(print_text, "type", T_WORD, "what it is", &words_edge, edge->is_parent ? "parent" : "dependency") \
    X(print_bool, "critical", T_BOOL, "it is on that chain", NULL, edge->critical)
static const struct shape graph_edge_shape = { "GraphEdge", "an edge in a graph", .members = SHAPE_ALL(GRAPH_EDGE) };
/* clang-format on */

static void print_edge(struct op_call *call, struct json_writer *w, size_t i) {
    const struct drawing *d = drawing_of(call);
    const struct graph_edge *edge = &d->graph.edges[i];
    struct task_view t;
    if (!core_task(engine_core(call->engine), d->graph.nodes[edge->from].task, &t)
        || !core_task(engine_core(call->engine), d->graph.nodes[edge->to].task, &t))
        return; /* deleted while the nodes were printed */
    SHAPE_OBJECT(GRAPH_EDGE)
}

static int print_edges(struct op_call *call) {
    struct drawing *d = drawing_of(call);
    for (size_t i = 0; i < 2 * PRINTED_EACH && d->at < d->graph.edge_count; i++)
        print_edge(call, &d->w, d->at++);
    if (d->at < d->graph.edge_count)
        return op_yield(call, print_edges);
    json_write_array_end(&d->w);
    time_ms left = 0;
    for (size_t i = 0; i < d->graph.count; i++)
        left += d->graph.nodes[i].critical ? d->graph.nodes[i].left : 0;
    print_int(&d->w, "critical_ms", left);
    print_bool(&d->w, "truncated", d->graph.truncated);
    json_write_object_end(&d->w);
    return 0;
}

static int print_nodes(struct op_call *call) {
    struct drawing *d = drawing_of(call);
    for (size_t i = 0; i < PRINTED_EACH && d->at < d->graph.count; i++)
        print_node(call, &d->w, d->at++);
    if (d->at < d->graph.count)
        return op_yield(call, print_nodes);
    json_write_array_end(&d->w);
    print_list(&d->w, "edges");
    d->at = 0;
    return op_yield(call, print_edges);
}

static int begin_print(struct op_call *call) {
    struct drawing *d = drawing_of(call);
    d->at = 0;
    d->w = op_begin(call);
    print_list(&d->w, "nodes");
    return print_nodes(call);
}

/* --- the operation --------------------------------------------------------------------------- */

static int take_names(struct op_call *call, struct drawing *d) {
    const char *project = op_text(call, "project"), *group = op_text(call, "group");
    const char *root = op_text(call, "root"), *state = op_text(call, "state");
    if ((project != NULL) + (group != NULL) + (root != NULL) > 1)
        return op_fail(call, -EINVAL, "give one of 'project', 'group' and 'root', not several");
    d->finished_too = state && strcmp(state, "all") == 0;
    if (project) {
        const struct engine_project *p = op_project(call, project);
        d->project = p ? p->symbol : 0;
    }
    if (group) {
        const struct engine_group *g = op_group(call, group);
        d->group = g ? g->id : 0;
    }
    if (root)
        d->root = op_named_task(call, root);
    return call->err.code;
}

static int run(struct op_call *call) {
    struct drawing *d = drawing_of(call);
    size_t limit = (size_t)op_number(call, "limit", NODES_DEFAULT);
    struct graph *graph = &d->graph;
    *graph = (struct graph){ .max = limit, .edge_max = (EDGES_EACH * limit) };
    id_map_init(&graph->map, same_task, graph);
    int r = take_names(call, d);
    if (r < 0)
        return r;
    d->buffer = arena_alloc(op_arena(call), NEIGHBOURS_MAX * sizeof(*d->buffer));
    d->walk = engine_last_task(call->engine);
    if (d->root) {
        spread(call, d, SPREAD_UP);
        spread(call, d, SPREAD_DOWN);
    } else if (d->group) {
        take_members(call, d, false);
        take_members(call, d, true);
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
