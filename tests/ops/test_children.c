/* test_children.c: which members of a task a run may set for its children. Every member is tried in both ways in
 * which a
 * run adds tasks: with its token, and in a spawn file. The same task is first accepted from the owner, so
 * that a refusal is about the run and not about the value. A member that the table of members opens to
 * runs fails the test until it has a row here. */

#include <stdio.h>
#include <string.h>

#include "base/macros.h"
#include "base/strbuf.h"
#include "engine/loops.h"
#include "fake_executor.h"
#include "fixture.h"
#include "harness/test.h"
#include "ops/op.h"
#include "os/files.h"
#include "taskfile/task_member.h"

/* Who may set a member. */
enum {
    TOKEN = 1,   /* a run, with its token */
    AGENT = 2,   /* an agent, in its spawn file */
    COMMAND = 4, /* a command of the owner, in its spawn file */
    FILES = AGENT | COMMAND,
    ALL = TOKEN | AGENT | COMMAND,
    IF_ALLOWED = 8, /* all of them, with capability.commands */
};

struct row {
    const char *member, *value; /* JSON */
    unsigned who;
    const char *with; /* other members of the task; NULL: a prompt */
};

#define ARGV   "\"argv\":[\"true\"]"
#define PROMPT "\"agent\":\"claude\",\"prompt\":\"go\""
#define PLAIN  "\"prompt\":\"go\""

static const struct row rows[] = {
    { "agent", "\"claude\"", ALL, PLAIN },
    { "argv", "[\"true\"]", COMMAND | IF_ALLOWED, "\"title\":\"t\"" },
    { "artifact", "\"/srv/x/a.md\"", FILES, NULL },
    { "base_branch", "\"main\"", COMMAND, NULL },
    { "checks", "[[\"true\"]]", IF_ALLOWED, NULL },
    { "created_at", "1000", 0, NULL },
    { "cwd", "\"/srv/x\"", ALL, NULL }, /* the folder of the run itself */
    { "depends_on", "[]", ALL, NULL },
    { "draft", "false", ALL, NULL },
    { "env", "{\"LD_PRELOAD\":\"/tmp/x.so\"}", COMMAND, NULL },
    { "escalate", "[\"claude\"]", ALL, NULL },
    { "escalate_after", "1", ALL, NULL },
    { "executor", "\"local\"", COMMAND, NULL },
    { "external_id", "\"x\"", 0, NULL },
    { "failover", "\"none\"", ALL, NULL },
    { "gate", "\"true\"", 0, NULL },
    { "grace_s", "1", COMMAND, NULL },
    { "hold", "false", ALL, NULL },
    { "idle_timeout_s", "1", ALL, NULL },
    { "imports", "[\"web\"]", 0, ARGV },
    { "inside", "{\"sandbox\":\"bubblewrap\",\"root\":\"/\"}", 0, NULL },
    { "iteration", "2", COMMAND, NULL },
    { "kind", "\"plan\"", ALL, NULL },
    { "limiter", "\"anthropic\"", COMMAND, NULL },
    { "memory_mb", "100", COMMAND, NULL },
    { "merge", "\"none\"", COMMAND, NULL },
    { "meta", "{\"a\":1}", ALL, NULL },
    { "model", "\"pro\"", ALL, "\"agent\":\"gemini\"," PLAIN },
    { "name", "\"n\"", ALL, NULL },
    { "nice", "1", COMMAND, NULL },
    { "not_before", "1", ALL, NULL },
    { "on_budget", "\"hold\"", COMMAND, NULL },
    { "on_conflict", "\"iterate\"", ALL, NULL },
    { "parallelizable", "true", ALL, NULL },
    { "parent", "\"other\"", ALL, NULL },
    { "parent_gate", "\"none\"", ALL, NULL },
    { "priority", "200", ALL, NULL },
    { "processes", "10", COMMAND, NULL },
    { "project", "\"web\"", ALL, NULL },
    { "prompt", "\"go\"", ALL, "\"agent\":\"claude\"" },
    { "resources", "[\"gpu\"]", ALL, NULL },
    { "resume", "\"never\"", ALL, NULL },
    { "retries", "1", ALL, NULL },
    { "review", "true", ALL, NULL },
    { "run_tokens", "100", ALL, NULL },
    { "run_usd", "1", ALL, NULL },
    { "sandbox", "\"none\"", 0, NULL },
    { "serial", "\"s\"", ALL, NULL },
    { "slurm", "{\"options\":\"--exclusive\"}", COMMAND, "\"executor\":\"slurm\"," PROMPT },
    { "spawn", "\"next.yaml\"", FILES, NULL },
    { "state", "\"done\"", 0, NULL },
    { "stdin", "\"/etc/passwd\"", COMMAND, ARGV },
    { "stop_signal", "\"INT\"", COMMAND, NULL },
    { "timeout_s", "1", ALL, NULL },
    { "title", "\"t\"", ALL, NULL },
    { "tokens", "100", ALL, NULL },
    { "until", "\"exit\"", ALL, NULL },
    { "usd", "1", ALL, NULL },
    { "workspace", "\"a\"", COMMAND, NULL },
    { "wrap", "[\"env\"]", 0, NULL },
};

