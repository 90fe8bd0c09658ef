/* test_snapshot_bad.c: every error that a snapshot can have, and its message.
 *
 * One row per rule: the text of the file, called q.json, and the error message. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/strbuf.h"
#include "harness/test.h"
#include "snapshot/json_stream.h"
#include "snapshot/snapshot.h"

struct bad {
    const char *text;
    const char *message;
};

static int read_text(const char *text, size_t size, struct snapshot **ret, struct error *err) {
    FILE *file = fmemopen((void *)(uintptr_t)text, size, "r");
    assert_non_null(file);
    int r = snapshot_read(file, "q.json", NULL, ret, err);
    (void)fclose(file);
    return r;
}

static void check(const struct bad *rows, size_t count) {
    int wrong = 0;
    for (size_t i = 0; i < count; i++) {
        struct snapshot *snapshot = NULL;
        struct error err = { 0 };
        int r = read_text(rows[i].text, strlen(rows[i].text), &snapshot, &err);
        if (r < 0 && r == err.code && strcmp(err.text, rows[i].message) == 0 && !snapshot)
            continue;
        print_error("for    %s\nwanted %s\ngot    %s (%d)\n", rows[i].text, rows[i].message,
                    r < 0 ? err.text : "no error", r);
        snapshot_free(snapshot);
        wrong++;
    }
    assert_int_equal(wrong, 0);
}

#define CHECK(rows) check(rows, ARRAY_SIZE(rows))

TEST(invalid_json_is_refused_with_its_position) {
    static const struct bad rows[] = {
        { " ", "q.json:1:2: the file is empty" },
        { "{\"now\": 1", "q.json:1:10: the file ends too early" },
        { "{\"now\":", "q.json:1:8: the file ends too early" },
        { "{\"tasks\": [\n{\"id\": \"a", "q.json:2:10: the file ends too early" },
        { "{} x", "q.json:1:4: something follows the end of the snapshot" },
        { "{}\n{}", "q.json:2:1: something follows the end of the snapshot" },
        { "{\"now\": 1,\n \"paused\": tru}",
          "q.json:2:14: not JSON: invalid string in json text." },
        { "{\"now\": 01}", "q.json:1:9: not JSON: after key and value, inside map, I expect ',' or "
                           "'}'" },
        { "{'now': 1}", "q.json:1:2: not JSON: invalid char in json text." },
        { "{\"now\": 1,}", "q.json:1:11: not JSON: invalid object key (must be a string)" },
        { "{\"tasks\": [{\"id\": \"\xff\"}]}",
          "q.json:1:20: not JSON: invalid bytes in UTF8 string." },
        { "{\"meta\": \"\\x\"}", "q.json:1:11: not JSON: inside a string, '\\' occurs before a "
                                 "character which it may not." },
    };
    CHECK(rows);
}

TEST(wrong_types_are_refused) {
    static const struct bad rows[] = {
        { "[]", "q.json:1:1: the snapshot must be an object" },
        { "3 ", "q.json:1:1: the snapshot must be an object" },
        { "null", "q.json:1:1: the snapshot must be an object" },
        { "{\"now\": \"1\"}",
          "q.json:1:9: 'now' of the snapshot must be a whole number, not a text" },
        { "{\"now\": true}", "q.json:1:9: 'now' of the snapshot must be a whole number, not true" },
        { "{\"now\": [1]}",
          "q.json:1:9: 'now' of the snapshot must be a whole number, not a list" },
        { "{\"now\": 1.5}", "q.json:1:9: 'now' of the snapshot must be a whole number, not 1.5" },
        { "{\"now\": 1e3}", "q.json:1:9: 'now' of the snapshot must be a whole number, not 1e3" },
        { "{\"paused\": 1}", "q.json:1:12: 'paused' of the snapshot must be true or false, not a "
                             "number" },
        { "{\"tasks\": {}}",
          "q.json:1:11: 'tasks' of the snapshot must be a list of objects, not an "
          "object" },
        { "{\"tasks\": [1]}",
          "q.json:1:12: each item of 'tasks' of the snapshot must be an object, "
          "not a number" },
        { "{\"tasks\": [null]}",
          "q.json:1:12: each item of 'tasks' of the snapshot must be an object, "
          "not null" },
        { "{\"tasks\": [[]]}",
          "q.json:1:12: each item of 'tasks' of the snapshot must be an object, "
          "not a list" },
        { "{\"workspaces\": []}",
          "q.json:1:16: 'workspaces' of the snapshot must be an object with a "
          "task id, null or true for each name, not a list" },
        { "{\"workspaces\": {\"w\": 1}}",
          "q.json:1:22: each item of 'workspaces' of the snapshot must "
          "be a task id, null or true, not a number" },
        { "{\"config\": []}",
          "q.json:1:12: 'config' of the snapshot must be an object, not a list" },
        { "{\"config\": {\"order\": [{}]}}",
          "q.json:1:23: 'order' must be a list of plain values" },
        { "{\"sim\": 1}", "q.json:1:9: 'sim' of the snapshot must be an object, not a number" },
        { "{\"tasks\": [{\"id\": 7}]}",
          "q.json:1:19: 'id' of a task must be a task id, not a number" },
        { "{\"tasks\": [{\"kind\": {}}]}", "q.json:1:21: 'kind' of a task must be a text, not an "
                                           "object" },
        { "{\"tasks\": [{\"depends_on\": \"a\"}]}",
          "q.json:1:27: 'depends_on' of a task must be a list of task ids, not a text" },
        { "{\"tasks\": [{\"depends_on\": [\"a\", 2]}]}",
          "q.json:1:33: each item of 'depends_on' of a task must be a task id, not a number" },
        { "{\"tasks\": [{\"resources\": [true]}]}",
          "q.json:1:27: each item of 'resources' of a task must be a name, not true" },
        { "{\"projects\": [{\"max_running\": \"many\"}]}",
          "q.json:1:31: 'max_running' of a project must be a whole number or \"unlimited\", not a "
          "text" },
    };
    CHECK(rows);
}

TEST(numbers_out_of_range_are_refused) {
    static const struct bad rows[] = {
        { "{\"now\": -1}",
          "q.json:1:9: 'now' of the snapshot must be from 0 to 9007199254740991, not -1" },
        { "{\"now\": 9223372036854775808}", "q.json:1:9: 'now' of the snapshot must be from 0 to "
                                            "9007199254740991, not 9223372036854775808" },
        { "{\"tasks\": [{\"priority\": 2147483648}]}",
          "q.json:1:25: 'priority' of a task must be from -2147483648 to 2147483647, not "
          "2147483648" },
        { "{\"tasks\": [{\"created_at\": -9999999999999999999999}]}",
          "q.json:1:27: 'created_at' of a task must be from -9007199254740991 to 9007199254740991, "
          "not -9999999999999999999999" },
        { "{\"tasks\": [{\"iteration\": -1}]}",
          "q.json:1:26: 'iteration' of a task must be from 0 to 1000000000, not -1" },
        { "{\"projects\": [{\"weight\": -0.5}]}",
          "q.json:1:26: 'weight' of a project must be from 0 to 1000000000, not -0.5" },
        { "{\"projects\": [{\"weight\": 0.0005}]}",
          "q.json:1:26: 'weight' of a project must be a number with at most three decimals, not "
          "0.0005" },
        { "{\"projects\": [{\"max_running\": -1}]}",
          "q.json:1:31: 'max_running' of a project must be from 0 to 9007199254740991, not -1" },
        { "{\"sim\": {\"seed\": -1}}", "q.json:1:18: 'seed' of 'sim' must be at least 0, not -1" },
        { "{\"sim\": {\"kinds\": {\"a\": {\"failure_rate\": 1.001}}}}",
          "q.json:1:42: 'failure_rate' of a kind of 'sim' must be from 0 to 1, not 1.001" },
        { "{\"tasks\": [{\"sim\": {\"duration_s\": [1]}}]}",
          "q.json:1:37: 'duration_s' of the 'sim' of a task must be a number or a list [least, "
          "most]" },
        { "{\"tasks\": [{\"sim\": {\"duration_s\": [3, 1]}}]}",
          "q.json:1:39: 'duration_s' of the 'sim' of a task must be a number or a list [least, "
          "most]" },
        { "{\"tasks\": [{\"sim\": {\"tokens\": [1, 2, 3]}}]}",
          "q.json:1:38: 'tokens' of the 'sim' of a task must be a number or a list [least, most]" },
        { "{\"projects\": [{\"id\": \"a\", \"tokens_used\": 9007199254740991, \"running\": "
          "1000000}]}",
          "q.json: 'tokens_used', 'tokens' and 'running' are too large together" },
    };
    CHECK(rows);
}

TEST(unknown_words_are_refused) {
    static const struct bad rows[] = {
        { "{\"task\": []}",
          "q.json:1:2: unknown key 'task' in the snapshot; did you mean 'tasks'?" },
        { "{\"tasks\": [{\"id\": \"a\",\n\"depend_on\": []}]}",
          "q.json:2:1: unknown key 'depend_on' in a task; did you mean 'depends_on'?" },
        { "{\"tasks\": [{\"\": 1}]}", "q.json:1:13: 'a key' must not be empty" },
        { "{\"projects\": [{\"name\": \"a\"}]}", "q.json:1:16: unknown key 'name' in a project" },
        { "{\"agents\": [{\"busy\": 1}]}", "q.json:1:14: unknown key 'busy' in an agent" },
        { "{\"limiters\": [{\"hit\": 1}]}",
          "q.json:1:16: unknown key 'hit' in a limiter; did you mean 'hits'?" },
        { "{\"sim\": {\"speed\": 1}}",
          "q.json:1:10: unknown key 'speed' in 'sim'; did you mean 'seed'?" },
        { "{\"tasks\": [{\"id\": \"a\", \"state\": \"redy\"}]}",
          "q.json:1:33: 'state' of a task must be one of draft, waiting, ready, starting, running, "
          "held, done, failed, canceled, invalidated, not 'redy'" },
        { "{\"tasks\": [{\"state\": \"absent\"}]}",
          "q.json:1:22: 'state' of a task must be one of draft, waiting, ready, starting, running, "
          "held, done, failed, canceled, invalidated, not 'absent'" },
        { "{\"tasks\": [{\"phase\": \"p\"}]}", "q.json:1:22: 'phase' of a task must be one of "
                                               "working, waiting, validating, draining, stopping, "
                                               "not 'p'" },
        { "{\"tasks\": [{\"until\": \"\"}]}", "q.json:1:22: 'until' must not be empty" },
        { "{\"tasks\": [{\"parent_gate\": \"maybe\"}]}",
          "q.json:1:28: 'parent_gate' of a task must be one of done, none, not 'maybe'" },
    };
    CHECK(rows);
}

TEST(what_is_given_twice_is_refused) {
    static const struct bad rows[] = {
        { "{\"now\": 1, \"now\": 1}", "q.json:1:12: key 'now' is given twice in the snapshot" },
        { "{\"now\": null, \"now\": 1}", "q.json:1:15: key 'now' is given twice in the snapshot" },
        { "{\"tasks\": [{\"id\": \"a\", \"id\": \"b\"}]}",
          "q.json:1:24: key 'id' is given twice in a task" },
        { "{\"tasks\": [{\"id\": \"a\"},\n {\"id\": \"a\"}]}",
          "q.json:2:12: task 'a' is listed twice" },
        { "{\"projects\": [{\"id\": \"p\"}, {\"id\": \"p\"}]}",
          "q.json:1:38: project 'p' is listed twice" },
        { "{\"agents\": [{\"id\": \"p\"}, {\"id\": \"p\"}]}",
          "q.json:1:36: agent 'p' is listed twice" },
        { "{\"limiters\": [{\"id\": \"p\"}, {\"id\": \"p\"}]}",
          "q.json:1:38: limiter 'p' is listed twice" },
        { "{\"workspaces\": {\"w\": null, \"w\": \"a\"}}",
          "q.json:1:28: key 'w' is given twice in 'workspaces'" },
        { "{\"sim\": {\"kinds\": {\"*\": {}, \"*\": {}}}}",
          "q.json:1:29: key '*' is given twice in 'kinds'" },
        { "{\"config\": {\"limits\": {\"runs\": 1}, \"limits\": {\"roots\": 1}}}",
          "q.json:1:36: key 'limits' is given twice in the configuration" },
        { "{\"config\": {\"limits\": {\"runs\": 1}, \"limits.runs\": 1}}",
          "q.json:1:36: key 'limits.runs' is given twice in the configuration" },
    };
    CHECK(rows);
}

TEST(names_are_needed_and_must_be_printable) {
    static const struct bad rows[] = {
        { "{\"tasks\": [{}]}", "q.json:1:13: a task has no 'id'" },
        { "{\"tasks\": [{\"id\": null}]}", "q.json:1:23: a task has no 'id'" },
        { "{\"projects\": [{}]}", "q.json:1:16: a project has no 'id'" },
        { "{\"agents\": [{\"idle\": true}]}", "q.json:1:26: an agent has no 'id'" },
        { "{\"limiters\": [{}]}", "q.json:1:16: a limiter has no 'id'" },
        { "{\"tasks\": [{\"id\": \"\"}]}", "q.json:1:19: 'id' must not be empty" },
        { "{\"tasks\": [{\"id\": \"a\\u0000b\"}]}",
          "q.json:1:19: 'id' must not contain control characters" },
        { "{\"tasks\": [{\"id\": \"\\u001b[2J\"}]}",
          "q.json:1:19: 'id' must not contain control characters" },
        { "{\"tasks\": [{\"id\": \"\\u009b2J\"}]}",
          "q.json:1:19: 'id' must not contain control characters" },
        { "{\"config\": {\"a\\nb\": 1}}",
          "q.json:1:13: 'a key' must not contain control characters" },
    };
    CHECK(rows);
}

TEST(what_does_not_fit_together_is_refused) {
    static const struct bad rows[] = {
        { "{\"tasks\": [{\"id\": \"a\", \"depends_on\": [\"b\"]}, {\"id\": \"b\", \"depends_on\": "
          "[\"a\"]}]}",
          "q.json: cycle in depends_on: a -> b -> a" },
        { "{\"tasks\": [{\"id\": \"a\", \"depends_on\": [\"a\"]}]}",
          "q.json: cycle in depends_on: a -> a" },
        { "{\"tasks\": [{\"id\": \"a\", \"parent\": \"c\"}, {\"id\": \"b\", \"parent\": \"a\"}, "
          "{\"id\": \"c\", \"parent\": \"b\"}]}",
          "q.json: cycle in parent: a -> c -> b -> a" },
        { "{\"tasks\": [{\"id\": \"a\", \"parent\": \"a\"}]}", "q.json: cycle in parent: a -> a" },
        { "{\"tasks\": [{\"id\": \"p\", \"depends_on\": [\"c\"]}, {\"id\": \"c\", \"parent\": "
          "\"p\"}]}",
          "q.json: task 'c' would wait for itself through its dependencies and parents" },
        { "{\"projects\": [{\"id\": \"web\"}], \"tasks\": [{\"id\": \"a\", \"project\": \"wep\"}]}",
          "q.json: task 'a': unknown project 'wep'" },
        { "{\"projects\": [], \"tasks\": [{\"id\": \"a\", \"project\": \"web\"}]}",
          "q.json: task 'a': unknown project 'web'" },
        { "{\"config\": {\"projects\": {\"web\": {\"weight\": 1}}}, \"tasks\": [{\"id\": \"a\", "
          "\"project\": \"api\"}]}",
          "q.json: task 'a': unknown project 'api'" },
    };
    CHECK(rows);
}

TEST(a_live_snapshot_is_checked_too) {
    static const struct bad rows[] = {
        { "{\"live\": true, \"waits\": [{\"lost\": 1}]}",
          "q.json:1:36: an entry of 'waits' has no 'project'" },
        { "{\"live\": true, \"claim\": {\"leases\": [\"runs\"]}}",
          "q.json:1:44: 'claim' has no 'task'" },
        { "{\"live\": true, \"tasks\": [{\"id\": \"a\", \"keeps\": [\"all\"]}]}",
          "q.json:1:48: 'keeps' of a task must be one of task, roots, review, workspace, not "
          "'all'" },
        { "{\"live\": true, \"tasks\": [{\"id\": \"a\", \"borrowed\": \"runs\"}]}",
          "q.json:1:50: 'borrowed' of a task must be a list of words, not a text" },
        { "{\"live\": true, \"usage\": [{\"usd\": 0.0000001}]}",
          "q.json:1:34: 'usd' of an entry of 'usage' must be a number with at most six decimals, "
          "not "
          "0.0000001" },
        { "{\"live\": true, \"usage\": [{\"project\": \"a\", \"tokens\": 1}]}",
          "q.json: project 'a' is not known" },
        { "{\"live\": true, \"usage\": [{\"usd\": 1000000001}]}",
          "q.json:1:34: 'usd' of an entry of 'usage' must be from -1000000000 to 1000000000, not "
          "1000000001" },
    };
    CHECK(rows);
}

TEST(errors_of_the_configuration_have_their_position) {
    struct snapshot *snapshot = NULL;
    struct error err = { 0 };
    static const char text[] = "{\"config\": {\n  \"limits\": {\"rnus\": 3}}}";
    assert_true(read_text(text, strlen(text), &snapshot, &err) < 0);
    assert_memory_equal(err.text, "q.json:2:22: ", 13);
    assert_non_null(strstr(err.text, "limits.rnus"));
}

TEST(a_text_longer_than_255_bytes_is_not_a_name) {
    _cleanup_(strbuf_finish) struct strbuf text = STRBUF_INIT;
    strbuf_puts(&text, "{\"tasks\": [{\"id\": \"");
    strbuf_repeat(&text, "x", 256);
    strbuf_puts(&text, "\"}]}");
    struct snapshot *snapshot = NULL;
    struct error err = { 0 };
    assert_true(read_text(text.text, text.length, &snapshot, &err) < 0);
    assert_string_equal(err.text, "q.json:1:19: 'id' must not be longer than 255 bytes");
}

TEST(deep_nesting_is_refused_at_once) {
    for (int list = 0; list < 2; list++) {
        _cleanup_(strbuf_finish) struct strbuf text = STRBUF_INIT;
        strbuf_puts(&text, "{\"meta\": ");
        strbuf_repeat(&text, list ? "[" : "{\"a\":", 1000);
        struct snapshot *snapshot = NULL;
        struct error err = { 0 };
        assert_true(read_text(text.text, text.length, &snapshot, &err) < 0);
        assert_non_null(strstr(err.text, ": nested deeper than 32 levels"));
    }
}

/* An endless stream must not exhaust memory. */
static ssize_t endless_read(void *cookie, char *buffer, size_t size) {
    size_t *given = cookie;
    const char *fill = *given == 0 ? "{\"meta\": \"" : "x";
    for (size_t i = 0; i < size; i++)
        buffer[i] = *given + i < strlen("{\"meta\": \"") ? fill[*given + i] : 'x';
    *given += size;
    return (ssize_t)size;
}

