/* test_config_read.c: reads configuration files as users write them, and reports every kind of error. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "agent/agent.h"
#include "base/macros.h"
#include "base/strbuf.h"
#include "base/time_ms.h"
#include "config/config.h"
#include "config/config_show.h"
#include "harness/scratch.h"
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

static void reads(const char *text) {
    struct error err = { 0 };
    if (config_read_text(config, "test.yaml", text, strlen(text), &err) < 0)
        fail_msg("%s", err.text);
}

static void refused_bytes(const char *text, size_t size, const char *message) {
    struct error err = { 0 };
    assert_int_equal(config_read_text(config, "test.yaml", text, size, &err), -EINVAL);
    assert_string_equal(err.text, message);
    assert_int_equal(config_read_text(config, "test.yaml", text, size, NULL), -EINVAL);
}

static void refused(const char *text, const char *message) {
    refused_bytes(text, strlen(text), message);
}

static const struct policy *policy(void) {
    return config_policy(config);
}

/* The complete configuration as one text. */
static void snapshot(struct strbuf *out) {
    config_show(config, true, out);
}

/* ---- good files ---- */

#define FIXTURE_TEST(name_) TEST_WITH(name_, set_up, tear_down)

FIXTURE_TEST(empty_files_set_nothing) {
    _cleanup_(strbuf_finish) struct strbuf before = STRBUF_INIT, after = STRBUF_INIT;
    static const char *const empty[] = { "",           "\n",         "# nothing\n", "---\n",
                                         "---\n...\n", "{}",         "~",           "limits:\n",
                                         "limits: {}", "kinds: ~\n", "null" };
    snapshot(&before);
    for (size_t i = 0; i < ARRAY_SIZE(empty); i++)
        reads(empty[i]);
    snapshot(&after);
    assert_string_equal(strbuf_text(&before), strbuf_text(&after));
}

FIXTURE_TEST(levels_and_dots_mean_the_same) {
    reads("limits: {runs: 3}\n"
          "limits.roots: 4\n"
          "retry.failed:\n"
          "  max: 7\n"
          "retry:\n"
          "  failed.delay_s: 2.5\n");
    assert_int_equal(policy()->runs, 3);
    assert_int_equal(policy()->roots, 4);
    assert_int_equal(policy()->retry[RETRY_FAILED].max, 7);
    assert_int_equal(policy()->retry[RETRY_FAILED].delay, 2500);
}

FIXTURE_TEST(lists_quotes_and_json_are_taken) {
    reads("order: [score, created_at, seq]\nlimits:\n  runs: \"9\"\nlost: 'fail'\n");
    assert_int_equal(policy()->order, ORDER_BY_SCORE | ORDER_BY_CREATED);
    assert_int_equal(policy()->runs, 9);
    assert_false(policy()->lost_requeue);
    reads("order:\n  - priority\n  - seq\n");
    assert_int_equal(policy()->order, ORDER_BY_PRIORITY);
    reads("order: score, seq\n");
    assert_int_equal(policy()->order, ORDER_BY_SCORE);
    reads("{\"limits\": {\"runs\": 2}, \"limiter\": {\"probe\": false}}");
    assert_int_equal(policy()->runs, 2);
    assert_false(policy()->limiter.probe);
    reads("\xef\xbb\xbflimits: {runs: 5}\r\n");
    assert_int_equal(policy()->runs, 5);
}

FIXTURE_TEST(words_are_lists_or_one_text) {
    const char *const *words;
    reads("agents:\n"
          "  a: {command: [claude, -p, \"{prompt}\", 5, true, 'it''s', \"two\\nlines\"]}\n"
          "  b: {command: \"sh -c 'echo $HOME'\"}\n"
          "  c:\n"
          "    command:\n"
          "      - sh\n"
          "      - -c\n"
          "      - |\n"
          "        first\n"
          "        second\n"
          "    env: [A=1, 'B=']\n"
          "tasks: {env: []}\n");
    assert_int_equal(config_words(config, "agents.A.command", "a", &words), 7);
    assert_string_equal(words[0], "claude");
    assert_string_equal(words[2], "{prompt}");
    assert_string_equal(words[3], "5");
    assert_string_equal(words[5], "it's");
    assert_string_equal(words[6], "two\nlines");
    assert_null(words[7]);
    assert_int_equal(config_words(config, "agents.A.command", "b", &words), 3);
    assert_string_equal(words[2], "echo $HOME");
    assert_int_equal(config_words(config, "agents.A.command", "c", &words), 3);
    assert_string_equal(words[2], "first\nsecond\n");
    assert_int_equal(config_words(config, "agents.A.env", "c", &words), 2);
    assert_string_equal(words[1], "B=");
    assert_int_equal(config_words(config, "tasks.env", NULL, &words), 0);
    assert_null(words[0]);
}

