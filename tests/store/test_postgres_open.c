/* test_postgres_open.c: problems of a server, a schema or a role are reported with the remedy. Needs
 * SLUICE_TEST_POSTGRES with a role that may create roles, databases and schemas. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "harness/test.h"
#include "kit.h"
#include "os/files.h"
#include "store/postgres_internal.h"

static size_t schema; /* of this test */
static char url[256], value[256];
static struct strbuf logged; /* by the store */

static int set_up(void **state) {
    (void)state;
    schema++;
    kit_postgres_url(schema, url);
    strbuf_clear(&logged);
    return 0;
}

static void keep_log(void *ctx, const char *text) {
    (void)ctx;
    strbuf_puts(&logged, text);
}

static int try_open(const char *where, struct error *err) {
    struct store_options options = { .url = where, .log = keep_log };
    struct store *store = NULL;
    int r = store_open(&options, &store, NULL, err);
    store_close(store);
    return r;
}

/* Asserts that it is refused with this code and a message that contains these words, but no password. */
static void expect_refused(const char *where, int code, const char *words) {
    struct error err = { 0 };
    int r = try_open(where, &err);
    if (r != code || !strstr(err.text, words) || strstr(err.text, "s3cret"))
        fail_msg("'%s': %d instead of %d, or without '%s', or with the password: %s", where, r,
                 code, words, err.text);
}

/* The URL of the server with another user, password, port or database; NULL: unchanged. */
static void other_url(const char *user, const char *password, const char *port,
                      const char *database, char ret_url[256]) {
    const char *values[4] = { user, password, port, database };
    static const char *const names[] = { "user", "password", "port", "dbname" };
    char text[4][64] = { "", "", "", "" }, host[128] = "";
    PQconninfoOption *options = PQconninfoParse(kit_postgres(), NULL);
    for (PQconninfoOption *o = options; o && o->keyword; o++) {
        for (size_t i = 0; i < 4; i++)
            if (strcmp(o->keyword, names[i]) == 0)
                (void)snprintf(text[i], sizeof(text[i]), "%s",
                               values[i] ? values[i]
                               : o->val  ? o->val
                                         : "");
        if (strcmp(o->keyword, "host") == 0)
            (void)snprintf(host, sizeof(host), "%s", o->val ? o->val : "");
    }
    PQconninfoFree(options);
    (void)snprintf(ret_url, 256, "postgresql://%s%s%s@%s:%s/%s?schema=test_%d_%zu", text[0],
                   *text[1] ? ":" : "", text[1], host, text[2], text[3], (int)getpid(), schema);
}

static void run(const char *sql) {
    kit_postgres_run(schema, sql, value);
}

/* --- the URL ---------------------------------------------------------------------------------------- */

#define FIXTURE_TEST(name_) TEST_WITH(name_, set_up, NULL)

FIXTURE_TEST(an_invalid_url_is_refused) {
    expect_refused("postgresql://me:s3cret@[::1/x", -EINVAL,
                   "postgresql://USER@HOST:PORT/DATABASE");
    expect_refused("postgresql://me:s3cret%zz@here/x", -EINVAL, "'postgresql://me@here/x'");
    expect_refused("postgresql://here/x?colour=red", -EINVAL, "\"colour\"");
    expect_refused("postgresql://here/x?schema=Mine", -EINVAL, "'Mine' is not a name of a schema");
    expect_refused("postgresql://here/x?schema=pg_mine", -EINVAL, "is no name of a schema");
    expect_refused("postgresql://here/x?schema=1st&a=b", -EINVAL, "is no name of a schema");
    expect_refused("postgresql://me:a/s3cret@here/x", -EINVAL, "'postgresql://me@here/x' cannot");
    expect_refused("postgresql://here/x?answer_timeout=0", -EINVAL, "1 to 600 seconds");
}

