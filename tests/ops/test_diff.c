/* test_diff.c: task.diff shows the recorded changes of a task, with a real git, and explains why if there are none. */

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/strbuf.h"
#include "fixture.h"
#include "harness/test.h"
#include "os/files.h"

struct history {
    char first[80], second[80], third[80]; /* commits */
};

/* The single line that a shell command prints. */
static void shell(const char *folder, const char *command, char ret[80]) {
    _cleanup_(strbuf_finish) struct strbuf line = STRBUF_INIT;
    strbuf_printf(&line,
                  "cd '%s' && export GIT_CONFIG_GLOBAL=/dev/null GIT_CONFIG_SYSTEM=/dev/null "
                  "GIT_AUTHOR_NAME=t GIT_AUTHOR_EMAIL=t@t GIT_COMMITTER_NAME=t "
                  "GIT_COMMITTER_EMAIL=t@t && %s",
                  folder, command);
    FILE *pipe = popen(strbuf_text(&line), "re");
    assert_non_null(pipe);
    ret[0] = '\0';
    (void)fgets(ret, 80, pipe);
    if (pclose(pipe) != 0)
        fail_msg("'%s' failed: is git installed?", command);
    ret[strcspn(ret, "\n")] = '\0';
}

#define COMMIT "git add -A && git commit -qm x && git rev-parse HEAD"

/* HOME/repo with three commits. */
static struct history given_repository(const struct ops *o) {
    struct history h;
    char repo[100];
    (void)snprintf(repo, sizeof(repo), "%s/repo", o->home);
    assert_int_equal(mkdir(repo, 0700), 0);
    shell(repo, "git init -q -b main . && echo a >a && " COMMIT, h.first);
    shell(repo, "echo b >>a && printf 'caf\\351\\n' >latin && " COMMIT, h.second);
    shell(repo, "printf 'x\\0y' >bin && git mv a new && " COMMIT, h.third);
    return h;
}

/* Writes the record that the end of a run leaves; `iteration` NULL: of the task. */
static void given_record(const struct ops *o, const char *iteration, const char *from,
                         const char *to) {
    _cleanup_(strbuf_finish) struct strbuf path = STRBUF_INIT, text = STRBUF_INIT;
    struct error err = { 0 };
    static const char *const folders[] = { "tasks", "tasks/web-1", "tasks/web-1/iterations",
                                           "tasks/web-1/iterations/001" };
    for (size_t i = 0; i < ARRAY_SIZE(folders); i++) {
        strbuf_clear(&path);
        strbuf_printf(&path, "%s/%s", o->home, folders[i]);
        (void)mkdir(strbuf_text(&path), 0700);
    }
    strbuf_clear(&path);
    strbuf_printf(&path, "%s/tasks/web-1/%s%s/diff.json", o->home, iteration ? "iterations/" : "",
                  iteration ? iteration : ".");
    strbuf_printf(&text,
                  "{\"repository\":\"%s/repo\",\"base\":\"main\",\"from\":\"%s\",\"to\":\"%s\"}",
                  o->home, from, to);
    if (file_write(strbuf_text(&path), strbuf_text(&text), text.length, &err) < 0)
        fail_msg("%s", err.text);
}

static struct reply get(struct ops *o, const char *path) {
    return ops_ask(o, "GET", path, NULL, NULL);
}

TEST(merged_changes_are_shown_after_the_worktree_is_removed) {
    _cleanup_(ops_close) struct ops o = { 0 };
    ops_open(&o, OPS_MEMORY, NULL);
    ops_add(&o, "\"project\":\"web\",");
    struct history h = given_repository(&o);
    given_record(&o, NULL, h.first, h.third);
    _cleanup_(reply_finish) struct reply r = get(&o, "/v1/tasks/web-1/diff");
    assert_int_equal(r.status, 200);
    assert_string_equal(reply_text(&r, "base"), h.first);
    assert_string_equal(reply_text(&r, "head"), h.third);
    assert_string_equal(reply_text(&r, "branch"), "main");
    assert_true(reply_is_null(&r, "iteration"));
    assert_int_equal(reply_count(&r, "files"), 3);
    assert_string_equal(reply_text(&r, "files.0.path"), "bin");
    assert_true(reply_bool(&r, "files.0.binary"));
    assert_string_equal(reply_text(&r, "files.2.path"), "new");
    assert_string_equal(reply_text(&r, "files.2.old_path"), "a");
    assert_int_equal(reply_int(&r, "files.2.added"), 1);
    assert_false(reply_bool(&r, "truncated"));
    assert_non_null(strstr(reply_text(&r, "patch"), "+caf\xef\xbf\xbd\n")); /* not UTF-8 */
}

