/* test_rundir.c: the files between daemon and shim say the same on both sides, or nothing at all. */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/hash.h"
#include "base/strbuf.h"
#include "harness/scratch.h"
#include "harness/test.h"
#include "run/stage.h"
#include "rundir/rundir.h"

#define WORDS(...) ((const char *const[]){ __VA_ARGS__, NULL })

static char root[SCRATCH_PATH];

static int set_up(void **state) {
    (void)state;
    scratch_make(root, "rundir");
    return 0;
}

static int tear_down(void **state) {
    (void)state;
    scratch_remove(root);
    return 0;
}

static struct run_spec full_spec(void) {
    static const char *const command[] = {
        "claude", "-p", "", "with space\nand line", "\xff", NULL
    };
    static const char *const first[] = { "make", "test", NULL };
    static const char *const second[] = { "true", NULL };
    static const struct run_command checks[] = { { first, 5000 }, { second, 0 } };
    static const char *const env[] = { "PATH=/bin", "EMPTY=", NULL };
    static const char *const wrap[] = { "/usr/bin/bwrap", "--ro-bind", "/", "/", "--", NULL };
    static const char *const wrap_env[] = { "HOME=/home/me", NULL };
    static const char *const prepare[] = { "npm", "ci", "", NULL };
    return (struct run_spec){
        .run = "web-17.2",
        .command = { command, 90000 },
        .env = env,
        .cwd = "/home/me/project",
        .prompt = "text",
        .prompt_size = 4,
        .stdin_path = "/tmp/input",
        .prepare = { prepare, 7000 },
        .prepare_cwd = "/home/me",
        .checks = checks,
        .check_count = 2,
        .idle_timeout = 600000,
        .grace = 10000,
        .stop_signal = SIGINT,
        .log_head = 1 << 20,
        .log_tail = 4 << 20,
        .cgroup = "/sys/fs/cgroup/sluice-1/7",
        .memory_max = INT64_C(8) << 30,
        .processes_max = 512,
        .nice = -5,
        .oom_score_adj = 500,
        .wrap = wrap,
        .wrap_env = wrap_env,
        .enter = "/proc/self/fd/4",
        .sandbox = "bubblewrap",
    };
}

static void expect_words(const char *const *got, const char *const *wanted) {
    for (; *wanted; got++, wanted++) {
        assert_non_null(*got);
        assert_string_equal(*got, *wanted);
    }
    assert_null(*got);
}

static void expect_same(const struct run_spec *got, const struct run_spec *wanted) {
    assert_string_equal(got->run, wanted->run);
    expect_words(got->command.argv, wanted->command.argv);
    assert_int_equal(got->command.timeout, wanted->command.timeout);
    expect_words(got->env, wanted->env);
    assert_string_equal(got->cwd, wanted->cwd);
    assert_non_null(got->prompt); /* its text is a file of its own */
    assert_int_equal(got->prompt_size, wanted->prompt_size);
    assert_string_equal(got->stdin_path, wanted->stdin_path);
    expect_words(got->prepare.argv, wanted->prepare.argv);
    assert_int_equal(got->prepare.timeout, wanted->prepare.timeout);
    assert_string_equal(got->prepare_cwd, wanted->prepare_cwd);
    assert_int_equal(got->check_count, wanted->check_count);
    for (size_t i = 0; i < wanted->check_count; i++) {
        expect_words(got->checks[i].argv, wanted->checks[i].argv);
        assert_int_equal(got->checks[i].timeout, wanted->checks[i].timeout);
    }
    assert_int_equal(got->idle_timeout, wanted->idle_timeout);
    assert_int_equal(got->grace, wanted->grace);
    assert_int_equal(got->stop_signal, wanted->stop_signal);
    assert_int_equal(got->log_head, wanted->log_head);
    assert_int_equal(got->log_tail, wanted->log_tail);
    assert_string_equal(got->cgroup, wanted->cgroup);
    assert_int_equal(got->memory_max, wanted->memory_max);
    assert_int_equal(got->processes_max, wanted->processes_max);
    assert_int_equal(got->nice, wanted->nice);
    assert_int_equal(got->oom_score_adj, wanted->oom_score_adj);
    expect_words(got->wrap, wanted->wrap);
    expect_words(got->wrap_env, wanted->wrap_env);
    assert_string_equal(got->enter, wanted->enter);
    assert_string_equal(got->sandbox, wanted->sandbox);
}