FIXTURE_TEST(a_password_is_never_shown) {
    static const char *const urls[] = {
        "postgresql://me:s3cret@here/x?schema=a&sslmode=require",
        "postgresql://me:s3:@cret@here/x?schema=a&sslmode=require",
        "postgresql://me:s3?cret@here/x?schema=a&sslmode=require",
        "postgresql://me@here/x?schema=a&password=s3cret&sslmode=require",
        "postgresql://me@here/x?schema=a&pass%77ord=s3cret&sslmode=require",
    };
    for (size_t i = 0; i < ARRAY_SIZE(urls); i++) {
        struct pg_target target = { 0 };
        assert_int_equal(pg_target_parse(urls[i], &target, NULL), 0);
        assert_string_equal(target.shown, "postgresql://me@here/x?schema=a&sslmode=require");
        assert_null(strstr(target.url, "schema="));
        assert_non_null(strstr(target.url, "cret"));
        char shown[STORE_SHOWN_MAX];
        store_show_url(urls[i], shown);
        assert_string_equal(shown, target.shown);
        pg_target_finish(&target);
    }
}

FIXTURE_TEST(each_schema_has_a_lock_of_its_own) {
    struct pg_target a = { 0 }, b = { 0 }, c = { 0 };
    assert_int_equal(pg_target_parse("postgresql://here/x", &a, NULL), 0);
    assert_int_equal(pg_target_parse("postgres://me@there/x?schema=sluice", &b, NULL), 0);
    assert_int_equal(pg_target_parse("postgresql://here/x?schema=other", &c, NULL), 0);
    assert_int_equal(a.lock, b.lock);
    assert_int_equal(a.lock, 178936424); /* never changes: older daemons use the same key */
    assert_int_not_equal(a.lock, c.lock);
    pg_target_finish(&a);
    pg_target_finish(&b);
    pg_target_finish(&c);
}

/* --- the server ------------------------------------------------------------------------------------- */

FIXTURE_TEST(who_does_not_answer_is_named) {
    char where[256];
    struct error err = { 0 };
    other_url(NULL, "s3cret", "1", NULL, where);
    expect_refused(where, -ECONNREFUSED, "cannot reach PostgreSQL at 'postgresql://");
    assert_true(try_open(where, &err) < 0);
    assert_null(strpbrk(err.text, "\n\t")); /* lines of libpq are joined */
    assert_null(strstr(err.text, "  "));
}

FIXTURE_TEST(a_wrong_password_is_refused) {
    char where[256];
    other_url(NULL, "s3cret", NULL, NULL, where);
    expect_refused(where, -EACCES, "check the role, its password and the database");
}

FIXTURE_TEST(a_database_that_is_not_there_is_named) {
    char where[256];
    struct error err = { 0 };
    other_url(NULL, NULL, NULL, "nowhere_at_all", where);
    assert_true(try_open(where, &err) < 0);
    assert_non_null(strstr(err.text, "\"nowhere_at_all\" does not exist"));
}

FIXTURE_TEST(a_database_of_another_encoding_is_refused) {
    char name[48], sql[200], where[256];
    (void)snprintf(name, sizeof(name), "latin_%d", (int)getpid());
    (void)snprintf(sql, sizeof(sql),
                   "CREATE DATABASE %s ENCODING 'LATIN1' LOCALE 'C' TEMPLATE template0", name);
    run(sql);
    other_url(NULL, NULL, NULL, name, where);
    expect_refused(where, -ENOTSUP, "ENCODING 'UTF8'");
    (void)snprintf(sql, sizeof(sql), "DROP DATABASE %s", name);
    run(sql);
}

