/* suite_questions.c: queries, on every backend. */
#include <errno.h>
#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/alloc.h"
#include "store/store_internal.h"
#include "suite.h"

struct numbers {
    enum row_kind kind; /* of the rows */
    struct strbuf text; /* "3 1 2" */
};

static void print_numbers(void *ctx, const struct store_answer *answer, const struct error *err) {
    struct numbers *numbers = ctx;
    assert_null(err);
    for (size_t i = 0; i < answer->count; i++) {
        uint64_t number = 1;
        if (numbers->kind == ROW_SPEC)
            number = answer->specs[i].id;
        else if (numbers->kind == ROW_RUN)
            number = answer->runs[i].attempt;
        else if (numbers->kind == ROW_EVENT)
            number = answer->events[i].seq;
        else if (numbers->kind == ROW_KIND_MAX)
            number = answer->tasks[i];
        strbuf_printf(&numbers->text, "%s%" PRIu64, numbers->text.length ? " " : "", number);
    }
}

static void expect(struct suite *suite, struct store_query question, const char *expected) {
    struct numbers found = { .kind = store_answer_kind(question.kind) };
    kit_ask(suite->store, &question, print_numbers, &found);
    assert_string_equal(strbuf_text(&found.text), expected);
    strbuf_finish(&found.text);
}

static void fill(struct suite *suite) {
    for (task_id id = 1; id <= 6; id++) {
        struct task_row row = kit_task(id);
        struct spec_row spec = kit_spec(id);
        char external[32];
        (void)snprintf(external, sizeof(external), "card-%u", (unsigned)id);
        spec.external_id = external;
        row.spec.state = id <= 3 ? TASK_WAITING : TASK_DONE;
        row.changed_at = 1000 - (time_ms)id;
        store_add_task(suite->batch, &row);
        store_add_spec(suite->batch, &spec);
    }
    for (uint32_t attempt = 1; attempt <= 5; attempt++) {
        struct run_row run = kit_run(2, attempt), other = kit_run(3, attempt);
        store_put_run(suite->batch, &run);
        store_put_run(suite->batch, &other);
    }
    for (uint64_t seq = 1; seq <= 9; seq++) {
        struct event_row event = kit_event(seq, seq % 3);
        store_add_event(suite->batch, &event);
    }
    kit_commit(suite->store, suite->batch);
}

SUITE_RULE(specs_come_in_the_order_asked_for) {
    fill(suite);
    static const task_id wanted[] = { 5, 99, 2, 5, UINT64_MAX, 1 };
    struct store_query question = { .kind = QUERY_SPECS, .tasks = wanted, .task_count = 6 };
    expect(suite, question, "5 2 5 1");
    question.limit = 2;
    expect(suite, question, "5 2");
    question.task_count = 0;
    expect(suite, question, "");
}

static void take_changes(void *ctx, const struct store_answer *answer, const struct error *err) {
    struct strbuf *out = ctx;
    assert_null(err);
    for (size_t i = 0; i < answer->count; i++) {
        assert_null(answer->specs[i].json);
        strbuf_printf(out, " %u=%lld", (unsigned)answer->specs[i].id,
                      (long long)answer->specs[i].changed_at);
    }
}

SUITE_RULE(when_tasks_changed_comes_without_what_they_are) {
    static const task_id wanted[] = { 5, 99, 2, UINT64_MAX };
    struct store_query question = { .kind = QUERY_CHANGED, .tasks = wanted, .task_count = 4 };
    _cleanup_(strbuf_finish) struct strbuf out = STRBUF_INIT;
    for (task_id id = 1; id <= 5; id++) {
        struct task_row row = kit_task(id);
        row.changed_at = 100 + (time_ms)id;
        store_add_task(suite->batch, &row);
    }
    kit_commit(suite->store, suite->batch);
    kit_ask(suite->store, &question, take_changes, &out);
    assert_string_equal(strbuf_text(&out), " 5=105 2=102");
}