static struct run_spec_words words;

static int parse(const struct strbuf *text, struct run_spec *ret, struct error *err) {
    return run_spec_parse(text->text, text->length, NULL, &words, ret, err);
}

TEST_GROUP(set_up, tear_down)

TEST(a_spec_survives_the_way) {
    struct error err = { 0 };
    _cleanup_(strbuf_finish) struct strbuf text = STRBUF_INIT;
    struct run_spec spec = full_spec(), got = { 0 };
    run_spec_format(&spec, &text);
    if (parse(&text, &got, &err) < 0)
        fail_msg("%s", err.text);
    expect_same(&got, &spec);
}

TEST(what_is_absent_has_its_default) {
    struct error err = { 0 };
    _cleanup_(strbuf_finish) struct strbuf text = STRBUF_INIT;
    struct run_spec spec = { .run = "a-1.1", .command = { WORDS("true"), 0 }, .cwd = "/" }, got;
    run_spec_format(&spec, &text);
    assert_int_equal(parse(&text, &got, &err), 0);
    assert_null(got.env[0]);
    assert_null(got.prompt);
    assert_null(got.stdin_path);
    assert_null(got.cgroup);
    assert_null(got.wrap);
    assert_null(got.wrap_env[0]);
    assert_null(got.enter);
    assert_null(got.sandbox);
    assert_int_equal(got.check_count, 0);
    assert_null(got.prepare.argv);
    assert_null(got.prepare_cwd);
    assert_int_equal(got.stop_signal, SIGTERM);
    assert_int_equal(got.command.timeout + got.idle_timeout + got.grace, 0);
}

static void add(struct strbuf *text, const char *name, const char *value) {
    strbuf_add(text, name, strlen(name) + 1);
    strbuf_add(text, value, strlen(value) + 1);
}

static void begin(struct strbuf *text) {
    strbuf_clear(text);
    add(text, "version", "1");
    add(text, "run", "a-1.1");
    add(text, "cwd", "/");
    add(text, "arg", "true");
}

TEST(a_newer_daemon_may_add_records) {
    struct error err = { 0 };
    struct run_spec got;
    _cleanup_(strbuf_finish) struct strbuf text = STRBUF_INIT;
    begin(&text);
    add(&text, "colour", "blue");
    add(&text, "done", "");
    assert_int_equal(parse(&text, &got, &err), 0);
}

static void expect_refused(const struct strbuf *text, int code, const char *why) {
    struct error err = { 0 };
    struct run_spec got = { .run = "untouched" };
    assert_int_equal(parse(text, &got, &err), code);
    assert_string_equal(got.run, "untouched");
    if (!strstr(err.text, why))
        fail_msg("'%s' is not in: %s", why, err.text);
}

TEST(a_spec_is_understood_whole_or_refused) {
    _cleanup_(strbuf_finish) struct strbuf text = STRBUF_INIT;
    static const char *const bad[][2] = { { "timeout", "soon" },
                                          { "timeout", "-1" },
                                          { "stop_signal", "0" },
                                          { "stop_signal", "65" },
                                          { "nice", "20" },
                                          { "log_head", "9e9" },
                                          { "check", "x" },
                                          { "check_arg", "orphan" },
                                          { "prepare_timeout", "" },
                                          { "oom_score_adj", "" },
                                          { "memory_max", "99999999999999999999" } };
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        begin(&text);
        add(&text, bad[i][0], bad[i][1]);
        add(&text, "done", "");
        expect_refused(&text, -EPROTO, bad[i][0]);
    }
    begin(&text);
    expect_refused(&text, -EPROTO, "truncated");
    begin(&text);
    add(&text, "check", "0"); /* and no word for it */
    add(&text, "done", "");
    expect_refused(&text, -EPROTO, "check 0");
    strbuf_clear(&text);
    add(&text, "version", "4");
    expect_refused(&text, -EPROTO, "version '4'");
    strbuf_clear(&text);
    strbuf_add(&text, "version", 7); /* no NUL at all */
    expect_refused(&text, -EPROTO, "truncated");
}

