/* test_taskfile_bad.c: every error that a task file can have, and its message. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/macros.h"
#include "base/strbuf.h"
#include "harness/test.h"
#include "taskfile/taskfile.h"

static void refused(const char *text, const char *message) {
    struct taskfile *file = NULL;
    struct error err = { 0 };
    int r = taskfile_read_text("t.yaml", "/srv", text, strlen(text), &file, &err);
    if (r == 0)
        fail_msg("taken:\n%s", text);
    assert_int_equal(r, -EINVAL);
    assert_string_equal(err.text, message);
    assert_null(file);
    assert_int_equal(taskfile_read_text("t.yaml", "/srv", text, strlen(text), &file, NULL),
                     -EINVAL);
}

static void good(const char *text) {
    struct taskfile *file = NULL;
    struct error err = { 0 };
    if (taskfile_read_text("t.yaml", "/srv", text, strlen(text), &file, &err) < 0)
        fail_msg("%s in:\n%s", err.text, text);
    taskfile_free(file);
}

/* --- files ----------------------------------------------------------------------------------- */

TEST(files_without_tasks_are_refused) {
    refused("", "t.yaml: it contains no tasks");
    refused("# later\n", "t.yaml: it contains no tasks");
    refused("---\n", "t.yaml: it contains no tasks");
    refused("~\n", "t.yaml: it contains no tasks");
    refused("[]\n", "t.yaml:1:1: it contains no tasks");
    refused("project: web\n", "t.yaml:1:1: it contains no tasks");
    refused("tasks:\n", "t.yaml:1:1: it contains no tasks");
    refused("tasks: []\n", "t.yaml:1:8: it contains no tasks");
}

TEST(files_of_another_shape_are_refused) {
    refused("make all\n", "t.yaml:1:1: expected a list of tasks, got 'make all'");
    refused("tasks: {run: x}\n", "t.yaml:1:8: expected a list of tasks, got a mapping");
    refused("- make all\n", "t.yaml:1:3: expected a task with its members, got 'make all'; a "
                            "command alone is '- run: COMMAND'");
    refused("-\n", "t.yaml:1:1: expected a task with its members, got nothing; a command alone is "
                   "'- run: COMMAND'");
    refused("- [make]\n", "t.yaml:1:3: expected a task with its members, got a list; a command "
                          "alone is '- run: COMMAND'");
    refused("- run: a\n---\n- run: b\n", "t.yaml:2: expected one document, got a second one");
    refused("- &a {run: x}\n- *a\n",
            "t.yaml:2: aliases (*name) are not supported; write the value out");
    refused("- {run: !shell x}\n", "t.yaml:1: tags (!name) are not supported");
    refused("- {run: [x\n", "t.yaml:2: not valid YAML: flow sequence without a closing bracket");
    refused("- run: \xff\n", "t.yaml:1: not UTF-8 text (byte 0xff)");
}

TEST(heads_that_are_wrong_are_refused) {
    refused("task: [{run: x}]\n", "t.yaml:1:1: a file of tasks has no 'task'; did you mean "
                                  "'tasks'?");
    refused("run: x\n", "t.yaml:1:1: a file of tasks has no 'run'; it has project, group, draft, "
                        "defaults and tasks, and that is a member of a task");
    refused("command: x\n", "t.yaml:1:1: a file of tasks has no 'command'; it has project, group, "
                            "draft, defaults and tasks, and a task has 'argv' or 'run'");
    refused("colour: red\n", "t.yaml:1:1: a file of tasks has no 'colour'; it has project, group, "
                             "draft, defaults and tasks");
    refused("tasks: [{run: x}]\ntasks: [{run: x}]\n",
            "t.yaml:2:1: 'tasks' is given twice, first in line 1");
    refused("group: [a]\ntasks: [{run: x}]\n", "t.yaml:1:8: 'group': expected a name of 1 to 128 "
                                               "bytes without control characters, got a list");
    refused("draft: yes\ntasks: [{run: x}]\n",
            "t.yaml:1:8: 'draft': expected true or false, got 'yes'");
    refused("defaults: claude\ntasks: [{run: x}]\n",
            "t.yaml:1:11: 'defaults': expected members of a task, got 'claude'");
    refused("defaults: {id: a}\ntasks: [{run: x}]\n",
            "t.yaml:1:12: 'id' belongs to a single task and cannot be a default");
    refused("defaults: {needs: a}\ntasks: [{run: x}]\n",
            "t.yaml:1:12: 'needs' belongs to a single task and cannot be a default");
    refused("defaults: {agnet: a}\ntasks: [{run: x}]\n",
            "t.yaml:1:12: a task has no 'agnet'; did you mean 'agent'?");
    refused("project: a\ndefaults: {project: b}\ntasks: [{run: x}]\n",
            "t.yaml:1:1: 'project' is given here and in 'defaults'; remove one");
}