/* Conditions that cannot be produced on a shared server, as fake answers. */
static void check_session(const char *encoding, const char *fsync, const char *standby, int code) {
    struct pg_target target = { 0 };
    struct pg_link link = { .log = keep_log };
    assert_int_equal(pg_target_parse(url, &target, NULL), 0);
    assert_int_equal(pg_link_connect(&link, &target, SECONDS(30), NULL), 0);
    PGresult *answer = PQmakeEmptyPGresult(link.pg, PGRES_TUPLES_OK);
    const char *values[] = { encoding, fsync, "on", standby, "off", "db" };
    PGresAttDesc columns[] = { { .name = (char *)"encoding" },  { .name = (char *)"fsync" },
                               { .name = (char *)"pages" },     { .name = (char *)"standby" },
                               { .name = (char *)"read_only" }, { .name = (char *)"database" } };
    assert_true(PQsetResultAttrs(answer, ARRAY_SIZE(columns), columns));
    for (int i = 0; i < (int)ARRAY_SIZE(columns); i++)
        assert_true(PQsetvalue(answer, 0, i, (char *)(uintptr_t)values[i], (int)strlen(values[i])));
    struct error err = { 0 };
    assert_int_equal(pg_session_check(&link, answer, &err), code);
    PQclear(answer);
    pg_link_close(&link);
    pg_target_finish(&target);
}

FIXTURE_TEST(a_server_that_syncs_nothing_is_warned_of) {
    check_session("UTF8", "on", "f", 0);
    assert_string_equal(strbuf_text(&logged), "");
    check_session("UTF8", "off", "f", 0);
    assert_non_null(strstr(strbuf_text(&logged), "a power cut may lose"));
}

FIXTURE_TEST(a_standby_server_is_refused) {
    check_session("UTF8", "on", "t", -EROFS);
}

/* --- the schema ------------------------------------------------------------------------------------- */

FIXTURE_TEST(tables_of_another_program_are_left_alone) {
    char sql[128];
    (void)snprintf(sql, sizeof(sql),
                   "CREATE SCHEMA test_%d_%zu; CREATE TABLE test_%d_%zu.accounts (id int)",
                   (int)getpid(), schema, (int)getpid(), schema);
    run(sql);
    expect_refused(url, -EUCLEAN, "'?schema=NAME'");
    run("SELECT count(*) FROM accounts");
    assert_string_equal(value, "0");
}

FIXTURE_TEST(a_newer_version_is_refused_and_stays) {
    struct error err = { 0 };
    assert_int_equal(try_open(url, &err), 0);
    run("UPDATE store SET version = version + 1");
    expect_refused(url, -EPROTO, "use the newer program");
    run("SELECT epoch FROM store");
    assert_string_equal(value, "1");
}

FIXTURE_TEST(an_unclean_close_is_reported) {
    struct store_report report;
    store_close(kit_open(url, &report));
    assert_true(report.created);
    run("UPDATE store SET clean = false");
    store_close(kit_open(url, &report));
    assert_false(report.created);
    assert_true(report.was_unclean);
    store_close(kit_open(url, &report));
    assert_false(report.was_unclean);
    assert_int_equal(report.epoch, 3);
}

/* The name of a daemon contains the path of its socket, and a path may have any bytes. */
FIXTURE_TEST(a_daemon_whose_name_is_no_text_can_have_it) {
    struct store_options options = { .url = url, .who = "box/17 unix:/home/J\xfcrgen/sock" };
    struct store *store = NULL;
    struct error err = { 0 };
    if (store_open(&options, &store, NULL, &err) < 0)
        fail_msg("%s", err.text);
    char who[STORE_WHO_MAX];
    assert_int_equal(store_holder(url, who, &err), 0);
    assert_string_equal(who, "box/17 unix:/home/J\xef\xbf\xbdrgen/sock");
    store_close(store);
}

static const char *good_step = "ALTER TABLE note ADD COLUMN colour text;"
                               "UPDATE note SET colour = 'red';";
static const char *bad_step = "ALTER TABLE note ADD COLUMN colour text; SELECT 1 / 0;";

#define STEPS (STORE_VERSION - PG_FIRST_VERSION + 1)

/* Opens like a program of the next version. */
static int open_next(const char *step, struct store_report *report, struct error *err) {
    const char *steps[STEPS + 1];
    for (unsigned i = 0; i < STEPS; i++)
        steps[i] = pg_schema.steps[i];
    steps[STEPS] = step;
    struct pg_schema next = { .steps = steps, .version = STORE_VERSION + 1 };
    struct store_options options = { .url = url };
    struct store *store = NULL;
    int r = pg_open_as(&next, &options, &store, report, err);
    if (r == 0) {
        store->backend = &postgres_backend;
        store_close(store);
    }
    return r;
}