TEST(a_text_without_end_is_refused) {
    size_t given = 0;
    cookie_io_functions_t functions = { .read = endless_read };
    FILE *file = fopencookie(&given, "r", functions);
    struct snapshot *snapshot = NULL;
    struct error err = { 0 };
    int r = snapshot_read(file, "q.json", NULL, &snapshot, &err);
    (void)fclose(file);
    assert_int_equal(r, -EINVAL);
    assert_non_null(strstr(err.text, "more than 16 MB without a value"));
    assert_true(given < (size_t)32 << 20);
}

// NOLINTNEXTLINE(readability-non-const-parameter): the type of cookie_io_functions_t
static ssize_t failing_read(void *cookie, char *buffer, size_t size) {
    (void)cookie, (void)buffer, (void)size;
    errno = EIO;
    return -1;
}

TEST(a_file_that_cannot_be_read_is_no_bad_input) {
    cookie_io_functions_t functions = { .read = failing_read };
    FILE *file = fopencookie(NULL, "r", functions);
    struct snapshot *snapshot = NULL;
    struct error err = { 0 };
    int r = snapshot_read(file, "q.json", NULL, &snapshot, &err);
    (void)fclose(file);
    assert_int_equal(r, -EIO);
    assert_string_equal(err.text, "cannot read 'q.json': Input/output error");
}

