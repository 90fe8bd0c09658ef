/* test_config_ops.c: a change of a setting or a project reaches both the file and the running daemon, or neither. */

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "config/settings.h"
#include "fixture.h"
#include "harness/test.h"
#include "os/files.h"

static struct reply get(struct ops *o, const char *path) {
    struct reply r = ops_ask(o, "GET", path, NULL, NULL);
    if (r.status != 200)
        fail_msg("GET %s: %s", path, r.text);
    return r;
}

static bool file_has(struct ops *o, const char *text) {
    _cleanup_(strbuf_finish) struct strbuf file = STRBUF_INIT;
    assert_int_equal(file_read(o->config_file, 1 << 20, &file, NULL), 0);
    return strstr(strbuf_text(&file), text) != NULL;
}

static amount runs_cap(struct ops *o) {
    struct core_counts counts;
    core_count(engine_core(o->engine), &counts);
    return counts.runs_cap;
}

TEST(chosen_settings_are_listed_with_their_origin) {
    _cleanup_(ops_close) struct ops o = { 0 };
    ops_open(&o, OPS_MEMORY, NULL);
    _cleanup_(reply_finish) struct reply some = get(&o, "/v1/config");
    _cleanup_(reply_finish) struct reply all = get(&o, "/v1/config?all=true");
    assert_string_equal(reply_text(&some, "preset"), "sluice");
    assert_string_equal(reply_text(&some, "file"), o.config_file);
    assert_true(reply_count(&some, "items") > 5);
    assert_true(reply_count(&all, "items") > 60);
    size_t i;
    json_t *item;
    json_array_foreach(reply_at(&some, "items"), i, item) {
        if (!strstr(json_string_value(json_object_get(item, "origin")), "sluice.yaml:"))
            fail_msg("'%s' was not chosen", json_string_value(json_object_get(item, "key")));
    }
}

TEST(one_setting_is_explained) {
    _cleanup_(ops_close) struct ops o = { 0 };
    ops_open(&o, OPS_MEMORY, NULL);
    _cleanup_(reply_finish) struct reply r = get(&o, "/v1/config/limits.runs");
    assert_int_equal(reply_int(&r, "value"), 2);
    assert_non_null(strstr(reply_text(&r, "origin"), "sluice.yaml:"));
    assert_true(strlen(reply_text(&r, "text")) > 10);
    ops_refused(&o, 404, "/v1/config/limits.rnus", NULL,
                "unknown key 'limits.rnus'; did you mean 'limits.runs'?");
}

TEST(f126_a_setting_is_changed_in_the_file_and_at_once) {
    _cleanup_(ops_close) struct ops o = { 0 };
    ops_open(&o, OPS_SQLITE, "# a comment that stays\n");
    for (int i = 0; i < 3; i++)
        (void)ops_add(&o, "");
    _cleanup_(reply_finish) struct reply r =
        ops_ask(&o, "POST", "/v1/config",
                "{\"set\":{\"limits.runs\":3,\"kinds.plan.max_running\":\"unlimited\"},\"unset\":["
                "\"max_wait_s\"]}",
                NULL);
    assert_int_equal(r.status, 200);
    assert_int_equal(reply_count(&r, "changed"), 3);
    assert_int_equal(runs_cap(&o), 3);
    struct task_view t; /* f059: the third starts in the same turn */
    assert_true(core_task(engine_core(o.engine), 3, &t));
    assert_int_equal(t.state, TASK_STARTING);
    assert_true(file_has(&o, "# a comment that stays"));
    ops_restart(&o);
    assert_int_equal(runs_cap(&o), 3);
}

TEST(a_wrong_value_changes_nothing) {
    _cleanup_(ops_close) struct ops o = { 0 };
    ops_open(&o, OPS_MEMORY, NULL);
    _cleanup_(strbuf_finish) struct strbuf before = STRBUF_INIT, after = STRBUF_INIT;
    assert_int_equal(file_read(o.config_file, 1 << 20, &before, NULL), 0);
    static const char *const bodies[] = {
        "{\"set\":{\"limits.runs\":5,\"limits.roots\":\"many\"}}",
        "{\"set\":{\"limits.runs\":5,\"limits.rots\":1}}",
        "{\"set\":{\"limits.runs\":[5]}}",
        "{\"set\":{\"limits.runs\":5,\"preset\":\"mine\"}}",
        "{\"set\":{}}",
        "{}",
        "{\"unset\":[\"no.such.key\"]}",
    };
    for (size_t i = 0; i < ARRAY_SIZE(bodies); i++) {
        struct reply r = ops_ask(&o, "POST", "/v1/config", bodies[i], NULL);
        if (r.status != 400 && r.status != 404)
            fail_msg("%s: %s", bodies[i], r.text);
        reply_finish(&r);
    }
    assert_int_equal(runs_cap(&o), 2);
    assert_int_equal(file_read(o.config_file, 1 << 20, &after, NULL), 0);
    assert_string_equal(strbuf_text(&before), strbuf_text(&after));
}

