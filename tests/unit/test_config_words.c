/* test_config_words.c: texts and lists of words: parsing, storage, printing and lookup. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/hash.h"
#include "base/macros.h"
#include "base/strbuf.h"
#include "base/time_ms.h"
#include "config/config.h"
#include "config/config_show.h"
#include "config/words.h"
#include "core/model.h"
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

static void refused(const char *key, const char *value, const char *message) {
    struct error err = { 0 };
    assert_int_equal(config_set(config, key, value, "test", &err), -EINVAL);
    assert_string_equal(err.text, message);
}

/* --- splitting ------------------------------------------------------------------------------- */

/* The words, separated by bars. */
static void splits(const char *text, const char *expected) {
    _cleanup_(arena_finish) struct arena arena = ARENA_INIT;
    _cleanup_(strbuf_finish) struct strbuf out = STRBUF_INIT;
    struct words words = { 0 };
    if (!words_split(text, &arena, &words))
        fail_msg("not split: %s", text);
    for (size_t i = 0; i < words.count; i++)
        strbuf_printf(&out, "%s|", words.items[i]);
    assert_string_equal(strbuf_text(&out), expected);
    assert_null(words.items[words.count]);
}

static void splits_not(const char *text) {
    _cleanup_(arena_finish) struct arena arena = ARENA_INIT;
    struct words words = { 0 };
    if (words_split(text, &arena, &words))
        fail_msg("split: %s", text);
    assert_null(words.items);
}

#define FIXTURE_TEST(name_) TEST_WITH(name_, set_up, tear_down)

FIXTURE_TEST(words_are_split_as_in_a_shell) {
    splits("", "");
    splits("  \t\n ", "");
    splits("a", "a|");
    splits(" a  b\tc\n", "a|b|c|");
    splits("'a b' \"c d\"", "a b|c d|");
    splits("a'b'\"c\"d", "abcd|");
    splits("'' \"\"", "||");
    splits("a\\ b \\'c\\'", "a b|'c'|");
    splits("'a\\b' \"a\\b\"", "a\\b|a\\b|");
    splits("\"\\\" \\\\ \\$ \\` \\n\"", "\" \\ $ ` \\n|");
    splits("'it'\\''s'", "it's|");
    splits("{prompt} --x={prompt}", "{prompt}|--x={prompt}|");
}

FIXTURE_TEST(nothing_is_expanded) {
    splits("$HOME ~ * ? `x` $(y) | > & ; # no comment",
           "$HOME|~|*|?|`x`|$(y)|||>|&|;|#|no|comment|");
}

FIXTURE_TEST(a_bracket_begins_a_json_array) {
    splits("[]", "");
    splits(" [\"a b\", \"\", \"it's\\n\"]", "a b||it's\n|");
    splits("'[' -f x ']'", "[|-f|x|]|");
    splits_not("[ -f x ]");
    splits_not("[\"a\", 1]");
    splits_not("[\"a\", [\"b\"]]");
    splits_not("[\"a\"] b");
    splits_not("[\"\\u0000\"]");
}

FIXTURE_TEST(unterminated_or_invalid_text_is_refused) {
    splits_not("'a");
    splits_not("a \"b");
    splits_not("a \"b\\\"");
    splits_not("a\\");
    splits_not("\xff");
    splits_not("a\xc2\x85");
}

FIXTURE_TEST(lists_are_bounded) {
    _cleanup_(strbuf_finish) struct strbuf text = STRBUF_INIT;
    _cleanup_(arena_finish) struct arena arena = ARENA_INIT;
    struct words words = { 0 };
    strbuf_repeat(&text, "a ", WORDS_MAX);
    assert_true(words_split(strbuf_text(&text), &arena, &words));
    assert_int_equal(words.count, WORDS_MAX);
    strbuf_puts(&text, "a");
    splits_not(strbuf_text(&text));
    strbuf_clear(&text);
    strbuf_repeat(&text, "a", WORDS_BYTES_MAX);
    assert_true(words_split(strbuf_text(&text), &arena, &words));
    strbuf_puts(&text, "a");
    splits_not(strbuf_text(&text));
    strbuf_clear(&text); /* short enough on its own, too long with quotes */
    strbuf_puts(&text, "'");
    strbuf_repeat(&text, "\"", WORDS_BYTES_MAX / 2);
    strbuf_puts(&text, "'\\'");
    assert_true(words_split(strbuf_text(&text), &arena, &words));
    assert_true(config_set(config, "agents.a.command", strbuf_text(&text), "test", NULL) < 0);
}

