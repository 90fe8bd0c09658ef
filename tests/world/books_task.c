/* books_task.c: what people and programs asked for. States change only by orders; see books.c. */
#include <string.h>

#include "books_internal.h"

static void link_child(struct books *b, struct row *row) {
    if (!row->parent)
        return;
    struct row *parent = books_row(b, row->parent);
    row->next_sibling = parent->first_child;
    parent->first_child = row->id;
}

static void unlink_child(struct books *b, struct row *row) {
    struct row *parent = books_row(b, row->parent);
    if (!parent)
        return;
    task_id *link = &parent->first_child;
    while (*link != row->id)
        link = &b->rows[*link].next_sibling;
    *link = row->next_sibling;
}

static struct row row_of(const struct task_spec *spec, task_id first_child) {
    struct row row = {
        .id = spec->id,
        .parent = spec->parent,
        .created_at = spec->created_at,
        .dependency_count = (uint8_t)spec->depends_on_count,
        .project = (uint8_t)index_of(SYM_PROJECT, spec->project),
        .kind = (uint8_t)index_of(SYM_KIND, spec->kind),
        .agent = (uint8_t)index_of(SYM_AGENT, spec->agent),
        .limiter = (uint8_t)index_of(SYM_LIMITER, spec->limiter),
        .workspace = (uint8_t)index_of(SYM_WORKSPACE, spec->workspace),
        .phase_name = (uint8_t)index_of(SYM_PHASE, spec->serial),
        .parallelizable = spec->parallelizable,
        .review = spec->review,
        .bound = spec->bound,
        .artifact_missing = spec->artifact_missing,
        .probe_closed = spec->probe_closed,
        .until = spec->until,
        .parent_gate = spec->parent_gate,
        .priority = spec->priority,
        .retry_max = spec->retry_max,
        .group = spec->group,
        .parent_iteration = spec->parent_iteration,
        .state = TASK_ABSENT,
        .iteration = spec->iteration,
        .first_child = first_child,
    };
    for (size_t i = 0; i < spec->depends_on_count; i++)
        row.depends_on[i] = spec->depends_on[i];
    for (size_t i = 0; i < spec->resource_count; i++)
        row.resources |= (uint8_t)(1u << index_of(SYM_RESOURCE, spec->resources[i]));
    return row;
}

static void applied_added(struct books *b, const struct task_spec *spec) {
    task_id highest = spec->id > spec->parent ? spec->id : spec->parent;
    (void)books_named(b, highest);
    struct row *row = books_row(b, spec->id);
    *row = row_of(spec, row->first_child);
    link_child(b, row);
    const struct row *parent = books_task(b, row->parent);
    if (row->parent_iteration == 0 && parent)
        row->parent_iteration = parent->iteration;
    for (task_id id = row->first_child; id; id = b->rows[id].next_sibling) {
        if (b->rows[id].parent_iteration == 0)
            b->rows[id].parent_iteration = row->iteration;
    }
    if (row->workspace)
        b->applied[KEY_WORKSPACE + row->workspace] = true;
    for (unsigned r = 1; r <= RESOURCES; r++)
        b->applied[KEY_RESOURCE + r] |= (row->resources >> r) & 1u;
    enum task_state state = spec->state;
    if (state == TASK_WAITING || state == TASK_READY)
        state = books_prerequisites(b, row) && !books_launches_spent(b, row) ? TASK_READY
                                                                             : TASK_WAITING;
    b->by_state[TASK_ABSENT]++; /* books_set_state takes it away again */
    books_set_state(b, row, state);
    if (state == TASK_READY) {
        row->enqueued_at = time_min(spec->ready_since, b->now);
        row->ready_clock -= b->now - row->enqueued_at;
    }
}

static void applied_dependencies(struct books *b, const struct fact *fact) {
    struct row *row = books_row(b, fact->task);
    row->dependency_count = (uint8_t)fact->dependencies.count;
    for (size_t i = 0; i < fact->dependencies.count; i++)
        row->depends_on[i] = fact->dependencies.items[i];
}

/* It waits no longer for what was deleted. */
static void applied_retry(const struct books *b, struct row *row) {
    unsigned kept = 0;
    for (unsigned k = 0; k < row->dependency_count; k++)
        if (books_task(b, row->depends_on[k]))
            row->depends_on[kept++] = row->depends_on[k];
    row->dependency_count = (uint8_t)kept;
    if (row->parent && !books_task(b, row->parent))
        row->parent_gate = PARENT_NONE;
}

/* A dependency that was done stays met when it goes. */
static void forget_dependency(struct books *b, task_id deleted) {
    for (size_t i = 1; i < b->count; i++) {
        struct row *row = &b->rows[i];
        unsigned kept = 0;
        for (unsigned k = 0; k < row->dependency_count; k++) {
            if (row->depends_on[k] != deleted)
                row->depends_on[kept++] = row->depends_on[k];
        }
        row->dependency_count = (uint8_t)kept;
    }
}

static void wish_orphaned(struct books *b, struct row *row) {
    for (task_id id = row->first_child; id; id = b->rows[id].next_sibling) {
        struct row *child = &b->rows[id];
        if (task_state_is_live(child->state) && child->alive)
            child->wish = WISH_ORPHAN;
        wish_orphaned(b, child);
    }
}

static void applied_deleted(struct books *b, struct row *row, bool deleted) {
    bool was_done = !deleted && row->state == TASK_DONE;
    if (deleted)
        wish_orphaned(b, row);
    if (row->state == TASK_DONE)
        forget_dependency(b, row->id);
    unlink_child(b, row);
    books_leave_places(b, row);
    books_set_state(b, row, TASK_ABSENT);
    b->by_state[TASK_ABSENT]--;
    struct row name = { .id = row->id, .first_child = row->first_child, .was_done = was_done };
    *row = name;
}

void books_applied_task(struct books *b, const struct fact *fact) {
    if (fact->kind == FACT_TASK_ADDED) {
        applied_added(b, fact->spec);
        return;
    }
    struct row *row = books_row(b, fact->task);
    bool restarts =
        fact->kind == FACT_RETRY || fact->kind == FACT_AGAIN || fact->kind == FACT_CLEAR;
    if (restarts && fact->own_agent)
        books_own_agent_again(row);
    if (fact->kind == FACT_REJECT)
        books_not_accepted(b, row);
    if (fact->kind == FACT_PRIORITY)
        row->priority = fact->priority;
    else if (fact->kind == FACT_ARTIFACT)
        row->artifact_missing = !fact->artifact_present;
    else if (fact->kind == FACT_PROBE)
        row->probe_closed = !fact->probe_open;
    else if (fact->kind == FACT_DEPENDENCIES)
        applied_dependencies(b, fact);
    else if (fact->kind == FACT_RETRY
             || (fact->kind == FACT_TAKE && task_state_is_failure(row->state)))
        applied_retry(b, row);
    else if (fact->kind == FACT_TAKE && (row->state == TASK_WAITING || row->state == TASK_READY))
        row->hold = HOLD_TAKEN;
    else if (fact->kind == FACT_TAKE && row->alive && row->wish < WISH_TAKE)
        row->wish = WISH_TAKE;
    else if (fact->kind == FACT_DELETE || fact->kind == FACT_FORGET)
        applied_deleted(b, row, fact->kind == FACT_DELETE);
    else if (fact->kind == FACT_CANCEL && row->alive && row->wish < WISH_CANCEL)
        row->wish = WISH_CANCEL;
}
