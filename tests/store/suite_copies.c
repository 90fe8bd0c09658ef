/* suite_copies.c: rules that reading, copying and comparing a complete store depend on. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "store/scan.h"
#include "suite.h"

struct keys {
    struct strbuf text;
    size_t count;
    char last[64];
};

static void take_keys(void *ctx, const struct store_answer *answer, const struct error *err) {
    struct keys *keys = ctx;
    assert_null(err);
    keys->count = answer->count;
    for (size_t i = 0; i < answer->count; i++) {
        strbuf_printf(&keys->text, "%s=%d:%lld:%s ", answer->key[i].key, answer->key[i].status,
                      (long long)answer->key[i].at,
                      answer->key[i].answer ? answer->key[i].answer : "-");
        (void)snprintf(keys->last, sizeof(keys->last), "%s", answer->key[i].key);
    }
}

static void expect_keys(struct suite *suite, const char *behind, size_t limit,
                        const char *expected) {
    struct keys keys = { .text = STRBUF_INIT };
    struct store_query question = { .kind = QUERY_KEYS, .key = behind, .limit = limit };
    kit_ask(suite->store, &question, take_keys, &keys);
    assert_string_equal(strbuf_text(&keys.text), expected);
    strbuf_finish(&keys.text);
}

/* Sorted by bytes: the order of letters depends on the locale. */
SUITE_RULE(keys_come_in_the_order_of_their_bytes) {
    static const char *const names[] = { "b", "\xc3\xa4", "B", "a-1", "a", "_", "a 1" };
    for (size_t i = 0; i < ARRAY_SIZE(names); i++)
        store_add_key(suite->batch, &(struct key_row){ .key = names[i],
                                                       .at = (time_ms)i,
                                                       .status = 200,
                                                       .answer = i % 2 ? "{}" : NULL });
    kit_commit(suite->store, suite->batch);
    expect_keys(suite, NULL, 0,
                "B=200:2:- _=200:5:{} a=200:4:- a 1=200:6:- a-1=200:3:{} b=200:0:- "
                "\xc3\xa4=200:1:{} ");
    expect_keys(suite, "a", 2, "a 1=200:6:- a-1=200:3:{} ");
    expect_keys(suite, "aa", 1, "b=200:0:- ");
    expect_keys(suite, "\xc3\xa4", 0, "");
}

SUITE_RULE(keys_come_page_by_page) {
    for (unsigned i = 0; i < 2500; i++) {
        char key[32];
        (void)snprintf(key, sizeof(key), "k%u", i * 7919 % 2500);
        store_add_key(suite->batch, &(struct key_row){ .key = key });
    }
    kit_commit(suite->store, suite->batch);
    struct keys keys = { .text = STRBUF_INIT };
    size_t seen = 0;
    do {
        char behind[64];
        (void)snprintf(behind, sizeof(behind), "%s", keys.last);
        struct store_query question = { .kind = QUERY_KEYS, .key = *behind ? behind : NULL };
        kit_ask(suite->store, &question, take_keys, &keys);
        assert_true(strcmp(keys.last, behind) > 0 || keys.count == 0);
        seen += keys.count;
    } while (keys.count == STORE_ANSWER_MAX);
    strbuf_finish(&keys.text);
    assert_int_equal(seen, 2500);
}

static void take_sums(void *ctx, const struct store_answer *answer, const struct error *err) {
    assert_null(err);
    for (size_t i = 0; i < answer->count; i++) {
        const struct spent_row *row = &answer->spent[i];
        strbuf_printf(ctx, "%s %lld %s/%s %lld\n",
                      row->span == SPENT_HOUR  ? "hour"
                      : row->span == SPENT_DAY ? "day"
                                               : "both",
                      (long long)(row->at / HOURS(1)), row->project ? row->project : "-",
                      row->agent ? row->agent : "-", (long long)row->runs);
    }
}