TEST(a_file_that_cannot_be_written_changes_nothing_in_force) {
    _cleanup_(ops_close) struct ops o = { 0 };
    ops_open(&o, OPS_MEMORY, NULL);
    char moved[96];
    (void)snprintf(moved, sizeof(moved), "%s/elsewhere", o.home);
    /* a folder instead of the file: it can neither be read nor replaced */
    assert_int_equal(rename(o.config_file, moved), 0);
    assert_int_equal(mkdir(o.config_file, 0700), 0);
    struct reply r = ops_ask(&o, "POST", "/v1/config", "{\"set\":{\"limits.runs\":5}}", NULL);
    assert_int_not_equal(r.status, 200);
    assert_int_equal(runs_cap(&o), 2);
    reply_finish(&r);
    assert_int_equal(rmdir(o.config_file), 0);
    assert_int_equal(rename(moved, o.config_file), 0);
}

TEST(the_file_is_read_again_when_asked) {
    _cleanup_(ops_close) struct ops o = { 0 };
    ops_open(&o, OPS_MEMORY, NULL);
    static const char text[] =
        "limits: {runs: 7}\nhost: {disk_free_gb: 0}\nstore: {min_free_mb: 0}\n";
    assert_int_equal(file_write(o.config_file, text, strlen(text), NULL), 0);
    ops_expect(&o, 200, "POST", "/v1/config/reload", "{}");
    assert_int_equal(runs_cap(&o), 7);
    assert_int_equal(file_write(o.config_file, "limits: {runs: x}\n", 18, NULL), 0);
    ops_expect(&o, 400, "POST", "/v1/config/reload", "{}");
    assert_int_equal(runs_cap(&o), 7);
}

/* --- projects -------------------------------------------------------------------------------- */

TEST(a_project_is_added_with_its_settings) {
    _cleanup_(ops_close) struct ops o = { 0 };
    ops_open(&o, OPS_SQLITE, NULL);
    char body[256];
    snprintf(body, sizeof(body),
             "{\"name\":\"shop\",\"prefix\":\"sh\",\"weight\":\"1.5\",\"max_running\":2,"
             "\"budget\":\"unlimited\",\"path\":\"%s\"}",
             o.home);
    _cleanup_(reply_finish) struct reply r = ops_ask(&o, "POST", "/v1/projects", body, NULL);
    assert_int_equal(r.status, 200);
    assert_string_equal(reply_text(&r, "prefix"), "sh");
    assert_string_equal(reply_text(&r, "path"), o.home);
    assert_int_equal(reply_int(&r, "max_running"), 2);
    assert_true(reply_is_null(&r, "budget"));
    assert_non_null(strstr(r.text, "\"weight\":1.500"));
    task_id task = ops_add(&o, "\"project\":\"shop\",");
    char id[ENGINE_ID_MAX];
    assert_string_equal(engine_task_id(o.engine, task, id), "sh-1");
    ops_restart(&o);
    _cleanup_(reply_finish) struct reply again = get(&o, "/v1/projects/shop");
    assert_string_equal(reply_text(&again, "prefix"), "sh");
    assert_int_equal(reply_int(&again, "max_running"), 2);
}