/* Commands that Sluice executes for a task in addition to its own. Members of future versions are refused
 * before they exist. */
static const char *const commands[] = {
    "prepare", "on_end", "gates", "gate", "copy", "mr_command"
};

/* A right must be both here and in the table. */
static const struct row *row_of(const struct task_member *m) {
    for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
        if (strcmp(rows[i].member, m->name) == 0)
            return &rows[i];
    if (m->child != 0)
        fail_msg("'%s' has no row in this test, and the table lets a run set it for its children",
                 m->name);
    return NULL;
}

/* The task of a row, after one that it can name as its parent. */
static void print_tasks(const struct row *row, struct strbuf *out) {
    strbuf_printf(out, "[{\"name\":\"other\",%s},{\"%s\":%s,%s}]", PROMPT, row->member, row->value,
                  row->with ? row->with : PROMPT);
}

static bool may(const struct row *row, unsigned who, bool allowed) {
    if (allowed && (row->who & IF_ALLOWED))
        return true;
    return (row->who & who) != 0;
}

/* A task of the project `web` with a live run. */
static task_id given_run(struct ops *o) {
    task_id task = ops_add(o, "\"project\":\"web\",\"cwd\":\"/srv/x\",");
    ops_turn(o);
    fake_run_starts(task);
    ops_turn(o);
    return task;
}

static void open_roomy(struct ops *o, bool allowed) {
    ops_open(o, OPS_MEMORY, allowed ? "capability: {commands: true}\n" : NULL);
    ops_expect(o, 200, "POST", "/v1/config",
               "{\"set\":{\"limits.runs\":50,\"capability.children\":1000,"
               "\"agents.gemini.slots\":4}}");
}

/* --- the owner ------------------------------------------------------------------------------- */

TEST(every_right_has_a_row_and_is_open_to_the_owner) {
    _cleanup_(ops_close) struct ops o = { 0 };
    open_roomy(&o, false);
    size_t count = 0;
    for (; count < task_member_count; count++) {
        const char *name = task_members[count].name;
        _cleanup_(strbuf_finish) struct strbuf body = STRBUF_INIT;
        const struct row *row = row_of(&task_members[count]);
        if (!row)
            continue;
        strbuf_puts(&body, "{\"tasks\":");
        print_tasks(row, &body);
        strbuf_puts(&body, "}");
        struct reply r = ops_ask(&o, "POST", "/v1/tasks", strbuf_text(&body), NULL);
        if (r.status != 200)
            fail_msg("the owner may not set %s: %s", name, r.text);
        reply_finish(&r);
    }
    for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
        assert_non_null(task_member_find(rows[i].member));
}

/* --- with a token ---------------------------------------------------------------------------- */

static void ask_with_token(struct ops *o, task_id task, const struct row *row, bool expected) {
    _cleanup_(strbuf_finish) struct strbuf body = STRBUF_INIT;
    struct ops_trace before, after;
    strbuf_puts(&body, "{\"tasks\":");
    print_tasks(row, &body);
    strbuf_puts(&body, "}");
    ops_trace(o, &before);
    struct reply r =
        ops_ask_as(o, fake_run_find(task)->token, "POST", "/v1/tasks", strbuf_text(&body));
    ops_trace(o, &after);
    if (r.status != (expected ? 200 : 403))
        fail_msg("%s with a token: %d %s", row->member, r.status, r.text);
    if (!expected && memcmp(&before, &after, sizeof(before)) != 0)
        fail_msg("%s with a token was refused and has left something", row->member);
    reply_finish(&r);
}