TEST(input_is_bounded) {
    struct strbuf text = STRBUF_INIT;
    struct taskfile *file = NULL;
    struct error err = { 0 };
    for (unsigned i = 0; i < TASKFILE_TASKS_MAX; i++)
        strbuf_puts(&text, "- {run: x}\n");
    good(strbuf_text(&text));
    strbuf_puts(&text, "- {run: x}\n");
    refused(strbuf_text(&text),
            "t.yaml:1:1: 10001 tasks are too many for one file; maximum is 10000");
    strbuf_clear(&text);
    strbuf_puts(&text, "- run: x\n  needs: n0");
    for (int i = 1; i <= 1000; i++)
        strbuf_printf(&text, ",n%d", i);
    refused(strbuf_text(&text), "t.yaml:2:10: 'needs': expected at most 256 names, got more");
    strbuf_clear(&text);
    strbuf_repeat(&text, "#", TASKFILE_BYTES_MAX + 1);
    assert_int_equal(taskfile_read_text("t.yaml", "/", text.text, text.length, &file, &err),
                     -EINVAL);
    assert_string_equal(err.text, "t.yaml: larger than 16777216 bytes");
    strbuf_clear(&text);
    strbuf_puts(&text, "- {run: x, meta: {a: ");
    strbuf_repeat(&text, "[", 40);
    strbuf_repeat(&text, "]", 40);
    strbuf_puts(&text, "}}\n");
    refused(strbuf_text(&text), "t.yaml:1: more than 32 levels");
    strbuf_clear(&text);
    strbuf_puts(&text, "- {run: x, meta: {a: [");
    strbuf_repeat(&text, "1,", 1000000);
    strbuf_puts(&text, "]}}\n");
    refused(strbuf_text(&text), "t.yaml:1: more than 1000000 values");
    strbuf_finish(&text);
    assert_int_equal(taskfile_read("/dev/zero", &file, &err), -EINVAL);
    assert_string_equal(err.text, "/dev/zero: larger than 16777216 bytes");
}

/* --- members --------------------------------------------------------------------------------- */

TEST(unknown_members_name_the_nearest) {
    refused("- run: x\n  neds: a\n", "t.yaml:2:3: a task has no 'neds'; did you mean 'needs'?");
    refused("- run: x\n  depend_on: a\n",
            "t.yaml:2:3: a task has no 'depend_on'; did you mean 'depends_on'?");
    refused("- run: x\n  ticket: 5\n", "t.yaml:2:3: a task has no 'ticket'; your own data "
                                       "belongs under 'meta'");
    refused("- run: x\n  \"a\\eb\": 5\n", "t.yaml:2:3: a task has no 'a?b'; your own data "
                                          "belongs under 'meta'");
    refused("- run: x\n  ? [a]\n  : 1\n", "t.yaml:2: expected a key, got a list or a mapping");
}

TEST(duplicate_members_are_refused) {
    refused("- run: x\n  kind: a\n  kind: b\n",
            "t.yaml:3:3: 'kind' is given twice, first in line 2");
    refused("- run: x\n  needs: a\n  depends_on: b\n",
            "t.yaml:3:3: 'depends_on' and 'needs' (line 2) are the same; remove one");
    refused("- run: x\n  timeout_s: 5\n  timeout: 5s\n",
            "t.yaml:3:3: 'timeout' and 'timeout_s' (line 2) are the same; remove one");
    refused("- id: a\n  run: x\n  name: a\n",
            "t.yaml:3:3: 'name' and 'id' (line 1) are the same; remove one");
    refused("- run: x\n  argv: [x]\n",
            "t.yaml:2:3: 'argv' and 'run' (line 1) are the same; remove one");
    refused("- run: x\n  prompt: y\n", "t.yaml:2:3: a task has 'run' (line 1) or 'prompt', not "
                                       "both");
    refused("- run: x\n  env: {A: 1, B: 2, A: 3}\n", "t.yaml:2:21: 'A' is given twice");
    refused("- run: x\n  meta: {a: {b: 1, b: 2}}\n", "t.yaml:2:20: 'b' is given twice");
}

