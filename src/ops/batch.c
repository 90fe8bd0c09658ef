/* batch.c: the names of a batch become numbers, and its arrows must not form a ring.
 *
 * A name of the batch wins over an id that looks the same: who wrote the file meant the task beside
 * it. Rings through tasks that are stored already cannot arise, because no stored task waits for
 * one that does not exist yet; where somebody forced that, the core refuses the batch. */
#include "ops/batch.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/hash.h"
#include "core/cycle.h"
#include "engine/allowance.h"
#include "engine/external_ids.h"
#include "ops/op_internal.h"

static bool same_name(const void *ctx, uint32_t handle, const void *key) {
    const struct batch *batch = ctx;
    return strcmp(batch->entries[handle - 1].s.name, key) == 0;
}

struct external_key {
    const char *project, *id;
};

static bool same_external(const void *ctx, uint32_t handle, const void *key) {
    const struct submission *s = &((const struct batch *)ctx)->entries[handle - 1].s;
    const struct external_key *wanted = key;
    return strcmp(s->external_id, wanted->id) == 0
           && strcmp(submission_project(s), wanted->project) == 0;
}

static uint64_t hash_external(const struct external_key *key) {
    return hash_mix(hash_bytes(key->id, strlen(key->id)),
                    hash_bytes(key->project, strlen(key->project)));
}

task_id batch_external(const struct batch *batch, const char *project, const char *external_id) {
    struct external_key key = { project, external_id };
    uint32_t index = id_map_find(&batch->externals, hash_external(&key), &key);
    return index ? batch->entries[index - 1].id : 0;
}

bool batch_adds(const struct batch_entry *entry) {
    return !entry->already && !entry->deferred;
}

const struct batch_entry *batch_entry_of(const struct batch *batch, task_id task) {
    if (task < batch->first || task - batch->first >= batch->added)
        return NULL;
    return &batch->entries[batch->by_number[task - batch->first]];
}

void batch_finish(struct batch *batch) {
    id_map_finish(&batch->names);
    id_map_finish(&batch->externals);
}

static int remember_name(struct batch *batch, const char *name, size_t index, struct error *err) {
    uint64_t hash = hash_bytes(name, strlen(name));
    uint32_t other = id_map_find(&batch->names, hash, name);
    if (other)
        return error_set(err, -EINVAL, "two tasks of this batch are called '%s': %u and %zu",
                         op_quote(name).text, other - 1, index);
    id_map_add(&batch->names, hash, (uint32_t)index + 1);
    return 0;
}

int batch_read(struct batch *batch, json_t *tasks, const char *body, struct error *err) {
    time_ms now = engine_now(batch->engine);
    const char *list = body ? json_span_member(body, "tasks") : NULL, *at = NULL;
    batch->count = json_array_size(tasks);
    batch->entries = arena_alloc(batch->arena, (batch->count + 1) * sizeof(*batch->entries));
    id_map_init(&batch->names, same_name, batch);
    id_map_init(&batch->externals, same_external, batch);
    for (size_t i = 0; i < batch->count; i++) {
        struct batch_entry *entry = &batch->entries[i];
        batch->index = i;
        int r = submission_read(json_array_get(tasks, i), now, batch->arena, &entry->s, err);
        if (r == 0 && entry->s.name)
            r = remember_name(batch, entry->s.name, i, err);
        if (r < 0)
            return r;
        if (list)
            (void)json_span_next(list, &at, &entry->span);
        if (entry->s.changed)
            entry->span.from = NULL;
    }
    return 0;
}

/* --- numbers --------------------------------------------------------------------------------- */

bool submission_waits(const struct batch *batch, const struct submission *s) {
    bool draft = batch->draft || s->draft == 1;
    bool held = s->hold == 1 || s->state || s->not_before > engine_now(batch->engine);
    return !draft && !held;
}

/* The task that has the external id of an entry already, in this batch or stored. */
static void find_external(const struct batch *batch, struct batch_entry *entry) {
    const char *project = submission_project(&entry->s), *id = entry->s.external_id;
    if (id)
        entry->id = batch_external(batch, project, id);
    if (id && !entry->id)
        entry->id = engine_find_external(batch->engine, project, id);
    entry->already = entry->id != 0;
}

static void give_number(struct batch *batch, struct batch_entry *entry) {
    const struct submission *s = &entry->s;
    find_external(batch, entry); /* again: an earlier entry may have brought it */
    if (entry->already || entry->deferred)
        return;
    batch->by_number[batch->added] = (uint32_t)(entry - batch->entries);
    entry->id = batch->first + batch->added++;
    if (s->external_id) {
        struct external_key key = { submission_project(s), s->external_id };
        id_map_add(&batch->externals, hash_external(&key), (uint32_t)(entry - batch->entries) + 1);
    }
    batch->queued += submission_waits(batch, s);
}

static int number_all(struct batch *batch, struct error *err) {
    batch->first = engine_next_task(batch->engine) + batch->skip;
    batch->by_number = arena_alloc(batch->arena, (batch->count + 1) * sizeof(*batch->by_number));
    for (size_t i = 0; i < batch->count; i++) {
        batch->index = i;
        int r = submission_check(batch, &batch->entries[i], err);
        if (r < 0)
            return r;
        find_external(batch, &batch->entries[i]);
    }
    if (batch->partial)
        batch_admit(batch, batch->room);
    for (size_t i = 0; i < batch->count; i++)
        give_number(batch, &batch->entries[i]);
    return 0;
}