FIXTURE_TEST(words_of_another_shape_are_refused) {
    refused("agents: {a: {command: [[x]]}}\n",
            "test.yaml:1: key 'agents.a.command': expected words (a list, or one text as for a "
            "shell), got a list in a list");
    refused("agents: {a: {command: [x, {y: 1}]}}\n",
            "test.yaml:1: key 'agents.a.command': expected words (a list, or one text as for a "
            "shell), got a mapping in a list");
    refused("agents: {a: {command: [x, ~]}}\n",
            "test.yaml:1: key 'agents.a.command': expected words (a list, or one text as for a "
            "shell), got nothing in a list");
    refused("agents: {a: {env: [A=1, B]}}\n",
            "test.yaml:1: key 'agents.a.env': expected words KEY=VALUE (a list, or one text as for "
            "a shell), got 'A=1 B'");
    refused("agents: {a: {command: \"sh -c 'x\"}}\n",
            "test.yaml:1: key 'agents.a.command': expected words (a list, or one text as for a "
            "shell), got 'sh -c 'x'");
}

FIXTURE_TEST(a_name_alone_is_known_with_its_defaults) {
    reads("projects:\n  web:\n  example.com: {}\n  api: {weight: 2}\n");
    assert_int_equal(config_project_count(config), 3);
    assert_string_equal(config_project_name(config, 0), "web");
    assert_string_equal(config_project_name(config, 1), "example.com");
    assert_string_equal(config_project_name(config, 2), "api");
}

FIXTURE_TEST(names_with_dots_are_one_level) {
    reads("limiters:\n  me@example.com: {max_running: 2}\n");
    reads("agents.gpt-4.1.slots: 3\n");
    refused("projects: {web: {limits: {max_running: 2}}}",
            "test.yaml:1: unknown key 'projects.web.limits.max_running'; did you mean "
            "'projects.web.max_running'?");
}

FIXTURE_TEST(preset_comes_first_wherever_it_stands) {
    reads("limits:\n  runs: 3\nkinds:\n  plan: {max_running: 9}\npreset: loopr\n");
    assert_string_equal(config_preset(config), "loopr");
    assert_int_equal(policy()->runs, 3);
    assert_int_equal(policy()->limiter.initial, SECONDS(2));
    _cleanup_(strbuf_finish) struct strbuf out = STRBUF_INIT;
    struct error err = { 0 };
    assert_int_equal(config_explain(config, "kinds.plan.max_running", false, &out, &err), 0);
    assert_non_null(strstr(strbuf_text(&out), "now:      9 (test.yaml:4)"));
}

FIXTURE_TEST(legacy_numbers_are_read_with_the_preset_of_the_file) {
    reads("limits: {runs: -1, roots: 0}\npreset: conductor\n");
    assert_int_equal(policy()->runs, UNLIMITED);
    assert_int_equal(policy()->roots, UNLIMITED);
    refused("preset: gastown\nlimits: {runs: 4}\nlimits.roots: -1\n",
            "test.yaml:3: key 'limits.roots': expected a whole number from 0 to 1000000000 or "
            "unlimited, got '-1'");
}

FIXTURE_TEST(a_second_file_is_set_over_the_first) {
    reads("limits: {runs: 3, roots: 2}\n");
    reads("limits: {runs: 4}\n");
    assert_int_equal(policy()->runs, 4);
    assert_int_equal(policy()->roots, 2);
    reads("preset: agency\n");
    assert_int_equal(policy()->roots, UNLIMITED);
}

/* ---- wrong keys ---- */

FIXTURE_TEST(unknown_keys_name_line_and_nearest) {
    refused("preset: loopr\nlimits:\n  rnus: 3\n",
            "test.yaml:3: unknown key 'limits.rnus'; did you mean 'limits.runs'?");
    refused("limit: {runs: 3}\n",
            "test.yaml:1: unknown key 'limit.runs'; did you mean 'limits.runs'?");
    refused("colour: red\n", "test.yaml:1: unknown key 'colour'; 'sluice config keys' lists them");
    refused("colour:\n", "test.yaml:1: unknown key 'colour'; 'sluice config keys' lists them");
    refused("colour: {}\n", "test.yaml:1: unknown key 'colour'; 'sluice config keys' lists them");
    refused("colour: [red]\n",
            "test.yaml:1: unknown key 'colour'; 'sluice config keys' lists them");
    refused("kinds: {plan: {base: {}, colour: 1}}\n",
            "test.yaml:1: key 'kinds.plan.base': expected a whole number from -1000000 to "
            "1000000, got a mapping");
    refused("~: 1\n", "test.yaml:1: unknown key '~'; 'sluice config keys' lists them");
}