TEST(a_token_sets_no_command) {
    for (unsigned allowed = 0; allowed < 2; allowed++) {
        _cleanup_(ops_close) struct ops o = { 0 };
        open_roomy(&o, allowed);
        task_id task = given_run(&o);
        for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
            ask_with_token(&o, task, &rows[i], may(&rows[i], TOKEN, allowed));
        for (size_t i = 0; i < ARRAY_SIZE(commands); i++)
            ask_with_token(&o, task, &(struct row){ commands[i], "[\"true\"]", 0, NULL }, false);
    }
}

/* --- in a spawn file ------------------------------------------------------------------------- */

static int check_file(struct ops *o, task_id task, const char *spec, const char *tasks,
                      struct error *err) {
    _cleanup_(strbuf_finish) struct strbuf path = STRBUF_INIT;
    strbuf_printf(&path, "%s/next.json", o->home);
    assert_int_equal(file_write(strbuf_text(&path), tasks, strlen(tasks), NULL), 0);
    struct engine_spawn order = { .task = task,
                                  .spec = spec,
                                  .path = strbuf_text(&path),
                                  .shown = "next.json",
                                  .folder = o->home,
                                  .check_only = true };
    return spawn_tasks(NULL, o->engine, &order, err);
}

#define AGENT_SPEC "{\"agent\":\"claude\",\"prompt\":\"go\",\"cwd\":\"/srv/x\",\"project\":\"web\"}"
#define COMMAND_SPEC                                                                               \
    "{\"argv\":[\"true\"],\"agent\":\"claude\",\"cwd\":\"/srv/x\",\"project\":\"web\"}"

static void try_file(struct ops *o, task_id task, unsigned who, const struct row *row,
                     bool expected) {
    _cleanup_(strbuf_finish) struct strbuf tasks = STRBUF_INIT;
    struct error err = { 0 };
    print_tasks(row, &tasks);
    int r =
        check_file(o, task, who == AGENT ? AGENT_SPEC : COMMAND_SPEC, strbuf_text(&tasks), &err);
    if ((r == 0) != expected)
        fail_msg("%s in the spawn file of %s: %d %s", row->member,
                 who == AGENT ? "an agent" : "a command", r, err.text);
    if (!expected && !strstr(err.text, row->member))
        fail_msg("the refusal of '%s' does not name it: %s", row->member, err.text);
}

TEST(a_spawn_file_sets_no_command) {
    for (unsigned allowed = 0; allowed < 2; allowed++) {
        _cleanup_(ops_close) struct ops o = { 0 };
        open_roomy(&o, allowed);
        task_id task = given_run(&o);
        for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
            try_file(&o, task, AGENT, &rows[i], may(&rows[i], allowed ? COMMAND : AGENT, allowed));
            try_file(&o, task, COMMAND, &rows[i], may(&rows[i], COMMAND, allowed));
        }
        for (size_t i = 0; i < ARRAY_SIZE(commands); i++) {
            const struct row row = { commands[i], "[\"true\"]", 0, NULL };
            try_file(&o, task, AGENT, &row, false);
            try_file(&o, task, COMMAND, &row, false);
        }
    }
}

/* The defaults of a spawn file are restricted in the same way as its tasks. */
TEST(the_defaults_of_a_spawn_file_set_no_command) {
    _cleanup_(ops_close) struct ops o = { 0 };
    struct error err = { 0 };
    open_roomy(&o, false);
    task_id task = given_run(&o);
    static const char checks[] =
        "{\"defaults\":{\"checks\":[\"id\"]},\"tasks\":[{\"prompt\":\"go\"}]}";
    static const char run[] = "{\"defaults\":{\"run\":\"id\"},\"tasks\":[{\"title\":\"t\"}]}";
    assert_int_not_equal(check_file(&o, task, AGENT_SPEC, checks, &err), 0);
    assert_non_null(strstr(err.text, "'checks'"));
    assert_int_not_equal(check_file(&o, task, COMMAND_SPEC, checks, &err), 0);
    assert_int_not_equal(check_file(&o, task, AGENT_SPEC, run, &err), 0);
    assert_non_null(strstr(err.text, "'argv'"));
    assert_int_equal(check_file(&o, task, COMMAND_SPEC, run, &err), 0);
}

