/* best_of.c: the candidates of a task, from their submission until all have ended. See best_of.h.
 *
 * A parent is settled in the turn after one of its tasks has changed, and in the turn of a fact about
 * the parent itself, before the decision: so no request can start a parent. */
#include "engine/best_of/best_of_internal.h"

#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/number.h"
#include "engine/allowance.h"

#define NOTE       "best_of."
#define BUSY_AGAIN SECONDS(1)

struct best_ofs {
    struct slab slab;
    struct id_map of_task, of_candidate;
    LIST(task_id) touched;
    LIST(task_id) due; /* whose pick is merged after the commit */
    time_ms merge_at;  /* when a merge that had to wait is tried again; or TIME_NEVER */
};

PART_STATE(best_of, struct best_ofs, best_ofs_of)

/* --- the table ------------------------------------------------------------------------------- */

static struct best_of *record_at(const struct best_ofs *s, uint32_t handle) {
    return slab_at(&s->slab, handle);
}

static bool same_task(const void *ctx, uint32_t handle, const void *key) {
    return record_at(ctx, handle)->view.task == *(const task_id *)key;
}

static bool same_candidate(const void *ctx, uint32_t handle, const void *key) {
    const struct engine_best_of *v = &record_at(ctx, handle)->view;
    task_id task = *(const task_id *)key;
    bool found = v->chooser == task;
    for (size_t i = 0; i < v->count; i++)
        found = found || v->candidates[i] == task;
    return found;
}

/* May be repeated. */
static void clear(struct best_of *b) {
    chooser_drop_diffs(b);
    pick_clear(b);
    free(b->view.merge);
    free(b->view.refused);
    *b = (struct best_of){ .view.task = b->view.task };
}

static void best_of_free(struct engine *e) {
    struct best_ofs *s = best_ofs_of(e);
    for (uint32_t handle = 1; handle < s->slab.next; handle++) {
        pick_wake(e, record_at(s, handle));
        clear(record_at(s, handle)); /* empty in a freed record */
    }
    slab_finish(&s->slab);
    id_map_finish(&s->of_task);
    id_map_finish(&s->of_candidate);
    s->touched.count = s->due.count = 0;
    s->merge_at = TIME_NEVER;
}

static void best_of_reset(struct engine *e) {
    struct best_ofs *s = best_ofs_of(e);
    best_of_free(e);
    slab_init(&s->slab, sizeof(struct best_of));
    id_map_init(&s->of_task, same_task, s);
    id_map_init(&s->of_candidate, same_candidate, s);
}

static void best_of_end(struct engine *e) {
    best_of_free(e);
    free(best_ofs_of(e)->touched.items);
    free(best_ofs_of(e)->due.items);
}

static uint32_t handle_of(const struct engine *e, task_id task) {
    return id_map_find(&best_ofs_of(e)->of_task, hash_u64(task), &task);
}

struct best_of *best_of_find(const struct engine *e, task_id task) {
    uint32_t handle = handle_of(e, task);
    return handle ? record_at(best_ofs_of(e), handle) : NULL;
}

static struct best_of *find_by_candidate(const struct engine *e, task_id task) {
    uint32_t handle = id_map_find(&best_ofs_of(e)->of_candidate, hash_u64(task), &task);
    return handle ? record_at(best_ofs_of(e), handle) : NULL;
}

static struct best_of *make(struct engine *e, task_id task) {
    struct best_ofs *s = best_ofs_of(e);
    uint32_t handle = slab_alloc(&s->slab);
    struct best_of *b = record_at(s, handle);
    b->view.task = task;
    id_map_add(&s->of_task, hash_u64(task), handle);
    return b;
}

/* The candidates and the chooser, one after the other; 0 ends. */
static task_id member_at(const struct engine_best_of *v, size_t i) {
    return i < v->count ? v->candidates[i] : i == v->count ? v->chooser : 0;
}

static void list_members(struct engine *e, const struct best_of *b) {
    uint32_t handle = handle_of(e, b->view.task);
    for (size_t i = 0; member_at(&b->view, i); i++)
        id_map_add(&best_ofs_of(e)->of_candidate, hash_u64(member_at(&b->view, i)), handle);
}

static void drop(struct engine *e, struct best_of *b) {
    struct best_ofs *s = best_ofs_of(e);
    task_id task = b->view.task;
    uint32_t handle = handle_of(e, task);
    for (size_t i = 0; member_at(&b->view, i); i++) {
        task_id member = member_at(&b->view, i);
        id_map_remove(&s->of_candidate, hash_u64(member), &member);
    }
    id_map_remove(&s->of_task, hash_u64(task), &task);
    pick_wake(e, b);
    clear(b);
    slab_free(&s->slab, handle);
    note_put_task(e, NOTE, task, NULL);
    turn_wrote(e);
}