FIXTURE_TEST(duplicate_keys_are_refused) {
    refused("limits:\n  runs: 3\n  roots: 1\n  runs: 3\n",
            "test.yaml:4: key 'limits.runs' is set twice, first in line 2");
    refused("limits:\n  runs: 3\nlimits.runs: 4\n",
            "test.yaml:3: key 'limits.runs' is set twice, first in line 2");
    refused("preset: loopr\npreset: loopr\n",
            "test.yaml:2: key 'preset' is set twice, first in line 1");
    refused("kinds: {a: {base: 1}}\nkinds: {a: {base: 1}}\n",
            "test.yaml:2: key 'kinds.a.base' is set twice, first in line 1");
}

FIXTURE_TEST(agents_that_cannot_take_over_are_refused) {
    refused("agents:\n  a: {failover: [a]}\n",
            "test.yaml:2: key 'agents.a.failover': an agent cannot take over from itself; name "
            "others");
    _cleanup_(strbuf_finish) struct strbuf known = STRBUF_INIT;
    strbuf_puts(&known, "test.yaml:1: key 'agents.a.failover': there is no agent 'b'; describe it "
                        "below 'agents', or name ");
    refused("agents: {a: {failover: [b]}}\n",
            agent_print_names(AGENT_LIST_BUILTIN, " or ", &known));
    refused("agents: {a: {failover: [codex, codex]}}\n",
            "test.yaml:1: key 'agents.a.failover': it names 'codex' twice");
    refused("agents: {a: {failover: [1, 2, 3, 4, 5, 6, 7, 8, 9]}}\n",
            "test.yaml:1: key 'agents.a.failover': it names 9 agents; maximum is 8");
    refused("agents:\n  a: {failover: [b]}\n  b: {failover: [codex, c]}\n  c: {failover: [a]}\n",
            "test.yaml:4: key 'agents.c.failover': 'a' leads back to 'c', which is a circle; give "
            "one of them a second name without a list, with the same adapter and limiter");
}

FIXTURE_TEST(keys_that_are_not_strings_are_refused) {
    refused("? [a]\n: 1\n", "test.yaml:1: expected a key, got a list or a mapping");
    refused("? {a: b}\n: 1\n", "test.yaml:1: expected a key, got a list or a mapping");
    refused("\"\": 1\n", "test.yaml:1: expected a key, got nothing");
    refused("limits: {'': 1}\n", "test.yaml:1: expected a key, got nothing");
    refused("<<: {limits: {runs: 3}}\n",
            "test.yaml:1: unknown key '<<.limits.runs'; did you mean 'limits.runs'?");
}

/* ---- wrong values ---- */

FIXTURE_TEST(wrong_types_name_what_was_expected) {
    refused("limits:\n  runs: many\n",
            "test.yaml:2: key 'limits.runs': expected a whole number from 0 to 1000000000 or "
            "unlimited, got 'many'");
    refused("limits:\n  runs:\n",
            "test.yaml:2: key 'limits.runs': expected a whole number from 0 to 1000000000 or "
            "unlimited, got nothing");
    refused("limits:\n  runs: [3]\n",
            "test.yaml:2: key 'limits.runs': expected a whole number from 0 to 1000000000 or "
            "unlimited, got a list");
    refused("limits: 3\n", "test.yaml:1: key 'limits': expected keys below it, got '3'");
    refused("limits: [3]\n", "test.yaml:1: key 'limits': expected keys below it, got a list");
    refused("projects: {web: 3}\n",
            "test.yaml:1: key 'projects.web': expected keys below it, got '3'");
    refused("order: [[score]]\n",
            "test.yaml:1: key 'order': expected some of guarantee, deficit, position, overdue, "
            "priority, score, enqueued_at, created_at, seq in this order, got a list in a list");
    refused("order: []\n",
            "test.yaml:1: key 'order': expected some of guarantee, deficit, position, overdue, "
            "priority, score, enqueued_at, created_at, seq in this order, got ''");
    refused("limiter: {probe: yes}\n",
            "test.yaml:1: key 'limiter.probe': expected true or false, got 'yes'");
}

FIXTURE_TEST(out_of_range_is_refused_with_the_range) {
    refused("\n\nretry: {failed: {factor: 101}}\n",
            "test.yaml:3: key 'retry.failed.factor': expected a number from 1 to 100 (up to three "
            "decimals), got '101'");
    refused("limits: {runs: 1000000001}\n",
            "test.yaml:1: key 'limits.runs': expected a whole number from 0 to 1000000000 or "
            "unlimited, got '1000000001'");
}

/* ---- wrong files ---- */

FIXTURE_TEST(files_that_are_not_a_mapping_are_refused) {
    refused("hello\n", "test.yaml:1: expected keys and values, got 'hello'");
    refused("- a\n", "test.yaml:1: expected keys and values, got a list");
    refused("limits: {runs: 1}\n---\nlimits: {runs: 2}\n",
            "test.yaml:2: expected one document, got a second one");
}

