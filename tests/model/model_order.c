/* model_order.c: who is before whom (rules, 3). */
#include <stdlib.h>

#include "base/alloc.h"
#include "model_internal.h"

uint32_t model_depth(const struct model *m, const struct model_task *t) {
    if (!t->s.parent)
        return 0;
    const struct model_task *parent = model_find(m, t->s.parent);
    return parent ? model_depth(m, parent) + 1 : 1;
}

int32_t model_score(const struct model *m, const struct model_task *t) {
    const struct kind_spec *kind = model_kind(m, t->s.kind);
    int64_t base = kind ? kind->base : m->policy.score.base;

    int64_t minutes = m->now > t->s.created_at ? (m->now - t->s.created_at) / MINUTES(1) : 0;
    int64_t age = minutes * m->policy.score.age_per_minute;
    if (age > m->policy.score.age_max)
        age = m->policy.score.age_max;

    int64_t depth = model_depth(m, t) * m->policy.score.per_depth;

    int64_t penalty = ((int64_t)t->s.iteration - 1) * m->policy.score.per_retry;
    if (penalty > m->policy.score.retry_max)
        penalty = m->policy.score.retry_max;
    if (penalty < 0)
        penalty = 0;

    return (int32_t)(base + age + depth - penalty);
}

time_ms model_waited(const struct model *m, const struct model_task *t) {
    if (t->s.state != TASK_READY)
        return 0;
    return model_clock(m, t) - t->ready_mark;
}

bool model_overdue(const struct model *m, const struct model_task *t) {
    return (m->policy.order & ORDER_BY_OVERDUE) && m->policy.max_wait != TIME_NEVER
           && model_waited(m, t) >= m->policy.max_wait;
}

/* --- the order -------------------------------------------------------------------------------- */

/* Everything by which one ready task is compared with another. A part that the policy does not
 * name is the same for all. */
struct candidate {
    size_t index;
    bool had_its_turn; /* its project has a start (a completion) in the window */
    __int128 deficit;
    size_t position;
    bool overdue;
    time_ms waited;
    int32_t priority, score;
    time_ms enqueued_at, created_at;
    task_id id;
};

static bool had_its_turn(const struct model *m, sym project) {
    struct model_event sum = model_window(m, project);
    if (m->policy.guarantee == GUARANTEE_START)
        return sum.starts > 0;
    return m->policy.guarantee == GUARANTEE_COMPLETION && sum.completions > 0;
}

static __int128 deficit(const struct model *m, const struct model_project *p) {
    struct model_totals sum = m->policy.fair == FAIR_DOCUMENT ? m->frozen : model_totals(m);
    int64_t weight = sum.equal ? 1000 : p->spec.weight_milli;
    return (__int128)model_tokens(m, p->spec.id) * sum.weight - (__int128)weight * sum.tokens;
}

/* Everything but the shares. */
static struct candidate candidate_alone(const struct model *m, size_t index) {
    const struct model_task *t = &m->tasks[index];
    const struct model_project *p = model_project(m, t->s.project);
    unsigned parts = m->policy.order;
    struct candidate c = { .index = index, .id = t->s.id };
    if (parts & ORDER_BY_POSITION)
        c.position = (size_t)(p - m->projects);
    if (model_overdue(m, t)) {
        c.overdue = true;
        c.waited = model_waited(m, t);
    }
    if (parts & ORDER_BY_PRIORITY)
        c.priority = t->s.priority;
    if (parts & ORDER_BY_SCORE)
        c.score = model_score(m, t);
    if ((parts & ORDER_BY_ENQUEUED) && !(parts & ORDER_BY_SCORE))
        c.enqueued_at = t->s.state == TASK_READY ? t->enqueued_at : t->s.created_at;
    if (parts & (ORDER_BY_CREATED | ORDER_BY_SCORE))
        c.created_at = t->s.created_at;
    return c;
}

/* All ready tasks of one project. Returns how many. */
static size_t add_candidates(const struct model *m, const struct model_project *p,
                             struct candidate *list) {
    size_t count = 0;
    for (size_t i = 0; i < m->tasks_count; i++)
        if (m->tasks[i].s.state == TASK_READY && m->tasks[i].s.project == p->spec.id)
            list[count++] = candidate_alone(m, i);
    if (count == 0)
        return 0;
    bool turn = (m->policy.order & ORDER_BY_GUARANTEE) && had_its_turn(m, p->spec.id);
    bool fair = (m->policy.order & ORDER_BY_DEFICIT) && m->policy.fair != FAIR_OFF;
    __int128 lack = fair ? deficit(m, p) : 0;
    for (size_t i = 0; i < count; i++) {
        list[i].had_its_turn = turn;
        list[i].deficit = lack;
    }
    return count;
}

/* The last parts of the order, and all of it for tasks that are not ready. */
static int by_age(const struct candidate *a, const struct candidate *b) {
    if (a->enqueued_at != b->enqueued_at)
        return a->enqueued_at < b->enqueued_at ? -1 : 1;
    if (a->created_at != b->created_at)
        return a->created_at < b->created_at ? -1 : 1;
    return a->id < b->id ? -1 : a->id > b->id;
}

static int in_order(const void *left, const void *right) {
    const struct candidate *a = left, *b = right;
    if (a->had_its_turn != b->had_its_turn)
        return a->had_its_turn ? 1 : -1;
    if (a->deficit != b->deficit)
        return a->deficit < b->deficit ? -1 : 1;
    if (a->position != b->position)
        return a->position < b->position ? -1 : 1;
    if (a->overdue != b->overdue)
        return a->overdue ? -1 : 1;
    if (a->waited != b->waited)
        return a->waited > b->waited ? -1 : 1;
    if (a->priority != b->priority)
        return a->priority < b->priority ? -1 : 1;
    if (a->score != b->score)
        return a->score > b->score ? -1 : 1;
    return by_age(a, b);
}

amount model_position(const struct model *m, task_id id) {
    const struct model_task *t = model_find(m, id);
    struct candidate asked = candidate_alone(m, (size_t)(t - m->tasks));
    amount place = 1;
    for (size_t i = 0; i < m->tasks_count; i++) {
        if (m->tasks[i].s.state != TASK_WAITING && m->tasks[i].s.state != TASK_READY)
            continue;
        struct candidate c = candidate_alone(m, i);
        if (m->tasks[i].s.state == TASK_WAITING) /* by age alone */
            place += by_age(&c, &asked) < 0;
        else
            place += c.id != asked.id && in_order(&c, &asked) < 0;
    }
    return place;
}

bool model_has_overdue(const struct model *m) {
    for (size_t i = 0; i < m->tasks_count; i++)
        if (m->tasks[i].s.state == TASK_READY && model_overdue(m, &m->tasks[i]))
            return true;
    return false;
}

size_t *model_sorted(const struct model *m, size_t *ret_count) {
    struct candidate *list = xcalloc(m->tasks_count + 1, sizeof(*list));
    size_t count = 0;
    for (size_t i = 0; i < m->projects_count; i++)
        count += add_candidates(m, &m->projects[i], &list[count]);
    qsort(list, count, sizeof(*list), in_order);
    size_t *sorted = xcalloc(count + 1, sizeof(*sorted));
    for (size_t i = 0; i < count; i++)
        sorted[i] = list[i].index;
    free(list);
    *ret_count = count;
    return sorted;
}
