/* copy_kit.c: a history with rows in every table, and ways to interrupt its copy. */
#include "copy_kit.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/alloc.h"

int copy_kit_begin(void **state) {
    struct copy_kit *f = xcalloc(1, sizeof(*f));
    f->folder = kit_folder();
    f->batch = store_batch_new();
    *state = f;
    return 0;
}

int copy_kit_end(void **state) {
    struct copy_kit *f = *state;
    store_batch_free(f->batch);
    kit_postgres_finish();
    kit_remove_folder(f->folder);
    free(f->folder);
    free(f);
    return 0;
}

/* --- stores --------------------------------------------------------------------------------------- */

enum kind copy_kit_kinds(void) {
    return kit_postgres() ? POSTGRES + 1 : POSTGRES;
}

const char *copy_kit_place(struct copy_kit *f, enum kind kind) {
    static unsigned number;
    assert_true(f->url_count < ARRAY_SIZE(f->urls));
    char *url = f->urls[f->url_count++];
    number++;
    if (kind == MEMORY)
        (void)snprintf(url, sizeof(f->urls[0]), "memory:copy-%u", number);
    else if (kind == SQLITE)
        (void)snprintf(url, sizeof(f->urls[0]), "%s/%u.db", f->folder, number);
    else
        kit_postgres_url(number, url);
    return url;
}

char *copy_kit_dump(const char *url) {
    struct store *store = kit_open(url, NULL);
    struct strbuf out = STRBUF_INIT;
    kit_dump(store, &out);
    store_close(store);
    return strbuf_take(&out);
}

void copy_kit_expect_same(const char *a, const char *b) {
    _cleanup_(freep) char *left = copy_kit_dump(a);
    _cleanup_(freep) char *right = copy_kit_dump(b);
    assert_string_equal(left, right);
}

/* --- copies --------------------------------------------------------------------------------------- */

static int stop(void *ctx, enum store_copy_step step, enum store_table table, uint64_t rows) {
    struct stopping *stopping = ctx;
    (void)step;
    (void)table;
    assert_true(rows > 0);
    stopping->reports++;
    return stopping->left > 0 && --stopping->left == 0 ? -ECANCELED : 0;
}

int copy_kit_try(struct copy_kit *f, const char *from, const char *to, size_t rows,
                 struct stopping *stopping, struct store_copy_report *ret_report) {
    struct store_copy_options options = { .from = from, .to = to, .rows_at_once = rows };
    if (stopping) {
        options.progress = stop;
        options.ctx = stopping;
    }
    f->err = (struct error){ 0 };
    return store_copy(&options, ret_report, &f->err);
}

struct store_copy_report copy_kit_copy(struct copy_kit *f, const char *from, const char *to) {
    struct store_copy_report report = { 0 };
    if (copy_kit_try(f, from, to, 0, NULL, &report) < 0)
        fail_msg("the copy fails: %s", f->err.text);
    return report;
}

/* --- histories ------------------------------------------------------------------------------------ */

void copy_kit_add_tasks(struct store_batch *batch, task_id first, task_id last) {
    for (task_id id = first; id <= last; id++) {
        struct task_row task = kit_task(id);
        struct spec_row spec = kit_spec(id);
        char external[32];
        (void)snprintf(external, sizeof(external), "key-%u", (unsigned)id);
        if (id % 3 == 0)
            spec.external_id = external;
        store_add_task(batch, &task);
        store_add_spec(batch, &spec);
        if (id % 4 == 0)
            store_put_context(batch, id, "{\"merge\":\"local\"}");
        for (uint32_t attempt = 1; attempt <= 3; attempt++) {
            struct run_row run = kit_run(id, attempt);
            store_put_run(batch, &run);
        }
        struct event_row event = kit_event(id, id % 2 ? id : 0);
        store_add_event(batch, &event);
    }
}

