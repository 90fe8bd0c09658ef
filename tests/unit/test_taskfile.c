/* test_taskfile.c: parses task files into the request for the daemon. */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/macros.h"
#include "base/strbuf.h"
#include "harness/scratch.h"
#include "harness/test.h"
#include "os/files.h"
#include "taskfile/taskfile.h"

static struct taskfile *file;
static json_t *body;

static int tear_down(void **state) {
    (void)state;
    json_decref(body);
    body = NULL;
    file = taskfile_free(file);
    return 0;
}

static void reads(const char *text) {
    struct error err = { 0 };
    (void)tear_down(NULL);
    if (taskfile_read_text("t.yaml", "/srv/job", text, strlen(text), &file, &err) < 0)
        fail_msg("%s in:\n%s", err.text, text);
    body = taskfile_body(file);
}

static void same(const json_t *is, const char *json) {
    json_error_t where;
    json_t *should = json_loads(json, JSON_DECODE_ANY, &where);
    if (!should)
        fail_msg("the test is wrong: %s", where.text);
    if (!json_equal(is, should)) {
        char *text = json_dumps(is, JSON_ENCODE_ANY | JSON_COMPACT);
        char *copy = xstrdup(text);
        free(text);
        json_decref(should);
        fail_msg("is %s\nnot %s", copy, json);
    }
    json_decref(should);
}

/* The request body for a text. */
static void becomes(const char *text, const char *json) {
    reads(text);
    same(body, json);
}

/* One task with these members, without its working directory. */
static void task_becomes(const char *members, const char *json) {
    struct strbuf text = STRBUF_INIT;
    strbuf_printf(&text, "- {cwd: , %s}\n", members);
    reads(strbuf_text(&text));
    strbuf_finish(&text);
    same(json_array_get(json_object_get(body, "tasks"), 0), json);
}

/* --- files ----------------------------------------------------------------------------------- */

#define FIXTURE_TEST(name_) TEST_WITH(name_, NULL, tear_down)

FIXTURE_TEST(a_list_is_a_file) {
    becomes("- run: make\n"
            "- argv: [echo, hi]\n",
            "{\"tasks\": [{\"argv\": [\"sh\", \"-c\", \"make\"], \"cwd\": \"/srv/job\"},"
            " {\"argv\": [\"echo\", \"hi\"], \"cwd\": \"/srv/job\"}]}");
    assert_int_equal(taskfile_count(file), 2);
}

FIXTURE_TEST(a_file_has_a_project_a_group_and_defaults) {
    becomes("project: web\n"
            "group: night\n"
            "draft: true\n"
            "defaults:\n"
            "  agent: claude\n"
            "  timeout: 30m\n"
            "  env: {A: 1, B: two}\n"
            "  cwd: src\n"
            "tasks:\n"
            "  - {id: a, prompt: Do it.}\n"
            "  - {id: b, run: make, agent: ~, project: api, env: {B: three}, cwd: /tmp}\n",
            "{\"group\": \"night\", \"draft\": true, \"tasks\": ["
            "{\"name\": \"a\", \"prompt\": \"Do it.\", \"agent\": \"claude\", \"timeout_s\": 1800,"
            " \"env\": {\"A\": \"1\", \"B\": \"two\"}, \"cwd\": \"/srv/job/src\", \"project\": "
            "\"web\"},"
            "{\"name\": \"b\", \"argv\": [\"sh\", \"-c\", \"make\"], \"timeout_s\": 1800,"
            " \"env\": {\"A\": \"1\", \"B\": \"three\"}, \"cwd\": \"/tmp\", \"project\": \"api\"}"
            "]}");
}

FIXTURE_TEST(json_is_read_too) {
    becomes("{\"tasks\": [{\"name\": \"a\", \"argv\": [\"x\", \"\\u00e9\"], \"hold\": true,\n"
            "  \"retries\": -1, \"cwd\": \"/\"}]}",
            "{\"tasks\": [{\"name\": \"a\", \"argv\": [\"x\", \"\\u00e9\"], \"hold\": true,"
            " \"retries\": -1, \"cwd\": \"/\"}]}");
}

FIXTURE_TEST(a_command_of_its_own_is_instead_of_the_default) {
    becomes("defaults: {prompt: Do it., agent: a, cwd: }\n"
            "tasks: [{id: x}, {id: y, run: make}, {id: z, argv: [w]}]\n",
            "{\"tasks\": [{\"name\": \"x\", \"prompt\": \"Do it.\", \"agent\": \"a\"},"
            "{\"name\": \"y\", \"argv\": [\"sh\", \"-c\", \"make\"], \"agent\": \"a\"},"
            "{\"name\": \"z\", \"argv\": [\"w\"], \"agent\": \"a\"}]}");
}