TEST(codes_do_not_depend_on_the_message) {
    struct snapshot *snapshot = NULL;
    assert_true(read_text("{\"x\": 1}", 8, &snapshot, NULL) < 0);
}

/* The position is right wherever the read buffer ends. */
TEST(positions_are_right_in_large_files) {
    static const size_t before[] = { 262100, 262130, 262140, 262143, 262144, 262145, 600000 };
    for (size_t i = 0; i < ARRAY_SIZE(before); i++) {
        _cleanup_(strbuf_finish) struct strbuf text = STRBUF_INIT;
        strbuf_puts(&text, "{\"meta\": \"");
        while (text.length < before[i])
            strbuf_puts(&text, text.length % 1000 == 0 ? "y" : "x");
        strbuf_puts(&text, "\",\n\n  \"prioritaet\": 12}");
        struct snapshot *snapshot = NULL;
        struct error err = { 0 };
        assert_true(read_text(text.text, text.length, &snapshot, &err) < 0);
        const char *line = strstr(err.text, ":3:");
        assert_non_null(line);
        long column = strtol(line + 3, NULL, 10);
        assert_true(column >= 1 && column <= 15); /* a token across two buffers: within it */
        assert_non_null(strstr(err.text, "unknown key 'prioritaet'"));
    }
}