TEST(wrong_types_name_what_was_expected) {
    refused("- run: [make, all]\n",
            "t.yaml:1:8: 'run': expected a command for the shell, got a list");
    refused("- argv: make all\n",
            "t.yaml:1:9: 'argv': expected a list of words, the program first, "
            "got 'make all'");
    refused("- argv: [make, [all]]\n", "t.yaml:1:9: 'argv': expected a text as word 2, got a list");
    refused("- argv: [make, ~]\n", "t.yaml:1:9: 'argv': expected a text as word 2, got nothing");
    refused(
        "- run: x\n  priority: high\n",
        "t.yaml:2:13: 'priority': expected a whole number from -1000000 to 1000000, got 'high'");
    refused("- run: x\n  priority: 1.5\n",
            "t.yaml:2:13: 'priority': expected a whole number from -1000000 to 1000000, got '1.5'");
    refused(
        "- run: x\n  priority: 1000001\n",
        "t.yaml:2:13: 'priority': expected a whole number from -1000000 to 1000000, got '1000001'");
    refused("- run: x\n  retries: 99999999999999999999\n",
            "t.yaml:2:12: 'retries': expected a whole number from -1 to 60000, got "
            "'99999999999999999999'");
    refused("- run: x\n  hold: yes\n", "t.yaml:2:9: 'hold': expected true or false, got 'yes'");
    refused("- run: x\n  title: {a: b}\n", "t.yaml:2:10: 'title': expected one line of at most 500 "
                                           "bytes without control characters, got an object");
    refused("- run: x\n  env: [A=1]\n", "t.yaml:2:8: 'env': expected names and texts, got a list");
    refused("- run: x\n  env: {A: [1]}\n",
            "t.yaml:2:8: 'env': expected a text for 'A', got a list");
    refused("- run: x\n  env:\n    A:\n",
            "t.yaml:3:5: 'env': expected a text for 'A', got nothing");
    refused("- run: x\n  meta: text\n", "t.yaml:2:9: 'meta': expected an object, got 'text'");
    refused("- run: x\n  needs: {a: b}\n", "t.yaml:2:10: 'needs': expected a list of names, or "
                                           "one text with commas, got an object");
    refused("- run: x\n  needs: [a, [b]]\n",
            "t.yaml:2:10: 'needs': expected a text as name 2, got a list");
    refused(
        "- run: x\n  cwd: ~/web\n",
        "t.yaml:2:8: 'cwd': expected a path without ~, which is not expanded here, got '~/web'");
    refused("- run: x\n  stdin: ''\n", "t.yaml:2:10: 'stdin': expected an absolute path, got ''");
}

TEST(wrong_spans_are_refused) {
    static const char *const bad[] = {
        "soon", "1w", "5 m", "-5s", "1h30m", "s", "''", "1.2345s", "99999999999999999d", "1e3"
    };
    for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
        char text[100], message[200];
        (void)snprintf(text, sizeof(text), "- run: x\n  timeout: %s\n", bad[i]);
        (void)snprintf(
            message, sizeof(message),
            "t.yaml:2:12: 'timeout': expected a time span like 90s, 30m, 2h or 1d%s, got "
            "'%s'",
            strchr(bad[i], '9') ? " from 0.1 s to 87600 h" : "",
            strcmp(bad[i], "''") == 0 ? "" : bad[i]);
        refused(text, message);
    }
    refused("- run: x\n  timeout: [5]\n",
            "t.yaml:2:12: 'timeout': expected a time span like 90s, 30m, 2h or 1d, got a list");
    refused(
        "- run: x\n  idle_timeout_s: 9 s\n",
        "t.yaml:2:19: 'idle_timeout_s': expected a time span like 90s, 30m, 2h or 1d, got '9 s'");
}

TEST(wrong_checks_are_refused) {
    refused("- run: x\n  checks: {run: y}\n",
            "t.yaml:2:11: 'checks': expected a list of commands, got an object");
    refused("- run: x\n  checks: [~]\n",
            "t.yaml:2:11: 'checks': expected a command for the shell, got nothing");
    refused("- run: x\n  checks: [{timeout: 5s}]\n",
            "t.yaml:2:11: 'checks': expected a list of words, the program first, got nothing");
    refused("- run: x\n  checks: [{run: y, until: z}]\n",
            "t.yaml:2:11: 'checks': expected 'argv' or 'run', 'timeout_s', 'every_s' and "
            "'pending_timeout_s' in a check, got "
            "'until'");
    refused("- run: x\n  checks: [{run: y, colour: z}]\n",
            "t.yaml:2:11: 'checks': expected 'argv' or 'run', 'timeout_s', 'every_s' and "
            "'pending_timeout_s' in a check, got "
            "'colour'");
    refused("- run: x\n  checks: [{run: y, argv: [z]}]\n",
            "t.yaml:2:11: 'checks': expected one command in a check, got two");
    refused("- run: x\n  checks: [{run: [y]}]\n",
            "t.yaml:2:11: 'checks': expected a command for the shell, got a list");
    refused("- run: x\n  checks: [[a, ~]]\n",
            "t.yaml:2:11: 'checks': expected a text as word 2, got nothing");
}