/* The sandbox of a child can write to its folder, so an agent cannot choose another one. Nor can it make the
 * daemon read files that the agent cannot read. */
TEST(an_agent_keeps_its_children_in_its_own_folders) {
    static const struct {
        const char *members, *part;
    } refused[] = {
        { "\"cwd\":\"/srv\"", "'cwd'" },
        { "\"cwd\":\"/srv/xy\"", "'cwd'" },
        { "\"cwd\":\"/srv/x/../../etc\"", "'cwd'" },
        { "\"artifact\":\"/etc/shadow\"", "'artifact'" },
        { "\"spawn\":\"/etc/passwd\"", "'spawn'" },
        { "\"agent\":\"codex\"", "'agent'" }, /* not configured */
    };
    static const char *const good[] = { "\"cwd\":\"/srv/x/sub\"", "\"cwd\":\"sub\"",
                                        "\"spawn\":\"next.yaml\"", "\"project\":\"web\"",
                                        "\"agent\":\"claude\"" };
    _cleanup_(ops_close) struct ops o = { 0 };
    open_roomy(&o, false);
    task_id task = given_run(&o);
    char tasks[300];
    for (size_t i = 0; i < ARRAY_SIZE(refused); i++) {
        struct error err = { 0 };
        (void)snprintf(tasks, sizeof(tasks), "[{%s,\"prompt\":\"go\"}]", refused[i].members);
        if (check_file(&o, task, AGENT_SPEC, tasks, &err) == 0
            || !strstr(err.text, refused[i].part))
            fail_msg("%s of an agent: %s", tasks, err.text);
        if (check_file(&o, task, COMMAND_SPEC, tasks, &err) != 0) /* the value itself is valid */
            fail_msg("%s of a command: %s", tasks, err.text);
    }
    for (size_t i = 0; i < ARRAY_SIZE(good); i++) {
        struct error err = { 0 };
        (void)snprintf(tasks, sizeof(tasks), "[{%s,\"prompt\":\"go\"}]", good[i]);
        if (check_file(&o, task, AGENT_SPEC, tasks, &err) != 0)
            fail_msg("%s: %s", tasks, err.text);
    }
    struct error err = { 0 };
    static const char grouped[] = "{\"group\":\"night\",\"tasks\":[{\"prompt\":\"go\"}]}";
    assert_int_equal(check_file(&o, task, COMMAND_SPEC, grouped, &err), 0);
    assert_int_not_equal(check_file(&o, task, AGENT_SPEC, grouped, &err), 0);
    assert_non_null(strstr(err.text, "'group'"));
}

/* --- a run that imports ---------------------------------------------------------------------- */

/* A live run whose task may import into the project `web`. */
static task_id given_importer(struct ops *o, const char *members) {
    task_id task = ops_add(o, members);
    ops_turn(o);
    fake_run_starts(task);
    ops_turn(o);
    return task;
}

static struct reply ask_run(struct ops *o, task_id run, const char *path, const char *body) {
    return ops_ask_as(o, fake_run_find(run)->token, body ? "POST" : "GET", path, body);
}

static void answers(struct ops *o, task_id run, int status, const char *path, const char *body,
                    const char *part) {
    struct ops_trace before, after;
    ops_trace(o, &before);
    struct reply r = ask_run(o, run, path, body);
    ops_trace(o, &after);
    if (r.status != status || (part && !strstr(r.text, part)))
        fail_msg("%s %s: %d, expected %d with '%s': %s", path, body ? body : "", r.status, status,
                 part ? part : "", r.text);
    if (status != 200 && memcmp(&before, &after, sizeof(before)) != 0)
        fail_msg("%s %s was refused and has left something", path, body ? body : "");
    reply_finish(&r);
}

static void try_import(struct ops *o, task_id run, const struct row *row, bool expected) {
    static unsigned number;
    _cleanup_(strbuf_finish) struct strbuf body = STRBUF_INIT;
    number++;
    strbuf_printf(&body,
                  "{\"tasks\":[{\"name\":\"other\",\"external_id\":\"o%u\",%s},"
                  "{\"%s\":%s,\"external_id\":\"e%u\",%s}]}",
                  number, PROMPT, row->member, row->value, number, row->with ? row->with : PROMPT);
    answers(o, run, expected ? 200 : 403, "/v1/tasks", strbuf_text(&body),
            expected ? NULL : row->member);
}

