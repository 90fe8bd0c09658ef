/* test_sandbox_words.c: sandbox rules become command-line arguments, outer paths first, without redundant ones. */
#include <errno.h>
#include <string.h>

#include "base/macros.h"
#include "harness/test.h"
#include "sandbox/sandbox.h"

static struct sandbox_plan plan;
static struct strbuf words;

static int set_up(void **state) {
    (void)state;
    sandbox_plan_init(&plan, SANDBOX_BUBBLEWRAP);
    plan.program = "/usr/bin/bwrap";
    plan.cwd = "/w";
    words = (struct strbuf)STRBUF_INIT;
    return 0;
}

static int tear_down(void **state) {
    (void)state;
    sandbox_plan_finish(&plan);
    strbuf_finish(&words);
    return 0;
}

/* Joined with spaces. */
static const char *build(void) {
    struct error err = { 0 };
    const char *enter;
    size_t count = 0, seen = 0;
    strbuf_clear(&words);
    if (sandbox_build(&plan, &words, &count, &enter, &err) < 0)
        fail_msg("%s", err.text);
    for (size_t i = 0; i < words.length; i++)
        if (words.text[i] == '\0') {
            words.text[i] = ' ';
            seen++;
        }
    assert_int_equal(seen, count);
    return strbuf_text(&words);
}

static const char *rules_of(const char *line) {
    const char *begin = strstr(line, "--proc /proc ");
    assert_non_null(begin);
    char *end = strstr(begin, "--chdir");
    assert_non_null(end);
    *end = '\0';
    return begin + strlen("--proc /proc ");
}

static void expect_rules(const char *wanted) {
    assert_string_equal(rules_of(build()), wanted);
}

#define EACH(name_) TEST_WITH(name_, set_up, tear_down)

EACH(it_is_apart_from_the_rest) {
    assert_string_equal(build(),
                        "/usr/bin/bwrap --unshare-user --unshare-pid --unshare-ipc --unshare-uts "
                        "--unshare-cgroup-try --cap-drop ALL --die-with-parent --ro-bind / / "
                        "--dev /dev --proc /proc --chdir /w -- ");
    plan.network = false;
    assert_non_null(strstr(build(), " --unshare-net "));
}

EACH(the_kernel_is_closed_to_root) {
    assert_null(strstr(build(), "/proc/sys"));
    plan.is_root = true;
    assert_non_null(strstr(build(), "--ro-bind-try /proc/sys /proc/sys "));
    assert_non_null(strstr(build(), "--ro-bind-try /proc/sysrq-trigger /proc/sysrq-trigger "));
}

EACH(outer_rules_come_first) {
    sandbox_add(&plan, SANDBOX_WRITE, "/home/me/src/web", NULL);
    sandbox_add(&plan, SANDBOX_READ, "/home/me/src/web/.git", NULL);
    sandbox_add(&plan, SANDBOX_EMPTY, "/home/me", NULL);
    sandbox_add(&plan, SANDBOX_READ, "/home/me-too", NULL); /* not in /home/me, nor hidden */
    sandbox_add(&plan, SANDBOX_READ, "/home/me/.gitconfig", NULL);
    expect_rules("--perms 0755 --tmpfs /home/me "
                 "--ro-bind /home/me/.gitconfig /home/me/.gitconfig "
                 "--bind /home/me/src/web /home/me/src/web "
                 "--ro-bind /home/me/src/web/.git /home/me/src/web/.git ");
}

EACH(names_with_low_bytes_do_not_come_between) {
    sandbox_add(&plan, SANDBOX_WRITE, "/a/x", NULL);
    sandbox_add(&plan, SANDBOX_EMPTY, "/a", NULL);
    sandbox_add(&plan, SANDBOX_WRITE, "/a-b", NULL);
    sandbox_add(&plan, SANDBOX_WRITE, "/a b", NULL);
    expect_rules("--perms 0755 --tmpfs /a --bind /a/x /a/x --bind /a b /a b --bind /a-b /a-b ");
}

EACH(the_last_rule_of_a_path_holds) {
    sandbox_add(&plan, SANDBOX_READ, "/home/me/.claude", NULL);
    sandbox_add(&plan, SANDBOX_WRITE, "/home/me/.claude", NULL);
    sandbox_add(&plan, SANDBOX_EMPTY, "/home/me/.claude", NULL);
    expect_rules("--perms 0755 --tmpfs /home/me/.claude ");
    assert_int_equal(sandbox_access_of(&plan, "/home/me/.claude/x"), SANDBOX_EMPTY);
}