void best_of_touch(struct engine *e, struct best_of *b) {
    if (!b || b->is_touched)
        return;
    b->is_touched = true;
    *LIST_ADD(&best_ofs_of(e)->touched) = b->view.task;
}

const struct engine_best_of *engine_best_of(const struct engine *e, task_id task) {
    const struct best_of *b = best_of_find(e, task);
    return b ? &b->view : NULL;
}

task_id engine_candidate_of(const struct engine *e, task_id task) {
    const struct best_of *b = find_by_candidate(e, task);
    return b ? b->view.task : 0;
}

task_id engine_result_of(const struct engine *e, task_id task) {
    const struct best_of *b = best_of_find(e, task);
    return b && b->view.picked ? b->view.picked : task;
}

/* --- notes ----------------------------------------------------------------------------------- */

void best_of_write(struct engine *e, const struct best_of *b) {
    const struct engine_best_of *v = &b->view;
    struct event_data data;
    struct json_writer *w = event_begin(&data);
    json_put_array(w, "candidates");
    for (size_t i = 0; i < v->count; i++)
        json_write_int(w, (int64_t)v->candidates[i]);
    json_write_array_end(w);
    json_put_int(w, "chooser", (int64_t)v->chooser);
    json_put_bool(w, "review", v->review);
    put_text(w, "merge", v->merge);
    json_put_int(w, "picked", (int64_t)v->picked);
    put_text(w, "by", v->by);
    put_text(w, "why", v->why);
    json_put_int(w, "at", v->picked_at);
    json_put_bool(w, "by_person", v->by_person);
    json_put_bool(w, "over", v->is_over);
    put_text(w, "refused", v->refused);
    note_end_task(e, &data, NOTE, v->task);
    turn_wrote(e);
}

static int64_t number_of(const json_t *note, const char *key) {
    return json_integer_value(json_object_get(note, key));
}

static bool flag_of(const json_t *note, const char *key) {
    return json_is_true(json_object_get(note, key));
}

static void read_note(const json_t *note, struct engine_best_of *v) {
    const json_t *list = json_object_get(note, "candidates");
    for (size_t i = 0; i < json_array_size(list) && v->count < BEST_OF_MAX; i++)
        v->candidates[v->count++] = (task_id)json_integer_value(json_array_get(list, i));
    v->chooser = (task_id)number_of(note, "chooser");
    v->review = flag_of(note, "review");
    v->merge = note_text(note, "merge");
    v->picked = (task_id)number_of(note, "picked");
    v->by = note_text(note, "by");
    v->why = note_text(note, "why");
    v->picked_at = number_of(note, "at");
    v->by_person = flag_of(note, "by_person");
    v->is_over = flag_of(note, "over");
    v->refused = note_text(note, "refused");
}

/* An unreadable note was not written by us. */
static void best_of_load(struct engine *e, const struct note_row *row) {
    int64_t task = 0;
    const char *key = note_key(row, NOTE);
    if (!key || number_parse_int(key, &task, NULL) < 0 || task < 1
        || best_of_find(e, (task_id)task))
        return;
    json_t *note = json_loads(row->text, 0, NULL);
    if (json_array_size(json_object_get(note, "candidates")) > 0) {
        struct best_of *b = make(e, (task_id)task);
        read_note(note, &b->view);
        list_members(e, b);
        best_of_touch(e, b); /* a merge or a diff may have been interrupted */
    }
    json_decref(note);
}

/* --- adding ---------------------------------------------------------------------------------- */

static int64_t share_of(int64_t left, int64_t count) {
    return left == ALLOWANCE_NONE ? left : left / count;
}

/* The chooser has a share of its own. What a candidate leaves of its share goes back. */
static void share_budget(struct engine *e, const struct engine_best_of *v) {
    struct engine_amounts left = engine_budget_left(e, v->task);
    int64_t count = (int64_t)v->count + (v->chooser != 0);
    struct engine_limits limits = ENGINE_LIMITS_NONE;
    limits.task =
        (struct engine_amounts){ share_of(left.tokens, count), share_of(left.usd, count) };
    for (size_t i = 0; member_at(v, i); i++) {
        engine_grant_budget(e, v->task, member_at(v, i), limits.task);
        engine_set_limits(e, member_at(v, i), &limits);
    }
}

