/* apply_added.c: a task comes in, or what it depends on is changed. */
#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "base/alloc.h"
#include "core/apply.h"
#include "core/changes.h"
#include "core/depend.h"
#include "core/group.h"
#include "core/lease.h"
#include "core/queue.h"
#include "core/run.h"
#include "core/task.h"
#include "core/tree.h"

#define GROUP_MAX (1u << 24)

/* Indexes of the names in a spec. */
struct names {
    uint32_t project, kind, agent, limiter;
};

static int refuse_name(struct core *c, task_id id, const char *what, sym name, struct error *err) {
    return error_set(err, -ENOENT, "task %" PRIu64 ": %s '%s' is not known", id, what,
                     symbol_name(&c->symbols, name));
}

static int find_names(struct core *c, const struct task_spec *spec, struct names *ret,
                      struct error *err) {
    *ret = (struct names){
        .project = by_symbol_get(&c->project_of, spec->project),
        .kind = by_symbol_get(&c->kind_of, spec->kind),
        .agent = by_symbol_get(&c->agent_of, spec->agent),
        .limiter = by_symbol_get(&c->limiter_of, spec->limiter),
    };
    if (!ret->project)
        return refuse_name(c, spec->id, "project", spec->project, err);
    if (spec->kind && !ret->kind)
        return refuse_name(c, spec->id, "kind", spec->kind, err);
    if (spec->agent && !ret->agent)
        return refuse_name(c, spec->id, "agent", spec->agent, err);
    if (spec->limiter && !ret->limiter)
        return refuse_name(c, spec->id, "limiter", spec->limiter, err);
    return 0;
}

static int check_depends_on(task_id id, const task_id *on, size_t count, struct error *err) {
    for (size_t i = 0; i < count; i++) {
        if (on[i] == id)
            return error_set(err, -ELOOP, "task %" PRIu64 " depends on itself", id);
        if (on[i] == 0)
            return error_set(err, -EINVAL, "task %" PRIu64 ": 0 is no task", id);
    }
    return 0;
}

static int refuse_cycle(task_id id, struct error *err) {
    return error_set(err, -ELOOP,
                     "task %" PRIu64 " would wait for itself through its dependencies and parents",
                     id);
}

/* `known`: the record of the task, if others named it before. */
static int check_spec(struct core *c, const struct task_spec *spec, uint32_t known,
                      struct error *err) {
    if (spec->id == 0 || spec->iteration == 0)
        return error_set(err, -EINVAL, "task numbers and iterations begin at 1");
    if (known && task_at(c, known)->state != TASK_ABSENT)
        return error_set(err, -EEXIST, "task %" PRIu64 " is there already", spec->id);
    if ((unsigned)spec->state >= TASK_STATE_MAX || spec->state == TASK_ABSENT
        || (unsigned)spec->phase >= PHASE_MAX || (unsigned)spec->until >= UNTIL_MAX
        || (unsigned)spec->parent_gate >= PARENT_GATE_MAX || (unsigned)spec->hold >= HOLD_MAX
        || (unsigned)spec->stop >= STOP_WISH_MAX || (unsigned)spec->reason >= REASON_MAX
        || spec->keeps > KEEP_ALL || spec->borrowed > LEND_ALL)
        return error_set(err, -EINVAL, "task %" PRIu64 ": a state it cannot have", spec->id);
    if (spec->resource_count > RESOURCES_MAX)
        return error_set(err, -E2BIG, "task %" PRIu64 ": more than %d resources", spec->id,
                         RESOURCES_MAX);
    if (spec->group > GROUP_MAX)
        return error_set(err, -ERANGE, "task %" PRIu64 ": group numbers end at %u", spec->id,
                         GROUP_MAX);
    if (spec->parent == spec->id || (spec->parent && tree_would_cycle(c, known, spec->parent)))
        return error_set(err, -ELOOP, "task %" PRIu64 " would be its own ancestor", spec->id);
    int r = check_depends_on(spec->id, spec->depends_on, spec->depends_on_count, err);
    task_id parent = spec->parent_gate == PARENT_DONE ? spec->parent : 0;
    if (r == 0 && depend_would_cycle(c, known, spec->depends_on, spec->depends_on_count, parent))
        r = refuse_cycle(spec->id, err);
    return r;
}