static void put_note(void) {
    struct store *store = kit_open(url, NULL);
    struct store_batch *batch = store_batch_new();
    store_put_note(batch, &(struct note_row){ .name = "a", .text = "b" });
    kit_commit(store, batch);
    store_batch_free(batch);
    store_close(store);
}

FIXTURE_TEST(an_older_version_is_migrated_in_one_step_each) {
    struct store_report report = { 0 };
    struct error err = { 0 };
    put_note();
    if (open_next(good_step, &report, &err) < 0)
        fail_msg("%s", err.text);
    assert_int_equal(report.migrated_from, STORE_VERSION);
    assert_false(report.created);
    run("SELECT name || text || colour FROM note");
    assert_string_equal(value, "abred");
    run("SELECT version FROM store");
    assert_int_equal(atoi(value), STORE_VERSION + 1);
    expect_refused(url, -EPROTO, "use the newer program");
}

/* The tables of version 7, with one run. */
static void make_first_version(void) {
    struct error err = { 0 };
    _cleanup_(strbuf_finish) struct strbuf tables = STRBUF_INIT;
    char create[64];
    if (file_read(SOURCE_ROOT "/tests/store/fixtures/postgres-7.sql", 1 << 20, &tables, &err) < 0)
        fail_msg("%s", err.text);
    (void)snprintf(create, sizeof(create), "CREATE SCHEMA test_%d_%zu", (int)getpid(), schema);
    run(create);
    run(tables.text);
    run("INSERT INTO run VALUES (17, 2, 1, 0, 0, 0, 0, 'web-17/2', 0, true, 1, 2, 3, 0, 0, 0, 0, "
        "-1,"
        " -1, -1, NULL, NULL, 0, false, NULL, -1, NULL, false, 0, 0)");
}

FIXTURE_TEST(the_first_version_keeps_its_runs) {
    struct error err = { 0 };
    make_first_version();
    if (try_open(url, &err) < 0)
        fail_msg("%s", err.text);
    run("SELECT version FROM store");
    assert_int_equal(atoi(value), STORE_VERSION);
    run("SELECT folder || shim_pid || shim_start || shim_space || coalesce(shim_key, '-') || "
        "coalesce(cgroup, '-') FROM run");
    assert_string_equal(value, "web-17/2000--");
}

/* Columns, indexes and settings of every table. */
#define TABLES_OF                                                                                  \
    "(SELECT table_name || '.' || column_name || ' ' || data_type || ' ' || is_nullable || ' '"    \
    " || coalesce(collation_name, '') || is_identity AS line FROM information_schema.columns"      \
    " WHERE table_schema = '%1$s' UNION ALL SELECT replace(indexdef, '%1$s.', '') FROM pg_indexes" \
    " WHERE schemaname = '%1$s' UNION ALL SELECT relname || reloptions::text FROM pg_class"        \
    " WHERE relnamespace = '%1$s'::regnamespace)"

/* Tables that are created from columns.h equal those that the migration steps produce. */
FIXTURE_TEST(a_new_schema_is_as_a_migrated_one) {
    struct error err = { 0 };
    char name[48], sql[2048];
    make_first_version();
    assert_int_equal(try_open(url, &err), 0);
    (void)snprintf(name, sizeof(name), "test_%d_%zu", (int)getpid(), schema);
    _cleanup_(strbuf_finish) struct strbuf migrated = STRBUF_INIT, made = STRBUF_INIT;
    (void)snprintf(sql, sizeof(sql), TABLES_OF, name);
    strbuf_puts(&migrated, sql);
    kit_postgres_url(++schema, url);
    assert_int_equal(try_open(url, &err), 0);
    (void)snprintf(name, sizeof(name), "test_%d_%zu", (int)getpid(), schema);
    (void)snprintf(sql, sizeof(sql), TABLES_OF, name);
    strbuf_puts(&made, sql);
    _cleanup_(strbuf_finish) struct strbuf differ = STRBUF_INIT;
    strbuf_printf(&differ,
                  "SELECT string_agg(line, '; ') FROM ((%s EXCEPT %s) UNION ALL (%s EXCEPT %s)) d",
                  made.text, migrated.text, migrated.text, made.text);
    run(differ.text);
    assert_string_equal(value, "");
    strbuf_clear(&differ);
    strbuf_printf(&differ, "SELECT count(*) > 100 FROM %s d", made.text);
    run(differ.text);
    assert_string_equal(value, "t");
}