static void take_titles(void *ctx, const struct store_answer *answer, const struct error *err) {
    assert_null(err);
    for (size_t i = 0; i < answer->count; i++) {
        assert_null(answer->specs[i].json);
        strbuf_printf(ctx, " %u=%s@%lld", (unsigned)answer->specs[i].id, answer->specs[i].title,
                      (long long)answer->specs[i].changed_at);
    }
}

SUITE_RULE(titles_come_without_the_rest) {
    static const task_id wanted[] = { 5, 99, 2, UINT64_MAX };
    struct store_query question = { .kind = QUERY_TITLES, .tasks = wanted, .task_count = 4 };
    _cleanup_(strbuf_finish) struct strbuf out = STRBUF_INIT;
    for (task_id id = 1; id <= 5; id++) {
        struct task_row row = kit_task(id);
        struct spec_row spec = kit_spec(id);
        spec.title = id == 5 ? "five" : "other";
        row.changed_at = 100 + (time_ms)id;
        store_add_task(suite->batch, &row);
        store_add_spec(suite->batch, &spec);
    }
    kit_commit(suite->store, suite->batch);
    kit_ask(suite->store, &question, take_titles, &out);
    assert_string_equal(strbuf_text(&out), " 5=five@105 2=other@102");
}

/* --- ended runs and their usage --------------------------------------------------------------- */

static void put_end(struct suite *suite, task_id task, uint32_t attempt, time_ms ended_at) {
    struct run_row run = kit_run(task, attempt);
    run.ended = ended_at > 0;
    run.ended_at = ended_at;
    store_put_run(suite->batch, &run);
}

static void take_places(void *ctx, const struct store_answer *answer, const struct error *err) {
    assert_null(err);
    for (size_t i = 0; i < answer->count; i++)
        strbuf_printf(ctx, " %u.%u", (unsigned)answer->runs[i].task, answer->runs[i].attempt);
}

static void expect_ended(struct suite *suite, struct store_query question, const char *runs) {
    _cleanup_(strbuf_finish) struct strbuf out = STRBUF_INIT;
    question.kind = QUERY_ENDED;
    kit_ask(suite->store, &question, take_places, &out);
    assert_string_equal(strbuf_text(&out), runs);
}

SUITE_RULE(runs_that_ended_come_latest_first) {
    put_end(suite, 1, 1, 100);
    put_end(suite, 1, 2, 300);
    put_end(suite, 2, 1, 300);
    put_end(suite, 2, 2, 300);
    put_end(suite, 3, 1, 200);
    put_end(suite, 4, 1, 0); /* a live run */
    kit_commit(suite->store, suite->batch);
    const struct store_cursor begin = { .ended_at = TIME_NEVER };
    expect_ended(suite, (struct store_query){ .place = begin }, " 2.2 2.1 1.2 3.1 1.1");
    expect_ended(suite, (struct store_query){ .place = begin, .since = 200, .limit = 2 },
                 " 2.2 2.1");
    struct store_query rest = { .place = { 300, 2, 1 }, .since = 200 };
    expect_ended(suite, rest, " 1.2 3.1");
    rest.place = (struct store_cursor){ 200, 3, 1 };
    expect_ended(suite, rest, "");
}

static void take_spent(void *ctx, const struct store_answer *answer, const struct error *err) {
    assert_null(err);
    for (size_t i = 0; i < answer->count; i++) {
        const struct spent_row *s = &answer->spent[i];
        strbuf_printf(ctx, "%lld %s/%s %lld,%lld,%lld %lld,%lld,%lld %lld %lld,%lld\n",
                      (long long)(s->at / HOURS(1)), s->project ? s->project : "-",
                      s->agent ? s->agent : "-", (long long)s->runs, (long long)s->ok,
                      (long long)s->busy_ms, (long long)s->tokens_in, (long long)s->tokens_out,
                      (long long)s->tokens_cached, (long long)s->cost_micro_usd,
                      (long long)s->unknown_tokens, (long long)s->unknown_cost);
    }
}

static void expect_spent(struct suite *suite, struct store_query question, const char *sums) {
    _cleanup_(strbuf_finish) struct strbuf out = STRBUF_INIT;
    question.kind = QUERY_SPENT;
    if (question.before_time == 0)
        question.before_time = TIME_NEVER;
    kit_ask(suite->store, &question, take_spent, &out);
    assert_string_equal(strbuf_text(&out), sums);
}