static void fill(struct core *c, uint32_t task, const struct task_spec *spec,
                 const struct names *names) {
    struct task *t = task_at(c, task);
    t->project = names->project;
    t->kind = names->kind;
    t->agent = names->agent;
    t->limiter = names->limiter ? names->limiter : c->agents[names->agent].limiter;
    t->priority = spec->priority;
    t->created_at = t->enqueued_at = spec->created_at;
    t->iteration = spec->iteration;
    t->attempt = spec->attempt;
    t->until = (uint8_t)spec->until;
    t->parent_gate = (uint8_t)spec->parent_gate;
    t->retry_max = spec->retry_max;
    t->look = spec->look;
    t->failures = spec->failures;
    t->launch_failures = spec->launch_failures;
    t->losses = spec->losses;
    t->restarts = spec->restarts;
    t->breaker_openings = spec->breaker_openings;
    t->reason = (uint8_t)spec->reason;
    t->group = spec->group;
    t->flags = (uint16_t)((spec->parallelizable ? TASK_PARALLELIZABLE : 0)
                          | (spec->review ? TASK_REVIEW : 0)
                          | (spec->artifact_missing ? TASK_ARTIFACT_MISSING : 0)
                          | (spec->parent ? TASK_HAS_PARENT : 0) | (spec->bound ? TASK_BOUND : 0)
                          | (names->limiter ? TASK_OWN_LIMITER : 0));
    if (!spec->parallelizable)
        t->serial_key = key_serial(c, t->project, spec->serial, t->kind);
    if (spec->workspace)
        t->workspace_key = key_workspace(c, spec->workspace);
    key_use(c, t->serial_key);
    key_use(c, t->workspace_key);
    if (spec->resource_count == 0)
        return;
    t->resources = slab_alloc(&c->resource_lists);
    struct resource_list *list = slab_at(&c->resource_lists, t->resources);
    for (size_t i = 0; i < spec->resource_count; i++) {
        list->keys[list->count] = key_resource(c, spec->resources[i]);
        key_use(c, list->keys[list->count++]);
    }
}

/* It comes from an iteration of its parent that is over. */
static bool is_stale(const struct core *c, const struct task *t) {
    return t->parent && t->parent_gate == PARENT_DONE
           && t->parent_iteration < task_at(c, t->parent)->iteration;
}

static void set_enqueued(const struct core *c, struct task *t, const struct task_spec *spec) {
    t->enqueued_at = time_min(spec->enqueued_at ? spec->enqueued_at : spec->ready_since, c->now);
}

/* What it has waited goes on: by its clock if that was told, else by the time. */
static void set_ready_clock(struct core *c, struct task *t, const struct task_spec *spec) {
    struct wait_key key = queue_wait_key(c, t);
    queue_clock_begin(c, key);
    t->ready_clock = queue_clock(c, key) - (c->now - time_min(spec->ready_since, c->now));
    if (queue_wait_is_told(c, key))
        t->ready_clock = spec->ready_clock;
    set_enqueued(c, t, spec);
}

/* While rows are told the state is what they say. */
static void begin_loaded(struct core *c, uint32_t task, const struct task_spec *spec) {
    struct task *t = task_at(c, task);
    if (spec->state == TASK_READY) { /* load.c puts it into the queue when all are there */
        t->state = TASK_WAITING;
        t->flags |= TASK_TOLD_READY;
    }
    if (spec->state == TASK_READY || (spec->state == TASK_STARTING && spec->ready_since))
        set_ready_clock(c, t, spec);
    c->kinds[t->kind].queued += t->state == TASK_WAITING;
    task_count(c, t, t->state, 1);
}