static void add_world(struct store_batch *batch) {
    store_put_project(batch,
                      &(struct project_row){ .name = "zebra", .prefix = "z", .created_at = 9 });
    store_put_project(batch, &(struct project_row){ .name = "ant",
                                                    .prefix = "a",
                                                    .paused = true,
                                                    .paused_by = "ann",
                                                    .paused_at = 3,
                                                    .created_at = 4 });
    store_put_limiter(batch, &(struct limiter_row){ .name = "anthropic",
                                                    .spec = { .backoff_until = 1,
                                                              .hits = 2,
                                                              .closed = true,
                                                              .backoff_since = 3,
                                                              .last_hit = 4,
                                                              .in_backoff = true,
                                                              .ramp_since = 5,
                                                              .last_success = 6,
                                                              .quota = { { 7, 8 }, { 9, 10 } } } });
    store_put_agent(
        batch,
        &(struct agent_row){
            .name = "claude",
            .spec = { .idle = true, .launch_failures = 1, .openings = 2, .closed_until = 3 } });
    store_put_group(batch, &(struct group_row){ .id = 7,
                                                .name = "night",
                                                .owned = true,
                                                .closed = true,
                                                .created_at = 1,
                                                .closed_at = 2 });
    store_add_usage(batch, &(struct usage_row){ .project = "web",
                                                .bucket = 300000,
                                                .tokens = 100,
                                                .unreported = 10,
                                                .reports = 1,
                                                .starts = -2,
                                                .completions = 3,
                                                .money = 1250000,
                                                .priced = 4,
                                                .unpriced = 5 });
    store_add_usage(batch, &(struct usage_row){ .bucket = -300000, .tokens = -5 });
    store_put_wait(batch,
                   &(struct wait_row){
                       .project = "web", .limiter = "anthropic", .agent = "claude", .lost = 1 });
    store_put_wait(batch, &(struct wait_row){ .project = "web", .closed_since = 2 });
    store_put_note(batch, &(struct note_row){ .name = "alert:disk", .text = "{\"since\":1}" });
    store_put_note(batch, &(struct note_row){ .name = "empty", .text = "" });
    store_put_pause(batch, &(struct pause_row){ true, "ann", 4711 });
    for (unsigned i = 1; i <= 5; i++) {
        char key[32];
        (void)snprintf(key, sizeof(key), "key-%u", i);
        store_add_key(batch, &(struct key_row){ .key = key,
                                                .at = 1000 + (time_ms)i,
                                                .status = 200,
                                                .answer = i % 2 ? "{\"id\":1}" : NULL });
    }
    for (int64_t i = 1; i <= 4; i++)
        store_add_spent(batch, &(struct spent_row){ .project = i % 2 ? "web" : NULL,
                                                    .agent = i % 3 ? "claude" : NULL,
                                                    .at = DAYS(3) + HOURS(7 * i),
                                                    .runs = 3,
                                                    .ok = 2,
                                                    .busy_ms = i,
                                                    .tokens_in = 10 * i,
                                                    .tokens_out = 20 * i,
                                                    .tokens_cached = 5,
                                                    .cost_micro_usd = 7,
                                                    .unknown_tokens = 1,
                                                    .unknown_cost = 2 });
}

void copy_kit_make_rich(struct copy_kit *f, const char *url) {
    struct store *store = kit_open(url, NULL);
    copy_kit_add_tasks(f->batch, 1, 20);
    add_world(f->batch);
    kit_commit(store, f->batch);
    store_delete_task(f->batch, 20);
    store_assign_numbers(f->batch, 31);
    store_prune_events(f->batch, 4);
    store_prune_spent(f->batch, false, DAYS(3) + HOURS(15));
    kit_commit(store, f->batch);
    store_close(store);
}

void copy_kit_expect_unfinished(struct copy_kit *f, const char *url) {
    struct store *store = kit_open(url, NULL);
    struct store_totals totals;
    assert_int_equal(store_load(store, &(struct store_reader){ 0 }, &totals, &f->err),
                     -EINPROGRESS);
    assert_non_null(strstr(f->err.text, "is not finished"));
    store_close(store);
}
