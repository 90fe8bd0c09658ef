/* pick.c: the pick, and its merge. See best_of.h. */
#include "engine/best_of/best_of_internal.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "engine/descendants.h"
#include "engine/projects.h"
#include "engine/worktrees.h"

/* --- records --------------------------------------------------------------------------------- */

void pick_wake(const struct engine *e, struct best_of *b) {
    engine_pick_over over = b->over;
    b->over = NULL;
    if (over)
        over(b->ctx, e->ending);
}

static void set_text(char **to, const char *text) {
    char *copy = text ? xstrdup(text) : NULL;
    free(*to);
    *to = copy;
}

void pick_clear(struct best_of *b) {
    struct engine_best_of *v = &b->view;
    v->picked = 0;
    v->picked_at = 0;
    v->by_person = v->is_over = false;
    set_text(&v->by, NULL);
    set_text(&v->why, NULL);
}

static void write_picked(struct engine *e, const struct best_of *b) {
    struct event_data data;
    char id[ENGINE_ID_MAX];
    struct json_writer *w = event_begin(&data);
    json_put_string(w, "candidate", engine_task_id(e, b->view.picked, id));
    put_text(w, "by", b->view.by);
    put_text(w, "reason", b->view.why);
    event_end(e, &data, "task.picked", b->view.task, 0);
}

/* The parent waits for another pick, by a person. */
static void withdraw(struct engine *e, struct best_of *b, const char *why) {
    struct event_data data;
    char id[ENGINE_ID_MAX];
    struct json_writer *w = event_begin(&data);
    json_put_string(w, "candidate", engine_task_id(e, b->view.picked, id));
    json_put_string(w, "reason", why);
    event_end(e, &data, "task.pick_refused", b->view.task, 0);
    set_text(&b->view.refused, why);
    pick_clear(b);
    best_of_write(e, b);
    if (best_of_is_held(e, b->view.task, HOLD_CANDIDATES))
        (void)best_of_apply(e, b, CANDIDATES_REVIEW);
    pick_wake(e, b);
}

void pick_cancel_others(struct engine *e, const struct best_of *b, task_id keeps,
                        bool and_chooser) {
    const struct engine_best_of *v = &b->view;
    for (size_t i = 0; i < v->count + (and_chooser && v->chooser); i++) {
        task_id other = i < v->count ? v->candidates[i] : v->chooser;
        enum task_state state = state_of(e, other);
        if (other == keeps || state == TASK_ABSENT || task_state_is_final(state))
            continue;
        (void)engine_apply(e, &(struct fact){ .kind = FACT_CANCEL, .task = other }, NULL);
        engine_cancel_descendants(e, other, false);
    }
}

/* --- picking --------------------------------------------------------------------------------- */

static bool has_candidate(const struct engine_best_of *v, task_id task) {
    for (size_t i = 0; i < v->count; i++)
        if (v->candidates[i] == task)
            return true;
    return false;
}

static int refuse_candidate(const struct engine *e, const struct engine_best_of *v,
                            task_id candidate, struct error *err) {
    char id[ENGINE_ID_MAX], parent[ENGINE_ID_MAX];
    _cleanup_(strbuf_finish) struct strbuf all = STRBUF_INIT;
    for (size_t i = 0; i < v->count; i++) {
        strbuf_puts(&all, i > 0 ? ", " : "");
        best_of_put_id(e, v->candidates[i], &all);
    }
    return error_set(err, -EINVAL, "'%s' is not a candidate of '%s': they are %s",
                     engine_task_id(e, candidate, id), engine_task_id(e, v->task, parent),
                     strbuf_text(&all));
}

static int check_pick(const struct engine *e, const struct engine_best_of *v, task_id candidate,
                      struct error *err) {
    char id[ENGINE_ID_MAX], parent[ENGINE_ID_MAX];
    enum task_state state = state_of(e, candidate), own = state_of(e, v->task);
    engine_task_id(e, v->task, parent);
    if (!has_candidate(v, candidate))
        return refuse_candidate(e, v, candidate, err);
    if (v->picked == candidate)
        return 1;
    if (v->picked)
        return error_set(err, -EBUSY, "'%s' was picked already%s%s",
                         engine_task_id(e, v->picked, id), v->by ? " by " : "", v->by ? v->by : "");
    if (own == TASK_DRAFT || (task_state_is_final(own) && own != TASK_FAILED))
        return error_set(err, -EBUSY, "task '%s' is %s: it does not wait for a pick", parent,
                         task_state_name(own));
    if (state != TASK_DONE)
        return error_set(err, -EBUSY, "candidate '%s' is %s: only one that is done can be picked",
                         engine_task_id(e, candidate, id), task_state_name(state));
    return 0;
}

