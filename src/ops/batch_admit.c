/* batch_admit.c: which submissions of a batch the queue has room for.
 *
 * A submission refers to another one of its batch by name or by external id. It is deferred with
 * those that it needs: a task must not wait for one that was not stored. */
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/hash.h"
#include "core/admit.h"
#include "ops/batch.h"

struct admit_graph {
    const struct batch *batch;
    struct id_map externals; /* external id → entry, the first of each */
    uint32_t *starts, *targets;
    uint32_t arrows;
    bool *waits, *deferred;
};

static void admit_graph_finish(struct admit_graph *g) {
    id_map_finish(&g->externals);
    free(g->starts);
    free(g->targets);
    free(g->waits);
    free(g->deferred);
}

static bool same_external(const void *ctx, uint32_t handle, const void *key) {
    const struct admit_graph *g = ctx;
    return strcmp(g->batch->entries[handle - 1].s.external_id, key) == 0;
}

static void add_arrow(struct admit_graph *g, const char *name) {
    uint64_t hash = hash_bytes(name, strlen(name));
    uint32_t entry = id_map_find(&g->batch->names, hash, name);
    if (!entry)
        entry = id_map_find(&g->externals, hash, name);
    if (entry && !g->batch->entries[entry - 1].already)
        g->targets[g->arrows++] = entry - 1;
}

static void admit_graph_fill(struct admit_graph *g) {
    const struct batch *batch = g->batch;
    size_t arrows = 0;
    id_map_init(&g->externals, same_external, g);
    for (size_t i = 0; i < batch->count; i++) {
        const char *external = batch->entries[i].s.external_id;
        uint64_t hash = external ? hash_bytes(external, strlen(external)) : 0;
        if (external && !id_map_find(&g->externals, hash, external))
            id_map_add(&g->externals, hash, (uint32_t)i + 1);
        arrows += batch->entries[i].s.dependencies.count + 1;
    }
    g->starts = xcalloc(batch->count + 1, sizeof(*g->starts));
    g->targets = xcalloc(arrows + 1, sizeof(*g->targets));
    g->waits = xcalloc(batch->count + 1, sizeof(*g->waits));
    g->deferred = xcalloc(batch->count + 1, sizeof(*g->deferred));
    for (size_t i = 0; i < batch->count; i++) {
        const struct batch_entry *entry = &batch->entries[i];
        g->starts[i] = g->arrows;
        g->waits[i] = !entry->already && submission_waits(batch, &entry->s);
        for (size_t d = 0; !entry->already && d < entry->s.dependencies.count; d++)
            add_arrow(g, entry->s.dependencies.items[d]);
        if (!entry->already && entry->s.parent)
            add_arrow(g, entry->s.parent);
    }
    g->starts[batch->count] = g->arrows;
}

void batch_admit(struct batch *batch, amount room) {
    _cleanup_(admit_graph_finish) struct admit_graph g = { .batch = batch };
    admit_graph_fill(&g);
    struct admit_request request = { .starts = g.starts,
                                     .targets = g.targets,
                                     .waits = g.waits,
                                     .node_count = (uint32_t)batch->count,
                                     .room = room };
    batch->deferred = admit_fill(&request, g.deferred);
    for (size_t i = 0; i < batch->count; i++)
        batch->entries[i].deferred = g.deferred[i];
}