void engine_add_best_of(struct engine *e, const struct engine_best_of *added) {
    struct best_of *b = make(e, added->task);
    struct engine_best_of *v = &b->view;
    memcpy(v->candidates, added->candidates, added->count * sizeof(*v->candidates));
    v->count = added->count;
    v->chooser = added->chooser;
    v->review = added->review;
    v->merge = added->merge ? xstrdup(added->merge) : NULL;
    list_members(e, b);
    best_of_write(e, b);
    share_budget(e, v);
    best_of_touch(e, b);
}

/* --- texts ----------------------------------------------------------------------------------- */

void best_of_put_id(const struct engine *e, task_id task, struct strbuf *out) {
    char id[ENGINE_ID_MAX];
    strbuf_puts(out, engine_task_id(e, task, id));
}

bool best_of_is_held(const struct engine *e, task_id task, enum hold hold) {
    struct task_view view;
    return core_task(e->core, task, &view) && view.state == TASK_HELD && view.hold == hold;
}

/* A candidate that has used up its share waits for a person, and the others do not wait for it. */
static bool is_open(const struct engine *e, task_id task) {
    struct task_view view;
    return core_task(e->core, task, &view) && !task_state_is_final(view.state)
           && !(view.state == TASK_HELD && view.hold == HOLD_BUDGET && view.not_before == 0);
}

static bool is_done(const struct engine *e, task_id task) {
    return state_of(e, task) == TASK_DONE;
}

static size_t put_those(const struct engine *e, const struct engine_best_of *v,
                        bool (*fits)(const struct engine *e, task_id task), struct strbuf *out) {
    size_t found = 0;
    for (size_t i = 0; i < v->count; i++) {
        if (!fits(e, v->candidates[i]))
            continue;
        strbuf_puts(out, found++ > 0 ? ", " : "");
        best_of_put_id(e, v->candidates[i], out);
    }
    return found;
}

static void explain_pick(const struct engine *e, const struct engine_best_of *v,
                         struct strbuf *out) {
    strbuf_puts(out, "its pick ");
    best_of_put_id(e, v->picked, out);
    strbuf_puts(out, is_done(e, v->picked)
                         ? " is being merged"
                         : " resolves conflicts with the base branch, then it is merged");
}

static void explain_review(const struct engine *e, const struct engine_best_of *v,
                           struct strbuf *out) {
    _cleanup_(strbuf_finish) struct strbuf done = STRBUF_INIT;
    size_t count = put_those(e, v, is_done, &done);
    if (v->refused)
        strbuf_printf(out, "the last pick could not be merged: %s; ", v->refused);
    else if (v->chooser && task_state_is_final(state_of(e, v->chooser))) {
        strbuf_puts(out, "its chooser ");
        best_of_put_id(e, v->chooser, out);
        strbuf_puts(out, " has ended without a pick; ");
    }
    strbuf_puts(out, "compare its candidates with: sluice best ");
    best_of_put_id(e, v->task, out);
    if (count == 0)
        return;
    strbuf_puts(out, ", and pick one with: sluice pick ");
    best_of_put_id(e, v->task, out);
    strbuf_printf(out, " ID (%s)", strbuf_text(&done));
}

static void explain_work(const struct engine *e, const struct engine_best_of *v,
                         struct strbuf *out) {
    size_t before = out->length;
    strbuf_puts(out, "its candidates work on it: ");
    if (put_those(e, v, is_open, out) > 0)
        return;
    strbuf_cut(out, before);
    strbuf_puts(out, "its candidates have ended, and its chooser ");
    best_of_put_id(e, v->chooser, out);
    strbuf_puts(out, " picks one");
}

bool engine_explain_candidates(const struct engine *e, task_id task, struct strbuf *out) {
    const struct engine_best_of *v = engine_best_of(e, task);
    struct task_view view;
    if (!v || !core_task(e->core, task, &view))
        return false;
    bool works = view.state == TASK_HELD && view.hold == HOLD_CANDIDATES;
    bool waits = view.state == TASK_HELD && view.hold == HOLD_REVIEW;
    if (view.state == TASK_FAILED && view.reason == REASON_CANDIDATES) {
        strbuf_printf(out,
                      "none of its %zu candidates has succeeded: look at them with: sluice best ",
                      v->count);
        best_of_put_id(e, task, out);
        strbuf_puts(out, ", and try again with: sluice retry ");
        best_of_put_id(e, task, out);
    } else if ((works || waits) && v->picked)
        explain_pick(e, v, out);
    else if (works)
        explain_work(e, v, out);
    else if (waits)
        explain_review(e, v, out);
    else
        return false;
    return true;
}

