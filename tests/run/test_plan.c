/* test_plan.c: what a plan of src/sandbox says is what a command can see and change.
 *
 * Everything that a command must not reach is first reached by the same command without a sandbox, so that an attempt
 * that never works proves nothing. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/macros.h"
#include "harness/test.h"
#include "run/stage.h"
#include "sandbox/sandbox.h"

#define WORDS_MOST 256
#define APART      "unshare --user --map-root-user --mount sh -c "

/* A user's home, a workspace in it and the folder of the daemon, all below the stage. */
struct world {
    struct stage *stage;
    char user[STAGE_PATH], workspace[STAGE_PATH], data[STAGE_PATH], system[STAGE_PATH];
    char environment[4][STAGE_PATH + 16];
    const char *env[6];
    struct sandbox_plan plan;
    struct strbuf words;
    const char *line[WORDS_MOST];
};

static void make_folder(char out[STAGE_PATH], const char *above, const char *name) {
    (void)snprintf(out, STAGE_PATH, "%.180s/%s", above, name);
    assert_int_equal(mkdir(out, 0700), 0);
}

static void make_file(const char *folder, const char *name, const char *text) {
    char path[STAGE_PATH * 2];
    (void)snprintf(path, sizeof(path), "%s/%s", folder, name);
    FILE *stream = fopen(path, "we");
    assert_true(stream && fputs(text, stream) >= 0 && fclose(stream) == 0);
}

static bool is_there(const char *folder, const char *name) {
    char path[STAGE_PATH * 2];
    (void)snprintf(path, sizeof(path), "%s/%s", folder, name);
    return access(path, F_OK) == 0;
}

static void world_make(struct world *w, int cgroup) {
    static const char *const names[] = { "USER", "WORK", "DATA", "SYSTEM" };
    char ssh[STAGE_PATH];
    *w = (struct world){ .stage = stage_new(cgroup), .words = STRBUF_INIT };
    make_folder(w->user, w->stage->home, "user");
    make_folder(w->workspace, w->user, "work");
    make_folder(w->data, w->user, "data");
    make_folder(w->system, w->stage->home, "system");
    make_folder(ssh, w->user, ".ssh");
    make_file(ssh, "key", "secret\n");
    make_file(w->user, ".gitconfig", "[user]\n");
    make_file(w->data, "store", "secret\n");
    const char *const values[] = { w->user, w->workspace, w->data, w->system };
    for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
        (void)snprintf(w->environment[i], sizeof(w->environment[i]), "%s=%s", names[i], values[i]);
        w->env[i] = w->environment[i];
    }
    w->env[4] = "PATH=/usr/sbin:/usr/bin:/sbin:/bin";
    sandbox_plan_init(&w->plan, SANDBOX_BUBBLEWRAP);
    w->plan.program = "/usr/bin/bwrap";
    w->plan.cwd = w->workspace;
    w->plan.is_root = geteuid() == 0;
    sandbox_add(&w->plan, SANDBOX_EMPTY, w->user, NULL);
    sandbox_add(&w->plan, SANDBOX_WRITE, w->workspace, NULL);
    sandbox_add(&w->plan, SANDBOX_EMPTY, w->data, NULL);
    char file[STAGE_PATH * 2];
    (void)snprintf(file, sizeof(file), "%s/.gitconfig", w->user);
    sandbox_add(&w->plan, SANDBOX_READ, file, NULL);
    /* The stage itself may be in /tmp: what it shows is that /tmp is another one. */
    sandbox_add(&w->plan, SANDBOX_EMPTY, "/tmp", NULL);
    sandbox_add(&w->plan, SANDBOX_READ, w->system, NULL);
}

static void world_free(struct world *w) {
    sandbox_plan_finish(&w->plan);
    strbuf_finish(&w->words);
    stage_free(w->stage);
}

static struct run_spec spec_of(struct world *w, const char *const *argv) {
    struct run_spec spec = stage_spec(w->stage, argv);
    spec.cwd = w->workspace;
    spec.env = w->env;
    return spec;
}

