/* test_postgres_lost.c: outcomes of commits and queries when the server refuses them, does not answer, or is lost. Needs
 * SLUICE_TEST_POSTGRES. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "harness/test.h"
#include "kit.h"
#include "store/postgres_internal.h"

static size_t schema; /* of this test */
static char url[256], value[256];
static struct store *store;
static struct store_batch *batch;

static void open_store(const char *more) {
    char where[300];
    (void)snprintf(where, sizeof(where), "%s%s", url, more);
    store = kit_open(where, NULL);
}

static int set_up(void **state) {
    (void)state;
    struct error err = { 0 };
    schema++;
    kit_postgres_url(schema, url);
    batch = store_batch_new();
    assert_int_equal(loop_new(&kit_loop, &err), 0);
    return 0;
}

static int tear_down(void **state) {
    (void)state;
    store = store_close(store);
    batch = store_batch_free(batch);
    kit_loop = loop_free(kit_loop);
    return 0;
}

static void run(const char *sql) {
    kit_postgres_run(schema, sql, value);
}

static void add_note(const char *name) {
    store_put_note(batch, &(struct note_row){ .name = name, .text = "noted" });
}

static void expect(enum store_outcome wanted, int code, const char *words) {
    struct error err = { 0 };
    add_note("another");
    enum store_outcome outcome = kit_try(store, batch, &err);
    if (outcome != wanted || err.code != code || !strstr(err.text, words))
        fail_msg("%s (%d) instead of %s (%d), or without '%s': %s", store_outcome_name(outcome),
                 err.code, store_outcome_name(wanted), code, words, err.text);
}

/* Terminates the session that holds the lock, as an administrator can; its pid is in the table. */
static void end_writer(void) {
    run("SELECT pg_terminate_backend(holder_pid) FROM store");
    assert_string_equal(value, "t");
}

static void end_reader(void) {
    char sql[128];
    (void)snprintf(sql, sizeof(sql), "SELECT pg_terminate_backend(%d)",
                   PQbackendPID(((struct pg_store *)store)->reader.pg));
    run(sql);
}

static void stop_when_broken(void *ctx) {
    (void)ctx;
    if (store_why_broken(store))
        loop_stop(kit_loop);
}

/* The loop detects it without a query. */
static void wait_until_broken(void) {
    struct error err = { 0 };
    loop_set_round(kit_loop, stop_when_broken, NULL);
    assert_int_equal(loop_run(kit_loop, &err), 0);
    assert_non_null(store_why_broken(store));
    loop_set_round(kit_loop, NULL, NULL);
}

/* --- lost ------------------------------------------------------------------------------------------ */

#define FIXTURE_TEST(name_) TEST_WITH(name_, set_up, tear_down)

FIXTURE_TEST(a_connection_that_ends_is_known_at_once) {
    open_store("");
    assert_null(store_why_broken(store));
    end_writer();
    wait_until_broken();
    assert_non_null(strstr(store_why_broken(store)->text, "terminating connection"));
    expect(STORE_UNKNOWN, -ECONNRESET, "the store has stopped");
}

FIXTURE_TEST(the_connection_for_questions_counts_too) {
    open_store("");
    end_reader();
    wait_until_broken();
    expect(STORE_UNKNOWN, -ECONNRESET, "the store has stopped");
}

static void take_error(void *ctx, const struct store_answer *answer, const struct error *err) {
    assert_int_equal(answer->count, 0);
    *(struct error *)ctx = err ? *err : (struct error){ 0 };
}

FIXTURE_TEST(a_question_is_answered_when_its_connection_is_lost) {
    struct error err = { 0 };
    open_store("");
    end_reader();
    kit_ask(store, &(struct store_query){ .kind = QUERY_EVENTS }, take_error, &err);
    assert_int_equal(err.code, -ECONNRESET);
}

FIXTURE_TEST(a_commit_whose_connection_is_lost_is_unknown) {
    open_store("");
    end_writer();
    expect(STORE_UNKNOWN, -ECONNRESET, "may be done or not");
    assert_non_null(store_why_broken(store));
}