/* --- settling -------------------------------------------------------------------------------- */

int best_of_apply(struct engine *e, const struct best_of *b, enum candidates what) {
    struct fact fact = { .kind = FACT_CANDIDATES, .task = b->view.task, .candidates = what };
    return engine_apply(e, &fact, NULL);
}

/* All candidates have ended. */
static void settle_ended(struct engine *e, struct best_of *b, size_t done, task_id last) {
    const struct engine_best_of *v = &b->view;
    enum task_state chooser = v->chooser ? state_of(e, v->chooser) : TASK_ABSENT;
    if (done == 0) {
        (void)best_of_apply(e, b, CANDIDATES_NONE);
        pick_cancel_others(e, b, 0, true);
    } else if (done == 1 && !v->review) {
        struct engine_pick pick = { v->task, last, .by = BEST_OF_BY_CHECKS };
        (void)engine_pick(e, &pick, NULL);
    } else if (chooser == TASK_ABSENT || task_state_is_final(chooser) || v->review)
        (void)best_of_apply(e, b, CANDIDATES_REVIEW);
    else if (best_of_is_held(e, v->chooser, HOLD_PERSON))
        chooser_begin(e, b);
}

/* The chooser has picked, and its run has not ended yet: it ends by itself. */
static bool chooser_is_ending(const struct engine *e, const struct engine_best_of *v) {
    return v->picked && !v->by_person && v->by && strcmp(v->by, BEST_OF_BY_CHECKS) != 0
           && task_state_is_live(state_of(e, v->chooser));
}

static void settle(struct engine *e, struct best_of *b) {
    const struct engine_best_of *v = &b->view;
    size_t done = 0, open = 0;
    task_id last = 0;
    enum task_state state = state_of(e, v->task);
    if (state == TASK_WAITING || state == TASK_READY)
        (void)best_of_apply(e, b, CANDIDATES_WORK);
    if (task_state_is_final(state)) {
        pick_cancel_others(e, b, v->picked, state != TASK_DONE || !chooser_is_ending(e, v));
        return;
    }
    if (v->picked) {
        pick_settle(e, b);
        if (pick_is_due(e, b))
            *LIST_ADD(&best_ofs_of(e)->due) = v->task;
        return;
    }
    if (!best_of_is_held(e, v->task, HOLD_CANDIDATES))
        return;
    for (size_t i = 0; i < v->count; i++) {
        if (is_done(e, v->candidates[i])) {
            done++;
            last = v->candidates[i];
        }
        open += is_open(e, v->candidates[i]);
    }
    if (open == 0)
        settle_ended(e, b, done, last);
}

/* A pick is settled in the same turn. */
static void best_of_turn(struct engine *e) {
    struct best_ofs *s = best_ofs_of(e);
    for (size_t i = 0; i < s->touched.count; i++) {
        struct best_of *b = best_of_find(e, s->touched.items[i]);
        if (!b)
            continue;
        b->is_touched = false;
        settle(e, b);
    }
    s->touched.count = 0;
}

static void best_of_carry_out(struct engine *e) {
    struct best_ofs *s = best_ofs_of(e);
    for (size_t i = 0; i < s->due.count; i++) {
        struct best_of *b = best_of_find(e, s->due.items[i]);
        if (b && !pick_carry_out(e, b))
            s->merge_at = time_add(e->now, BUSY_AGAIN);
    }
    s->due.count = 0;
}

static void best_of_begin(struct engine *e) {
    struct best_ofs *s = best_ofs_of(e);
    if (s->merge_at > e->now)
        return;
    s->merge_at = TIME_NEVER;
    for (uint32_t handle = 1; handle < s->slab.next; handle++)
        if (pick_is_due(e, record_at(s, handle)))
            best_of_touch(e, record_at(s, handle));
}

static time_ms best_of_next_wakeup(const struct engine *e) {
    return best_ofs_of(e)->merge_at;
}

static void best_of_undone(struct engine *e) {
    best_ofs_of(e)->due.count = 0;
}

static bool best_of_has_work(const struct engine *e) {
    return best_ofs_of(e)->touched.count > 0;
}

/* --- requests for the parent ------------------------------------------------------------------ */

static int apply_kind(struct engine *e, enum fact_kind kind, task_id task) {
    return engine_apply(e, &(struct fact){ .kind = kind, .task = task }, NULL);
}