static void spend(struct suite *suite, const char *project, const char *agent, time_ms at) {
    struct spent_row row = { .project = project,
                             .agent = agent,
                             .at = at,
                             .runs = 1,
                             .ok = agent != NULL,
                             .busy_ms = 10,
                             .tokens_in = 3,
                             .tokens_out = 2,
                             .tokens_cached = 1,
                             .cost_micro_usd = 7,
                             .unknown_cost = agent == NULL };
    store_add_spent(suite->batch, &row);
}

SUITE_RULE(what_was_used_is_summed_by_hour_and_by_day) {
    spend(suite, "web", "claude", HOURS(30));
    spend(suite, "web", "claude", HOURS(30) + 1);
    spend(suite, "web", NULL, HOURS(31) - 1);
    spend(suite, "api", "claude", HOURS(31));
    spend(suite, "api", "claude", HOURS(48));
    kit_commit(suite->store, suite->batch);
    suite_reopen(suite);
    expect_spent(suite, (struct store_query){ .by_agent = false },
                 "30 web/- 3,2,30 9,6,3 21 0,1\n31 api/- 1,1,10 3,2,1 7 0,0\n"
                 "48 api/- 1,1,10 3,2,1 7 0,0\n");
    expect_spent(suite, (struct store_query){ .by_agent = true, .before_time = HOURS(31) },
                 "30 -/- 1,0,10 3,2,1 7 0,1\n30 -/claude 2,2,20 6,4,2 14 0,0\n");
    expect_spent(suite, (struct store_query){ .days = true, .since = HOURS(25) },
                 "48 api/- 1,1,10 3,2,1 7 0,0\n");
    expect_spent(suite, (struct store_query){ .days = true, .by_agent = true, .after = 1 },
                 "24 -/claude 3,3,30 9,6,3 21 0,0\n48 -/claude 1,1,10 3,2,1 7 0,0\n");
    expect_spent(suite, (struct store_query){ .days = true, .by_agent = true, .limit = 1 },
                 "24 -/- 1,0,10 3,2,1 7 0,1\n");
}

SUITE_RULE(sums_outlive_their_tasks_and_are_pruned_by_themselves) {
    struct task_row task = kit_task(1);
    store_add_task(suite->batch, &task);
    put_end(suite, 1, 1, HOURS(1));
    spend(suite, "web", "claude", HOURS(1));
    spend(suite, "web", "claude", HOURS(25));
    kit_commit(suite->store, suite->batch);
    store_delete_task(suite->batch, 1);
    store_prune_spent(suite->batch, false, HOURS(25));
    kit_commit(suite->store, suite->batch);
    expect_ended(suite, (struct store_query){ .place = { .ended_at = TIME_NEVER } }, "");
    expect_spent(suite, (struct store_query){ .days = false }, "25 web/- 1,1,10 3,2,1 7 0,0\n");
    expect_spent(suite, (struct store_query){ .days = true },
                 "0 web/- 1,1,10 3,2,1 7 0,0\n24 web/- 1,1,10 3,2,1 7 0,0\n");
    store_prune_spent(suite->batch, true, DAYS(1));
    kit_commit(suite->store, suite->batch);
    expect_spent(suite, (struct store_query){ .days = true }, "24 web/- 1,1,10 3,2,1 7 0,0\n");
}

static void changed_at(void *ctx, const struct store_answer *answer, const struct error *err) {
    assert_null(err);
    assert_int_equal(answer->count, 1);
    *(time_ms *)ctx = answer->specs[0].changed_at;
}

SUITE_RULE(a_spec_says_when_its_task_changed) {
    fill(suite);
    static const task_id wanted = 4;
    time_ms at = 0;
    struct store_query question = { .kind = QUERY_SPECS, .tasks = &wanted, .task_count = 1 };
    kit_ask(suite->store, &question, changed_at, &at);
    assert_int_equal(at, 996);
    struct task_row row = kit_task(4);
    row.changed_at = 1234;
    store_change_task(suite->batch, &row, STORE_CHANGE_SEEN);
    kit_commit(suite->store, suite->batch);
    question = (struct store_query){ .kind = QUERY_EXTERNAL, .key = "card-4", .project = "api" };
    kit_ask(suite->store, &question, changed_at, &at);
    assert_int_equal(at, 1234);
}