/* --- printing -------------------------------------------------------------------------------- */

static void prints(const char *text, const char *expected) {
    _cleanup_(arena_finish) struct arena arena = ARENA_INIT;
    _cleanup_(strbuf_finish) struct strbuf out = STRBUF_INIT;
    struct words words = { 0 };
    assert_true(words_split(text, &arena, &words));
    words_print(&words, &out);
    assert_string_equal(strbuf_text(&out), expected);
}

FIXTURE_TEST(quotes_are_printed_where_they_are_needed) {
    prints("claude  -p {prompt} --x=1", "claude -p {prompt} --x=1");
    prints("a\\ b '' \"it's $5\" '-'", "'a b' '' \"it's \\$5\" '-'");
    prints("'[' x", "'[' x");
    prints("'two\nlines' x", "[\"two\\nlines\",\"x\"]");
    prints("\xc3\xa9", "'\xc3\xa9'");
    prints("", "");
}

/* Any words: they are printed on one line, which splits into the same words. */
FIXTURE_TEST(what_is_printed_splits_into_the_same) {
    static const char *const pieces[] = { "a", " ",        "'",  "\"", "\\", "$", "`",
                                          "[", "]",        "\n", "\t", "{",  "#", "~",
                                          "-", "\xc3\xa9", ",",  "=",  "" };
    for (uint64_t seed = 0; seed < 20000; seed++) {
        struct rng rng = { seed };
        _cleanup_(arena_finish) struct arena arena = ARENA_INIT;
        _cleanup_(strbuf_finish) struct strbuf out = STRBUF_INIT, word = STRBUF_INIT;
        const char *items[5] = { NULL };
        struct words words = { .items = items, .count = rng_below(&rng, 5) }, again = { 0 };
        for (size_t i = 0; i < words.count; i++) {
            strbuf_clear(&word);
            for (uint64_t n = rng_below(&rng, 6); n > 0; n--)
                strbuf_puts(&word, pieces[rng_below(&rng, ARRAY_SIZE(pieces))]);
            items[i] = arena_strndup(&arena, strbuf_text(&word), word.length);
        }
        words_print(&words, &out);
        assert_null(strchr(strbuf_text(&out), '\n'));
        if (!words_split(strbuf_text(&out), &arena, &again))
            fail_msg("seed %d: cannot be read: %s", (int)seed, strbuf_text(&out));
        assert_int_equal(again.count, words.count);
        for (size_t i = 0; i < words.count; i++)
            assert_string_equal(again.items[i], words.items[i]);
    }
}

/* --- values ---------------------------------------------------------------------------------- */

FIXTURE_TEST(words_have_defaults_and_can_be_empty) {
    const char *const *words;
    assert_int_equal(config_words(config, "tasks.env", NULL, &words), 9);
    assert_string_equal(words[0], "PATH");
    assert_string_equal(words[8], "SHELL");
    assert_null(words[9]);
    assert_int_equal(config_words(config, "agents.A.command", "nobody", &words), 0);
    assert_null(words[0]);
    set("tasks.env", "");
    assert_int_equal(config_words(config, "tasks.env", NULL, &words), 0);
    set("preset", "loopr"); /* the defaults again */
    assert_int_equal(config_words(config, "tasks.env", NULL, &words), 9);
}

FIXTURE_TEST(words_live_as_long_as_the_config) {
    const char *const *first, *const *words;
    set("agents.a.command", "one two");
    assert_int_equal(config_words(config, "agents.A.command", "a", &first), 2);
    for (int i = 0; i < 1000; i++) {
        char text[32];
        (void)snprintf(text, sizeof(text), "word %d", i);
        set("agents.a.command", text);
    }
    set("agents.b.command", "'one'  \"two\""); /* the same words: the same list */
    assert_int_equal(config_words(config, "agents.A.command", "b", &words), 2);
    assert_ptr_equal(words, first);
    assert_string_equal(first[0], "one");
    assert_string_equal(first[1], "two");
}