TEST(an_existing_project_is_not_added) {
    _cleanup_(ops_close) struct ops o = { 0 };
    ops_open(&o, OPS_MEMORY, NULL);
    struct ops_trace before, after;
    ops_trace(&o, &before);
    ops_refused(&o, 409, "/v1/projects", "{\"name\":\"web\"}", "project 'web' already exists");
    ops_refused(&o, 400, "/v1/projects", "{\"name\":\"shop\",\"path\":\"/no/such\"}",
                "cannot use the folder '/no/such': No such file or directory");
    ops_refused(&o, 400, "/v1/projects", "{\"name\":\"shop\",\"path\":\"/etc/passwd\"}",
                "'/etc/passwd' is not a directory");
    ops_refused(&o, 400, "/v1/projects", "{\"name\":\"shop\",\"path\":\"here\"}",
                "'here' is no absolute path");
    ops_refused(&o, 409, "/v1/projects", "{\"name\":\"shop\",\"prefix\":\"web\"}",
                "prefix 'web' belongs to project 'web': choose another");
    ops_expect(&o, 400, "POST", "/v1/projects", "{\"name\":\"shop\",\"prefix\":\"1-x\"}");
    ops_expect(&o, 400, "POST", "/v1/projects", "{\"name\":\"shop\",\"weight\":\"heavy\"}");
    ops_expect(&o, 400, "POST", "/v1/projects", "{\"name\":\" shop\"}");
    ops_trace(&o, &after);
    assert_memory_equal(&before, &after, sizeof(after));
    assert_false(file_has(&o, "shop"));
}

TEST(a_project_is_changed_and_shown) {
    _cleanup_(ops_close) struct ops o = { 0 };
    ops_open(&o, OPS_MEMORY, NULL);
    (void)ops_add(&o, "\"project\":\"web\",");
    _cleanup_(reply_finish) struct reply r = ops_ask(
        &o, "POST", "/v1/projects/web/set", "{\"weight\":6,\"budget\":500,\"active\":false}", NULL);
    assert_int_equal(r.status, 200);
    assert_int_equal(reply_int(&r, "budget"), 500);
    assert_false(reply_bool(&r, "active"));
    assert_int_equal(reply_int(&r, "running"), 1);
    ops_expect(&o, 200, "POST", "/v1/projects/web/set", "{\"active\":\"true\",\"weight\":2}");
    _cleanup_(reply_finish) struct reply list = get(&o, "/v1/projects");
    assert_string_equal(reply_text(&list, "items.0.name"), "web");
    assert_non_null(strstr(list.text, "\"target\":0.6667")); /* 2 of 3 */
    ops_refused(&o, 404, "/v1/projects/wbe/set", "{\"weight\":1}",
                "there is no project 'wbe'; did you mean 'web'?");
    ops_refused(&o, 400, "/v1/projects/web/set", "{}",
                "nothing to change: give a setting, such as weight");
    ops_refused(&o, 400, "/v1/projects/web/set", "{\"path\":\"/no/such\"}",
                "cannot use the folder '/no/such': No such file or directory");
    ops_refused(&o, 400, "/v1/projects/web/set", "{\"wieght\":1}",
                "unknown parameter 'wieght'; did you mean 'weight'?");
}

/* Walks over the settings table. */
TEST(every_setting_of_a_project_can_be_set) {
    static const char below[] = "projects.P.";
    _cleanup_(ops_close) struct ops o = { 0 };
    unsigned count = 0;
    ops_open(&o, OPS_MEMORY, NULL);
    for (size_t i = 0; i < settings_count; i++) {
        const char *key = settings[i].key;
        char body[128];
        if (strncmp(key, below, strlen(below)) != 0)
            continue;
        (void)snprintf(body, sizeof(body), "{\"%s\":\"?\"}", key + strlen(below));
        _cleanup_(reply_finish) struct reply r =
            ops_ask(&o, "POST", "/v1/projects/web/set", body, NULL);
        if (strstr(r.text, "unknown parameter"))
            fail_msg("project.set does not know %s: %s", key, r.text);
        count++;
    }
    assert_true(count > 10);
    ops_expect(&o, 200, "POST", "/v1/projects/web/set",
               "{\"base_branch\":\"trunk\",\"merge\":\"local\",\"review\":3}");
    assert_true(file_has(&o, "trunk"));
    ops_refused(&o, 400, "/v1/projects/web/set", "{\"merg\":\"local\"}",
                "unknown parameter 'merg'; did you mean 'merge'?");
    ops_refused(&o, 400, "/v1/projects/web/set", "{\"merge\":[]}",
                "parameter 'merge' must be a text, a number, or true or false");
}

