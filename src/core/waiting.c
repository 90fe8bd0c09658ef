/* waiting.c: some of those that wait, the ones that come next among them; and how many wait at each gate.
 *
 * For lists: a bounded part of the queue without a walk over all tasks. Inside a class the order is by
 * age, so the first of every class are a superset of those that start next.
 *
 * For counts: all that are alike are stopped by the same gate, so one made-up task of each crowd is
 * explained, by the same functions as a real one. What makes one task different from all others (a place
 * that is reserved for it, a workspace that it has locked itself) is put right at the end. */
#include "core/waiting.h"

#include "core/explain.h"
#include "core/gates.h"
#include "core/state.h"
#include "core/task.h"

struct sample {
    const struct core *c;
    task_id *tasks;
    size_t count, max;
};

/* From number `skip` of the list on, as long as there is room. */
static void take(struct sample *s, const struct order_list *list, size_t skip, size_t most) {
    struct order_cursor cursor = { 0 };
    uint32_t task;
    for (size_t n = 0; n < most && s->count < s->max && (task = order_list_next(list, &cursor));
         n++)
        if (n >= skip)
            s->tasks[s->count++] = task_at(s->c, task)->id;
}

static void take_all(struct sample *s, size_t skip, size_t most) {
    const struct core *c = s->c;
    for (uint32_t h = 1; h < c->classes.next; h++) {
        if (!class_at(c, h)->domain)
            continue;
        take(s, &class_at(c, h)->by_created, skip, most);
        take(s, &class_at(c, h)->parked_by_created, skip, most);
    }
    take(s, &c->waiting, skip, most);
}

size_t core_waiting(const struct core *c, task_id *ret, size_t max) {
    struct sample s = { .c = c, .max = max };
    s.tasks = ret;
    size_t lists = 2 * (size_t)c->classes.used + 1;
    size_t share = max / lists > 0 ? max / lists : 1;
    take_all(&s, 0, share);
    take_all(&s, share, max);
    return s.count;
}

/* Before the others of its class is who is older, or has waited for too long. */
size_t core_waiting_first(const struct core *c, size_t each, task_id *ret, size_t max) {
    if (each > max / (4 * (size_t)c->classes.used + 1))
        return core_waiting(c, ret, max);
    struct sample s = { .c = c, .max = max };
    s.tasks = ret;
    for (uint32_t h = 1; h < c->classes.next; h++) {
        const struct queue_class *k = class_at(c, h);
        if (!k->domain)
            continue;
        take(&s, &k->by_created, 0, each);
        take(&s, &k->parked_by_created, 0, each);
        take(&s, &k->by_ready, 0, each);
        take(&s, &k->parked_by_ready, 0, each);
    }
    return s.count;
}

/* --- heads ----------------------------------------------------------------------------------- */

#define LOOKED_PER_LACKING 20

struct heads {
    const struct core *c;
    void (*head)(void *ctx, task_id task);
    void *ctx;
};

static void tell_first(const struct heads *h, const struct order_list *list, size_t each) {
    struct order_cursor cursor = { 0 };
    uint32_t task;
    for (size_t n = 0; n < each && (task = order_list_next(list, &cursor)); n++)
        h->head(h->ctx, task_at(h->c, task)->id);
}

static void tell_lacking(const struct heads *h, size_t most) {
    struct order_cursor cursor = { 0 };
    size_t left = most * LOOKED_PER_LACKING;
    uint32_t task;
    while (most > 0 && left-- > 0 && (task = order_list_next(&h->c->waiting, &cursor))) {
        unsigned lack = task_at(h->c, task)->lack;
        if (lack == LACK_DEPENDENCY_HOPELESS || lack == LACK_PARENT_HOPELESS)
            continue;
        h->head(h->ctx, task_at(h->c, task)->id);
        most--;
    }
}

void core_each_head(const struct core *c, size_t each, size_t lacking,
                    void (*head)(void *ctx, task_id task), void *ctx) {
    struct heads heads = { .c = c, .head = head, .ctx = ctx };
    for (uint32_t h = 1; h < c->classes.next; h++)
        if (class_at(c, h)->domain)
            tell_first(&heads, &class_at(c, h)->by_created, each);
    for (uint32_t h = 1; h < c->parks.next; h++)
        if (park_at(c, h)->cls)
            tell_first(&heads, &park_at(c, h)->by_created, each);
    tell_lacking(&heads, lacking);
}

/* --- counting -------------------------------------------------------------------------------- */

struct counting {
    const struct core *c;
    core_waiting_each each;
    void *ctx;
    size_t left; /* how many differences may still be looked at */
};

static bool may_look(struct counting *n) {
    if (n->left == 0)
        return false;
    n->left--;
    return true;
}

static void tell(struct counting *n, const struct verdict *first, int64_t more) {
    if (more != 0)
        n->each(n->ctx, first, more);
}