FIXTURE_TEST(a_refused_list_changes_nothing) {
    const char *const *words;
    set("agents.a.command", "one two");
    refused("agents.a.command", "one 'two",
            "key 'agents.a.command': expected words (a list, or one text as for a shell), got "
            "'one 'two'");
    refused("agents.a.env", "A=1 1B=2",
            "key 'agents.a.env': expected words KEY=VALUE (a list, or one text as for a shell), "
            "got 'A=1 1B=2'");
    refused("tasks.env", "PATH A=1",
            "key 'tasks.env': expected names of variables (a list, or one text as for a shell), "
            "got 'PATH A=1'");
    assert_int_equal(config_words(config, "agents.A.command", "a", &words), 2);
}

FIXTURE_TEST(texts_are_checked_for_their_form) {
    assert_string_equal(config_text(config, "projects.P.prefix", "web"), "");
    set("projects.web.prefix", "w");
    set("projects.web.prefix", "Web4567890123456");
    assert_string_equal(config_text(config, "projects.P.prefix", "web"), "Web4567890123456");
    set("projects.web.prefix", "my-web-x4");
    static const char *const bad[] = { "",      "4web", "we-",       "-web",
                                       "we--b", "we-4", "w\xc3\xa9", "Web45678901234567",
                                       " w" };
    for (size_t i = 0; i < ARRAY_SIZE(bad); i++)
        assert_int_equal(config_set(config, "projects.web.prefix", bad[i], "test", NULL), -EINVAL);
    refused("projects.web.prefix", "we_b",
            "key 'projects.web.prefix': expected 1 to 16 letters, digits and hyphens, with a "
            "letter first and after "
            "each hyphen, got 'we_b'");
    set("projects.web.path", "/srv/my web");
    refused("projects.web.path", "srv",
            "key 'projects.web.path': expected an absolute path, got "
            "'srv'");
    refused("agents.a.adapter", "a b",
            "key 'agents.a.adapter': expected 1 to 64 letters, digits, hyphens and underscores, "
            "got 'a b'");
    set("store.url", "");
    set("store.url", "/srv/sluice.db");
    set("store.url", "postgresql://db/sluice?schema=a");
    /* Relative to the working directory of the daemon: it would be another store in another directory. */
    static const char *const nowhere[] = { "sluice.db", "?schema=a", "postgresql:sluice",
                                           "postgrsql://db/sluice", "/srv/a\nb" };
    for (size_t i = 0; i < ARRAY_SIZE(nowhere); i++)
        assert_int_equal(config_set(config, "store.url", nowhere[i], "test", NULL), -EINVAL);
    refused("store.url", "data/sluice.db",
            "key 'store.url': expected an absolute path, or postgresql://USER@HOST/DATABASE, got "
            "'data/sluice.db'");
}

FIXTURE_TEST(every_row_is_looked_up_by_its_pattern) {
    set("agents.claude.timeout_s", "90");
    set("agents.claude.prompt", "file");
    set("agents.claude.limiter", "anthropic");
    set("tasks.timeout_s", "3600");
    set("retention.days", "0.5");
    assert_int_equal(config_number(config, "agents.A.timeout_s", "claude"), SECONDS(90));
    assert_int_equal(config_number(config, "agents.A.timeout_s", "other"), SECONDS(3600));
    assert_int_equal(config_number(config, "tasks.idle_timeout_s", NULL), TIME_NEVER);
    assert_int_equal(config_number(config, "agents.A.prompt", "claude"), 2);
    assert_string_equal(config_text(config, "agents.A.prompt", "claude"), "file");
    assert_string_equal(config_text(config, "agents.A.prompt", "other"), "stdin");
    assert_string_equal(config_text(config, "agents.A.adapter", "other"), "plain");
    assert_string_equal(config_text(config, "agents.A.limiter", "claude"), "anthropic");
    assert_string_equal(config_text(config, "agents.A.limiter", "other"), "");
    assert_string_equal(config_text(config, "agents.A.stop_signal", NULL), "TERM");
    assert_int_equal(config_number(config, "retention.days", NULL), HOURS(12));
    assert_int_equal(config_number(config, "keys.keep_h", NULL), DAYS(1));
    assert_int_equal(config_number(config, "logs.tail_mb", NULL), 16);
    assert_int_equal(config_number(config, "limits.roots", NULL), UNLIMITED);
    assert_string_equal(config_text(config, "store.url", NULL), "");
    assert_string_equal(config_text(config, "executor.cgroup", NULL), "auto");
}