TEST(a_backup_can_be_opened) {
    _cleanup_(ops_close) struct ops o = { 0 };
    ops_open(&o, OPS_SQLITE, NULL);
    (void)ops_add(&o, "");
    char body[160], path[96];
    (void)snprintf(path, sizeof(path), "%s/copy.db", o.home);
    (void)snprintf(body, sizeof(body), "{\"path\":\"%s\"}", path);
    _cleanup_(reply_finish) struct reply r = ops_ask(&o, "POST", "/v1/backup", body, NULL);
    assert_int_equal(r.status, 200);
    assert_true(reply_int(&r, "bytes") > 4096);
    struct store *copy = NULL;
    struct store_report report;
    struct store_options options = { .url = path };
    assert_int_equal(store_open(&options, &copy, &report, NULL), 0);
    assert_false(report.created);
    (void)store_close(copy);
    ops_refused(&o, 400, "/v1/backup", "{\"path\":\"copy.db\"}",
                "'copy.db' must be an absolute path: the daemon has another working directory");
}

/* Other requests are answered while the backup is made, and it contains what they changed before it was complete. */
TEST(others_are_answered_while_a_backup_is_made) {
    _cleanup_(ops_close) struct ops o = { 0 };
    ops_open(&o, OPS_SQLITE, NULL);
    char body[160], path[96];
    (void)snprintf(path, sizeof(path), "%s/copy.db", o.home);
    (void)snprintf(body, sizeof(body), "{\"path\":\"%s\"}", path);
    struct reply backup, second;
    ops_begin(&o, "/v1/backup", body, NULL, &backup);
    ops_turn(&o);
    assert_false(backup.answered);
    ops_expect(&o, 200, "GET", "/v1/status", NULL);
    assert_int_equal(ops_add(&o, ""), 1);
    ops_begin(&o, "/v1/backup", body, NULL, &second);
    ops_turn(&o);
    assert_false(backup.answered);
    assert_true(second.answered);
    assert_int_equal(second.status, 409);
    assert_string_equal(reply_text(&second, "error.message"),
                        "another backup is being made: try again when it is there");
    ops_wait(&o, &backup);
    assert_int_equal(backup.status, 200);
    struct store *copy = NULL;
    struct store_options options = { .url = path };
    struct store_totals totals = { 0 };
    assert_int_equal(store_open(&options, &copy, NULL, NULL), 0);
    assert_int_equal(store_load(copy, &(struct store_reader){ 0 }, &totals, NULL), 0);
    assert_int_equal(totals.tasks, 1);
    (void)store_close(copy);
    reply_finish(&backup);
    reply_finish(&second);
}

TEST(shutdown_cancels_a_backup) {
    struct ops o = { 0 };
    ops_open(&o, OPS_SQLITE, NULL);
    char body[160], path[120];
    (void)snprintf(path, sizeof(path), "%s/copy.db", o.home);
    (void)snprintf(body, sizeof(body), "{\"path\":\"%s\"}", path);
    struct reply backup;
    ops_begin(&o, "/v1/backup", body, NULL, &backup);
    ops_turn(&o);
    engine_backup_cancel(o.engine);
    assert_true(backup.answered);
    assert_int_equal(backup.status, 503);
    assert_string_equal(reply_text(&backup, "error.message"),
                        "the backup was interrupted: no copy was made");
    assert_int_equal(access(path, F_OK), -1);
    strcat(path, ".partial");
    assert_int_equal(access(path, F_OK), -1);
    reply_finish(&backup);
    ops_begin(&o, "/v1/backup", body, NULL, &backup);
    ops_turn(&o);
    assert_false(backup.answered);
    ops_close(&o); /* clients that still wait are answered */
    assert_true(backup.answered);
    reply_finish(&backup);
}

static unsigned mode_of(const char *path) {
    struct stat st;
    assert_int_equal(stat(path, &st), 0);
    return st.st_mode & 0777;
}

TEST(a_file_with_a_secret_becomes_private) {
    _cleanup_(ops_close) struct ops o = { 0 };
    ops_open(&o, OPS_MEMORY, NULL);
    assert_int_equal(chmod(o.config_file, 0644), 0);
    ops_expect(&o, 200, "POST", "/v1/config", "{\"set\":{\"limits.runs\":5}}");
    assert_int_equal(mode_of(o.config_file), 0644);
    ops_expect(&o, 200, "POST", "/v1/config", "{\"set\":{\"agents.claude.env\":\"KEY=1\"}}");
    assert_int_equal(mode_of(o.config_file), 0600);
}
