/* correct.c: see correct.h. A window is a list of buckets, and a run was booked into the one in
 * which its end was applied: that of its end or, if no daemon was running then, a later one.
 * Amounts are taken back from the bucket of its end, then from later ones, then from earlier ones,
 * from none more than it has. */
#include "engine/correct.h"

#include <errno.h>
#include <stdlib.h>

#include "base/json_write.h"
#include "engine/agents/agents_internal.h"
#include "engine/budget.h"

struct booked {
    int64_t in, out, cached, usd; /* -1: unknown */
};

static int64_t known(int64_t told) {
    return told > 0 ? told : 0;
}

static int64_t tokens_of(const struct booked *b) {
    return b->in < 0 && b->out < 0 ? -1 : known(b->in) + known(b->out);
}

/* --- windows --------------------------------------------------------------------------------- */

struct buckets {
    LIST(struct usage_spec) list; /* oldest first */
};

static void add_bucket(void *ctx, const struct usage_spec *bucket) {
    *LIST_ADD(&((struct buckets *)ctx)->list) = *bucket;
}

/* Takes up to `wanted` of `there`; subtracts it from `ret`. */
static int64_t take(int64_t there, int64_t wanted, int64_t *ret) {
    int64_t taken = there < wanted ? there : wanted;
    taken = known(taken);
    *ret -= taken;
    return taken;
}

static void take_from(struct engine *e, const struct usage_spec *bucket,
                      struct usage_spec *wanted) {
    int64_t unpriced = 0;
    struct fact fact = { .kind = FACT_USAGE,
                         .usage = { .project = bucket->project, .at = bucket->at } };
    wanted->tokens -= take(bucket->tokens, wanted->tokens, &fact.usage.tokens);
    wanted->money -= take(bucket->money, wanted->money, &fact.usage.money);
    wanted->unpriced -= (int32_t)take(bucket->unpriced, wanted->unpriced, &unpriced);
    fact.usage.unpriced = (int32_t)unpriced;
    if (fact.usage.tokens || fact.usage.money || fact.usage.unpriced)
        (void)engine_apply(e, &fact, NULL);
}

static void take_back(struct engine *e, sym project, time_ms at, struct usage_spec wanted) {
    struct buckets b = { 0 };
    core_usage(e->core, project, add_bucket, &b);
    size_t first = 0; /* the last one that began before its end */
    for (size_t i = 0; i < b.list.count; i++)
        first = b.list.items[i].at <= at ? i : first;
    for (size_t i = first; i < b.list.count; i++)
        take_from(e, &b.list.items[i], &wanted);
    for (size_t i = first; i-- > 0;)
        take_from(e, &b.list.items[i], &wanted);
    free(b.list.items);
}

static void correct_windows(struct engine *e, sym project, time_ms at, const struct booked *old,
                            const struct booked *now) {
    int64_t tokens = known(tokens_of(now)) - known(tokens_of(old));
    int64_t money = known(now->usd) - known(old->usd);
    bool priced = old->usd < 0 && now->usd >= 0;
    struct fact more = { .kind = FACT_USAGE,
                         .usage = { .project = project,
                                    .tokens = known(tokens),
                                    .reports = tokens_of(old) < 0 && tokens_of(now) >= 0,
                                    .money = known(money),
                                    .priced = priced,
                                    .at = at } };
    take_back(e, project, at,
              (struct usage_spec){
                  .tokens = known(-tokens), .money = known(-money), .unpriced = priced });
    if (more.usage.tokens || more.usage.reports || more.usage.money || more.usage.priced)
        (void)engine_apply(e, &more, NULL);
}

/* --- its task -------------------------------------------------------------------------------- */

