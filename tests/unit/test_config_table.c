/* test_config_table.c: checks every row of the settings table.
 *
 * The tests walk over the table, so a new row needs no new test. */
#include <ctype.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/macros.h"
#include "base/strbuf.h"
#include "base/time_ms.h"
#include "config/config.h"
#include "config/presets.h"
#include "config/settings.h"
#include "core/model.h"
#include "harness/test.h"

static bool is_number(const struct setting *s) {
    return s->type == SETTING_CAP || s->type == SETTING_WHOLE || s->type == SETTING_SPAN
           || s->type == SETTING_SIZE || s->type == SETTING_DECIMAL || s->type == SETTING_MONEY;
}

/* The value as text, whether or not it is in range. */
static void print(const struct setting *s, int64_t value, struct strbuf *out) {
    strbuf_clear(out);
    setting_print(s, value, out);
}

/* The key of a row, with the name "web" if it needs one. */
static void key_of(const struct setting *s, struct strbuf *out) {
    strbuf_clear(out);
    for (const char *c = s->key; *c; c++)
        if (isupper((unsigned char)*c))
            strbuf_puts(out, "web");
        else
            strbuf_putc(out, *c);
}

static int set(const struct setting *s, const char *value) {
    _cleanup_(strbuf_finish) struct strbuf key = STRBUF_INIT;
    key_of(s, &key);
    struct config *config = config_new();
    int r = config_set(config, strbuf_text(&key), value, "test", NULL);
    config_free(config);
    return r;
}

/* ---- every row ---- */

TEST(every_row_is_complete) {
    for (size_t i = 0; i < settings_count; i++) {
        const struct setting *s = &settings[i];
        assert_non_null(s->key);
        assert_non_null(s->text);
        assert_int_equal(s->text[strlen(s->text) - 1], '.');
        assert_true(isupper((unsigned char)s->text[0]) || s->text[0] == '`');
        assert_true((s->standard == NULL) != (s->inherits == NULL));
        if (s->inherits) {
            assert_non_null(settings_row(s->inherits));
            assert_int_equal(settings_row(s->inherits)->type, s->type);
            assert_int_equal(settings_row(s->inherits)->section, SECTION_ROOT);
        }
        if (is_number(s))
            assert_true(s->min < s->max);
        if (s->type == SETTING_CHOICE)
            assert_non_null(s->choices);
    }
}

TEST(every_key_stands_once_and_sections_stand_together) {
    size_t rows = 0;
    for (int section = 0; section < SECTION_MAX; section++) {
        size_t first;
        rows += settings_of((enum setting_section)section, &first);
    }
    assert_int_equal(rows, settings_count);
    for (size_t i = 0; i < settings_count; i++)
        assert_ptr_equal(settings_row(settings[i].key), &settings[i]);
}

/* Settings accept the same forms as task files and options: times and sizes with a unit, money with a sign. */
TEST(every_row_with_a_unit_takes_every_spelling) {
    static const struct {
        enum setting_type type;
        const char *text;
        int64_t value; /* as stored; SIZE: MB of a key in MB */
    } spellings[] = {
        { SETTING_SPAN, "5400s", MINUTES(90) }, { SETTING_SPAN, "90m", MINUTES(90) },
        { SETTING_SPAN, "1.5h", MINUTES(90) },  { SETTING_SPAN, "2d", DAYS(2) },
        { SETTING_SIZE, "2048MB", 2048 },       { SETTING_SIZE, "2GB", 2048 },
        { SETTING_SIZE, "2G", 2048 },           { SETTING_MONEY, "$2.50", 2500000 },
        { SETTING_MONEY, "2.50", 2500000 },
    };
    for (size_t i = 0; i < settings_count; i++)
        for (size_t k = 0; k < ARRAY_SIZE(spellings); k++) {
            const struct setting *s = &settings[i];
            int64_t value = 0, wanted = spellings[k].value;
            if (s->type == SETTING_SIZE && s->unit) /* a GB of a key in GB is 1000 */
                wanted = wanted * s->unit / 1024;
            if (s->type != spellings[k].type || wanted < s->min || wanted > s->max)
                continue;
            if (!setting_parse(s, spellings[k].text, &value) || value != wanted)
                fail_msg("%s: '%s' is not accepted", s->key, spellings[k].text);
        }
}