FIXTURE_TEST(the_body_can_be_added_to) {
    reads("- run: x\n");
    json_object_set_new(body, "force", json_true());
    assert_true(json_is_true(json_object_get(body, "force")));
}

/* --- members --------------------------------------------------------------------------------- */

FIXTURE_TEST(people_have_other_words_for_some_members) {
    task_becomes("id: a, run: 'make && make test', needs: b, timeout: 90s",
                 "{\"name\": \"a\", \"argv\": [\"sh\", \"-c\", \"make && make test\"],"
                 " \"depends_on\": [\"b\"], \"timeout_s\": 90}");
    task_becomes("name: a, argv: [make, -j2, 5, ''], depends_on: [b], timeout_s: 90.5",
                 "{\"name\": \"a\", \"argv\": [\"make\", \"-j2\", \"5\", \"\"],"
                 " \"depends_on\": [\"b\"], \"timeout_s\": 90.5}");
}

FIXTURE_TEST(spans_have_units) {
    task_becomes("run: x, timeout: 90", "{\"argv\": [\"sh\", \"-c\", \"x\"], \"timeout_s\": 90}");
    task_becomes("run: x, timeout: '2h', idle_timeout: 1.5m, grace: 0.25s",
                 "{\"argv\": [\"sh\", \"-c\", \"x\"], \"timeout_s\": 7200, \"idle_timeout_s\": 90,"
                 " \"grace_s\": 0.25}");
    task_becomes("run: x, timeout: 1d, grace_s: 0, idle_timeout_s: 5",
                 "{\"argv\": [\"sh\", \"-c\", \"x\"], \"timeout_s\": 86400, \"idle_timeout_s\": 5,"
                 " \"grace_s\": 0}");
}

/* The same spellings as on the command line and in a request. */
FIXTURE_TEST(times_sizes_and_money_have_units) {
    task_becomes(
        "run: x, timeout_s: 90s, usd: $2.50, run_usd: '1', memory: 1.5GB, hold: 'true', priority: "
        "'5', "
        "not_before: 1700000000000",
        "{\"argv\": [\"sh\", \"-c\", \"x\"], \"timeout_s\": 90, \"usd\": 2.5, \"run_usd\": 1.0, "
        "\"memory_mb\": 1536, \"hold\": true, \"priority\": 5, \"not_before\": 1700000000000}");
    reads("- {run: x, not_before: '2999-01-31T18:30'}\n- {run: x, not_before: 18:30}\n");
    for (size_t i = 0; i < 2; i++) {
        const json_t *task = json_array_get(json_object_get(body, "tasks"), i);
        assert_true(json_integer_value(json_object_get(task, "not_before")) > 1700000000000);
    }
}

FIXTURE_TEST(f019_dependencies_are_split_trimmed_and_named_once) {
    static const char *const same_list[] = { "'b, c'",        "' c0,b ,, c,b'", "[b, c]",
                                             "[' b ', c, b]", "['b,c', b]",     "\"b,\\tc\"" };
    for (size_t i = 0; i < ARRAY_SIZE(same_list); i++) {
        char members[100];
        (void)snprintf(members, sizeof(members), "run: x, needs: %s", same_list[i]);
        task_becomes(members, i == 1 ? "{\"argv\": [\"sh\", \"-c\", \"x\"], \"depends_on\": "
                                       "[\"c0\", \"b\", \"c\"]}"
                                     : "{\"argv\": [\"sh\", \"-c\", \"x\"], \"depends_on\": [\"b\","
                                       " \"c\"]}");
    }
    task_becomes("run: x, needs: [17, web-3], resources: 'gpu, gpu'",
                 "{\"argv\": [\"sh\", \"-c\", \"x\"], \"depends_on\": [\"17\", \"web-3\"],"
                 " \"resources\": [\"gpu\"]}");
    task_becomes("run: x, needs: []", "{\"argv\": [\"sh\", \"-c\", \"x\"], \"depends_on\": []}");
}

FIXTURE_TEST(texts_are_taken_as_they_are_written) {
    task_becomes("run: x, id: 007, title: 1.10, external_id: 4711, serial: true",
                 "{\"argv\": [\"sh\", \"-c\", \"x\"], \"name\": \"007\", \"title\": \"1.10\","
                 " \"external_id\": \"4711\", \"serial\": \"true\"}");
    task_becomes("run: x, env: {A: 1, B: true, C: 0x10, D: '', E: 'null', F: 1e3}",
                 "{\"argv\": [\"sh\", \"-c\", \"x\"], \"env\": {\"A\": \"1\", \"B\": \"true\","
                 " \"C\": \"0x10\", \"D\": \"\", \"E\": \"null\", \"F\": \"1e3\"}}");
}