int engine_pick(struct engine *e, const struct engine_pick *pick, struct error *err) {
    char id[ENGINE_ID_MAX];
    struct best_of *b = best_of_find(e, pick->task);
    if (!b)
        return error_set(err, -EINVAL, "task '%s' has no candidates: add it with --best-of",
                         engine_task_id(e, pick->task, id));
    struct engine_best_of *v = &b->view;
    int r = check_pick(e, v, pick->candidate, err);
    if (r != 0)
        return r;
    v->picked = pick->candidate;
    v->by_person = pick->by_person;
    v->picked_at = e->now;
    set_text(&v->by, pick->by);
    set_text(&v->why, pick->why);
    set_text(&v->refused, NULL);
    best_of_write(e, b);
    write_picked(e, b);
    /* The run of a chooser that has picked ends by itself. */
    pick_cancel_others(e, b, v->picked, pick->by_person);
    if (state_of(e, v->task) == TASK_FAILED)
        (void)engine_apply(e, &(struct fact){ .kind = FACT_RETRY, .task = v->task }, NULL);
    best_of_touch(e, b);
    return 0;
}

void engine_pick_wait(struct engine *e, task_id task, engine_pick_over over, void *ctx) {
    struct best_of *b = best_of_find(e, task);
    if (!b || b->view.is_over || !b->view.picked) {
        over(ctx, false);
        return;
    }
    pick_wake(e, b);
    b->over = over;
    b->ctx = ctx;
}

/* --- the merge ------------------------------------------------------------------------------- */

/* A person who picks wants it merged, unless the task says otherwise. */
static bool is_merged(const struct engine *e, const struct engine_best_of *v) {
    const struct engine_project *project = project_of_task(e, v->task);
    const char *merge = v->merge       ? v->merge
                        : v->by_person ? "direct"
                        : project      ? engine_project_merge(e->config, project->name)
                                       : "none";
    return strcmp(merge, "direct") == 0;
}

static void finish_pick(struct engine *e, struct best_of *b) {
    b->view.is_over = true;
    best_of_write(e, b);
    if (best_of_is_held(e, b->view.task, HOLD_CANDIDATES))
        (void)best_of_apply(e, b, CANDIDATES_REVIEW);
    (void)engine_apply(e, &(struct fact){ .kind = FACT_APPROVE, .task = b->view.task }, NULL);
    pick_wake(e, b);
}

/* What came of a merge, in a turn. */
struct merged {
    struct engine_request request; /* must be first */
    task_id task;
    bool is_done;
    char *message;
};

static int take_merged(struct engine *e, struct engine_request *request) {
    const struct merged *m = (const struct merged *)request;
    struct best_of *b = best_of_find(e, m->task);
    if (!b)
        return 0;
    b->is_merging = false;
    /* Not if it was canceled meanwhile. */
    bool waits = b->view.picked && !b->view.is_over && state_of(e, m->task) == TASK_HELD;
    if (waits && m->is_done)
        finish_pick(e, b);
    else if (waits && task_state_is_final(state_of(e, b->view.picked)))
        withdraw(e, b, m->message);
    else /* canceled, or the next iteration of the pick resolves the conflict (on_conflict) */
        pick_wake(e, b);
    return 0;
}

static void merged_taken(struct engine *e, struct engine_request *request,
                         enum store_outcome outcome, const struct error *err) {
    (void)err;
    struct merged *m = (struct merged *)request;
    struct best_of *b = outcome == STORE_FAILED && !e->ending ? best_of_find(e, m->task) : NULL;
    best_of_touch(e, b); /* the merge is tried again, and finds what is merged */
    free(m->message);
    free(m);
}

struct merging_pick {
    struct engine *e;
    task_id task;
};

static void merge_over(void *ctx, const struct merge_answer *answer) {
    struct merging_pick *p = ctx;
    if (answer) { /* else the daemon ends, and the next one begins again */
        struct merged *m = xcalloc(1, sizeof(*m));
        *m = (struct merged){
            .request = { .run = take_merged, .done = merged_taken },
            .task = p->task,
            .is_done = answer->result != MERGE_CONFLICT && answer->result != MERGE_FAILED,
            .message = xstrdup(answer->message ? answer->message : "it could not be merged"),
        };
        engine_request(p->e, &m->request);
    }
    free(p);
}

bool pick_is_due(const struct engine *e, const struct best_of *b) {
    const struct engine_best_of *v = &b->view;
    return v->picked && !v->is_over && !b->is_merging && state_of(e, v->task) == TASK_HELD
           && state_of(e, v->picked) == TASK_DONE;
}

bool pick_carry_out(struct engine *e, struct best_of *b) {
    struct error err = { 0 };
    if (!pick_is_due(e, b))
        return true;
    struct merging_pick *p = xcalloc(1, sizeof(*p));
    struct merge_question question = { .task = b->view.picked };
    *p = (struct merging_pick){ e, b->view.task };
    b->is_merging = true;
    int r = engine_merge(e, &question, merge_over, p, &err);
    if (r == -EBUSY) {
        b->is_merging = false;
        free(p);
    } else if (r < 0) {
        struct merge_answer refused = { .result = MERGE_FAILED, .message = err.text };
        merge_over(p, &refused);
    }
    return r != -EBUSY;
}

void pick_settle(struct engine *e, struct best_of *b) {
    enum task_state state = state_of(e, b->view.picked);
    if (b->view.is_over || b->is_merging || state_of(e, b->view.task) != TASK_HELD)
        return;
    if (state == TASK_DONE && !is_merged(e, &b->view))
        finish_pick(e, b);
    else if (state != TASK_DONE && (state == TASK_ABSENT || task_state_is_final(state)))
        withdraw(e, b, "the candidate has not resolved the conflict");
}