/* The parent begins again: with `all`, also the candidates that have succeeded. */
static void begin_again(struct engine *e, struct best_of *b, bool all) {
    struct engine_best_of *v = &b->view;
    pick_clear(b);
    freep(&v->refused);
    v->refused = NULL;
    best_of_write(e, b);
    for (size_t i = 0; member_at(v, i); i++) {
        task_id task = member_at(v, i);
        enum task_state state = state_of(e, task);
        if (state == TASK_FAILED || state == TASK_CANCELED)
            (void)apply_kind(e, FACT_RETRY, task);
        else if (state == TASK_DONE && (all || task == v->chooser))
            (void)apply_kind(e, FACT_AGAIN, task);
    }
    if (v->chooser) /* until they have ended */
        (void)apply_kind(e, FACT_HOLD, v->chooser);
}

static void each_candidate(struct engine *e, const struct best_of *b, const struct fact *fact,
                           enum task_state only) {
    for (size_t i = 0; member_at(&b->view, i); i++) {
        struct fact own = *fact;
        own.task = member_at(&b->view, i);
        if (only == TASK_ABSENT || state_of(e, own.task) == only)
            (void)engine_apply(e, &own, NULL);
    }
}

size_t engine_hold_candidates(struct engine *e, task_id task, time_ms until) {
    const struct engine_best_of *v = engine_best_of(e, task);
    size_t changed = 0;
    for (size_t i = 0; v && i < v->count; i++) {
        struct fact fact = { .kind = FACT_HOLD, .task = v->candidates[i], .until = until };
        enum task_state state = state_of(e, fact.task);
        if (state == TASK_WAITING || state == TASK_READY)
            changed += engine_apply(e, &fact, NULL) == 0;
    }
    return changed;
}

size_t engine_release_candidates(struct engine *e, task_id task) {
    const struct engine_best_of *v = engine_best_of(e, task);
    size_t changed = 0;
    for (size_t i = 0; v && i < v->count; i++)
        if (best_of_is_held(e, v->candidates[i], HOLD_PERSON))
            changed += apply_kind(e, FACT_RELEASE, v->candidates[i]) == 0;
    return changed;
}

static void best_of_applied(struct engine *e, const struct fact *fact) {
    struct best_of *b = fact->task ? best_of_find(e, fact->task) : NULL;
    if (!b)
        return;
    switch ((int)fact->kind) {
    case FACT_DELETE: {
        task_id members[BEST_OF_MAX + 1] = { 0 };
        for (size_t i = 0; member_at(&b->view, i); i++)
            members[i] = member_at(&b->view, i);
        drop(e, b);
        for (size_t i = 0; i <= BEST_OF_MAX && members[i]; i++)
            (void)apply_kind(e, FACT_DELETE, members[i]);
        return;
    }
    case FACT_FORGET:
        drop(e, b);
        return;
    case FACT_RETRY:
        if (!b->view.picked || b->view.is_over) /* else a pick of a parent that has failed */
            begin_again(e, b, false);
        break;
    case FACT_AGAIN:
    case FACT_REJECT:
        begin_again(e, b, true);
        break;
    case FACT_SLING:
        each_candidate(e, b, fact, TASK_DRAFT);
        if (b->view.chooser)
            (void)apply_kind(e, FACT_HOLD, b->view.chooser);
        break;
    case FACT_HOLD: /* as the task was submitted, when it is slung */
        (void)engine_hold_candidates(e, fact->task, fact->until);
        (void)apply_kind(e, FACT_RELEASE, fact->task);
        break;
    case FACT_PRIORITY:
        each_candidate(e, b, fact, TASK_ABSENT);
        break;
    default:
        break;
    }
    best_of_touch(e, b);
}

static void best_of_changed(struct engine *e, task_id task, const struct task_spec *spec) {
    (void)spec;
    if (best_ofs_of(e)->slab.next <= 1)
        return;
    best_of_touch(e, best_of_find(e, task));
    best_of_touch(e, find_by_candidate(e, task));
}

const struct engine_part best_of_part = {
    .state_size = sizeof(struct best_ofs),
    .at = { [STEP_INIT] = best_of_reset,
            [STEP_UNLOAD] = best_of_reset,
            [STEP_BEGIN] = best_of_begin,
            [STEP_BEFORE_DECIDE] = best_of_turn,
            [STEP_CARRY_OUT] = best_of_carry_out,
            [STEP_UNDONE] = best_of_undone,
            [STEP_FREE] = best_of_end },
    .applied = best_of_applied,
    .task_changed = best_of_changed,
    .load_note = best_of_load,
    .has_work = best_of_has_work,
    .next_wakeup = best_of_next_wakeup,
};