FIXTURE_TEST(new_columns_are_added_by_a_migration) {
    _cleanup_(strbuf_finish) struct strbuf sql = STRBUF_INIT;
    sql_add_columns(SQL_POSTGRES, 8, &sql);
    assert_string_equal(strbuf_text(&sql),
                        "ALTER TABLE run ADD COLUMN shim_key text;"
                        "ALTER TABLE run ADD COLUMN shim_pid bigint NOT NULL DEFAULT 0;"
                        "ALTER TABLE run ADD COLUMN shim_start bigint NOT NULL DEFAULT 0;"
                        "ALTER TABLE run ADD COLUMN shim_space bigint NOT NULL DEFAULT 0;"
                        "ALTER TABLE run ADD COLUMN cgroup text;");
}

FIXTURE_TEST(a_migration_that_fails_leaves_the_old_version) {
    struct store_report report = { 0 };
    struct error err = { 0 };
    put_note();
    assert_true(open_next(bad_step, &report, &err) < 0);
    run("SELECT count(*) FROM pg_attribute WHERE attrelid = 'note'::regclass AND attname = "
        "'colour'");
    assert_string_equal(value, "0");
    assert_int_equal(try_open(url, &err), 0);
}

FIXTURE_TEST(looking_changes_nothing) {
    struct store_summary look = { 0 };
    struct error err = { 0 };
    assert_int_equal(store_summary(url, &look, &err), 0);
    assert_false(look.there);
    put_note();
    if (store_summary(url, &look, &err) < 0)
        fail_msg("%s", err.text);
    assert_true(look.there);
    assert_int_equal(look.version, STORE_VERSION);
    run("SELECT epoch FROM store");
    assert_string_equal(value, "1");
    struct store *store = kit_open(url, NULL);
    assert_int_equal(store_summary(url, &look, &err), -EBUSY);
    store_close(store);
}

/* --- rights ----------------------------------------------------------------------------------------- */

/* A role that may only connect. */
static void make_role(char name[32], char ret_url[256]) {
    char sql[200];
    (void)snprintf(name, 32, "daemon_%d_%zu", (int)getpid(), schema);
    (void)snprintf(sql, sizeof(sql), "CREATE ROLE %s LOGIN PASSWORD 's3cret'", name);
    run(sql);
    other_url(name, "s3cret", NULL, NULL, ret_url);
}

/* Its privileges are dropped with the schema. */
static void drop_role(const char *name) {
    char sql[200];
    (void)snprintf(sql, sizeof(sql), "DROP SCHEMA test_%d_%zu CASCADE; DROP ROLE %s", (int)getpid(),
                   schema, name);
    run(sql);
}

static void grant(const char *what, const char *role) {
    char sql[300];
    (void)snprintf(sql, sizeof(sql), "GRANT %s SCHEMA test_%d_%zu TO %s", what, (int)getpid(),
                   schema, role);
    run(sql);
}