FIXTURE_TEST(block_texts_keep_their_lines) {
    reads("- cwd:\n"
          "  agent: a\n"
          "  prompt: |\n"
          "    First: this.\n"
          "    - then \"that\"\n"
          "- cwd:\n"
          "  run: >-\n"
          "    make\n"
          "    all\n");
    same(body, "{\"tasks\": [{\"agent\": \"a\", \"prompt\": \"First: this.\\n- then "
               "\\\"that\\\"\\n\"}, {\"argv\": [\"sh\", \"-c\", \"make all\"]}]}");
}

FIXTURE_TEST(checks_are_commands) {
    task_becomes("run: x, checks: [make test, [make, lint], {run: slow, timeout: 5m}, "
                 "{argv: [a, b], timeout_s: 3}]",
                 "{\"argv\": [\"sh\", \"-c\", \"x\"], \"checks\": [[\"sh\", \"-c\", \"make test\"],"
                 "[\"make\", \"lint\"], {\"argv\": [\"sh\", \"-c\", \"slow\"], \"timeout_s\": 300},"
                 "{\"argv\": [\"a\", \"b\"], \"timeout_s\": 3}]}");
    task_becomes("run: x, checks: make test",
                 "{\"argv\": [\"sh\", \"-c\", \"x\"], \"checks\": [[\"sh\", \"-c\", \"make "
                 "test\"]]}");
}

FIXTURE_TEST(meta_is_anything) {
    task_becomes("run: x, meta: {a: [1, -2.5, true, ~, text, '5'], b: {c: {}}, d: yes}",
                 "{\"argv\": [\"sh\", \"-c\", \"x\"], \"meta\": {\"a\": [1, -2.5, true, null, "
                 "\"text\", \"5\"], \"b\": {\"c\": {}}, \"d\": \"yes\"}}");
}

FIXTURE_TEST(every_other_member_is_passed_on) {
    task_becomes("run: x, kind: plan, parent: web-1, parent_gate: none, priority: -5, "
                 "parallelizable: false, workspace: w1, until: done, retries: 0, stop_signal: INT, "
                 "limiter: l, review: true, hold: false, not_before: 1700000000000, draft: true, "
                 "iteration: 2, memory_mb: 512, processes: 64, nice: 5, executor: slurm, "
                 "slurm: {partition: gpu, cpus: 4}",
                 "{\"argv\": [\"sh\", \"-c\", \"x\"], \"kind\": \"plan\", \"parent\": \"web-1\","
                 "\"parent_gate\": \"none\", \"priority\": -5, \"parallelizable\": false,"
                 "\"workspace\": \"w1\", \"until\": \"done\", \"retries\": 0, \"stop_signal\": "
                 "\"INT\", \"limiter\": \"l\", \"review\": true, \"hold\": false, \"not_before\": "
                 "1700000000000, \"draft\": true, \"iteration\": 2, \"memory_mb\": 512, "
                 "\"processes\": 64, \"nice\": 5, \"executor\": \"slurm\", \"slurm\": "
                 "{\"partition\": \"gpu\", \"cpus\": \"4\"}}");
}

FIXTURE_TEST(a_member_with_nothing_behind_it_is_left_out) {
    task_becomes("run: x, title: , kind: ~, env: null", "{\"argv\": [\"sh\", \"-c\", \"x\"]}");
}

FIXTURE_TEST(paths_count_from_the_folder_of_the_file) {
    becomes("- {run: x, artifact: 'iterations/{iteration}/artifacts/a.md', spawn: next.yaml}",
            "{\"tasks\": [{\"argv\": [\"sh\", \"-c\", \"x\"], \"cwd\": \"/srv/job\","
            " \"spawn\": \"next.yaml\","
            " \"artifact\": \"iterations/{iteration}/artifacts/a.md\"}]}");
    becomes("- {run: x, stdin: in.txt, artifact: ./out/plan.md, cwd: ../web}\n"
            "- {run: x, cwd: .}\n"
            "- {run: x, cwd: /abs}\n"
            "- {run: x, cwd: }\n"
            "- {run: x, workspace: w}\n",
            "{\"tasks\": [{\"argv\": [\"sh\", \"-c\", \"x\"], \"stdin\": \"/srv/job/in.txt\","
            " \"artifact\": \"/srv/job/out/plan.md\", \"cwd\": \"/srv/job/../web\"},"
            "{\"argv\": [\"sh\", \"-c\", \"x\"], \"cwd\": \"/srv/job\"},"
            "{\"argv\": [\"sh\", \"-c\", \"x\"], \"cwd\": \"/abs\"},"
            "{\"argv\": [\"sh\", \"-c\", \"x\"]},"
            "{\"argv\": [\"sh\", \"-c\", \"x\"], \"workspace\": \"w\"}]}");
}

/* --- positions ------------------------------------------------------------------------------- */