/* A batch is invisible before its COMMIT, and discarded without it. */
FIXTURE_TEST(what_was_sent_ahead_goes_with_its_connection) {
    open_store("");
    add_note("ahead");
    store_send_ahead(store, batch);
    char sql[128]; /* the server has received it */
    (void)snprintf(sql, sizeof(sql),
                   "SELECT state = 'idle in transaction' OR backend_xid IS NOT NULL"
                   " FROM pg_stat_activity WHERE pid = %d",
                   PQbackendPID(((struct pg_store *)store)->writer.pg));
    do
        run(sql);
    while (strcmp(value, "t") != 0);
    run("SELECT count(*) FROM note");
    assert_string_equal(value, "0");
    end_writer();
    expect(STORE_UNKNOWN, -ECONNRESET, "may be done or not");
    run("SELECT count(*) FROM note");
    assert_string_equal(value, "0");
}

/* Blocks writers of notes and readers of events until the connection is closed. */
static PGconn *lock_tables(void) {
    PGconn *other = PQconnectdb(kit_postgres());
    char sql[160];
    const char *name = ((struct pg_store *)store)->target.schema;
    (void)snprintf(sql, sizeof(sql), "BEGIN; LOCK TABLE %s.note; LOCK TABLE %s.event", name, name);
    PGresult *result = PQexec(other, sql);
    assert_int_equal(PQresultStatus(result), PGRES_COMMAND_OK);
    PQclear(result);
    return other;
}

static void count_commit(void *ctx, enum store_outcome outcome, const struct error *err) {
    assert_non_null(err);
    assert_int_equal(outcome, STORE_UNKNOWN);
    ++*(int *)ctx;
}

static void stop_loop(void *ctx) {
    (void)ctx;
    loop_stop(kit_loop);
}

/* Runs the loop until the server has answered over that connection. */
static void wait_for_answer_of(struct pg_link *link) {
    struct error err = { 0 };
    char sql[160];
    do {
        (void)snprintf(sql, sizeof(sql),
                       "SELECT coalesce(bool_and(state LIKE 'idle%%'), true) FROM pg_stat_activity"
                       " WHERE pid = %d",
                       PQbackendPID(link->pg));
        run(sql);
    } while (strcmp(value, "t") != 0);
    struct loop_timer *timer = loop_timer_new(kit_loop, stop_loop, NULL);
    loop_timer_set(kit_loop, timer, 0);
    assert_int_equal(loop_run(kit_loop, &err), 0);
    loop_timer_free(kit_loop, timer);
}

FIXTURE_TEST(a_commit_is_reported_once_when_the_other_connection_is_lost) {
    int calls = 0;
    open_store("");
    PGconn *other = lock_tables();
    add_note("mine");
    store_commit(store, batch, count_commit, &calls);
    end_reader();
    wait_until_broken();
    assert_int_equal(calls, 1);
    PQfinish(other); /* now the server answers COMMIT */
    wait_for_answer_of(&((struct pg_store *)store)->writer);
    assert_int_equal(calls, 1);
}

static void count_answer(void *ctx, const struct store_answer *answer, const struct error *err) {
    (void)answer;
    assert_non_null(err);
    ++*(int *)ctx;
}

FIXTURE_TEST(a_query_is_answered_once_when_the_other_connection_is_lost) {
    int calls = 0;
    open_store("");
    PGconn *other = lock_tables();
    store_query(store, &(struct store_query){ .kind = QUERY_EVENTS }, count_answer, &calls);
    end_writer();
    wait_until_broken();
    assert_int_equal(calls, 1);
    PQfinish(other);
    wait_for_answer_of(&((struct pg_store *)store)->reader);
    assert_int_equal(calls, 1);
}

/* As after a pooler, or an administrator, has released the lock. */
FIXTURE_TEST(who_was_taken_over_writes_nothing_more) {
    open_store("");
    add_note("mine");
    kit_commit(store, batch);
    run("UPDATE store SET epoch = epoch + 1");
    expect(STORE_UNKNOWN, -ESTALE, "another daemon has taken over");
    run("SELECT string_agg(name, ' ') FROM note");
    assert_string_equal(value, "mine");
    expect(STORE_UNKNOWN, -ESTALE, "the store has stopped");
}

