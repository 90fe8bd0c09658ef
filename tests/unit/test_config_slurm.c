/* test_config_slurm.c: which setting decides where a run executes, and which Slurm options are accepted. */
#include <errno.h>
#include <string.h>

#include "base/macros.h"
#include "config/run_settings.h"
#include "harness/test.h"

static struct config *config;

static int set_up(void **state) {
    (void)state;
    config = config_new();
    return 0;
}

static int tear_down(void **state) {
    (void)state;
    config = config_free(config);
    return 0;
}

static void set(const char *key, const char *value) {
    struct error err = { 0 };
    if (config_set(config, key, value, "test", &err) < 0)
        fail_msg("%s", err.text);
}

TEST_WITH(nothing_is_set, set_up, tear_down) {
    assert_string_equal(config_executor(config, "web", "claude"), "local");
    assert_null(config_slurm_value(config, "partition", "web", "claude"));
    assert_null(config_slurm_value(config, "partition", NULL, NULL));
}

TEST_WITH(project_goes_before_agent_goes_before_all, set_up, tear_down) {
    set("tasks.executor", "slurm");
    assert_string_equal(config_executor(config, NULL, NULL), "slurm");
    assert_true(config_uses_slurm(config));
    set("agents.claude.executor", "local");
    assert_string_equal(config_executor(config, "web", "claude"), "local");
    assert_string_equal(config_executor(config, "web", "codex"), "slurm");
    set("projects.web.executor", "slurm");
    assert_string_equal(config_executor(config, "web", "claude"), "slurm");
    assert_string_equal(config_executor(config, "db", "claude"), "local");
}

TEST_WITH(one_that_uses_slurm_is_enough, set_up, tear_down) {
    assert_false(config_uses_slurm(config));
    set("agents.claude.executor", "slurm");
    assert_true(config_uses_slurm(config));
    set("agents.claude.executor", "local");
    set("projects.web.executor", "slurm");
    assert_true(config_uses_slurm(config));
}

TEST_WITH(each_key_is_looked_for_by_itself, set_up, tear_down) {
    set("tasks.slurm", "partition=all qos=low cpus=2");
    set("agents.claude.slurm", "qos=agents account=bots");
    set("projects.web.slurm", "account=web");
    assert_string_equal(config_slurm_value(config, "account", "web", "claude"), "web");
    assert_string_equal(config_slurm_value(config, "account", "db", "claude"), "bots");
    assert_string_equal(config_slurm_value(config, "qos", "web", "claude"), "agents");
    assert_string_equal(config_slurm_value(config, "partition", "web", "claude"), "all");
    assert_string_equal(config_slurm_value(config, "cpus", NULL, NULL), "2");
    assert_null(config_slurm_value(config, "gres", "web", "claude"));
}

TEST_WITH(the_last_word_of_a_list_counts, set_up, tear_down) {
    set("tasks.slurm", "partition=a partition=b");
    assert_string_equal(config_slurm_value(config, "partition", NULL, NULL), "b");
}

TEST_WITH(values_fit, set_up, tear_down) {
    static const char *const good[][2] = {
        { "partition", "gpu-long_2.a" },
        { "account", "web" },
        { "qos", "normal" },
        { "gres", "gpu:a100:2,shard:1" },
        { "constraint", "[rack1*2&rack2]|big" },
        { "cpus", "1" },
        { "cpus", "100000" },
        { "options", "--exclusive" },
        { "options", "--exclusive  --mail-type=END,FAIL --wait-all-nodes=1 --no-requeue" },
    };
    for (size_t i = 0; i < ARRAY_SIZE(good); i++) {
        struct error err = { 0 };
        if (slurm_value_check(good[i][0], good[i][1], &err) < 0)
            fail_msg("%s=%s: %s", good[i][0], good[i][1], err.text);
    }
}

TEST_WITH(values_do_not_fit, set_up, tear_down) {
    static const char *const bad[][2] = {
        { "partition", "" },
        { "partition", "-p" },
        { "partition", "a,b" }, /* its name is a key with slots */
        { "partition", "a b" },
        { "gres", "gpu 2" },
        { "gres", "gpu\n" },
        { "cpus", "0" },
        { "cpus", "100001" },
        { "cpus", "-1" },
        { "cpus", "2.5" },
        { "cpus", "99999999999999999999" },
        { "options", "" },
        { "options", "-p gpu" },
        { "options", "run.sh" },
        { "options", "--exclusive run.sh" }, /* sbatch would take it for the script */
        { "options", "--" },
        { "options", "--array=1-5" },
        { "options", "--comment=mine" },
        { "options", "--com=mine" }, /* sbatch accepts that form, too */
        { "options", "--requeue" },
        { "options", "--clusters=other" }, /* squeue would not show it */
        { "options", "--version" },        /* then no job is created */
        { "options", "--help" },
        { "options", "--exclusive --wrap=true" },
        { "options", "--mail-user=a\tb" },
        { "memory", "4" },
    };
    for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
        struct error err = { 0 };
        if (slurm_value_check(bad[i][0], bad[i][1], &err) != -EINVAL)
            fail_msg("%s=%s was taken", bad[i][0], bad[i][1]);
        if (!strstr(err.text, bad[i][0]))
            fail_msg("the sentence does not name '%s': %s", bad[i][0], err.text);
    }
}

TEST_WITH(settings_take_the_same, set_up, tear_down) {
    struct error err = { 0 };
    assert_int_equal(
        config_set(config, "projects.web.slurm", "partition=gpu nodes=2", "test", &err), -EINVAL);
    assert_non_null(strstr(err.text, "projects.web.slurm"));
    assert_non_null(strstr(err.text, "partition, account, qos, gres, constraint, cpus or options"));
    set("projects.web.slurm", "'options=--exclusive --mem-bind=local' cpus=4");
    assert_string_equal(config_slurm_value(config, "options", "web", NULL),
                        "--exclusive --mem-bind=local");
}

TEST_WITH(addresses_have_no_path, set_up, tear_down) {
    set("slurm.address", "https://sluice.example:7878 https://two.example:7878");
    set("slurm.address", "http://127.0.0.1:7878");
    set("slurm.address", "");
    assert_int_equal(config_set(config, "slurm.address", "http://sluice.example:80", "test", NULL),
                     -EINVAL); /* others could read the token of a run */
    assert_int_equal(config_set(config, "slurm.address", "sluice.example", "test", NULL), -EINVAL);
    assert_int_equal(config_set(config, "slurm.address", "https://a/b", "test", NULL), -EINVAL);
}