TEST(prices_take_a_dollar_sign) {
    static const char *const keys[] = { "prices.M.in", "prices.M.out", "prices.M.cached" };
    for (size_t i = 0; i < ARRAY_SIZE(keys); i++) {
        int64_t value = 0;
        assert_true(setting_parse(settings_row(keys[i]), "$2.50", &value));
        assert_int_equal(value, 2500);
        assert_false(setting_parse(settings_row(keys[i]), "$-2.50", &value));
        assert_false(setting_parse(settings_row(keys[i]), "$$2", &value));
    }
    int64_t value = 0;
    assert_false(setting_parse(settings_row("projects.P.weight"), "$2", &value));
}

static bool same_group(const struct setting *a, const struct setting *b) {
    size_t length = strcspn(a->key, ".");
    return a->section == b->section && strcspn(b->key, ".") == length
           && strncmp(a->key, b->key, length) == 0;
}

/* `config show` prints the rows in table order: all rows about retries are adjacent. */
TEST(groups_stand_together) {
    for (size_t i = 0; i < settings_count; i++) {
        size_t end = i + 1;
        while (end < settings_count && same_group(&settings[i], &settings[end]))
            end++;
        for (size_t k = end; strchr(settings[i].key, '.') && k < settings_count; k++)
            if (same_group(&settings[i], &settings[k]))
                fail_msg("put the row of '%s' beside '%s': other groups stand between them",
                         settings[k].key, settings[i].key);
    }
}

TEST(every_key_is_found_again) {
    _cleanup_(strbuf_finish) struct strbuf key = STRBUF_INIT;
    for (size_t i = 0; i < settings_count; i++) {
        key_of(&settings[i], &key);
        struct setting_key found = settings_match(strbuf_text(&key), NULL);
        assert_int_equal(found.match, MATCH_SETTING);
        assert_ptr_equal(found.setting, &settings[i]);
        assert_int_equal(found.name_length, settings[i].section == SECTION_ROOT ? 0 : 3);
    }
}

TEST(every_default_is_a_value_of_its_row) {
    for (size_t i = 0; i < settings_count; i++) {
        const struct setting *s = &settings[i];
        int64_t value;
        if (!s->standard || setting_is_symbol(s))
            continue; /* config_new reports the first bad default of these */
        assert_true(setting_parse(s, s->standard, &value));
        _cleanup_(strbuf_finish) struct strbuf text = STRBUF_INIT;
        print(s, value, &text);
        assert_string_equal(strbuf_text(&text), s->standard);
    }
}

TEST(every_row_takes_its_limits) {
    _cleanup_(strbuf_finish) struct strbuf text = STRBUF_INIT;
    for (size_t i = 0; i < settings_count; i++) {
        const struct setting *s = &settings[i];
        int64_t limits[] = { s->min, s->max };
        for (size_t k = 0; is_number(s) && k < ARRAY_SIZE(limits); k++) {
            int64_t value;
            print(s, limits[k], &text);
            assert_true(setting_parse(s, strbuf_text(&text), &value));
            assert_int_equal(value, limits[k]);
            assert_int_equal(set(s, strbuf_text(&text)), 0);
        }
    }
}

TEST(every_row_refuses_what_is_beyond_its_limits) {
    _cleanup_(strbuf_finish) struct strbuf text = STRBUF_INIT;
    for (size_t i = 0; i < settings_count; i++) {
        const struct setting *s = &settings[i];
        int64_t step = s->unit > 1000 ? s->unit / 1000 : 1; /* the smallest that can be written */
        int64_t beyond[] = { s->min - step, s->max + step };
        for (size_t k = 0; is_number(s) && k < ARRAY_SIZE(beyond); k++) {
            if (s->flags & SETTING_OR_AUTO && beyond[k] == SETTING_AUTO)
                continue; /* prints as `auto`; -1 is in the list below */
            print(s, beyond[k], &text);
            assert_true(set(s, strbuf_text(&text)) < 0);
        }
        assert_true(!is_number(s) || s->min < 0 || set(s, "-1") < 0);
    }
}