static void correct_task(struct engine *e, const struct run_row *row, const struct task_view *view,
                         const struct booked *old, const struct booked *now) {
    struct allowance *a = allowance_get(e, row->task);
    struct engine_amounts limit = allowance_run_limit(e, row->task);
    a->used.tokens = known(a->used.tokens + known(tokens_of(now)) - known(tokens_of(old)));
    a->used.usd = known(a->used.usd + known(now->usd) - known(old->usd));
    if (old->usd < 0 && now->usd >= 0 && a->unknown > 0)
        a->unknown--;
    if (row->attempt == view->attempt) {
        a->last = (struct engine_amounts){ .tokens = tokens_of(now), .usd = now->usd };
        a->is_over = a->is_over && (a->last.tokens > limit.tokens || a->last.usd > limit.usd);
        a->by_agent = false;
    }
    allowance_write(e, a);
    allowance_see_state(e, row->task, view->state); /* a final one returns the rest */
    budget_look(e, row->task);
}

/* --- rows ------------------------------------------------------------------------------------ */

static void correct_rows(struct engine *e, const struct run_row *row, const struct task_view *view,
                         const struct booked *old, const struct booked *now) {
    struct run_row changed = *row;
    changed.tokens_in = now->in;
    changed.tokens_out = now->out;
    changed.tokens_cached = now->cached;
    changed.cost_micro_usd = now->usd;
    store_put_run(e->turn.batch, &changed);
    store_add_spent(e->turn.batch,
                    &(struct spent_row){
                        .project = symbol_name(core_symbols(e->core), view->project),
                        .agent = row->agent,
                        .at = row->ended_at,
                        .tokens_in = known(now->in) - known(old->in),
                        .tokens_out = known(now->out) - known(old->out),
                        .tokens_cached = known(now->cached) - known(old->cached),
                        .cost_micro_usd = known(now->usd) - known(old->usd),
                        .unknown_tokens = (tokens_of(now) < 0) - (tokens_of(old) < 0),
                        .unknown_cost = (now->usd < 0) - (old->usd < 0),
                    });
    turn_wrote(e);
}

static void put_pair(struct json_writer *w, const char *key, int64_t old, int64_t now) {
    json_put_array(w, key);
    for (int i = 0; i < 2; i++) {
        int64_t number = i == 0 ? old : now;
        if (number < 0)
            json_write_null(w);
        else
            json_write_int(w, number);
    }
    json_write_array_end(w);
}

static void write_event(struct engine *e, const struct run_row *row, const struct booked *old,
                        const struct booked *now, const char *by) {
    _cleanup_(strbuf_finish) struct strbuf data = STRBUF_INIT;
    struct json_writer w;
    json_write_init(&w, &data, false);
    json_write_object_begin(&w);
    put_pair(&w, "tokens", tokens_of(old), tokens_of(now));
    put_pair(&w, "micro_usd", old->usd, now->usd);
    if (by)
        json_put_string(&w, "by", by);
    json_write_object_end(&w);
    engine_event(e, "run.corrected", row->task, row->attempt, strbuf_text(&data));
}

int engine_correct_run(struct engine *e, const struct run_row *row,
                       const struct engine_correction *c, struct error *err) {
    struct booked old = { row->tokens_in, row->tokens_out, row->tokens_cached,
                          row->cost_micro_usd };
    struct booked now = old;
    struct task_view view;
    char id[ENGINE_ID_MAX];
    engine_task_id(e, row->task, id);
    if (!core_task(e->core, row->task, &view))
        return error_set(err, -ENOENT, "task '%s' is not known any more: no window has its runs",
                         id);
    if (!row->ended)
        return error_set(err, -EBUSY,
                         "attempt %u of task '%s' has not ended: wait for it, or cancel it",
                         row->attempt, id);
    if (c->tokens_in >= 0 || c->tokens_out >= 0) {
        now.in = known(c->tokens_in);
        now.out = known(c->tokens_out);
        now.cached = now.cached > now.in ? now.in : now.cached;
    }
    if (c->cost_micro_usd >= 0)
        now.usd = c->cost_micro_usd;
    correct_windows(e, view.project, row->ended_at, &old, &now);
    correct_rows(e, row, &view, &old, &now);
    correct_task(e, row, &view, &old, &now);
    write_event(e, row, &old, &now, c->by);
    plausible_corrected(e, row->task);
    return 0;
}