TEST(wrong_gates_are_refused) {
    refused("- run: x\n  gate: ''\n",
            "t.yaml:2:9: 'gate': expected a command for the shell, got ''");
    refused("- run: x\n  gate: []\n",
            "t.yaml:2:9: 'gate': expected a list of words, the program first, got a list");
    refused("- run: x\n  gate: {every: 5s}\n",
            "t.yaml:2:9: 'gate': expected a list of words, the program first, got nothing");
    refused("- run: x\n  gate: {run: y, argv: [z]}\n",
            "t.yaml:2:9: 'gate': expected one command in a gate, got two");
    refused("- run: x\n  gate: {run: y, every: 5s, every_s: 5}\n",
            "t.yaml:2:9: 'gate': 'every_s' is given twice");
    refused(
        "- run: x\n  gate: {run: y, pending_timeout: 5s}\n",
        "t.yaml:2:9: 'gate': expected 'argv' or 'run', 'every_s' and 'timeout_s' in a gate, got "
        "'pending_timeout'");
    refused("- run: x\n  gate: {run: y, every: often}\n",
            "t.yaml:2:9: 'gate': 'every_s': expected a time span like 90s, 30m, 2h or 1d, got "
            "'often'");
}

/* --- links ----------------------------------------------------------------------------------- */

TEST(names_are_unique) {
    refused("- {id: a, run: x}\n- {id: b, run: x}\n- {name: a, run: x}\n",
            "t.yaml:3:10: task 'a' already exists in line 1");
    refused("- {id: 'a, b', run: x}\n", "t.yaml:1:8: expected a name without commas, got 'a, b'");
    refused("- {id: '', run: x}\n",
            "t.yaml:1:8: 'id': expected a name of 1 to 128 bytes without control "
            "characters, got ''");
}

TEST(f019_a_task_cannot_need_itself) {
    refused("- id: a\n  run: x\n  needs: [b, a]\n", "t.yaml:3:10: task 'a' needs itself");
    refused("- id: a\n  run: x\n  parent: a\n", "t.yaml:3:11: task 'a' is the parent of itself");
}

TEST(f020_a_cycle_is_shown_with_its_lines) {
    refused("- {id: a, run: x, needs: b}\n"
            "- {id: other, run: x, needs: a}\n"
            "- {id: b, run: x, needs: a}\n",
            "t.yaml:1:3: dependency cycle detected: a -> b -> a (lines 1, 3)");
    refused("- {id: z, run: x}\n"
            "- {id: a, run: x, needs: 'z, b'}\n"
            "- {id: b, run: x, needs: c}\n"
            "- {id: c, run: x, needs: a}\n",
            "t.yaml:2:3: dependency cycle detected: a -> b -> c -> a (lines 2, 3, 4)");
    refused("- {id: a, run: x, parent: b}\n- {id: b, run: x, parent: a}\n",
            "t.yaml:1:3: cycle of parents detected: a -> b -> a (lines 1, 2)");
    good("- {id: a, run: x, needs: 'b, c, old-17'}\n"
         "- {id: b, run: x, needs: c, parent: a}\n"
         "- {id: c, run: x}\n");
}

TEST(a_long_cycle_is_shown_by_its_beginning) {
    struct strbuf text = STRBUF_INIT;
    for (int i = 0; i < 5000; i++)
        strbuf_printf(&text, "- {id: t%d, run: x, needs: t%d}\n", i, (i + 1) % 5000);
    refused(
        strbuf_text(&text),
        "t.yaml:1:3: dependency cycle detected: t0 -> t1 -> t2 -> t3 -> t4 -> t5 -> t6 -> t7 -> "
        "... (5000 tasks) -> t0 (lines 1, 2, 3, 4, 5, 6, 7, 8, ...)");
    strbuf_finish(&text);
}