EACH(what_changes_nothing_is_left_out) {
    sandbox_add(&plan, SANDBOX_READ, "/usr", NULL);
    sandbox_add(&plan, SANDBOX_WRITE, "/w", NULL);
    sandbox_add(&plan, SANDBOX_WRITE, "/w/build", NULL);
    sandbox_add(&plan, SANDBOX_EMPTY, "/h", NULL);
    sandbox_add(&plan, SANDBOX_BLANK, "/h/.netrc", NULL);
    sandbox_add(&plan, SANDBOX_EMPTY, "/h/.config", NULL);
    expect_rules("--perms 0755 --tmpfs /h --dir /h/.config --bind /w /w ");
}

EACH(a_closed_folder_is_closed_at_the_end) {
    sandbox_add(&plan, SANDBOX_EMPTY, "/h", NULL);
    sandbox_add(&plan, SANDBOX_CLOSED, "/h/data", NULL);
    sandbox_add(&plan, SANDBOX_CLOSED, "/h/data/runs", NULL);
    sandbox_add(&plan, SANDBOX_BLANK, "/h/data/settings", NULL);
    sandbox_add(&plan, SANDBOX_WRITE, "/h/data/runs/1/tmp", NULL);
    expect_rules("--perms 0755 --tmpfs /h --perms 0755 --tmpfs /h/data "
                 "--bind /h/data/runs/1/tmp /h/data/runs/1/tmp --remount-ro /h/data ");
    assert_true(sandbox_is_hidden(&plan, "/h/data/runs/1"));
    assert_false(sandbox_is_hidden(&plan, "/h/data/runs/1/tmp/x"));
}

EACH(links_lead_to_what_is_shown_elsewhere) {
    sandbox_add(&plan, SANDBOX_EMPTY, "/h", NULL);
    sandbox_add(&plan, SANDBOX_LINK, "/h/src", "/data/src");
    sandbox_add(&plan, SANDBOX_LINK, "/srv/src", "/data/src"); /* it is visible already */
    sandbox_add_optional(&plan, SANDBOX_WRITE, "/h/tmp", NULL);
    sandbox_add_optional(&plan, SANDBOX_READ, "/h/prompt", NULL);
    expect_rules("--perms 0755 --tmpfs /h --ro-bind-try /h/prompt /h/prompt "
                 "--symlink /data/src /h/src --bind-try /h/tmp /h/tmp ");
}

EACH(another_source_is_another_content) {
    sandbox_add(&plan, SANDBOX_WRITE, "/h", NULL);
    sandbox_add(&plan, SANDBOX_WRITE, "/h/.cache", "/data/cache/web");
    sandbox_add(&plan, SANDBOX_WRITE, "/h/.cache/mine", NULL);
    expect_rules("--bind /h /h --bind /data/cache/web /h/.cache "
                 "--bind /h/.cache/mine /h/.cache/mine ");
}

EACH(files_devices_and_shared_folders) {
    sandbox_add(&plan, SANDBOX_EMPTY, "/tmp", NULL);
    sandbox_add(&plan, SANDBOX_BLANK, "/etc/secret", NULL);
    sandbox_add(&plan, SANDBOX_WRITE, "/dev/dri", NULL);
    expect_rules("--dev-bind /dev/dri /dev/dri --ro-bind /dev/null /etc/secret "
                 "--perms 1777 --tmpfs /tmp ");
}

EACH(what_a_path_gets) {
    sandbox_add(&plan, SANDBOX_EMPTY, "/home/me", NULL);
    sandbox_add(&plan, SANDBOX_WRITE, "/home/me/w", NULL);
    assert_int_equal(sandbox_access_of(&plan, "/usr/bin"), SANDBOX_READ);
    assert_int_equal(sandbox_access_of(&plan, "/home/me"), SANDBOX_EMPTY);
    assert_int_equal(sandbox_access_of(&plan, "/home/me/.ssh/id"), SANDBOX_EMPTY);
    assert_int_equal(sandbox_access_of(&plan, "/home/me/w"), SANDBOX_WRITE);
    assert_int_equal(sandbox_access_of(&plan, "/home/me/w/a/b"), SANDBOX_WRITE);
    assert_int_equal(sandbox_access_of(&plan, "/home/me/wx"), SANDBOX_EMPTY);
    assert_true(sandbox_is_inside("/", "/x"));
    assert_false(sandbox_is_inside("/a/b", "/a"));
}