SUITE_RULE(the_newest_runs_come_first) {
    fill(suite);
    expect(suite, (struct store_query){ .kind = QUERY_RUNS, .task = 2 }, "5 4 3 2 1");
    expect(suite, (struct store_query){ .kind = QUERY_RUNS, .task = 2, .before = 4, .limit = 2 },
           "3 2");
    expect(suite, (struct store_query){ .kind = QUERY_RUNS, .task = 2, .before = 1 }, "");
    expect(suite, (struct store_query){ .kind = QUERY_RUNS, .task = 1 }, "");
    expect(suite, (struct store_query){ .kind = QUERY_RUNS, .task = 99 }, "");
}

static void take_all_places(void *ctx, const struct store_answer *answer, const struct error *err) {
    assert_null(err);
    for (size_t i = 0; i < answer->count; i++)
        strbuf_printf(ctx, "%u/%u ", (unsigned)answer->runs[i].task, answer->runs[i].attempt);
}

static void expect_all_runs(struct suite *suite, struct store_cursor behind, size_t limit,
                            const char *places) {
    _cleanup_(strbuf_finish) struct strbuf out = STRBUF_INIT;
    struct store_query question = { .kind = QUERY_RUNS, .place = behind, .limit = limit };
    kit_ask(suite->store, &question, take_all_places, &out);
    assert_string_equal(strbuf_text(&out), places);
}

SUITE_RULE(all_runs_come_by_task_and_attempt) {
    for (task_id task = 3; task >= 1; task--)
        for (uint32_t attempt = 2; attempt >= 1; attempt--) {
            struct run_row run = kit_run(task, attempt); /* ended or not */
            store_put_run(suite->batch, &run);
        }
    kit_commit(suite->store, suite->batch);
    expect_all_runs(suite, (struct store_cursor){ 0 }, 0, "1/1 1/2 2/1 2/2 3/1 3/2 ");
    expect_all_runs(suite, (struct store_cursor){ .task = 1, .attempt = 1 }, 2, "1/2 2/1 ");
    expect_all_runs(suite, (struct store_cursor){ .task = 2, .attempt = 7 }, 0, "3/1 3/2 ");
    expect_all_runs(suite, (struct store_cursor){ .task = 3, .attempt = 2 }, 0, "");
}

SUITE_RULE(events_come_forward_and_back) {
    fill(suite);
    expect(suite, (struct store_query){ .kind = QUERY_EVENTS }, "1 2 3 4 5 6 7 8 9");
    expect(suite, (struct store_query){ .kind = QUERY_EVENTS, .after = 7 }, "8 9");
    expect(suite, (struct store_query){ .kind = QUERY_EVENTS, .after = 9 }, "");
    expect(suite, (struct store_query){ .kind = QUERY_EVENTS, .limit = 2 }, "1 2");
    expect(suite, (struct store_query){ .kind = QUERY_EVENTS, .task = 2 }, "2 5 8");
    expect(suite, (struct store_query){ .kind = QUERY_EVENTS, .task = 2, .after = 2, .limit = 1 },
           "5");
    expect(suite, (struct store_query){ .kind = QUERY_EVENTS_BACK }, "9 8 7 6 5 4 3 2 1");
    expect(suite, (struct store_query){ .kind = QUERY_EVENTS_BACK, .before = 3 }, "2 1");
    expect(suite, (struct store_query){ .kind = QUERY_EVENTS_BACK, .before = 8, .task = 1 },
           "7 4 1");
    expect(suite, (struct store_query){ .kind = QUERY_EVENTS_BACK, .limit = 1, .task = 1 }, "7");
    expect(suite, (struct store_query){ .kind = QUERY_EVENTS, .task = 77 }, "");
}