TEST(limits_are_the_same_on_both_sides) {
    struct error err = { 0 };
    struct run_spec got;
    _cleanup_(strbuf_finish) struct strbuf text = STRBUF_INIT;
    static const char *const lists[] = { "arg", "env", "check_arg", "prepare_arg" };
    for (size_t list = 0; list < 4; list++) {
        for (int extra = 0; extra < 2; extra++) {
            begin(&text);
            add(&text, "check", "0");
            add(&text, "check_arg", "true");
            int already = strstr("arg check_arg", lists[list]) != NULL; /* the one word of each */
            for (int i = already; i < RUN_ARGS_MAX + extra; i++)
                add(&text, lists[list], "x");
            add(&text, "done", "");
            if (extra)
                expect_refused(&text, -E2BIG, "more than 512");
            else
                assert_int_equal(parse(&text, &got, &err), 0);
        }
    }
    begin(&text);
    for (int i = 0; i <= RUN_WRAP_MAX; i++)
        add(&text, "wrap", "x");
    add(&text, "done", "");
    expect_refused(&text, -E2BIG, "words in the sandbox");
    begin(&text);
    add(&text, "enter", "/proc/self/fd/4");
    add(&text, "done", "");
    expect_refused(&text, -EPROTO, "enters a sandbox");
    begin(&text);
    for (int i = 0; i <= RUN_CHECKS_MAX; i++) {
        add(&text, "check", "0");
        add(&text, "check_arg", "true");
    }
    add(&text, "done", "");
    expect_refused(&text, -E2BIG, "checks");
}

/* Every place that could read behind the end of the text does so here, under the sanitizers. */
TEST(junk_never_breaks_the_reader) {
    struct rng rng = { 17 };
    struct run_spec spec = full_spec(), got;
    _cleanup_(strbuf_finish) struct strbuf text = STRBUF_INIT;
    run_spec_format(&spec, &text);
    unsigned refused = 0;
    for (int i = 0; i < 20000; i++) {
        size_t size = rng_below(&rng, text.length + 1);
        char *copy = xmalloc(size ? size : 1); /* of exactly this size */
        memcpy(copy, text.text, size);
        for (uint64_t k = rng_below(&rng, 4); size > 0 && k > 0; k--)
            copy[rng_below(&rng, size)] = (char)rng_next(&rng);
        refused += run_spec_parse(copy, size, NULL, &words, &got, NULL) < 0;
        free(copy);
    }
    assert_true(refused > 10000);
}

/* --- started and end ------------------------------------------------------------------------- */

static void write_text(const char *folder, const char *name, const char *bytes, size_t size) {
    char path[256];
    (void)snprintf(path, sizeof(path), "%s/%s", root, folder);
    (void)mkdir(path, 0700);
    (void)snprintf(path, sizeof(path), "%s/%s/%s", root, folder, name);
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    assert_true(fd >= 0 && write(fd, bytes, size) == (ssize_t)size);
    close(fd);
}

TEST(who_lives_there_survives_the_way) {
    struct error err = { 0 };
    char text[RUN_RECORD_MAX];
    const struct run_started wrote = { .version = 1,
                                       .boot_id = "c0ffee00-1111-2222-3333-444455556666",
                                       .shim = 4711,
                                       .command = 4712,
                                       .exec_errno = 0,
                                       .at = 1234567890123,
                                       .validating = true };
    size_t size = run_started_format(&wrote, NULL, text, sizeof(text));
    assert_true(size < RUN_LOCK_END);
    write_text("started", "lock", text, size);
    struct run_started got = { 0 };
    if (rundir_read_started(root, "started", NULL, &got, &err) < 0)
        fail_msg("%s", err.text);
    assert_string_equal(got.boot_id, wrote.boot_id);
    assert_int_equal(got.shim, wrote.shim);
    assert_int_equal(got.command, wrote.command);
    assert_int_equal(got.at, wrote.at);
    assert_true(got.validating);
    /* Any shorter file is not half understood. */
    for (size_t cut = 0; cut < size; cut++) {
        struct run_started part = { 0 };
        write_text("started", "lock", text, cut);
        int r = rundir_read_started(root, "started", NULL, &part, &err);
        if (r == 0)
            assert_true(part.shim == wrote.shim && strcmp(part.boot_id, wrote.boot_id) == 0);
        else
            assert_int_equal(r, cut == 0 ? -ENOENT : -EPROTO);
    }
}