#define IMPORTS "\"project\":\"web\",\"cwd\":\"/srv/x\",\"imports\":[\"web\"],"

TEST(a_run_that_imports_sets_what_a_child_may_have_and_the_external_id) {
    _cleanup_(ops_close) struct ops o = { 0 };
    open_roomy(&o, false);
    task_id run = given_importer(&o, IMPORTS);
    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        bool is_folder = strcmp(rows[i].member, "cwd") == 0; /* that of its project */
        if (strcmp(rows[i].member, "external_id") != 0)
            try_import(&o, run, &rows[i], may(&rows[i], TOKEN, false) && !is_folder);
    }
    for (size_t i = 0; i < ARRAY_SIZE(commands); i++)
        try_import(&o, run, &(struct row){ commands[i], "[\"true\"]", 0, NULL }, false);
}

#define ISSUE(id, more) "{\"tasks\":[{\"external_id\":\"" id "\"," more PROMPT "}]}"

TEST(what_is_imported_is_not_a_child) {
    _cleanup_(ops_close) struct ops o = { 0 };
    struct task_view t;
    open_roomy(&o, false);
    task_id run = given_importer(&o, IMPORTS "\"priority\":50,\"timeout_s\":1,\"tokens\":10,");
    answers(&o, run, 200, "/v1/tasks", ISSUE("a#1", ""), "web-");
    task_id task = engine_find_task(o.engine, "a#1", NULL);
    assert_true(core_task(engine_core(o.engine), task, &t));
    assert_int_equal(t.parent, 0);
    assert_int_equal(t.priority, 100);
    answers(&o, run, 200, "/v1/tasks", ISSUE("a#1", ""), "\"already\":true");
    struct reply r = ops_ask(&o, "GET", "/v1/tasks/a%231", NULL, NULL);
    assert_null(json_object_get(reply_at(&r, "spec"), "timeout_s"));
    assert_null(json_object_get(reply_at(&r, "spec"), "cwd"));
    reply_finish(&r);
    /* A canceled poll does not take its issues with it. */
    ops_expect(&o, 200, "POST", "/v1/tasks/cancel", "{\"tasks\":[\"#1\"]}");
    assert_true(core_task(engine_core(o.engine), task, &t));
    assert_int_not_equal(t.state, TASK_CANCELED);
    answers(&o, run, 403, "/v1/tasks", ISSUE("a#2", ""), "canceled");
}

TEST(a_run_imports_only_with_the_right_and_into_its_projects) {
    _cleanup_(ops_close) struct ops o = { 0 };
    open_roomy(&o, false);
    ops_expect(&o, 200, "POST", "/v1/projects", "{\"name\":\"secret\"}");
    ops_expect(&o, 200, "POST", "/v1/tasks",
               "{\"tasks\":[{\"external_id\":\"s#1\",\"project\":\"secret\",\"hold\":true," ARGV
               "}]}");
    task_id plain = given_run(&o), run = given_importer(&o, IMPORTS);
    answers(&o, plain, 403, "/v1/tasks", ISSUE("a#1", ""), "'external_id'");
    answers(&o, run, 403, "/v1/tasks", ISSUE("a#1", "\"project\":\"secret\","), "'project'");
    answers(&o, run, 403, "/v1/tasks", ISSUE("a#1", "\"depends_on\":[\"s#1\"],"), "'depends_on'");
    answers(&o, run, 403, "/v1/tasks", ISSUE("a#1", "\"parent\":\"s#1\","), "'parent'");
    answers(&o, run, 403, "/v1/tasks", ISSUE("a#1", "\"priority\":99,"), "'priority'");
    answers(&o, run, 403, "/v1/tasks",
            "{\"force\":true,\"tasks\":[{\"external_id\":\"a#1\"," PROMPT "}]}", "'force'");
    answers(&o, run, 403, "/v1/tasks",
            "{\"group\":\"g\",\"tasks\":[{\"external_id\":\"a#1\"," PROMPT "}]}", "'group'");
    answers(&o, run, 403, "/v1/tasks",
            "{\"tasks\":[{\"external_id\":\"a#1\"," PROMPT "},{" PROMPT "}]}", "'external_id'");
    answers(&o, run, 403, "/v1/tasks/s%231", NULL, NULL);
    answers(&o, run, 403, "/v1/tasks/s%231/edit", "{\"title\":\"mine\"}", NULL);
    answers(&o, run, 403, "/v1/tasks/cancel", "{\"tasks\":[\"s#1\"]}", NULL);
    answers(&o, run, 200, "/v1/tasks?state=all&external_id=s%231", NULL, "\"items\":[]");
    answers(&o, plain, 403, "/v1/tasks/priority", "{\"tasks\":[\"s#1\"],\"priority\":200}",
            "is not for runs");
    /* It adds children as every run does. */
    answers(&o, run, 200, "/v1/tasks", "{\"tasks\":[{" PROMPT "}]}", NULL);
    answers(&o, run, 403, "/v1/tasks", "{\"tasks\":[{\"priority\":1," PROMPT "}]}", "'priority'");
}