FIXTURE_TEST(a_server_that_is_silent_is_not_waited_for) {
    open_store("&answer_timeout=1");
    PGconn *other = lock_tables();
    expect(STORE_UNKNOWN, -ETIMEDOUT, "it has not answered in time");
    PQfinish(other);
}

/* --- refused ---------------------------------------------------------------------------------------- */

/* Every write of a note fails with this SQLSTATE; "": writes succeed. */
static void refuse_with(const char *sqlstate) {
    char sql[400];
    (void)snprintf(sql, sizeof(sql),
                   "CREATE OR REPLACE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS"
                   " $$BEGIN RAISE EXCEPTION 'refused' USING ERRCODE = '%s'; END$$;"
                   "DROP TRIGGER IF EXISTS refuse ON note;",
                   *sqlstate ? sqlstate : "XX000");
    run(sql);
    if (*sqlstate)
        run("CREATE TRIGGER refuse BEFORE INSERT ON note EXECUTE FUNCTION refuse()");
}

FIXTURE_TEST(what_the_server_refuses_has_failed_and_the_store_goes_on) {
    static const struct {
        const char *sqlstate;
        int code;
        const char *words;
    } refusals[] = {
        { "53100", -ENOSPC, "is full" }, { "53200", -ENOMEM, "refused" },
        { "40001", -EAGAIN, "refused" }, { "40P01", -EAGAIN, "refused" },
        { "57014", -EAGAIN, "refused" }, { "42501", -EACCES, "refused" },
        { "22003", -EIO, "refused" },
    };
    open_store("");
    add_note("mine");
    kit_commit(store, batch);
    for (size_t i = 0; i < ARRAY_SIZE(refusals); i++) {
        refuse_with(refusals[i].sqlstate);
        expect(STORE_FAILED, refusals[i].code, refusals[i].words);
    }
    refuse_with("");
    run("SELECT string_agg(name, ' ') FROM note");
    assert_string_equal(value, "mine");
    add_note("later");
    kit_commit(store, batch);
}

FIXTURE_TEST(what_cannot_be_trusted_any_more_is_unknown) {
    static const char *const states[] = { "XX001", "25006", "58030" };
    for (size_t i = 0; i < ARRAY_SIZE(states); i++) {
        open_store("");
        refuse_with(states[i]);
        struct error err = { 0 };
        add_note("another");
        assert_int_equal(kit_try(store, batch, &err), STORE_UNKNOWN);
        assert_non_null(store_why_broken(store));
        refuse_with("");
        store = store_close(store);
    }
}

/* A deadlock with external maintenance is temporary. */
FIXTURE_TEST(what_is_only_in_the_way_is_tried_again) {
    open_store("");
    run("CREATE SEQUENCE tries");
    run("CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS $$BEGIN"
        " IF nextval('tries') < 3 THEN RAISE EXCEPTION 'refused' USING ERRCODE = '40P01'; END IF;"
        " RETURN NEW; END$$;"
        "ALTER FUNCTION refuse() SET search_path FROM CURRENT;"
        "CREATE TRIGGER refuse BEFORE INSERT ON note FOR EACH ROW EXECUTE FUNCTION refuse()");
    add_note("mine");
    kit_commit(store, batch);
    run("SELECT last_value FROM tries");
    assert_string_equal(value, "3");
}

struct reload {
    bool came;
    enum store_outcome outcome;
    struct store_totals totals;
};

static void load_again(void *ctx, enum store_outcome outcome, const struct error *err) {
    struct reload *reload = ctx;
    assert_non_null(err);
    reload->outcome = outcome;
    reload->totals = kit_load(store, &(struct store_reader){ 0 });
    reload->came = true;
    loop_stop(kit_loop);
}