static struct run_end full_end(enum run_end_kind kind) {
    return (struct run_end){ .kind = kind,
                             .code = 255,
                             .signal = 9,
                             .exec_errno = 2,
                             .check = 3,
                             .idle = true,
                             .core_dumped = true,
                             .durable = true,
                             .started_at = 1,
                             .ended_at = INT64_MAX,
                             .cpu_ms = 12,
                             .memory_kb = 34,
                             .out_bytes = INT64_MAX,
                             .err_bytes = 5,
                             .leftover = UINT32_MAX,
                             .applied = "cgroup memory.max",
                             .message = "a \"quoted\" \\ line\nwith \x01 and ü and \xff" };
}

TEST(an_end_survives_the_way) {
    struct error err = { 0 };
    char text[RUN_RECORD_MAX];
    for (int kind = 0; kind < RUN_END_LOST; kind++) {
        struct run_end end = full_end((enum run_end_kind)kind), got = { 0 };
        size_t size = run_end_format(&end, NULL, text, sizeof(text));
        write_text("end", "end.json", text, size);
        if (rundir_read_end(root, "end", NULL, &got, &err) < 0)
            fail_msg("%s", err.text);
        assert_int_equal(got.kind, end.kind);
        assert_int_equal(got.code, 255);
        assert_int_equal(got.signal, 9);
        assert_int_equal(got.exec_errno, 2);
        assert_int_equal(got.check, 3);
        assert_true(got.idle && got.core_dumped && got.durable);
        assert_true(got.ended_at == INT64_MAX && got.out_bytes == INT64_MAX);
        assert_int_equal(got.leftover, UINT32_MAX);
        assert_string_equal(got.applied, end.applied);
        assert_string_equal(got.message, "a \"quoted\" \\ line\nwith \x01 and ü and ?");
    }
}

TEST(the_longest_end_fits) {
    struct error err = { 0 };
    char text[RUN_RECORD_MAX];
    struct run_end end = full_end(RUN_END_EXIT), got = { 0 };
    memset(end.applied, '\x01', sizeof(end.applied) - 1);
    memset(end.message, '\x1f', sizeof(end.message) - 1);
    size_t size = run_end_format(&end, NULL, text, sizeof(text));
    assert_true(size < sizeof(text));
    assert_int_equal(run_end_parse(text, size, NULL, &got, &err), 0);
    assert_memory_equal(got.message, end.message, sizeof(end.message));
    /* Less room is never overrun. */
    for (size_t room = 0; room < 200; room++) {
        char *small = xmalloc(room ? room : 1);
        assert_true(run_end_format(&end, NULL, small, room) <= room);
        assert_true(run_started_format(&(struct run_started){ 0 }, NULL, small, room) <= room);
        free(small);
    }
}

TEST(an_end_that_is_none_is_refused) {
    struct rng rng = { 3 };
    char text[RUN_RECORD_MAX];
    struct run_end end = full_end(RUN_END_EXIT);
    size_t size = run_end_format(&end, NULL, text, sizeof(text));
    for (size_t cut = 0; cut + 2 < size; cut++) {
        struct run_end got = { .code = 77 };
        assert_int_equal(run_end_parse(text, cut, NULL, &got, NULL), -EPROTO);
        assert_int_equal(got.code, 77); /* untouched */
    }
    for (int i = 0; i < 20000; i++) {
        struct run_end got;
        size_t at = rng_below(&rng, size);
        char before = text[at];
        text[at] = (char)rng_next(&rng);
        (void)run_end_parse(text, size, NULL, &got, NULL);
        text[at] = before;
    }
    struct error err = { 0 };
    assert_int_equal(rundir_read_end(root, "nothing-here", NULL, &end, &err), -ENOENT);
    write_text("dir", "x", "", 0);
    assert_int_equal(rundir_read_end(root, "dir", NULL, &end, &err), -ENOENT);
}

/* A pipe in the place of a file would hang the daemon; a link would lead it elsewhere. */
TEST(only_regular_files_are_read) {
    struct error err = { 0 };
    struct run_end end;
    char path[256];
    write_text("odd", "x", "", 0);
    (void)snprintf(path, sizeof(path), "%s/odd/end.json", root);
    assert_int_equal(mkfifo(path, 0600), 0);
    assert_int_equal(rundir_read_end(root, "odd", NULL, &end, &err), -EPROTO);
    assert_int_equal(unlink(path), 0);
    assert_int_equal(symlink("/etc/passwd", path), 0);
    assert_int_equal(rundir_read_end(root, "odd", NULL, &end, &err), -ELOOP);
}

