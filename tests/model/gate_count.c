/* gate_count.c: see gate_count.h. The core counts tasks that are alike without looking at them; here each
 * is looked at. */
#include "gate_count.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "core/core.h"
#include "core/state.h"

struct gate_line {
    struct verdict first;
    int64_t counted, seen; /* by the core; one by one */
};

struct tally {
    struct gate_line *lines;
    size_t count, capacity;
};

/* Have they the same verdict_code? */
static bool is_alike(const struct verdict *a, const struct verdict *b) {
    if (a->gate != b->gate || a->gate != GATE_LEASE)
        return a->gate == b->gate;
    bool serial = a->lease == LEASE_SERIAL;
    return a->lease == b->lease && a->key == b->key
           && (!serial || (a->key_project == b->key_project && a->key_kind == b->key_kind));
}

static struct gate_line *line_of(struct tally *t, const struct verdict *first) {
    for (size_t i = 0; i < t->count; i++)
        if (is_alike(&t->lines[i].first, first))
            return &t->lines[i];
    t->lines = xgrow(t->lines, &t->capacity, t->count + 1, sizeof(*t->lines));
    t->lines[t->count] = (struct gate_line){ .first = *first };
    return &t->lines[t->count++];
}

static void add_counted(void *ctx, const struct verdict *first, int64_t more) {
    line_of(ctx, first)->counted += more;
}

static bool is_failure(enum task_state state) {
    return state == TASK_FAILED || state == TASK_CANCELED || state == TASK_INVALIDATED;
}

/* Waits for a task that ended otherwise than done. */
static bool is_hopeless(const struct core *core, const struct task *t) {
    for (uint32_t e = links_of(core, t)->needs; e; e = edge_at(core, e)->next_need) {
        enum task_state state = task_at(core, edge_at(core, e)->on)->state;
        if (is_failure(state))
            return true;
    }
    return links_of(core, t)->parent && t->parent_gate == PARENT_DONE
           && is_failure(task_at(core, links_of(core, t)->parent)->state);
}

/* Returns how many are hopeless. */
static uint32_t look_at_all(const struct core *core, struct tally *tally) {
    uint32_t hopeless = 0;
    for (uint32_t h = 1; h < core->tasks.next; h++) {
        const struct task *t = task_at(core, h);
        struct verdict first;
        if (t->state != TASK_WAITING && t->state != TASK_READY)
            continue;
        if (core_blocked(core, t->id, &first))
            line_of(tally, &first)->seen++;
        hopeless += t->state == TASK_WAITING && is_hopeless(core, t);
    }
    return hopeless;
}

bool gate_count_check(const struct core *core, struct strbuf *out) {
    struct tally tally = { 0 };
    struct core_counts counts;
    bool same = core_waiting_by_gate(core, SIZE_MAX, add_counted, &tally);
    if (!same)
        strbuf_puts(out, "not all are counted");
    uint32_t hopeless = look_at_all(core, &tally);
    core_count(core, &counts);
    if (same && counts.hopeless != hopeless) {
        strbuf_printf(out, "hopeless: counted %" PRIu32 " | there are %" PRIu32, counts.hopeless,
                      hopeless);
        same = false;
    }
    for (size_t i = 0; i < tally.count; i++) {
        const struct gate_line *line = &tally.lines[i];
        if (same && line->counted != line->seen) {
            strbuf_puts(out, "stopped by ");
            verdict_code(&line->first, &core->symbols, out);
            strbuf_printf(out, ": counted %" PRId64 " | there are %" PRId64, line->counted,
                          line->seen);
            same = false;
        }
    }
    free(tally.lines);
    return same;
}