static void put_into_box(struct world *w, struct run_spec *spec) {
    struct error err = { 0 };
    size_t count;
    strbuf_clear(&w->words);
    if (sandbox_build(&w->plan, &w->words, &count, &spec->enter, &err) < 0)
        fail_msg("%s", err.text);
    assert_true(count < WORDS_MOST);
    const char *word = strbuf_text(&w->words);
    for (size_t i = 0; i < count; i++, word += strlen(word) + 1)
        w->line[i] = word;
    w->line[count] = NULL;
    spec->wrap = w->line;
}

static int run_plain(struct world *w, task_id task, const char *script) {
    struct run_spec spec = spec_of(w, ARGV("sh", "-c", script));
    return stage_run(w->stage, task, &spec)->code;
}

static int run_boxed(struct world *w, task_id task, const char *script) {
    struct run_spec spec = spec_of(w, ARGV("sh", "-c", script));
    put_into_box(w, &spec);
    const struct run_end *end = stage_run(w->stage, task, &spec);
    if (end->kind != RUN_END_EXIT)
        fail_msg("it ended otherwise: %s", end->message);
    return end->code;
}

BOTH_WAYS(it_works_in_its_workspace) {
    struct world w;
    world_make(&w, *(const int *)*state);
    assert_int_equal(run_boxed(&w, 1,
                               "test \"$(pwd)\" = $WORK && echo x >file && cat $USER/.gitconfig "
                               "&& test -x /bin/sh && echo y >/dev/null"),
                     0);
    assert_true(is_there(w.workspace, "file"));
    assert_string_equal(stage_file(w.stage, 1, "out.log"), "[user]\n");
    world_free(&w);
}

/* Each gives 0 when it succeeds. */
ONE_WAY(it_does_not_reach_the_rest) {
    static const char remount[] = APART "'mount -o remount,bind,rw $SYSTEM; echo x >$SYSTEM/b$$'";
    static const char unmount[] = APART "'umount -l $USER; cat $USER/.ssh/key'";
    static const char *const attempts[] = {
        "cat $USER/.ssh/key",
        "cat $DATA/store",
        "ls -d $USER/.ssh",
        "echo x >$SYSTEM/a$$",
        "echo x >>$USER/.gitconfig",
        "ln -s $USER/.ssh/key link$$ && cat link$$",
        "cd .. && cat ../user/.ssh/key",
        "ls /proc/[0-9]*/exe 2>/dev/null | grep -vqE '/proc/([0-9]|1[0-9]|self|thread-self)/'",
        remount,
        unmount,
    };
    struct world w;
    world_make(&w, *(const int *)*state);
    for (size_t i = 0; i < ARRAY_SIZE(attempts); i++) {
        if (run_plain(&w, 2 * i + 1, attempts[i]) != 0)
            fail_msg("without a sandbox it should succeed: %s", attempts[i]);
        if (run_boxed(&w, 2 * i + 2, attempts[i]) == 0)
            fail_msg("in the sandbox it succeeds: %s", attempts[i]);
    }
    assert_string_equal(stage_file(w.stage, 2, "out.log"), "");
    world_free(&w);
}

ONE_WAY(files_elsewhere_are_deleted_with_it) {
    struct world w;
    char name[64], script[256];
    world_make(&w, *(const int *)*state);
    (void)snprintf(name, sizeof(name), "sluice-plan-%d", (int)getpid());
    (void)snprintf(script, sizeof(script),
                   "echo x >$USER/new && echo x >/tmp/%s && mkdir -p $USER/.config/tool", name);
    assert_int_equal(run_boxed(&w, 1, script), 0);
    assert_false(is_there(w.user, "new"));
    assert_false(is_there(w.user, ".config"));
    assert_false(is_there("/tmp", name));
    assert_int_equal(run_boxed(&w, 2, "test -e $USER/new"), 1);
    world_free(&w);
}