/* Without 'project' a task would be added to the project 'default', which no list has to name. */
TEST(a_run_that_imports_into_several_projects_names_one) {
    _cleanup_(ops_close) struct ops o = { 0 };
    open_roomy(&o, false);
    ops_expect(&o, 200, "POST", "/v1/projects", "{\"name\":\"docs\"}");
    task_id both = given_importer(&o, "\"imports\":[\"web\",\"docs\"],");
    answers(&o, both, 403, "/v1/tasks", ISSUE("a#1", ""),
            "'project' is missing: name one of the projects that 't-1' may import into (its "
            "member 'imports')");
    answers(&o, both, 403, "/v1/tasks", ISSUE("a#1", "\"project\":null,"), "'project' is missing");
    answers(&o, both, 403, "/v1/tasks",
            "{\"tasks\":[{\"external_id\":\"a#1\",\"project\":\"docs\"," PROMPT
            "},{\"external_id\":\"a#2\"," PROMPT "}]}",
            "\"index\":1");
    answers(&o, both, 200, "/v1/tasks", ISSUE("a#1", "\"project\":\"docs\","), "docs-");
    answers(&o, both, 200, "/v1/tasks", ISSUE("a#1", "\"project\":\"web\","), "web-");
    task_id one = given_importer(&o, "\"imports\":[\"docs\"],");
    answers(&o, one, 200, "/v1/tasks", ISSUE("a#3", ""), "docs-");
    answers(&o, one, 200, "/v1/tasks", ISSUE("a#4", "\"project\":null,"), "docs-");
}

TEST(a_run_changes_what_is_imported_until_it_starts) {
    _cleanup_(ops_close) struct ops o = { 0 };
    open_roomy(&o, false);
    task_id run = given_importer(&o, IMPORTS);
    answers(&o, run, 200, "/v1/tasks", ISSUE("a#1", "\"hold\":true,"), NULL);
    answers(&o, run, 200, "/v1/tasks", ISSUE("a#2", "\"hold\":true,"), NULL);
    ops_expect(&o, 200, "POST", "/v1/tasks",
               "{\"tasks\":[{\"title\":\"mine\",\"project\":\"web\",\"hold\":true," ARGV "}]}");
    answers(&o, run, 200, "/v1/tasks/a%231", NULL, "\"hold\"");
    answers(&o, run, 200, "/v1/tasks?state=all&external_id=a%231", NULL, "web-");
    answers(&o, run, 200, "/v1/tasks/a%231/edit",
            "{\"title\":\"t\",\"prompt\":\"p\",\"version\":0}", NULL);
    answers(&o, run, 403, "/v1/tasks/a%231/edit", "{\"checks\":[\"id\"]}", "'checks'");
    answers(&o, run, 403, "/v1/tasks/a%231/edit", "{\"priority\":1}", "'priority'");
    answers(&o, run, 200, "/v1/tasks/priority", "{\"tasks\":[\"a#1\"],\"priority\":120}", NULL);
    answers(&o, run, 403, "/v1/tasks/priority", "{\"tasks\":[\"a#1\"],\"priority\":99}",
            "'priority'");
    answers(&o, run, 403, "/v1/tasks/priority", "{\"tasks\":[\"a#1\"],\"to\":\"front\"}", "'to'");
    answers(&o, run, 200, "/v1/tasks/depends", "{\"task\":\"a#1\",\"depends_on\":[\"a#2\"]}", NULL);
    /* Tasks of the owner are out of reach, also as dependencies. */
    answers(&o, run, 403, "/v1/tasks/depends", "{\"task\":\"a#1\",\"depends_on\":[\"#4\"]}",
            "'depends_on'");
    ops_expect(&o, 200, "POST", "/v1/tasks/depends", "{\"task\":\"a#1\",\"depends_on\":[\"#4\"]}");
    answers(&o, run, 403, "/v1/tasks/depends", "{\"task\":\"a#1\",\"depends_on\":[]}",
            "the dependency on");
    answers(&o, run, 200, "/v1/tasks/depends", "{\"task\":\"a#1\",\"depends_on\":[\"#4\",\"a#2\"]}",
            NULL);
    answers(&o, run, 403, "/v1/tasks/cancel", "{\"tasks\":[\"#4\"]}", NULL);
    answers(&o, run, 403, "/v1/tasks/#4/edit", "{\"title\":\"x\"}", NULL);
    answers(&o, run, 403, "/v1/tasks/release", "{\"tasks\":[\"a#1\"]}", "is not for runs");
    answers(&o, run, 403, "/v1/tasks/a%231/messages", "{\"type\":\"USER\",\"text\":\"hello\"}",
            NULL);
    answers(&o, run, 200, "/v1/tasks/cancel", "{\"tasks\":[\"a#1\"]}", NULL);
    ops_expect(&o, 200, "POST", "/v1/tasks/release", "{\"tasks\":[\"a#2\"]}");
    ops_turn(&o);
    answers(&o, run, 403, "/v1/tasks/cancel", "{\"tasks\":[\"a#2\"]}", "has started");
    answers(&o, run, 403, "/v1/tasks/a%232/edit", "{\"title\":\"late\"}", "has started");
    answers(&o, run, 200, "/v1/tasks/a%232", NULL, NULL);
}