/* --- rings ----------------------------------------------------------------------------------- */

struct graph {
    uint32_t *starts, *targets;
    uint32_t nodes, arrows;
};

static void graph_finish(struct graph *graph) {
    free(graph->starts);
    free(graph->targets);
}

static void add_arrow(const struct batch *batch, struct graph *graph, task_id to) {
    if (to >= batch->first && to - batch->first < batch->added)
        graph->targets[graph->arrows++] = (uint32_t)(to - batch->first);
}

/* Nodes are the tasks that are added, in the order of their numbers. */
static void graph_fill(const struct batch *batch, struct graph *graph) {
    size_t most = 0;
    for (size_t i = 0; i < batch->count; i++)
        most += batch->entries[i].depends_on_count + 1;
    graph->starts = xcalloc(batch->added + 1, sizeof(*graph->starts));
    graph->targets = xcalloc(most + 1, sizeof(*graph->targets));
    for (size_t i = 0; i < batch->count; i++) {
        const struct batch_entry *entry = &batch->entries[i];
        if (!batch_adds(entry))
            continue;
        graph->starts[graph->nodes++] = graph->arrows;
        for (size_t d = 0; d < entry->depends_on_count; d++)
            add_arrow(batch, graph, entry->depends_on[d]);
        if (submission_parent_gate(batch, entry) == PARENT_DONE)
            add_arrow(batch, graph, entry->parent);
    }
    graph->starts[graph->nodes] = graph->arrows;
}

static void print_node(const struct batch *batch, uint32_t node, struct strbuf *out) {
    const struct batch_entry *entry = batch_entry_of(batch, batch->first + node);
    if (entry->s.name)
        strbuf_puts(out, op_quote(entry->s.name).text);
    else
        strbuf_printf(out, "#%" PRIu64, entry->id);
}

#define RING_SHOWN 8 /* a longer one is shown by its beginning */

static int refuse_ring(struct batch *batch, const uint32_t *path, size_t length,
                       struct error *err) {
    _cleanup_(strbuf_finish) struct strbuf ring = STRBUF_INIT;
    for (size_t i = 0; i < length && i < RING_SHOWN; i++) {
        print_node(batch, path[i], &ring);
        strbuf_puts(&ring, " -> ");
    }
    if (length > RING_SHOWN)
        strbuf_printf(&ring, "… (%zu tasks) -> ", length);
    print_node(batch, path[0], &ring);
    batch->index = batch->by_number[path[0]];
    return error_set(err, -ELOOP, "dependency cycle detected: %s", strbuf_text(&ring));
}

static int check_rings(struct batch *batch, struct error *err) {
    _cleanup_(graph_finish) struct graph graph = { 0 };
    _cleanup_(freep) uint32_t *path = NULL;
    size_t length = 0;
    graph_fill(batch, &graph);
    if (graph.arrows == 0 || !cycle_find(graph.starts, graph.targets, graph.nodes, &path, &length))
        return 0;
    return refuse_ring(batch, path, length, err);
}

/* --- all of it ------------------------------------------------------------------------------- */

static int make_drafts(struct batch *batch, struct error *err) {
    size_t made = 0;
    batch->drafts = arena_alloc(batch->arena, (batch->added + 1) * sizeof(*batch->drafts));
    for (size_t i = 0; i < batch->count; i++) {
        batch->index = i;
        if (!batch_adds(&batch->entries[i]))
            continue;
        int r = submission_draft(batch, &batch->entries[i], &batch->drafts[made++], err);
        if (r < 0)
            return r;
    }
    return 0;
}

static int64_t given(int64_t wish) {
    return wish == SUBMISSION_NOT_GIVEN ? ALLOWANCE_NONE : wish;
}

static enum engine_on_budget on_budget_of(const struct submission *s) {
    if (!s->on_budget)
        return ON_BUDGET_AS_CONFIGURED;
    return strcmp(s->on_budget, "stop") == 0 ? ON_BUDGET_STOP : ON_BUDGET_HOLD;
}

void batch_give_budgets(const struct batch *batch) {
    for (size_t i = 0; i < batch->count; i++) {
        const struct batch_entry *entry = &batch->entries[i];
        const struct submission *s = &entry->s;
        struct engine_limits limits = {
            .task = { given(s->tokens), given(s->usd) },
            .run = { given(s->run_tokens), given(s->run_usd) },
            .on_budget = on_budget_of(s),
        };
        bool any = limits.task.tokens != ALLOWANCE_NONE || limits.task.usd != ALLOWANCE_NONE
                   || limits.run.tokens != ALLOWANCE_NONE || limits.run.usd != ALLOWANCE_NONE
                   || limits.on_budget != ON_BUDGET_AS_CONFIGURED;
        if (batch_adds(entry) && any)
            engine_set_limits(batch->engine, entry->id, &limits);
    }
}

int batch_check(struct batch *batch, struct error *err) {
    int r = number_all(batch, err);
    for (size_t i = 0; r == 0 && i < batch->count; i++) {
        batch->index = i;
        if (batch_adds(&batch->entries[i]))
            r = submission_link(batch, &batch->entries[i], err);
    }
    if (r == 0)
        r = check_rings(batch, err);
    return r < 0 ? r : make_drafts(batch, err);
}