FIXTURE_TEST(every_task_and_member_has_its_line) {
    reads("# jobs\n"
          "tasks:\n"
          "  - id: a\n"
          "    run: x\n"
          "\n"
          "  - run: y\n"
          "    needs:\n"
          "      - a\n");
    assert_int_equal(taskfile_line(file, 0), 3);
    assert_int_equal(taskfile_line(file, 1), 6);
    assert_int_equal(taskfile_line(file, 2), 0);
    assert_int_equal(taskfile_member_line(file, 0, "name"), 3);
    assert_int_equal(taskfile_member_line(file, 0, "argv"), 4);
    assert_int_equal(taskfile_member_line(file, 1, "depends_on"), 7);
    assert_int_equal(taskfile_member_line(file, 1, "kind"), 0);
    assert_int_equal(taskfile_member_line(file, 9, "name"), 0);
}

static void located(size_t index, const char *message, const char *expected) {
    struct error err = { 0 };
    (void)error_set(&err, -ERANGE, "%s", message);
    assert_int_equal(taskfile_locate(file, index, &err), -ERANGE);
    assert_string_equal(err.text, expected);
}

FIXTURE_TEST(a_refusal_names_its_line) {
    reads("- id: a\n"
          "  run: x\n"
          "  timeout: 1s\n"
          "- {run: y}\n");
    located(0, "'timeout_s' must be from 5 to 10", "t.yaml:3: 'timeout_s' must be from 5 to 10");
    located(0, "unknown project 'web'", "t.yaml:1: unknown project 'web'");
    located(1, "a 'prompt' needs an 'agent'", "t.yaml:4: a 'prompt' needs an 'agent'");
    located(1, "it's odd", "t.yaml:4: it's odd");
    located(7, "nothing", "nothing");
}

/* --- examples of the documentation ----------------------------------------------------------- */

/* The examples of docs/guide/tasks.md are valid. SOURCE_ROOT comes from the build. */
FIXTURE_TEST(the_examples_of_the_page_are_read) {
    _cleanup_(strbuf_finish) struct strbuf page = STRBUF_INIT;
    struct error err = { 0 };
    if (file_read(SOURCE_ROOT "/docs/guide/tasks.md", 1u << 20, &page, &err) < 0)
        fail_msg("%s", err.text);
    size_t examples = 0;
    for (char *at = page.text; (at = strstr(at, "```yaml\n")); examples++) {
        at += strlen("```yaml\n");
        char *end = strstr(at, "```");
        assert_non_null(end);
        *end = '\0';
        reads(at);
        at = end + 1;
    }
    assert_true(examples > 0);
}

/* --- from disk ------------------------------------------------------------------------------- */

FIXTURE_TEST(files_are_read_from_disk) {
    char folder[SCRATCH_PATH], path[SCRATCH_PATH + 16];
    scratch_make(folder, "file");
    (void)snprintf(path, sizeof(path), "%s/tasks.yaml", folder);
    FILE *stream = fopen(path, "we");
    assert_non_null(stream);
    fputs("- {run: x, cwd: below}\n", stream);
    (void)fclose(stream);
    struct error err = { 0 };
    int r = taskfile_read(path, &file, &err);
    unlink(path);
    assert_int_equal(r, 0);
    body = taskfile_body(file);
    const json_t *task = json_array_get(json_object_get(body, "tasks"), 0);
    char expected[SCRATCH_PATH + 16];
    (void)snprintf(expected, sizeof(expected), "%s/below", folder);
    assert_string_equal(json_string_value(json_object_get(task, "cwd")), expected);
    (void)tear_down(NULL);
    assert_int_equal(taskfile_read(path, &file, &err), -ENOENT);
    assert_non_null(strstr(err.text, path));
    assert_int_equal(taskfile_read(folder, &file, &err), -EISDIR);
    assert_null(file);
    scratch_remove(folder);
}

FIXTURE_TEST(a_dash_is_the_standard_input) {
    char here[PATH_MAX];
    assert_non_null(getcwd(here, sizeof(here)));
    int ends[2], old = fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 0);
    assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
    static const char text[] = "- {run: x}\n";
    assert_int_equal(write(ends[1], text, sizeof(text) - 1), sizeof(text) - 1);
    close(ends[1]);
    assert_int_equal(dup2(ends[0], STDIN_FILENO), STDIN_FILENO);
    close(ends[0]);
    struct error err = { 0 };
    int r = taskfile_read("-", &file, &err);
    assert_int_equal(dup2(old, STDIN_FILENO), STDIN_FILENO);
    close(old);
    assert_int_equal(r, 0);
    body = taskfile_body(file);
    const json_t *task = json_array_get(json_object_get(body, "tasks"), 0);
    assert_string_equal(json_string_value(json_object_get(task, "cwd")), here);
}