/* The role that creates the tables and the role that uses them may differ. */
FIXTURE_TEST(a_daemon_needs_no_more_than_rows) {
    char role[32], where[256];
    struct error err = { 0 };
    make_role(role, where);
    char words[64];
    (void)snprintf(words, sizeof(words), "AUTHORIZATION %s", role);
    expect_refused(where, -EACCES, words); /* the schema does not exist */
    assert_int_equal(try_open(url, &err), 0);
    expect_refused(where, -EACCES, "GRANT USAGE ON SCHEMA");
    grant("USAGE ON", role);
    expect_refused(where, -EACCES, "GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES");
    grant("SELECT ON ALL TABLES IN", role);
    expect_refused(where, -EACCES, "GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES");
    grant("INSERT, UPDATE, DELETE ON ALL TABLES IN", role);
    struct store *store = kit_open(where, NULL);
    struct store_batch *batch = store_batch_new();
    struct task_row task = kit_task(1);
    store_add_task(batch, &task);
    store_put_project(batch, &(struct project_row){ .name = "web", .prefix = "w" });
    kit_commit(store, batch);
    store_batch_free(batch);
    store_close(store);
    drop_role(role);
}

FIXTURE_TEST(a_role_that_only_reads_is_refused) {
    char role[32], where[256], sql[128];
    struct error err = { 0 };
    assert_int_equal(try_open(url, &err), 0);
    make_role(role, where);
    (void)snprintf(sql, sizeof(sql), "ALTER ROLE %s SET default_transaction_read_only = on", role);
    run(sql);
    expect_refused(where, -EROFS, "default_transaction_read_only");
    char *host = strrchr(where, '@') + 1, many[256];
    (void)snprintf(many, sizeof(many), "%.*s127.0.0.1:1,%s", (int)(host - where), where, host);
    expect_refused(many, -EROFS, "default_transaction_read_only"); /* by libpq, when it connects */
    drop_role(role);
}

/* "synchronous_commit statement_timeout default_transaction_isolation" of the connection that writes. */
static void expect_session(const char *where, const char *settings) {
    struct error err = { 0 };
    struct pg_store *store = (struct pg_store *)kit_open(where, NULL);
    pg_link_leave_pipeline(&store->writer);
    PGresult *result = NULL;
    assert_int_equal(pg_link_run(&store->writer, "ask",
                                 "SELECT current_setting('synchronous_commit') || ' ' ||"
                                 " current_setting('statement_timeout') || ' ' ||"
                                 " current_setting('default_transaction_isolation')",
                                 &result, &err),
                     0);
    assert_string_equal(PQgetvalue(result, 0, 0), settings);
    PQclear(result);
    assert_int_equal(pg_link_pipeline(&store->writer, &err), 0);
    store_close(&store->base);
}

/* Whatever the settings of the role: a commit is on disk when it is answered, and no timeout ends the session. */
FIXTURE_TEST(the_settings_of_a_role_do_not_weaken_it) {
    char role[32], where[256], sql[300];
    struct error err = { 0 };
    assert_int_equal(try_open(url, &err), 0);
    make_role(role, where);
    grant("USAGE ON", role);
    grant("SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN", role);
    static const char *const settings[] = { "statement_timeout = 7",
                                            "default_transaction_isolation = serializable" };
    for (size_t i = 0; i < ARRAY_SIZE(settings); i++) {
        (void)snprintf(sql, sizeof(sql), "ALTER ROLE %s SET %s", role, settings[i]);
        run(sql);
    }
    static const struct {
        const char *set, *is;
    } commits[] = { { "off", "on" },
                    { "local", "on" },
                    { "remote_write", "on" },
                    { "remote_apply", "remote_apply" } };
    for (size_t i = 0; i < ARRAY_SIZE(commits); i++) {
        (void)snprintf(sql, sizeof(sql), "ALTER ROLE %s SET synchronous_commit = %s", role,
                       commits[i].set);
        run(sql);
        (void)snprintf(sql, sizeof(sql), "%s 0 read committed", commits[i].is);
        expect_session(where, sql);
    }
    drop_role(role);
}

int main(void) {
    if (!kit_postgres())
        return 77; /* skipped: no server */
    int failed = tests_run();
    kit_postgres_finish();
    strbuf_finish(&logged);
    return failed;
}