FIXTURE_TEST(known_agents_have_the_adapter_and_the_account_of_their_name) {
    assert_true(config_has_agent(config, "claude"));
    assert_int_equal(config_agent_count(config), 0); /* it is not configured */
    assert_string_equal(config_text(config, "agents.A.adapter", "codex"), "codex");
    assert_string_equal(config_text(config, "agents.A.limiter", "codex"), "codex");
    set("agents.codex.slots", "2");
    assert_string_equal(config_text(config, "agents.A.adapter", "codex"), "codex");
    set("agents.codex.limiter", "work");
    assert_string_equal(config_text(config, "agents.A.limiter", "codex"), "work");
    set("agents.gemini.command", "mine"); /* its output format is unknown */
    assert_string_equal(config_text(config, "agents.A.adapter", "gemini"), "plain");
    assert_string_equal(config_text(config, "agents.A.limiter", "gemini"), "");
    config_add_builtin_agent(config, "claude");
    config_add_builtin_agent(config, "nobody");
    assert_int_equal(config_agent_count(config), 3);
    assert_true(config_has_limiter(config, "claude"));
    assert_false(config_has_agent(config, "nobody"));
}

FIXTURE_TEST(explicit_values_are_distinguished_from_defaults) {
    assert_false(config_is_set(config, "prices.M.in", "gpt-5.1"));
    set("prices.gpt-5.1.in", "1.25");
    assert_true(config_is_set(config, "prices.M.in", "gpt-5.1"));
    assert_int_equal(config_number(config, "prices.M.in", "gpt-5.1"), 1250);
    assert_false(config_is_set(config, "prices.M.out", "gpt-5.1"));
}

FIXTURE_TEST(names_are_known_once_they_were_named) {
    set("preset", "loopr");
    assert_false(config_has_agent(config, "a"));
    assert_true(config_has_kind(config, "plan")); /* of the preset */
    set("agents.a.slots", "1");
    set("agents.b.slots", "1");
    set("limiters.l.max_running", "1");
    set("projects.p.weight", "1");
    assert_true(config_has_agent(config, "a"));
    assert_true(config_has_limiter(config, "l"));
    assert_true(config_has_project(config, "p"));
    assert_false(config_has_project(config, "a"));
    assert_false(config_has_kind(config, ""));
    assert_int_equal(config_agent_count(config), 2);
    assert_string_equal(config_agent_name(config, 1), "b");
    assert_int_equal(config_kind_count(config), 4);
    assert_string_equal(config_kind_name(config, 0), "plan");
    assert_int_equal(config_limiter_count(config), 1);
    assert_string_equal(config_limiter_name(config, 0), "l");
    assert_int_equal(config_project_count(config), 1);
    assert_string_equal(config_project_name(config, 0), "p");
}

FIXTURE_TEST(gastown_gives_a_launch_five_minutes) {
    assert_int_equal(config_number(config, "tasks.launch_s", NULL), SECONDS(60));
    set("preset", "gastown");
    assert_int_equal(config_number(config, "tasks.launch_s", NULL), SECONDS(300));
}

/* --- showing --------------------------------------------------------------------------------- */

static void shown(const char *key, bool json, const char *part) {
    _cleanup_(strbuf_finish) struct strbuf out = STRBUF_INIT;
    assert_int_equal(config_explain(config, key, json, &out, NULL), 0);
    if (!strstr(strbuf_text(&out), part))
        fail_msg("'%s' is not in:\n%s", part, strbuf_text(&out));
    strbuf_clear(&out);
    config_show(config, json, &out);
    if (!strstr(strbuf_text(&out), key))
        fail_msg("'%s' is not in:\n%s", key, strbuf_text(&out));
}

FIXTURE_TEST(texts_and_words_are_shown) {
    set("agents.a.command", "sh -c 'echo  x' {prompt}");
    set("projects.p.path", "/srv/web");
    shown("agents.a.command", false, "now:      sh -c 'echo  x' {prompt} (test)");
    shown("agents.a.command", true,
          "\"value\": [\n    \"sh\",\n    \"-c\",\n    \"echo  x\",\n    \"{prompt}\"\n  ],");
    shown("agents.a.env", false, "now:      none (default)");
    shown("agents.a.env", true, "\"value\": [],");
    shown("projects.p.path", false, "now:      /srv/web (test)");
    shown("projects.p.path", true, "\"value\": \"/srv/web\",");
    shown("projects.p.prefix", true, "\"value\": null,");
    shown("tasks.env", false, "default:  PATH HOME LANG LC_ALL TERM TZ USER LOGNAME SHELL");
}