ONE_WAY(it_has_no_rights_of_its_own) {
    struct world w;
    world_make(&w, *(const int *)*state);
    assert_int_equal(
        run_boxed(&w, 1, "grep -E '^(CapEff|CapPrm|CapBnd|NoNewPrivs)' /proc/self/status"), 0);
    const char *seen = stage_file(w.stage, 1, "out.log");
    assert_non_null(strstr(seen, "CapEff:\t0000000000000000\n"));
    assert_non_null(strstr(seen, "CapPrm:\t0000000000000000\n"));
    assert_non_null(strstr(seen, "NoNewPrivs:\t1\n"));
    world_free(&w);
}

/* Whether it could be written is asked, and nothing is written. */
ONE_WAY(settings_of_the_kernel_are_closed) {
    static const char script[] = "test -w /proc/sys/kernel/core_pattern";
    struct world w;
    world_make(&w, *(const int *)*state);
    if (geteuid() == 0) {
        w.plan.is_root = false; /* as bubblewrap alone leaves them */
        assert_int_equal(run_boxed(&w, 1, script), 0);
        w.plan.is_root = true;
    }
    assert_int_equal(run_boxed(&w, 2, script), 1);
    world_free(&w);
}

ONE_WAY(another_folder_can_stand_in_its_place) {
    struct world w;
    char path[STAGE_PATH * 2], source[STAGE_PATH];
    world_make(&w, *(const int *)*state);
    make_folder(source, w.data, "cache");
    (void)snprintf(path, sizeof(path), "%s/.cache", w.user);
    sandbox_add(&w.plan, SANDBOX_WRITE, path, source);
    assert_int_equal(run_boxed(&w, 1, "echo x >$USER/.cache/made && ! ls $DATA/cache"), 0);
    assert_true(is_there(source, "made"));
    assert_false(is_there(w.user, ".cache"));
    world_free(&w);
}

ONE_WAY(without_network_nothing_is_reached) {
    struct world w;
    world_make(&w, *(const int *)*state);
    w.plan.network = false;
    assert_int_equal(run_boxed(&w, 1,
                               "test \"$(ls /sys/class/net /proc/self/net/dev >/dev/null; "
                               "grep -c : /proc/self/net/dev)\" -le 1"),
                     0);
    world_free(&w);
}

ONE_WAY(podman_gets_the_same_arguments) {
    struct world w;
    char notes[STAGE_PATH + 32], text[4096] = "";
    world_make(&w, *(const int *)*state);
    w.plan.kind = SANDBOX_PODMAN;
    w.plan.program = FAKE_PODMAN;
    w.plan.shim = SHIM_PATH;
    w.plan.image = "localhost/agents";
    (void)snprintf(notes, sizeof(notes), "NOTES=%s/notes", w.stage->home);
    struct run_spec spec = spec_of(&w, ARGV("sh", "-c", "echo in $(pwd) $NOTES; exit 4"));
    put_into_box(&w, &spec);
    spec.wrap_env = ARGV("PATH=/usr/bin:/bin", notes);
    const struct run_end *end = stage_run(w.stage, 1, &spec);
    assert_int_equal(end->kind, RUN_END_EXIT);
    assert_int_equal(end->code, 4);
    char wanted[STAGE_PATH + 32];
    (void)snprintf(wanted, sizeof(wanted), "in %s\n",
                   w.workspace); /* not the environment of podman */
    assert_string_equal(stage_file(w.stage, 1, "out.log"), wanted);
    FILE *stream = fopen(notes + strlen("NOTES="), "re");
    assert_non_null(stream);
    (void)!fread(text, 1, sizeof(text) - 1, stream);
    (void)fclose(stream);
    (void)snprintf(wanted, sizeof(wanted), "\n--tmpfs=%s\n", w.user);
    assert_non_null(strstr(text, wanted));
    assert_non_null(strstr(text, "\nlocalhost/agents\n/run/sluice-shim\n--enter\n"));
    world_free(&w);
}