static void expect_sums(struct suite *suite, bool days, size_t after, const char *expected) {
    _cleanup_(strbuf_finish) struct strbuf out = STRBUF_INIT;
    struct store_query question = { .kind = QUERY_SPENT,
                                    .apart = true,
                                    .days = days,
                                    .since = INT64_MIN,
                                    .before_time = TIME_NEVER,
                                    .after = after };
    kit_ask(suite->store, &question, take_sums, &out);
    assert_string_equal(strbuf_text(&out), expected);
}

static void spend(struct suite *suite, enum spent_span span, const char *agent, time_ms at) {
    store_add_spent(
        suite->batch,
        &(struct spent_row){ .span = span, .project = "web", .agent = agent, .at = at, .runs = 1 });
}

SUITE_RULE(what_was_used_can_be_had_apart) {
    spend(suite, SPENT_BOTH, "claude", HOURS(30));
    kit_commit(suite->store, suite->batch);
    spend(suite, SPENT_BOTH, "codex", HOURS(30));
    spend(suite, SPENT_BOTH, "claude", HOURS(30) + 1);
    spend(suite, SPENT_BOTH, NULL, HOURS(31));
    kit_commit(suite->store, suite->batch);
    suite_reopen(suite);
    expect_sums(suite, false, 0, "hour 30 web/claude 2\nhour 30 web/codex 1\nhour 31 web/- 1\n");
    expect_sums(suite, false, 2, "hour 31 web/- 1\n");
}

SUITE_RULE(a_sum_can_be_of_the_hour_or_of_the_day_alone) {
    spend(suite, SPENT_HOUR, "claude", HOURS(30));
    spend(suite, SPENT_DAY, "claude", HOURS(49));
    kit_commit(suite->store, suite->batch);
    expect_sums(suite, false, 0, "hour 30 web/claude 1\n");
    expect_sums(suite, true, 0, "day 48 web/claude 1\n");
    spend(suite, SPENT_HOUR, "claude", HOURS(30) + 5);
    spend(suite, SPENT_DAY, "claude", HOURS(50));
    kit_commit(suite->store, suite->batch);
    suite_reopen(suite);
    expect_sums(suite, false, 0, "hour 30 web/claude 2\n");
    expect_sums(suite, true, 0, "day 48 web/claude 2\n");
}

/* --- opened for reading, and as the target of a copy ------------------------------------------------ */

static struct store *open_as(struct suite *suite, enum store_use use, uint64_t epoch_above,
                             struct store_report *report) {
    struct store_options options = {
        .url = suite->url, .reserve_bytes = -1, .use = use, .epoch_above = epoch_above
    };
    struct store *store = NULL;
    struct error err = { 0 };
    if (store_open(&options, &store, report, &err) < 0)
        fail_msg("cannot open '%s': %s", suite->url, err.text);
    return store;
}

SUITE_RULE(who_reads_is_not_counted) {
    struct task_row task = kit_task(1);
    store_add_task(suite->batch, &task);
    kit_commit(suite->store, suite->batch);
    suite->store = store_close(suite->store);
    for (unsigned i = 0; i < 2; i++) {
        struct store_report report = { 0 };
        struct store *store = open_as(suite, STORE_USE_READ, 0, &report);
        assert_int_equal(report.epoch, 1);
        assert_int_equal(kit_load(store, &(struct store_reader){ 0 }).tasks, 1);
        struct store_options second = { .url = suite->url };
        struct error err = { 0 };
        struct store *other = NULL;
        assert_int_equal(store_open(&second, &other, NULL, &err), -EBUSY);
        store_close(store);
    }
    suite->store = kit_open(suite->url, &suite->report);
    assert_int_equal(suite->report.epoch, 2);
    assert_false(suite->report.was_unclean);
}

SUITE_RULE(an_epoch_can_be_put_above_that_of_another_store) {
    store_close(suite->store);
    suite->store = open_as(suite, STORE_USE_WORK, 41, &suite->report);
    assert_int_equal(suite->report.epoch, 42);
    store_close(suite->store);
    suite->store = open_as(suite, STORE_USE_WORK, 7, &suite->report);
    assert_int_equal(suite->report.epoch, 43);
}