TEST(every_row_refuses_junk) {
    static const char *const junk[] = {
        "",
        " ",
        "x",
        "1x",
        "0x10",
        "1e3",
        "1_000",
        "--1",
        "1,5",
        "nan",
        "Unlimited",
        "TRUE",
        "99999999999999999999",
        "-99999999999999999999",
        "1.2345678",
        ".5",
        "5.",
        "\x01",
        "seq,seq",
    };
    for (size_t i = 0; i < settings_count; i++)
        for (size_t k = 0; !setting_is_symbol(&settings[i]) && k < ARRAY_SIZE(junk); k++)
            assert_true(set(&settings[i], junk[k]) < 0);
}

TEST(words_are_taken_where_the_row_says_so) {
    for (size_t i = 0; i < settings_count; i++) {
        const struct setting *s = &settings[i];
        if (setting_is_symbol(s))
            continue;
        assert_int_equal(set(s, "unlimited") == 0,
                         s->type == SETTING_CAP || s->type == SETTING_MONEY);
        if (s->type != SETTING_CHOICE) {
            assert_int_equal(set(s, "never") == 0, (s->flags & SETTING_OR_NEVER) != 0);
            assert_int_equal(set(s, "auto") == 0, (s->flags & SETTING_OR_AUTO) != 0);
        }
        assert_int_equal(set(s, "true") == 0, s->type == SETTING_BOOLEAN);
        assert_int_equal(set(s, "false") == 0, s->type == SETTING_BOOLEAN);
        for (int c = 0; s->type == SETTING_CHOICE && s->choices[c]; c++)
            assert_int_equal(set(s, s->choices[c]), 0);
    }
}

/* The spellings that a task accepts. */
TEST(spans_sizes_and_money_may_have_units) {
    for (size_t i = 0; i < settings_count; i++) {
        const struct setting *s = &settings[i];
        if (setting_is_symbol(s))
            continue;
        assert_int_equal(set(s, "1d") == 0, s->type == SETTING_SPAN);
        assert_int_equal(set(s, "1.5GB") == 0, s->type == SETTING_SIZE);
        assert_int_equal(set(s, "$2.50") == 0,
                         s->type == SETTING_MONEY || (s->flags & SETTING_DOLLARS) != 0);
    }
    int64_t plain = 0, spelled = 1;
    assert_true(setting_parse(settings_row("host.disk_free_gb"), "5", &plain)
                && setting_parse(settings_row("host.disk_free_gb"), "5GB", &spelled));
    assert_int_equal(plain, spelled);
}

TEST(every_row_says_what_it_expects) {
    for (size_t i = 0; i < settings_count; i++) {
        _cleanup_(strbuf_finish) struct strbuf text = STRBUF_INIT;
        setting_expected(&settings[i], &text);
        assert_true(text.length > 0 && text.length < 160);
    }
}

TEST(texts_and_words_refuse_other_types) {
    static const char *const junk[] = { "\xff", "a\xc3", "\x7f\xc2\x85" };
    for (size_t i = 0; i < settings_count; i++)
        for (size_t k = 0; k < ARRAY_SIZE(junk); k++)
            if (settings[i].type == SETTING_TEXT || settings[i].type == SETTING_WORDS)
                assert_true(set(&settings[i], junk[k]) < 0);
}

/* ---- words that come from elsewhere ---- */

TEST(choices_are_in_the_order_of_the_core) {
    const struct setting *until = settings_row("tasks.until");
    for (int i = 0; i < UNTIL_MAX; i++)
        assert_string_equal(until->choices[i], until_name((enum until)i));
    assert_null(until->choices[UNTIL_MAX]);
    const struct setting *gate = settings_row("tasks.parent_gate");
    for (int i = 0; i < PARENT_GATE_MAX; i++)
        assert_string_equal(gate->choices[i], parent_gate_name((enum parent_gate)i));
    assert_null(gate->choices[PARENT_GATE_MAX]);
    const struct setting *preset = settings_row("preset");
    for (size_t i = 0; i < presets_count; i++)
        assert_string_equal(preset->choices[i], presets[i].name);
    assert_null(preset->choices[presets_count]);
}

TEST(classes_of_retry_are_those_of_the_core) {
    for (int i = 0; i < RETRY_CLASS_MAX; i++) {
        char key[64];
        (void)snprintf(key, sizeof(key), "retry.%s.delay_s", retry_class_name((enum retry_class)i));
        assert_non_null(settings_row(key));
    }
}