/* Tasks of schedules, and those that import, have external ids without being imported. */
TEST(a_run_does_not_change_what_imports_or_was_scheduled) {
    _cleanup_(ops_close) struct ops o = { 0 };
    open_roomy(&o, false);
    task_id run = given_importer(&o, IMPORTS);
    ops_expect(&o, 200, "POST", "/v1/schedules",
               "{\"name\":\"poll\",\"every\":\"10m\",\"paused\":true,"
               "\"task\":\"{\\\"argv\\\":[\\\"true\\\"]}\"}");
    ops_expect(
        &o, 200, "POST", "/v1/tasks",
        "{\"tasks\":[{\"external_id\":\"poll@1\",\"project\":\"web\",\"hold\":true," ARGV
        "},{\"external_id\":\"i#1\",\"project\":\"web\",\"hold\":true,\"imports\":[\"web\"]," ARGV
        "}]}");
    answers(&o, run, 403, "/v1/tasks/cancel", "{\"tasks\":[\"poll@1\"]}", NULL);
    answers(&o, run, 403, "/v1/tasks/cancel", "{\"tasks\":[\"i#1\"]}", NULL);
    answers(&o, run, 403, "/v1/tasks/i%231/edit", "{\"title\":\"x\"}", NULL);
}

TEST(only_the_owner_lets_a_command_import) {
    _cleanup_(ops_close) struct ops o = { 0 };
    open_roomy(&o, false);
    static const char good[] = "{\"tasks\":[{\"imports\":[\"web\"]," ARGV "}]}";
    reply_expect(ops_ask_by(&o, ACCESS_SUBMIT, "/v1/tasks", good, NULL), 403, "'imports'");
    reply_expect(ops_ask_by(&o, ACCESS_ADMIN, "/v1/tasks", good, NULL), 200, NULL);
    ops_refused(&o, 400, "/v1/tasks", "{\"tasks\":[{\"imports\":[\"web\"]," PROMPT "}]}",
                "'imports' goes with 'argv': an agent reads untrusted text, so only a command may "
                "import");
    ops_expect(&o, 404, "POST", "/v1/tasks", "{\"tasks\":[{\"imports\":[\"nowhere\"]," ARGV "}]}");
}

TEST(a_run_imports_after_a_restart_of_the_daemon) {
    _cleanup_(ops_close) struct ops o = { 0 };
    char token[80];
    ops_open(&o, OPS_SQLITE, NULL);
    task_id run = given_importer(&o, IMPORTS);
    (void)snprintf(token, sizeof(token), "%s", fake_run_find(run)->token);
    ops_restart(&o);
    reply_expect(ops_ask_as(&o, token, "POST", "/v1/tasks", ISSUE("a#1", "")), 200, "web-");
}