EACH(podman_gets_the_same_plan) {
    plan.kind = SANDBOX_PODMAN;
    plan.program = "/usr/bin/podman";
    plan.image = "localhost/agents";
    plan.shim = "/opt/sluice/sluice-shim";
    sandbox_add(&plan, SANDBOX_EMPTY, "/home/me", NULL);
    sandbox_add(&plan, SANDBOX_WRITE, "/home/me/w", NULL);
    sandbox_add(&plan, SANDBOX_READ, "/home/me/.gitconfig", NULL);
    sandbox_add(&plan, SANDBOX_WRITE, "/home/me/.cache", "/data/cache");
    plan.network = false;
    const char *line = build();
    assert_non_null(strstr(line, "/usr/bin/podman run --rm --interactive --pull=never "));
    assert_non_null(strstr(line, " --cap-drop=all "));
    assert_non_null(strstr(line, " --preserve-fds=3 "));
    const char *end = "--network=none --tmpfs=/home/me --volume=/data/cache:/home/me/.cache:rw "
                      "--volume=/home/me/.gitconfig:/home/me/.gitconfig:ro "
                      "--volume=/home/me/w:/home/me/w:rw "
                      "--volume=/opt/sluice/sluice-shim:/run/sluice-shim:ro --workdir=/w "
                      "localhost/agents ";
    assert_string_equal(strstr(line, "--network"), end);
}

static void expect_refused(const char *wanted) {
    struct error err = { 0 };
    const char *enter;
    size_t count;
    strbuf_clear(&words);
    assert_int_equal(sandbox_build(&plan, &words, &count, &enter, &err), -EINVAL);
    if (!strstr(err.text, wanted))
        fail_msg("no '%s' in: %s", wanted, err.text);
}

EACH(podman_refuses_what_it_cannot_say) {
    plan.kind = SANDBOX_PODMAN;
    plan.program = "/usr/bin/podman";
    plan.shim = "/opt/sluice-shim";
    expect_refused("sandbox_image");
    plan.image = "x";
    sandbox_add(&plan, SANDBOX_WRITE, "/odd:path", NULL);
    expect_refused("contains ':'");
}

EACH(other_programs_get_the_paths_of_the_run) {
    static const char *const wrap[] = { "firejail", "--private={workspace}", "{home}/{run}{", "--",
                                        NULL };
    plan.kind = SANDBOX_WRAP;
    expect_refused("no words");
    plan.wrap = wrap;
    plan.program = "/usr/bin/firejail";
    plan.workspace = "/w/a b";
    plan.home = "/data";
    plan.run = "/data/runs/web-1/1";
    assert_string_equal(build(),
                        "/usr/bin/firejail --private=/w/a b /data//data/runs/web-1/1{ -- ");
}

EACH(variables_that_run_code_are_known) {
    static const char *const unsafe[] = {
        "LD_PRELOAD=x", "LD_LIBRARY_PATH=x", "BASH_ENV=x",
        "PATH=/tmp",    "PYTHONPATH=.",      "NODE_OPTIONS=-r x"
    };
    static const char *const safe[] = { "LANG=C", "LDX=1", "HOME=/", "ENVIRONMENT=x", "MYPATH=1" };
    for (size_t i = 0; i < ARRAY_SIZE(unsafe); i++)
        assert_true(sandbox_is_unsafe_variable(unsafe[i]));
    for (size_t i = 0; i < ARRAY_SIZE(safe); i++)
        assert_false(sandbox_is_unsafe_variable(safe[i]));
}

EACH(kinds_have_names) {
    for (int kind = 0; kind < SANDBOX_KIND_MAX; kind++)
        assert_int_equal(sandbox_kind_find(sandbox_kind_name((enum sandbox_kind)kind)), kind);
    assert_int_equal(sandbox_kind_find("auto"), SANDBOX_KIND_MAX);
}
