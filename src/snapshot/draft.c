/* draft.c: reads a file into records and resolves what they say about each other. */
#include "snapshot/draft.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/strbuf.h"
#include "core/cycle.h"
#include "snapshot/decode.h"
#include "snapshot/schema.h"

#define CYCLE_SHOWN 8 /* ids of a cycle in the message */

void draft_finish(struct draft *draft) {
    id_table_finish(&draft->ids);
    arena_finish(&draft->texts);
    free(draft->config.items);
    free(draft->projects.items);
    free(draft->agents.items);
    free(draft->limiters.items);
    free(draft->locks.items);
    free(draft->usage.items);
    free(draft->waits.items);
    free(draft->tasks.items);
    free(draft->depends_on.items);
    free(draft->resources.items);
    free(draft->hints.items);
    free(draft->kind_hints.items);
    *draft = (struct draft){ 0 };
}

int draft_read(struct draft *draft, FILE *in, const char *name, struct error *err) {
    struct reader *r = xcalloc(1, sizeof(*r));
    r->root = schema_root();
    r->draft = *draft;
    r->draft.top = (struct top_record){
        .tokens_used = ABSENT,
        .budget = ABSENT,
        .budget_usd = ABSENT,
        .usd_used = ABSENT,
        .disk_free_milli_gb = ABSENT,
        .memory_free_mb = ABSENT,
        .load_milli = ABSENT,
        .pace = { .last_start = ABSENT_TIME },
        .seed = 1,
    };
    id_table_init(&r->draft.ids);
    symbol_table_init(&r->config_paths);
    int result = json_stream_read(in, name, decode_token, r, err);
    symbol_table_finish(&r->config_paths);
    strbuf_finish(&r->path);
    strbuf_finish(&r->value);
    free(r->symbol_seen);
    *draft = r->draft;
    draft->ids.map.ctx = &draft->ids; /* it moved */
    free(r);
    return result;
}

/* --- cycles ---------------------------------------------------------------------------------- */

static const char *task_text(const struct draft *draft, uint32_t node) {
    return id_table_text(&draft->ids, draft->tasks.items[node].id);
}

static int cycle_error(const struct draft *draft, const char *name, const char *what,
                       const uint32_t *path, size_t length, struct error *err) {
    _cleanup_(strbuf_finish) struct strbuf text = STRBUF_INIT;
    for (size_t i = 0; i < length && i < CYCLE_SHOWN; i++)
        strbuf_printf(&text, "%.60s -> ", task_text(draft, path[i]));
    if (length > CYCLE_SHOWN)
        strbuf_printf(&text, "... (%zu tasks) -> ", length);
    return error_set(err, -ELOOP, "%s: cycle in %s: %s%.60s", name, what, strbuf_text(&text),
                     task_text(draft, path[0]));
}

static int check_cycle(const struct draft *draft, const char *name, const char *what,
                       const uint32_t *starts, const uint32_t *targets, struct error *err) {
    uint32_t *path = NULL;
    size_t length = 0;
    if (!cycle_find(starts, targets, (uint32_t)draft->tasks.count, &path, &length))
        return 0;
    int r = cycle_error(draft, name, what, path, length, err);
    free(path);
    return r;
}

static int check_dependencies(const struct draft *draft, const char *name, uint32_t *starts,
                              struct error *err) {
    size_t count = draft->tasks.count, at = 0;
    uint32_t *targets = xcalloc(draft->depends_on.count + 1, sizeof(*targets));
    for (size_t i = 0; i < count; i++) {
        const struct task_record *task = &draft->tasks.items[i];
        starts[i] = (uint32_t)at;
        for (uint32_t k = 0; k < task->depends_on_count; k++)
            targets[at++] = draft->depends_on.items[task->depends_on + k] - 1;
    }
    starts[count] = (uint32_t)at;
    int r = check_cycle(draft, name, "depends_on", starts, targets, err);
    free(targets);
    return r;
}

static int check_parents(const struct draft *draft, const char *name, uint32_t *starts,
                         struct error *err) {
    size_t count = draft->tasks.count, at = 0;
    uint32_t *targets = xcalloc(count + 1, sizeof(*targets));
    for (size_t i = 0; i < count; i++) {
        starts[i] = (uint32_t)at;
        uint32_t parent = draft->tasks.items[i].parent;
        if (parent != 0)
            targets[at++] = draft->ids.entries[parent].number - 1;
    }
    starts[count] = (uint32_t)at;
    int r = at > 0 ? check_cycle(draft, name, "parent", starts, targets, err) : 0;
    free(targets);
    return r;
}

/* Keeps the first of each value in a list; `stamps[value] == stamp`: it was there already. */
static uint32_t drop_repeated(uint32_t *items, uint32_t count, uint32_t *stamps, uint32_t stamp) {
    uint32_t kept = 0;
    for (uint32_t k = 0; k < count; k++) {
        uint32_t value = items[k];
        if (stamps[value] != stamp)
            items[kept++] = value;
        stamps[value] = stamp;
    }
    return kept;
}

static void resolve_lists(struct draft *draft) {
    uint32_t *ids = xcalloc((size_t)draft->ids.count + 1, sizeof(*ids));
    uint32_t *names = xcalloc((size_t)draft->symbols->count + 1, sizeof(*names));
    for (size_t i = 0; i < draft->depends_on.count; i++) {
        uint32_t *item = &draft->depends_on.items[i];
        *item = draft->ids.entries[*item].number;
    }
    for (size_t i = 0; i < draft->tasks.count; i++) {
        struct task_record *task = &draft->tasks.items[i];
        uint32_t stamp = (uint32_t)i + 1;
        if (task->depends_on_count > 1)
            task->depends_on_count = drop_repeated(&draft->depends_on.items[task->depends_on],
                                                   task->depends_on_count, ids, stamp);
        if (task->resource_count > 1)
            task->resource_count = drop_repeated(&draft->resources.items[task->resources],
                                                 task->resource_count, names, stamp);
    }
    free(ids);
    free(names);
}

int draft_resolve(struct draft *draft, const char *name, struct error *err) {
    id_table_number(&draft->ids, (uint32_t)draft->tasks.count);
    resolve_lists(draft);
    uint32_t *starts = xcalloc(draft->tasks.count + 1, sizeof(*starts));
    int r = check_dependencies(draft, name, starts, err);
    if (r == 0)
        r = check_parents(draft, name, starts, err);
    free(starts);
    return r;
}
