/* snapshot.c: a file becomes a core that knows everything in it.
 *
 * Two phases, because the tasks may stand before the configuration that explains them: first
 * everything is read into records, then told in a fixed order. What only the telling needs is freed
 * before the caller sees the snapshot. */
#include "snapshot/snapshot.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "snapshot/tell.h"

#define HINT_DURATION MINUTES(5)
#define HINT_TOKENS   10000

DEFINE_FREEP(struct snapshot, snapshot_free);

struct snapshot *snapshot_free(struct snapshot *snapshot) {
    if (!snapshot)
        return NULL;
    draft_finish(&snapshot->draft);
    if (snapshot->config)
        config_free(snapshot->config);
    if (snapshot->core)
        core_free(snapshot->core);
    free(snapshot->hint_of);
    free(snapshot);
    return NULL;
}

/* Keeps what outlives the records of the tasks, and frees these. */
static void drop_records(struct snapshot *s) {
    struct draft *d = &s->draft;
    if (d->hints.count > 0) {
        s->hint_of = xcalloc(d->tasks.count, sizeof(*s->hint_of));
        for (size_t i = 0; i < d->tasks.count; i++)
            s->hint_of[i] = d->tasks.items[i].hint;
    }
    free(d->tasks.items);
    free(d->depends_on.items);
    free(d->resources.items);
    d->tasks.items = NULL;
    d->depends_on.items = NULL;
    d->resources.items = NULL;
}

static int tell(struct snapshot *s, const char *name, const struct snapshot_options *options,
                struct error *err) {
    int r = tell_config(s, name, options, err);
    if (r < 0)
        return r;
    struct teller t = {
        .snapshot = s,
        .core = s->core,
        .config = s->config,
        .draft = &s->draft,
        .name = name,
        .err = err,
    };
    struct fact loading = { .kind = FACT_LOADING }, loaded = { .kind = FACT_LOADED };
    if (s->draft.top.live)
        r = teller_apply(&t, &loading);
    if (r == 0)
        r = tell_world(&t);
    if (r == 0)
        r = tell_tasks(&t);
    if (r == 0 && s->draft.top.live)
        r = teller_apply(&t, &loaded);
    free(t.known);
    return r;
}

int snapshot_read(FILE *in, const char *name, const struct snapshot_options *options,
                  struct snapshot **ret, struct error *err) {
    struct error unread = { 0 };
    if (!err)
        err = &unread;
    _cleanup_(snapshot_freep) struct snapshot *s = xcalloc(1, sizeof(*s));
    s->core = core_new();
    s->config = config_new();
    s->draft.symbols = core_symbols(s->core);
    int r = draft_read(&s->draft, in, name, err);
    if (r == 0)
        r = draft_resolve(&s->draft, name, err);
    if (r == 0)
        r = tell(s, name, options, err);
    if (r < 0)
        return r;
    drop_records(s);
    *ret = TAKE_PTR(s);
    return 0;
}

struct core *snapshot_core(struct snapshot *snapshot) {
    return snapshot->core;
}

const struct config *snapshot_config(const struct snapshot *snapshot) {
    return snapshot->config;
}

time_ms snapshot_now(const struct snapshot *snapshot) {
    return snapshot->draft.top.now;
}

size_t snapshot_task_count(const struct snapshot *snapshot) {
    return snapshot->draft.tasks.count;
}

const char *snapshot_task_name(const struct snapshot *snapshot, task_id task) {
    const struct id_table *ids = &snapshot->draft.ids;
    return task == 0 || task > ids->count ? "?" : id_table_text(ids, ids->by_number[task]);
}

static const char *name_for_core(const void *ctx, task_id task) {
    return snapshot_task_name(ctx, task);
}

struct task_names snapshot_names(const struct snapshot *snapshot) {
    return (struct task_names){ name_for_core, snapshot };
}

task_id snapshot_find(const struct snapshot *snapshot, const char *name) {
    const struct id_table *ids = &snapshot->draft.ids;
    uint32_t entry = id_table_find(ids, name, strlen(name));
    return entry == 0 ? 0 : ids->entries[entry].number;
}

/* Fills what `ret` does not have yet. */
static void add_hint(struct hint *ret, const struct hint *hint) {
    if (ret->duration[0] == ABSENT)
        memcpy(ret->duration, hint->duration, sizeof(ret->duration));
    if (ret->tokens[0] == ABSENT_TIME)
        memcpy(ret->tokens, hint->tokens, sizeof(ret->tokens));
    if (ret->failure_milli == ABSENT)
        ret->failure_milli = hint->failure_milli;
    if (ret->limited_milli == ABSENT)
        ret->limited_milli = hint->limited_milli;
    if (ret->usd == ABSENT)
        ret->usd = hint->usd;
}

static void add_kind_hint(const struct snapshot *s, sym kind, struct hint *ret) {
    for (size_t i = 0; kind && i < s->draft.kind_hints.count; i++)
        if (s->draft.kind_hints.items[i].kind == kind)
            add_hint(ret, &s->draft.kind_hints.items[i].hint);
}

void snapshot_hint(const struct snapshot *snapshot, task_id task, struct sim_hint *ret) {
    static const struct hint built_in = {
        .duration = { HINT_DURATION, HINT_DURATION },
        .tokens = { HINT_TOKENS, HINT_TOKENS },
        .usd = ABSENT,
    };
    const struct draft *d = &snapshot->draft;
    struct hint hint = hint_absent;
    if (snapshot->hint_of && task >= 1 && task <= d->tasks.count && snapshot->hint_of[task - 1])
        add_hint(&hint, &d->hints.items[snapshot->hint_of[task - 1] - 1]);
    struct task_view view;
    if (d->kind_hints.count > 0 && core_task(snapshot->core, task, &view))
        add_kind_hint(snapshot, view.kind, &hint);
    add_kind_hint(snapshot, symbol_find(d->symbols, "*", 1), &hint);
    add_hint(&hint, &built_in);
    *ret = (struct sim_hint){
        .duration_min = hint.duration[0],
        .duration_max = hint.duration[1],
        .tokens_min = hint.tokens[0],
        .tokens_max = hint.tokens[1],
        .failure_milli = hint.failure_milli,
        .limited_milli = hint.limited_milli,
        .money = hint.usd, /* ABSENT is -1 */
    };
}

uint64_t snapshot_seed(const struct snapshot *snapshot) {
    return (uint64_t)snapshot->draft.top.seed;
}