SUITE_RULE(an_external_id_is_found_in_its_project) {
    fill(suite); /* odd numbers: web */
    struct store_query question = { .kind = QUERY_EXTERNAL, .key = "card-3", .project = "web" };
    expect(suite, question, "3");
    question.project = "api";
    expect(suite, question, "");
    question.project = "nowhere";
    expect(suite, question, "");
    question.key = "card-4";
    question.project = "api";
    expect(suite, question, "4");
    question.key = "no such card";
    expect(suite, question, "");
}

SUITE_RULE(final_tasks_expire_oldest_first) {
    fill(suite); /* 4, 5, 6 are final and changed at 996, 995, 994 */
    struct store_query question = { .kind = QUERY_EXPIRED, .before_time = 996 };
    expect(suite, question, "6 5");
    question.before_time = 997;
    expect(suite, question, "6 5 4");
    question.limit = 1;
    expect(suite, question, "6");
    question.after = 1;
    expect(suite, question, "5");
    question.after = 3;
    expect(suite, question, "");
    question.after = 0;
    question.before_time = 100;
    expect(suite, question, "");
    /* A task that runs again does not expire. */
    struct task_row row = kit_task(6);
    row.spec.state = TASK_WAITING;
    store_change_task(suite->batch, &row, STORE_CHANGE_SEEN);
    store_delete_task(suite->batch, 5);
    kit_commit(suite->store, suite->batch);
    question = (struct store_query){ .kind = QUERY_EXPIRED, .before_time = TIME_NEVER };
    expect(suite, question, "4");
}

SUITE_RULE(an_answer_has_a_most) {
    for (uint64_t seq = 1; seq <= STORE_ANSWER_MAX + 5; seq++) {
        struct event_row event = kit_event(seq, 0);
        store_add_event(suite->batch, &event);
    }
    kit_commit(suite->store, suite->batch);
    struct store_query question = { .kind = QUERY_EVENTS, .limit = STORE_ANSWER_MAX + 1 };
    struct numbers found = { .kind = ROW_EVENT };
    kit_ask(suite->store, &question, print_numbers, &found);
    char last[32];
    (void)snprintf(last, sizeof(last), " %u", STORE_ANSWER_MAX);
    assert_string_equal(found.text.text + found.text.length - strlen(last), last);
    strbuf_finish(&found.text);
}

SUITE_RULE(texts_of_any_length_come_back) {
    size_t size = (size_t)200 * 1024;
    _cleanup_(freep) char *json = xmalloc(size + 1);
    memset(json, 'j', size);
    json[size] = '\0';
    struct task_row row = kit_task(1);
    struct spec_row spec = { .id = 1, .title = "", .json = json, .json_size = size };
    _cleanup_(strbuf_finish) struct strbuf expected = STRBUF_INIT;
    kit_print_spec(&spec, &expected);
    store_add_task(suite->batch, &row);
    store_add_spec(suite->batch, &spec);
    kit_commit(suite->store, suite->batch);
    suite_reopen(suite);
    _cleanup_(strbuf_finish) struct strbuf all = STRBUF_INIT;
    kit_dump(suite->store, &all);
    assert_non_null(strstr(strbuf_text(&all), strbuf_text(&expected)));
}

/* In the callback: deletes a row of the answer, sends another query, and continues to read the answer. */
static void delete_and_read_on(void *ctx, const struct store_answer *answer,
                               const struct error *err) {
    struct suite *suite = ctx;
    assert_null(err);
    assert_int_equal(answer->count, 1);
    store_delete_task(suite->batch, answer->specs[0].id);
    kit_commit(suite->store, suite->batch);
    task_id task = answer->specs[0].id;
    expect(suite, (struct store_query){ .kind = QUERY_SPECS, .tasks = &task, .task_count = 1 }, "");
    assert_string_equal(answer->specs[0].json, "{\"prompt\":\"do it\"}");
    assert_string_equal(answer->specs[0].external_id, "card-2");
}

SUITE_RULE(an_answer_outlives_a_commit_in_its_callback) {
    fill(suite);
    task_id task = 2;
    struct store_query question = { .kind = QUERY_SPECS, .tasks = &task, .task_count = 1 };
    kit_ask(suite->store, &question, delete_and_read_on, suite);
}