static void assert_keys(const char *const *keys, size_t count) {
    for (size_t i = 0; i < count; i++)
        assert_non_null(settings_row(keys[i]));
}

TEST(f138_priority_keys_exist) {
    static const char *const keys[] = {
        "kinds.K.base",    "score.age_per_minute", "score.age_max",
        "score.per_depth", "score.per_retry",      "score.retry_max"
    };
    assert_keys(keys, ARRAY_SIZE(keys));
}

TEST(f139_limit_keys_exist) {
    static const char *const keys[] = { "limits.runs", "limits.roots", "limiter.max_running",
                                        "limiters.L.max_running", "kinds.K.max_running" };
    assert_keys(keys, ARRAY_SIZE(keys));
}

TEST(f140_retry_and_queue_keys_exist) {
    static const char *const keys[] = { "queue.soft",
                                        "queue.hard",
                                        "retry.failed.max",
                                        "retry.failed.delay_s",
                                        "retry.failed.factor",
                                        "retry.failed.cap_s",
                                        "lost" };
    assert_keys(keys, ARRAY_SIZE(keys));
}

/* ---- keys ---- */

static void assert_match(const char *key, enum setting_match match, const char *name) {
    struct setting_key found = settings_match(key, NULL);
    assert_int_equal(found.match, match);
    if (name) {
        assert_int_equal(found.name_length, strlen(name));
        assert_memory_equal(found.name, name, strlen(name));
    }
}

TEST(names_may_contain_dots) {
    assert_match("limiters.me@example.com.max_s", MATCH_SETTING, "me@example.com");
    assert_match("agents.gpt-4.1.slots", MATCH_SETTING, "gpt-4.1");
    assert_match("limits.resource.a.b", MATCH_SETTING, "a.b");
    assert_match("projects.weight.weight", MATCH_SETTING, "weight");
}

TEST(parts_of_keys_are_not_keys) {
    assert_match("limits", MATCH_ABOVE, NULL);
    assert_match("retry.failed", MATCH_ABOVE, NULL);
    assert_match("limits.resource", MATCH_ABOVE, NULL);
    assert_match("projects", MATCH_ABOVE, NULL);
    assert_match("limit", MATCH_NOTHING, NULL);
    assert_match("projects.web", MATCH_NOTHING, NULL); /* a level of a file may be a name */
    assert_match("", MATCH_NOTHING, NULL);
    assert_match(".", MATCH_NOTHING, NULL);
    assert_match("limits.", MATCH_NOTHING, NULL);
    assert_match("limits.runs.", MATCH_NOTHING, NULL);
    assert_match("kinds..base", MATCH_SETTING, ""); /* its name is refused later */
}

TEST(in_a_file_a_name_is_one_level) {
    struct setting_joints nested = { .at = { 8, 12 }, .count = 2 };
    assert_int_equal(settings_match("projects.web.weight", &nested).match, MATCH_SETTING);
    struct setting_joints deeper = { .at = { 8, 12, 19 }, .count = 3 };
    assert_int_equal(settings_match("projects.web.limits.weight", &deeper).match, MATCH_NOTHING);
    struct setting_joints name = { .at = { 8 }, .count = 1 };
    assert_int_equal(settings_match("projects.example.com", &name).match, MATCH_NAME);
}

static void assert_suggestion(const char *key, const char *expected) {
    _cleanup_(strbuf_finish) struct strbuf out = STRBUF_INIT;
    assert_int_equal(settings_suggest(key, &out), expected != NULL);
    assert_string_equal(strbuf_text(&out), expected ? expected : "");
}

TEST(typing_errors_find_the_key_that_was_meant) {
    assert_suggestion("limts.runs", "limits.runs");
    assert_suggestion("limits.rusn", "limits.runs");
    assert_suggestion("kinds.plan.max_runing", "kinds.plan.max_running");
    assert_suggestion("kind.plan.base", "kinds.plan.base");
    assert_suggestion("limits.resources.gpu", "limits.resource.gpu");
    assert_suggestion("max_wait", "max_wait_s");
    assert_suggestion("runs", "limits.runs");
    assert_suggestion("until", "tasks.until");
    assert_suggestion("colour", NULL);
    assert_suggestion("", NULL);
}