/* Checks the summary; a memory store has none before it is opened. */
static void expect_unfinished(struct suite *suite, bool unfinished) {
    struct store_summary look = { 0 };
    struct error err = { 0 };
    assert_int_equal(store_summary(suite->url, &look, &err), 0);
    assert_true(!look.there || look.unfinished == unfinished);
}

SUITE_RULE(an_unfinished_copy_is_refused) {
    store_close(suite->store);
    suite->store = open_as(suite, STORE_USE_COPY, 0, NULL);
    store_put_note(suite->batch, &(struct note_row){ .name = "store.copy", .text = "not yet" });
    kit_commit(suite->store, suite->batch);
    (void)kit_load(suite->store, &(struct store_reader){ 0 });
    static const enum store_use uses[] = { STORE_USE_WORK, STORE_USE_READ };
    for (size_t i = 0; i < ARRAY_SIZE(uses); i++) {
        store_close(suite->store);
        suite->store = open_as(suite, uses[i], 0, NULL);
        struct store_totals totals;
        struct error err = { 0 };
        assert_int_equal(store_load(suite->store, &(struct store_reader){ 0 }, &totals, &err),
                         -EINPROGRESS);
        assert_non_null(strstr(err.text, "'sluice store copy'"));
    }
    store_close(suite->store);
    expect_unfinished(suite, true);
    suite->store = open_as(suite, STORE_USE_COPY, 0, NULL);
    store_put_note(suite->batch, &(struct note_row){ .name = "store.copy" });
    kit_commit(suite->store, suite->batch);
    store_close(suite->store);
    expect_unfinished(suite, false);
    suite->store = kit_open(suite->url, &suite->report);
    (void)kit_load(suite->store, &(struct store_reader){ 0 });
}

static int count_row(void *ctx, enum store_table table, const void *row, struct error *err) {
    (void)err;
    store_digest_add(ctx, table, row);
    return 0;
}

/* More rows of every kind than fit into one answer. */
SUITE_RULE(a_scan_brings_every_row_once) {
    for (task_id id = 1; id <= 1200; id++) {
        struct task_row task = kit_task(id);
        struct spec_row spec = kit_spec(id);
        struct run_row live = kit_run(id, 2), ended = kit_run(id, 1);
        struct event_row event = kit_event(id, 0);
        store_add_task(suite->batch, &task);
        store_add_spec(suite->batch, &spec);
        store_put_run(suite->batch, &live);
        store_put_run(suite->batch, &ended);
        store_add_event(suite->batch, &event);
        char key[32];
        (void)snprintf(key, sizeof(key), "key-%u", (unsigned)id);
        store_add_key(suite->batch, &(struct key_row){ .key = key });
        spend(suite, SPENT_BOTH, key, HOURS(id));
    }
    kit_commit(suite->store, suite->batch);
    store_close(suite->store);
    suite->store = open_as(suite, STORE_USE_READ, 0, NULL); /* without a loop */
    struct store_digest digest = { 0 };
    struct error err = { 0 };
    assert_int_equal(store_scan(suite->store, count_row, &digest, &err), 0);
    static const enum store_table full[] = { STORE_TASKS, STORE_SPECS, STORE_EVENTS,
                                             STORE_KEYS,  STORE_HOURS, STORE_DAYS };
    for (size_t i = 0; i < ARRAY_SIZE(full); i++)
        if (digest.rows[full[i]] != 1200)
            fail_msg("%s: %d rows", store_table_name(full[i]), (int)digest.rows[full[i]]);
    assert_int_equal(digest.rows[STORE_RUNS], 2400);
    assert_int_equal(digest.rows[STORE_TOTALS], 1);
    assert_int_equal(digest.rows[STORE_NOTES], 0);
}