/* Waiting or ready is found out here, without an announcement. */
static void begin_now(struct core *c, uint32_t task, const struct task_spec *spec) {
    struct task *t = task_at(c, task);
    bool queued = spec->state == TASK_WAITING || spec->state == TASK_READY;
    if (queued) {
        t->state = task_may_be_ready(c, t) ? TASK_READY : TASK_WAITING;
        c->kinds[t->kind].queued++;
    }
    if (queued || spec->state == TASK_HELD)
        task_look_again(c, task); /* it may have to fail at once */
    task_count(c, t, t->state, 1);
    if (t->state != TASK_READY)
        return;
    set_enqueued(c, t, spec);
    queue_enter(c, task, c->now - time_min(spec->ready_since, c->now));
}

/* The state it is found in. */
static void begin(struct core *c, uint32_t task, const struct task_spec *spec) {
    struct task *t = task_at(c, task);
    bool live = task_state_is_live(spec->state);
    t->state = (uint8_t)spec->state;
    t->hold = (uint8_t)(spec->state == TASK_HELD ? spec->hold : HOLD_NONE);
    if (spec->state == TASK_HELD && t->hold == HOLD_NONE)
        t->hold = HOLD_PERSON;
    if (!live && !task_state_is_final(spec->state) && spec->state != TASK_DRAFT)
        lease_keep(c, task, spec->keeps);
    if (spec->state == TASK_HELD)
        task_set_timer(c, task, spec->not_before);
    if (c->loading)
        begin_loaded(c, task, spec);
    else
        begin_now(c, task, spec);
    if (live)
        run_adopt(c, task, spec);
}

/* Others named it before it came. */
static void tell_those_who_named_it(struct core *c, uint32_t task) {
    const struct task *t = task_at(c, task);
    depend_changed(c, task, TASK_ABSENT, t->state);
    for (uint32_t h = t->first_child; h; h = task_at(c, h)->next_sibling) {
        struct task *child = task_at(c, h);
        if (child->parent_iteration == 0) {
            child->parent_iteration = t->iteration;
            change_task(c, h);
        }
        task_look_again(c, h);
    }
    if (!c->loading)
        tree_invalidate_older(c, task);
}

int apply_task_added(struct core *c, const struct fact *fact, struct error *err) {
    const struct task_spec *spec = fact->spec;
    struct names names = { 0 };
    uint32_t task = task_find(c, spec->id);
    int r = check_spec(c, spec, task, err);
    if (r == 0)
        r = find_names(c, spec, &names, err);
    if (r < 0)
        return r;
    if (!task)
        task = task_new_named(c, spec->id);
    fill(c, task, spec, &names);
    if (spec->parent) {
        uint32_t parent = task_named(c, spec->parent);
        tree_add_child(c, parent, task);
        task_at(c, task)->parent_iteration =
            spec->parent_iteration ? spec->parent_iteration : task_at(c, parent)->iteration;
    }
    tree_set_depth(c, task);
    depend_set(c, task, spec->depends_on, spec->depends_on_count);
    begin(c, task, spec);
    group_join(c, task);
    if (task_at(c, task)->needed_by || task_at(c, task)->first_child)
        tell_those_who_named_it(c, task);
    change_depends(c, task);
    const struct task *t = task_at(c, task);
    if (is_stale(c, t) && !c->loading)
        tree_invalidate(c, task);
    if (t->parent && t->parent_gate == PARENT_NONE)
        task_look_again(c, t->parent);
    return 0;
}

int apply_dependencies(struct core *c, const struct fact *fact, struct error *err) {
    uint32_t task = task_find_added(c, fact->task);
    if (!task)
        return error_set(err, -ENOENT, "task %" PRIu64 " is not known", fact->task);
    enum task_state state = task_at(c, task)->state;
    if (task_state_is_final(state) || task_state_is_live(state))
        return error_set(err, -EBUSY, "task %" PRIu64 " is %s: its dependencies no longer matter",
                         fact->task, task_state_name(state));
    const task_id *on = fact->dependencies.items;
    size_t count = fact->dependencies.count;
    int r = check_depends_on(fact->task, on, count, err);
    if (r == 0 && depend_would_cycle(c, task, on, count, 0))
        r = refuse_cycle(fact->task, err);
    if (r < 0)
        return r;
    depend_set(c, task, on, count);
    change_depends(c, task);
    task_look_again(c, task);
    return 0;
}