TEST(every_kind_has_its_own_name) {
    for (int a = 0; a < RUN_END_KIND_MAX; a++) {
        assert_non_null(run_end_kind_name((enum run_end_kind)a));
        for (int b = 0; b < a; b++)
            assert_string_not_equal(run_end_kind_name((enum run_end_kind)a),
                                    run_end_kind_name((enum run_end_kind)b));
    }
}

/* --- folders --------------------------------------------------------------------------------- */

TEST(a_folder_has_one_inhabitant) {
    struct error err = { 0 };
    struct run_spec spec = full_spec();
    _cleanup_(strbuf_finish) struct strbuf folder = STRBUF_INIT;
    rundir_name(&folder, "web-17", 2);
    assert_string_equal(folder.text, "web-17/2");
    assert_int_equal(stage_create_folder(root, folder.text, &spec, &err), 0);
    assert_int_equal(stage_create_folder(root, folder.text, &spec, &err), -EEXIST);
    assert_int_equal(rundir_is_locked(root, folder.text), 0);
    int first = -1, second = -1;
    assert_int_equal(stage_lock_folder(root, folder.text, &first, &err), 0);
    assert_int_equal(rundir_is_locked(root, folder.text), 1);
    assert_int_equal(stage_lock_folder(root, folder.text, &second, &err), -EBUSY);
    assert_int_equal(second, -1);
    struct run_started who;
    assert_int_equal(rundir_read_started(root, folder.text, NULL, &who, &err), -ENOENT);
    close(first);
    assert_int_equal(rundir_is_locked(root, folder.text), 0);
    assert_int_equal(rundir_is_locked(root, "web-18/1"), 0);
}

/* Shims of every version since RUNDIR_OLDEST may be alive during an upgrade. */
/* A shim on a node and a daemon that gives it up cannot ask each other; the folder shows which was first. */
TEST(a_run_is_begun_once) {
    char path[128], who[RUN_BEGIN_MAX] = "";
    (void)snprintf(path, sizeof(path), "%s/begin-once", root);
    assert_int_equal(mkdir(path, 0700), 0);
    int dir = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    assert_true(dir >= 0);
    assert_int_equal(rundir_read_begin_at(dir, who), -ENOENT);
    assert_int_equal(rundir_begin_at(dir, "job 17 n1 99 0"), 0);
    assert_int_equal(rundir_begin_at(dir, "job 17 n1 99 0"),
                     0); /* its answer was lost on the way */
    assert_int_equal(rundir_begin_at(dir, "job 18 n2 99 0"), -EEXIST);
    assert_int_equal(rundir_begin_at(dir, RUN_BEGIN_CLOSED), -EEXIST);
    assert_int_equal(rundir_read_begin_at(dir, who), 0);
    assert_string_equal(who, "job 17 n1 99 0");
    assert_int_equal(unlinkat(dir, "begin", 0), 0);
    /* Another kind of file with that name belongs to no run, and no run can begin. */
    write_text("begin-once", "begin", "x", 1);
    assert_int_equal(rundir_begin_at(dir, RUN_BEGIN_CLOSED), -EPROTO);
    close(dir);
}

TEST(every_version_can_be_read) {
    for (int version = RUNDIR_OLDEST; version <= RUNDIR_VERSION; version++) {
        struct error err = { 0 };
        struct run_end end;
        struct run_started who;
        char folder[16];
        (void)snprintf(folder, sizeof(folder), "v%d", version);
        if (rundir_read_end(FIXTURES, folder, NULL, &end, &err) < 0)
            fail_msg("version %d: %s", version, err.text);
        assert_int_equal(end.kind, RUN_END_CHECK);
        assert_int_equal(end.code, 5);
        assert_int_equal(end.check, 1);
        assert_true(end.durable);
        if (rundir_read_started(FIXTURES, folder, NULL, &who, &err) < 0)
            fail_msg("version %d: %s", version, err.text);
        assert_int_equal(who.version, version);
        assert_int_equal(who.shim, 4711);
        assert_int_equal(who.command, 4712);
        assert_true(who.validating);
        _cleanup_(run_spec_read_free) struct run_spec_read *read = NULL;
        if (rundir_read_spec(FIXTURES, folder, NULL, &read, &err) < 0)
            fail_msg("version %d: %s", version, err.text);
        assert_string_equal(read->spec.cgroup, "/sys/fs/cgroup/sluice-1/7");
    }
}
