/* late_store.c: see late_store.h. */
#include "late_store.h"

#include <errno.h>
#include <stdlib.h>

#include "base/alloc.h"

#define QUESTIONS_MAX 64

struct late {
    struct store base; /* first */
    struct store *memory;
};

struct waiting {
    struct store_query question;
    store_answered done;
    void *ctx;
};

static struct {
    struct late *store;
    const struct store_batch *commit;
    struct waiting questions[QUESTIONS_MAX];
    size_t count;
    bool hold_commits, hold_answers, broken_load, lost_specs;
    unsigned commits, failing, crashing; /* `crashing` counts down */
    bool crash_stored;
} now;

static int late_open(const struct store_options *options, struct store **ret_store,
                     struct store_report *ret_report, struct error *err) {
    struct late *late = xcalloc(1, sizeof(*late));
    int r = store_open_backend(&memory_backend, options, &late->memory, ret_report, err);
    if (r < 0) {
        free(late);
        return r;
    }
    now.store = late;
    *ret_store = &late->base;
    return 0;
}

static void late_close(struct store *base) {
    struct late *late = (struct late *)base;
    store_close(late->memory);
    free(late);
    now.store = NULL;
}

static int late_load(struct store *base, const struct store_reader *reader,
                     struct store_totals *ret_totals, struct error *err) {
    if (now.broken_load)
        return error_set(err, -EIO, "the test lets nothing be read");
    return store_load(((struct late *)base)->memory, reader, ret_totals, err);
}

static void memory_done(void *ctx, enum store_outcome outcome, const struct error *err) {
    (void)ctx;
    store_finish_commit(&now.store->base, outcome, err);
}

/* The batch is in flight here, and then again in the store behind this one. */
static void commit_now(const struct store_batch *batch) {
    ((struct store_batch *)batch)->in_flight = false;
    store_commit(now.store->memory, (struct store_batch *)batch, memory_done, NULL);
}

static void crash(struct store *base) {
    struct error err = { 0 };
    error_set(&err, -EIO, "the test ends the daemon here");
    store_finish_commit(base, STORE_UNKNOWN, &err);
}

static void memory_done_then_crash(void *ctx, enum store_outcome outcome, const struct error *err) {
    (void)outcome;
    (void)err;
    crash(ctx);
}

static void late_commit(struct store *base, const struct store_batch *batch) {
    struct error err = { 0 };
    if (now.crashing > 0 && store_batch_count(batch) > 0 && --now.crashing == 0) {
        if (!now.crash_stored) {
            crash(base);
            return;
        }
        ((struct store_batch *)batch)->in_flight = false;
        store_commit(now.store->memory, (struct store_batch *)batch, memory_done_then_crash, base);
    } else if (++now.commits == now.failing) {
        error_set(&err, -ENOSPC, "the test lets it fail");
        store_finish_commit(base, STORE_FAILED, &err);
    } else if (now.hold_commits) {
        now.commit = batch;
    } else {
        commit_now(batch);
    }
}

static void late_ask(struct store *base, const struct store_query *question, store_answered done,
                     void *ctx) {
    if (question->kind == QUERY_SPECS && now.lost_specs)
        done(ctx, &(struct store_answer){ 0 }, NULL);
    else if (now.hold_answers && now.count < QUESTIONS_MAX)
        now.questions[now.count++] = (struct waiting){ *question, done, ctx };
    else
        store_query(((struct late *)base)->memory, question, done, ctx);
}

static void late_give_up(struct store *base, const struct error *why) {
    (void)base;
    for (size_t i = 0; i < now.count; i++)
        now.questions[i].done(now.questions[i].ctx, &(struct store_answer){ 0 }, why);
    now.count = 0;
    if (now.commit)
        late_finish_commit(STORE_UNKNOWN);
}

static time_ms late_maintain(struct store *base, time_ms idle_ms) {
    (void)base;
    (void)idle_ms;
    return TIME_NEVER;
}

static void late_info(const struct store *base, struct store_info *ret) {
    (void)base;
    ret->place = "late";
}

const struct store_backend late_backend = {
    .name = "late",
    .open = late_open,
    .close = late_close,
    .load = late_load,
    .commit = late_commit,
    .query = late_ask,
    .maintain = late_maintain,
    .give_up = late_give_up,
    .info = late_info,
};

void late_lose_store(void) {
    struct error err = { 0 };
    error_set(&err, -ESTALE, "another daemon has taken over");
    store_break(&now.store->base, &err);
}

void late_hold_commits(bool hold) {
    now.hold_commits = hold;
}

void late_hold_answers(bool hold) {
    now.hold_answers = hold;
}

bool late_has_commit(void) {
    return now.commit != NULL;
}

size_t late_answers(void) {
    return now.count;
}

void late_finish_commit(enum store_outcome outcome) {
    const struct store_batch *batch = now.commit;
    struct error err = { 0 };
    now.commit = NULL;
    if (outcome == STORE_OK) {
        commit_now(batch);
        return;
    }
    error_set(&err, outcome == STORE_FAILED ? -ENOSPC : -EIO, "the test lets it fail");
    store_finish_commit(&now.store->base, outcome, &err);
}

void late_give_answers(void) {
    struct waiting questions[QUESTIONS_MAX];
    size_t count = now.count;
    for (size_t i = 0; i < count; i++)
        questions[i] = now.questions[i];
    now.count = 0;
    for (size_t i = 0; i < count; i++)
        store_query(now.store->memory, &questions[i].question, questions[i].done, questions[i].ctx);
}

void late_fail_answers(void) {
    struct error err = { 0 };
    error_set(&err, -EIO, "the test lets it not be read");
    size_t count = now.count;
    now.count = 0;
    for (size_t i = 0; i < count; i++)
        now.questions[i].done(now.questions[i].ctx, &(struct store_answer){ 0 }, &err);
}

void late_fail_commit(unsigned number) {
    now.commits = 0;
    now.failing = number;
}

void late_crash_commit(unsigned number, bool stored) {
    now.crashing = number;
    now.crash_stored = stored;
}

unsigned late_commits(void) {
    return now.commits;
}

void late_break_load(bool broken) {
    now.broken_load = broken;
}

void late_lose_specs(bool lost) {
    now.lost_specs = lost;
}

void late_reset(void) {
    now.commit = NULL;
    now.count = 0;
    now.hold_commits = now.hold_answers = now.broken_load = now.lost_specs = false;
    now.commits = now.failing = now.crashing = 0;
}