/* As the engine does: it rebuilds its core from the stored rows. */
FIXTURE_TEST(everything_can_be_loaded_as_soon_as_a_commit_has_failed) {
    open_store("");
    struct task_row task = kit_task(1);
    store_add_task(batch, &task);
    kit_commit(store, batch);
    task.id = 7;
    store_change_task(batch, &task, STORE_CHANGE_SEEN);
    struct reload reload = { 0 };
    struct error err = { 0 };
    store_commit(store, batch, load_again, &reload);
    assert_int_equal(loop_run(kit_loop, &err), 0);
    assert_int_equal(reload.outcome, STORE_FAILED);
    assert_int_equal(reload.totals.tasks, 1);
    store_batch_clear(batch);
    add_note("mine");
    kit_commit(store, batch);
}

static void close_it(void *ctx, enum store_outcome outcome, const struct error *err) {
    (void)err;
    assert_int_equal(outcome, STORE_OK);
    store = store_close(store);
    *(bool *)ctx = true;
    loop_stop(kit_loop);
}

static void keep_outcome(void *ctx, enum store_outcome outcome, const struct error *err) {
    assert_non_null(err);
    *(enum store_outcome *)ctx = outcome;
}

FIXTURE_TEST(giving_up_reports_pending_requests_before_it_returns) {
    enum store_outcome outcome = STORE_OK;
    struct error why = { 0 }, reported = { 0 };
    open_store("");
    add_note("mine");
    store_commit(store, batch, keep_outcome, &outcome);
    store_query(store, &(struct store_query){ .kind = QUERY_EVENTS }, take_error, &reported);
    error_set(&why, -EIO, "nobody waits");
    store_give_up(store, &why);
    assert_int_equal(outcome, STORE_UNKNOWN);
    assert_string_equal(reported.text, "nobody waits");
}

static void close_when_lost(void *ctx, const struct store_answer *answer, const struct error *err) {
    (void)answer;
    assert_non_null(err);
    assert_int_equal(++*(int *)ctx, 1);
    store = store_close(store);
    loop_stop(kit_loop);
}

/* The second callback is not called: the store is closed. */
FIXTURE_TEST(the_callback_of_a_lost_query_may_close_the_store) {
    int calls = 0;
    struct error err = { 0 };
    open_store("");
    end_reader();
    struct store_query question = { .kind = QUERY_EVENTS };
    store_query(store, &question, close_when_lost, &calls);
    store_query(store, &question, close_when_lost, &calls);
    assert_int_equal(loop_run(kit_loop, &err), 0);
    assert_int_equal(calls, 1);
}

FIXTURE_TEST(the_callback_of_a_commit_may_close_the_store) {
    bool came = false;
    struct error err = { 0 };
    open_store("");
    add_note("mine");
    store_commit(store, batch, close_it, &came);
    assert_int_equal(loop_run(kit_loop, &err), 0);
    assert_true(came);
}

/* --- what is written -------------------------------------------------------------------------------- */

/* An agent may print any bytes; the end of its run must be stored. */
FIXTURE_TEST(what_is_no_text_is_kept_as_text) {
    struct run_row ended = kit_run(1, 1);
    ended.message = "half \xc3( a \xff character";
    open_store("");
    store_put_run(batch, &ended);
    kit_commit(store, batch);
    run("SELECT message FROM run");
    assert_string_equal(value, "half \xef\xbf\xbd( a \xef\xbf\xbd character");
}

/* An agent may report any usage. The end of its run must be stored. */
FIXTURE_TEST(a_sum_without_room_stays_at_its_end) {
    open_store("");
    for (int i = 0; i < 2; i++) {
        for (int rows = 0; rows < 2; rows++) {
            store_add_spent(batch, &(struct spent_row){ .project = "web",
                                                        .runs = 1,
                                                        .tokens_in = INT64_MAX - 5,
                                                        .cost_micro_usd = INT64_MAX });
            store_add_usage(batch, &(struct usage_row){ .project = "web",
                                                        .tokens = INT64_MAX - 5,
                                                        .money = INT64_MAX });
        }
        kit_commit(store, batch);
    }
    run("SELECT runs || ' ' || tokens_in || ' ' || tokens_out FROM spent WHERE days");
    assert_string_equal(value, "4 9223372036854775807 0");
    run("SELECT tokens || ' ' || money FROM usage");
    assert_string_equal(value, "9223372036854775807 9223372036854775807");
}