FIXTURE_TEST(aliases_and_tags_are_refused) {
    refused("limits: &a {runs: 3}\nkinds: *a\n",
            "test.yaml:2: aliases (*name) are not supported; write the value out");
    refused("lost: !!str fail\n", "test.yaml:1: tags (!name) are not supported");
    refused("limits: !include other.yaml\n", "test.yaml:1: tags (!name) are not supported");
    reads("lost: &anchor fail\n"); /* harmless on its own */
}

FIXTURE_TEST(bad_syntax_names_the_line) {
    refused("limits: {runs: 3\nlost: fail\n",
            "test.yaml:2: not valid YAML: missing comma in flow mapping");
    refused("limits:\n\truns: 3\n",
            "test.yaml:2: not valid YAML: tab character may not be used as indentation");
}

FIXTURE_TEST(invalid_utf8_is_refused) {
    refused("limits:\n  runs: \xff\n", "test.yaml:2: not UTF-8 text (byte 0xff)");
    refused("a: \xc0\x80\n", "test.yaml:1: not UTF-8 text (byte 0xc0)");
    refused("a: \xed\xa0\x80\n", "test.yaml:1: not UTF-8 text (byte 0xed)");
    refused("a: \xf4\x90\x80\x80\n", "test.yaml:1: not UTF-8 text (byte 0xf4)");
    refused("a: \xe2\x82", "test.yaml:1: not UTF-8 text (byte 0xe2)");
    refused("a: \x1b[31m\n", "test.yaml:1: not UTF-8 text (byte 0x1b)");
    refused_bytes("lost: fail\0\n", 12, "test.yaml:1: not UTF-8 text (byte 0x00)");
    refused("lost: 'fa''''il'\n",
            "test.yaml:1: two quotes in a row inside single quotes; use double quotes around them");
    refused("lost: \"fail\\0\"\n", "test.yaml:1: a text contains a NUL character");
}

FIXTURE_TEST(input_is_bounded) {
    _cleanup_(strbuf_finish) struct strbuf text = STRBUF_INIT;
    strbuf_repeat(&text, "#", 1u << 20);
    assert_int_equal(config_read_text(config, "t", text.text, text.length, NULL), 0);
    strbuf_putc(&text, '#');
    refused_bytes(text.text, text.length, "test.yaml: larger than 1048576 bytes");
    strbuf_clear(&text);
    strbuf_repeat(&text, "{a: ", 100);
    refused_bytes(text.text, text.length, "test.yaml:1: more than 8 levels");
    strbuf_clear(&text);
    strbuf_repeat(&text, "[", 1000);
    refused_bytes(text.text, text.length, "test.yaml:1: more than 8 levels");
    strbuf_repeat(&text, "[", 500000);
    refused_bytes(text.text, text.length, "test.yaml:1: more than 1000 open brackets");
    strbuf_clear(&text);
    strbuf_repeat(&text, "k", 600);
    strbuf_puts(&text, ": 1\n");
    refused_bytes(text.text, text.length, "test.yaml:1: a key is longer than 512 bytes");
    strbuf_clear(&text);
    strbuf_puts(&text, "projects:\n");
    for (int i = 0; i < 100001; i++)
        strbuf_printf(&text, " %x:\n", (unsigned)i);
    struct error err = { 0 };
    assert_int_equal(config_read_text(config, "t", text.text, text.length, &err), -EINVAL);
    assert_non_null(strstr(err.text, "more than 100000 names"));
}

FIXTURE_TEST(bad_syntax_changes_nothing) {
    assert_true(config_read_text(config, "t", "limits: {runs: 3}\nlost: [", 25, NULL) < 0);
    assert_int_equal(policy()->runs, 8);
}

/* ---- real files ---- */

FIXTURE_TEST(files_are_read_from_disk) {
    char folder[SCRATCH_PATH], path[SCRATCH_PATH + 16];
    scratch_make(folder, "config");
    (void)snprintf(path, sizeof(path), "%s/sluice.yaml", folder);
    int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    assert_true(fd >= 0);
    static const char text[] = "limits: {runs: 3}\nlost: maybe\n";
    assert_int_equal(write(fd, text, sizeof(text) - 1), sizeof(text) - 1);
    close(fd);
    struct error err = { 0 };
    assert_int_equal(config_read_file(config, path, &err), -EINVAL);
    char message[200];
    (void)snprintf(message, sizeof(message),
                   "%s:2: key 'lost': expected one of fail, requeue, got 'maybe'", path);
    assert_string_equal(err.text, message);
    unlink(path);
    assert_int_equal(config_read_file(config, path, &err), -ENOENT);
    assert_non_null(strstr(err.text, path));
    assert_int_equal(config_read_file(config, "/", &err), -EISDIR);
    assert_int_equal(config_read_file(config, "/dev/zero", &err), -EINVAL);
}