TEST(one_iteration_can_be_shown_and_stat_has_no_patch) {
    _cleanup_(ops_close) struct ops o = { 0 };
    ops_open(&o, OPS_MEMORY, NULL);
    ops_add(&o, "\"project\":\"web\",");
    struct history h = given_repository(&o);
    given_record(&o, NULL, h.first, h.third);
    given_record(&o, "001", h.first, h.second);
    _cleanup_(reply_finish) struct reply r = get(&o, "/v1/tasks/web-1/diff?iteration=1&stat=true");
    assert_int_equal(r.status, 200);
    assert_int_equal(reply_int(&r, "iteration"), 1);
    assert_int_equal(reply_count(&r, "files"), 2);
    assert_true(reply_is_null(&r, "patch"));
    _cleanup_(reply_finish) struct reply second = get(&o, "/v1/tasks/web-1/diff?iteration=2");
    assert_int_equal(second.status, 404);
    assert_non_null(strstr(reply_text(&second, "error.message"), "has no iteration 2"));
}

/* A front end shows more around a change, and files that did not fit into the patch of all. */
TEST(one_file_can_be_shown_with_more_around) {
    _cleanup_(ops_close) struct ops o = { 0 };
    ops_open(&o, OPS_MEMORY, NULL);
    ops_add(&o, "\"project\":\"web\",");
    struct history h = given_repository(&o);
    given_record(&o, NULL, h.first, h.third);
    _cleanup_(reply_finish) struct reply none =
        get(&o, "/v1/tasks/web-1/diff?path=new&old_path=a&context=0");
    assert_int_equal(none.status, 200);
    assert_int_equal(reply_count(&none, "files"), 1);
    assert_string_equal(reply_text(&none, "files.0.old_path"), "a"); /* still a rename */
    assert_null(strstr(reply_text(&none, "patch"), "\n "));
    _cleanup_(reply_finish) struct reply more =
        get(&o, "/v1/tasks/web-1/diff?path=new&old_path=a&context=1000");
    assert_non_null(strstr(reply_text(&more, "patch"), "\n "));
    _cleanup_(reply_finish) struct reply all = get(&o, "/v1/tasks/web-1/diff?path=*");
    assert_int_equal(reply_count(&all, "files"), 0); /* a name, not a pattern */
    _cleanup_(reply_finish) struct reply option =
        get(&o, "/v1/tasks/web-1/diff?path=--output%3Devil");
    assert_int_equal(option.status, 200);
    assert_int_equal(reply_count(&option, "files"), 0);
}

TEST(missing_records_are_explained) {
    _cleanup_(ops_close) struct ops o = { 0 };
    ops_open(&o, OPS_MEMORY, NULL);
    ops_add(&o, "\"project\":\"web\",");
    _cleanup_(reply_finish) struct reply none = get(&o, "/v1/tasks/web-1/diff");
    assert_int_equal(none.status, 404);
    assert_non_null(strstr(reply_text(&none, "error.message"), "has no git worktree of its own"));
    struct history h = given_repository(&o);
    given_record(&o, NULL, h.first, "");
    _cleanup_(reply_finish) struct reply lost = get(&o, "/v1/tasks/web-1/diff");
    assert_int_equal(lost.status, 404);
    assert_non_null(strstr(reply_text(&lost, "error.message"), "was not recorded"));
    given_record(&o, NULL, h.first, "0123456789012345678901234567890123456789");
    _cleanup_(reply_finish) struct reply missing = get(&o, "/v1/tasks/web-1/diff");
    assert_int_equal(missing.status, 404);
    assert_non_null(strstr(reply_text(&missing, "error.message"), "git has collected it"));
    given_record(&o, NULL, "--output=evil", h.third); /* must not become an option of git */
    _cleanup_(reply_finish) struct reply forged = get(&o, "/v1/tasks/web-1/diff");
    assert_int_equal(forged.status, 404);
}

TEST(an_invalid_request_is_refused) {
    _cleanup_(ops_close) struct ops o = { 0 };
    ops_open(&o, OPS_MEMORY, NULL);
    ops_add(&o, "\"project\":\"web\",");
    ops_expect(&o, 400, "GET", "/v1/tasks/web-1/diff?iteration=0", NULL);
    ops_expect(&o, 400, "GET", "/v1/tasks/web-1/diff?iteration=4294967296", NULL);
    ops_expect(&o, 400, "GET", "/v1/tasks/web-1/diff?stat=much", NULL);
    ops_expect(&o, 400, "GET", "/v1/tasks/web-1/diff?old_path=a", NULL);
    ops_expect(&o, 400, "GET", "/v1/tasks/web-1/diff?context=1000001", NULL);
    ops_expect(&o, 404, "GET", "/v1/tasks/web-2/diff", NULL);
}

TEST(shutdown_answers_pending_diffs) {
    struct ops o = { 0 };
    ops_open(&o, OPS_MEMORY, NULL);
    ops_add(&o, "\"project\":\"web\",");
    struct history h = given_repository(&o);
    given_record(&o, NULL, h.first, h.third);
    struct reply r = { 0 };
    ops_begin_get(&o, "/v1/tasks/web-1/diff", &r);
    ops_turn(&o); /* git is running */
    assert_false(r.answered);
    ops_close(&o);
    assert_true(r.answered);
    assert_int_equal(r.status, 503);
    reply_finish(&r);
}