FIXTURE_TEST(a_batch_of_any_size_is_one_commit) {
    size_t size = (size_t)1 << 17;
    _cleanup_(freep) char *json = xmalloc(size);
    memset(json, 'x', size);
    open_store("");
    run("SELECT commits FROM store");
    assert_string_equal(value, "0");
    for (task_id id = 1; id <= 200; id++) {
        struct task_row task = kit_task(id);
        json[0] = (char)('A' + id % 26); /* equal values would be sent once */
        store_add_task(batch, &task);
        store_add_spec(batch, &(struct spec_row){ .id = id, .json = json, .json_size = size });
        store_put_run(batch, &(struct run_row){ .task = id, .attempt = 1, .host = "here" });
    }
    kit_commit(store, batch);
    run("SELECT commits || ' ' || (SELECT count(*) || ' ' || sum(length(json)) FROM spec) FROM "
        "store");
    assert_string_equal(value, "1 200 26214400");
}

static const char *type_of(char letter) {
    switch (letter) {
    case 'b':
        return "boolean";
    case 'i':
        return "integer";
    case 'l':
        return "bigint";
    case 'L':
        return "bigint[]";
    default:
        return "text";
    }
}

static void explain(struct pg_link *link, enum statement s, enum sql_form form) {
    _cleanup_(strbuf_finish) struct strbuf sql = STRBUF_INIT;
    struct error err = { 0 };
    const struct statement_text *text = &statement_texts[s];
    struct sql_column columns[SQL_COLUMNS_MAX];
    unsigned count = sql_columns(s, columns);
    strbuf_printf(&sql, "PREPARE looked_%d_%d", (int)s, (int)form);
    for (unsigned i = 0; i < count && !text->bulk;
         i++) /* a bulk statement has the types in its text */
        strbuf_printf(&sql, "%s%s", i ? ", " : " (", type_of(columns[i].type));
    strbuf_puts(&sql, count && !text->bulk ? ") AS " : " AS ");
    sql_build(s, SQL_POSTGRES, form, &sql);
    strbuf_printf(&sql, "; EXPLAIN EXECUTE looked_%d_%d", (int)s, (int)form);
    if (text->bulk && form == SQL_GENERAL)
        count += count - 1; /* the parameters for values that all rows share */
    for (unsigned i = 0; i < count; i++)
        strbuf_puts(&sql, i ? ", NULL" : " (NULL");
    strbuf_puts(&sql, count ? ")" : "");
    PGresult *plan = NULL;
    if (pg_link_run(link, "explain", sql.text, &plan, &err) < 0)
        fail_msg("%s: %s", text->name, err.text);
    for (int i = 0; i < PQntuples(plan); i++) {
        const char *line = PQgetvalue(plan, i, 0);
        bool small = strstr(line, " on store") || strstr(line, " on pg_class")
                     || strstr(line, " on usage"); /* a few hundred buckets */
        if (strstr(line, "Seq Scan") && !small)
            fail_msg("%s looks at every row: %s", text->name, line);
    }
    PQclear(plan);
}

/* With a plan that scans the table, a statement would get slower with every finished task. */
FIXTURE_TEST(every_statement_has_its_index) {
    struct error err = { 0 };
    kit_loop = loop_free(kit_loop);
    open_store("");
    struct pg_link *link = &((struct pg_store *)store)->reader;
    pg_link_leave_pipeline(link);
    for (enum statement s = STATEMENT_ADD_NAME; s < STATEMENT_MAX; s++)
        for (enum sql_form form = 0; form < SQL_FORMS; form++)
            if (pg_statement_has(s, form))
                explain(link, s, form);
    assert_int_equal(pg_link_pipeline(link, &err), 0);
}

int main(void) {
    if (!kit_postgres())
        return 77; /* skipped: no server */
    int failed = tests_run();
    kit_postgres_finish();
    return failed;
}