/* Those of a project that lack a prerequisite: few gates come before it. */
static void count_lacking(struct counting *n, const struct project *p) {
    static const enum gate gates[LACK_MAX] = {
        [LACK_DEPENDENCY] = GATE_DEPENDENCY, [LACK_DEPENDENCY_HOPELESS] = GATE_DEPENDENCY,
        [LACK_PARENT] = GATE_PARENT,         [LACK_PARENT_HOPELESS] = GATE_PARENT,
        [LACK_ARTIFACT] = GATE_ARTIFACT,
    };
    for (int lack = LACK_NOTHING + 1; lack < LACK_MAX; lack++) {
        struct verdict first = { .gate = n->c->paused            ? GATE_PAUSED
                                         : !gate_project_open(p) ? GATE_PROJECT
                                                                 : gates[lack],
                                 .key = p->spec.id,
                                 .opens_at = TIME_NEVER };
        tell(n, &first, p->lacking[lack]);
    }
}

/* A task of that class that names no rare key. */
static struct task one_of_class(const struct queue_class *k) {
    unsigned flags = 0;
    if (!(k->needs_kept & TASK_KEEPS_ROOTS))
        flags |= TASK_HAS_PARENT;
    if (k->needs_kept & TASK_KEEPS_REVIEW)
        flags |= TASK_REVIEW;
    if (!(k->needs_kept & TASK_KEEPS_PLACE))
        flags |= TASK_KEEPS_PLACE;
    if (k->bound)
        flags |= TASK_BOUND;
    return (struct task){ .state = TASK_READY,
                          .project = k->project,
                          .kind = k->kind,
                          .agent = k->agent,
                          .limiter = k->limiter,
                          .parent_gate = PARENT_NONE,
                          .flags = (uint16_t)flags };
}

static struct task one_of_crowd(const struct core *c, const struct crowd *crowd) {
    struct task like = one_of_class(class_at(c, crowd->cls));
    like.serial_key = crowd->serial;
    like.resources = crowd->resources;
    return like;
}

/* As if no workspace were taken. */
static bool count_class(struct counting *n, const struct queue_class *k) {
    const struct core *c = n->c;
    struct task like = one_of_class(k);
    struct verdict first, other;
    if (!may_look(n))
        return false;
    bool closed = explain_first(c, 0, &like, &first);
    int64_t rest = (int64_t)k->by_created.count + k->parked_by_created.count;
    bool alike = closed && first.gate < GATE_LEASE; /* whatever they name comes later */
    for (uint32_t h = alike ? 0 : k->crowds; h; h = crowd_at(c, h)->next) {
        if (!may_look(n))
            return false;
        const struct crowd *crowd = crowd_at(c, h);
        like = one_of_crowd(c, crowd);
        if (explain_first(c, 0, &like, &other))
            tell(n, &other, crowd->count);
        rest -= crowd->count;
    }
    if (closed)
        tell(n, &first, rest);
    return true;
}

/* So many were counted as any task like `was`; what stops them is what stops `is`, which is `task` (0: any
 * like it). */
static void move(struct counting *n, const struct task *was, const struct task *is, uint32_t task,
                 int64_t count) {
    struct verdict from, to;
    bool was_closed = explain_first(n->c, 0, was, &from);
    bool is_closed = explain_first(n->c, task, is, &to);
    if (was_closed)
        tell(n, &from, -count);
    if (is_closed)
        tell(n, &to, count);
}

static bool count_workspace(struct counting *n, uint32_t workspace) {
    const struct core *c = n->c;
    for (uint32_t h = key_at(c, workspace)->crowds; h; h = crowd_at(c, h)->next) {
        if (!may_look(n))
            return false;
        struct task without = one_of_crowd(c, crowd_at(c, h)), with = without;
        with.workspace_key = workspace;
        move(n, &without, &with, 0, crowd_at(c, h)->count);
    }
    return true;
}

/* One task was counted as if it were any of its crowd. */
static void count_itself(struct counting *n, uint32_t task) {
    const struct task *t = task_at(n->c, task);
    if (t->state == TASK_READY)
        move(n, t, t, task, 1);
}

/* A place that is taken for all others. */
static void count_exceptions(struct counting *n) {
    const struct core *c = n->c;
    if (c->claim.task)
        count_itself(n, c->claim.task);
    for (uint32_t w = c->full_workspaces; w; w = key_at(c, w)->next_full) {
        task_id by = key_at(c, w)->outside_task;
        uint32_t task = by ? task_find_added(c, by) : 0;
        if (task && task != c->claim.task && task_at(c, task)->workspace_key == w)
            count_itself(n, task);
    }
}

bool core_waiting_by_gate(const struct core *c, size_t max, core_waiting_each each, void *ctx) {
    struct counting n = { .c = c, .each = each, .ctx = ctx, .left = max };
    for (size_t p = 1; p < c->project_count; p++)
        count_lacking(&n, &c->projects[p]);
    for (uint32_t h = 1; h < c->classes.next; h++) {
        if (class_at(c, h)->domain && !count_class(&n, class_at(c, h)))
            return false;
    }
    for (uint32_t w = c->full_workspaces; w; w = key_at(c, w)->next_full) {
        if (!count_workspace(&n, w))
            return false;
    }
    count_exceptions(&n);
    return !c->loading;
}
