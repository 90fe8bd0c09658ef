/* test_config_show.c: `config show` and the generated reference page.
 *
 * SOURCE_ROOT comes from the build. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/macros.h"
#include "base/strbuf.h"
#include "config/config.h"
#include "config/config_show.h"
#include "config/presets.h"
#include "config/settings.h"
#include "harness/test.h"
#include "os/files.h"

static struct config *config;
static struct strbuf out;

static int set_up(void **state) {
    (void)state;
    config = config_new();
    return 0;
}

static int tear_down(void **state) {
    (void)state;
    config = config_free(config);
    strbuf_finish(&out);
    return 0;
}

static void set(const char *key, const char *value) {
    struct error err = { 0 };
    if (config_set(config, key, value, "--set", &err) < 0)
        fail_msg("%s", err.text);
}

static void contains(const char *text) {
    if (!strstr(strbuf_text(&out), text))
        fail_msg("'%s' is not in:\n%s", text, strbuf_text(&out));
}

/* A line of the table; the column widths depend on the longest key. */
static void shows(const char *key, const char *value, const char *origin) {
    for (const char *line = strbuf_text(&out); *line; line += strcspn(line, "\n")) {
        line += *line == '\n';
        size_t length = strcspn(line, " \n");
        if (length != strlen(key) || memcmp(line, key, length) != 0)
            continue;
        const char *at = line + length + strspn(line + length, " ");
        size_t size = strlen(value);
        if (strncmp(at, value, size) == 0 && strncmp(at + size, "  ", 2) == 0) {
            at += size + strspn(at + size, " ");
            if (strncmp(at, origin, strlen(origin)) == 0 && at[strlen(origin)] == '\n')
                return;
        }
        break;
    }
    fail_msg("%s is not %s from %s:\n%s", key, value, origin, strbuf_text(&out));
}

/* ---- show ---- */

#define FIXTURE_TEST(name_) TEST_WITH(name_, set_up, tear_down)

FIXTURE_TEST(show_names_every_value_and_its_origin) {
    set("preset", "loopr");
    set("limits.roots", "3");
    set("projects.web.weight", "2.5");
    config_show(config, false, &out);
    shows("preset", "loopr", "--set");
    shows("limits.roots", "3", "--set");
    shows("limits.runs", "50", "preset loopr");
    shows("drain_s", "300", "default");
    shows("kinds.plan.max_running", "2", "preset loopr");
    shows("kinds.plan.until", "validate", "tasks.until");
    shows("projects.web.weight", "2.5", "--set");
    shows("projects.web.max_running", "unlimited", "default");
    for (size_t i = 0; i < settings_count; i++)
        if (settings[i].section == SECTION_ROOT)
            contains(settings[i].key);
}

FIXTURE_TEST(show_prints_the_value_of_auto) {
    set("preset", "agency");
    config_show(config, false, &out);
    contains("auto = 8 ");
    contains("auto = 16 ");
    strbuf_clear(&out);
    config_show(config, true, &out);
    contains("\"value\": \"auto\",\n      \"resolved\": 16,");
}

FIXTURE_TEST(show_as_json_has_typed_values) {
    set("pace.spawn_delay_s", "0.25");
    set("agents.claude.limiter", "anthropic");
    set("agents.plain.slots", "1");
    config_show(config, true, &out);
    contains("{\n  \"preset\": \"sluice\",\n  \"settings\": [");
    contains("\"key\": \"limits.runs\",\n      \"value\": 8,\n      \"origin\": \"default\"");
    contains("\"key\": \"limits.roots\",\n      \"value\": \"unlimited\",");
    contains("\"key\": \"pace.spawn_delay_s\",\n      \"value\": 0.25,");
    contains("\"key\": \"limiter.probe\",\n      \"value\": true,");
    contains("\"key\": \"order\",\n      \"value\": [\n        \"guarantee\",");
    contains("\"key\": \"agents.claude.limiter\",\n      \"value\": \"anthropic\",");
    contains("\"key\": \"agents.plain.limiter\",\n      \"value\": null,");
}

/* The output of `show` can be read again and gives the same values. */
FIXTURE_TEST(every_shown_value_can_be_set) {
    for (size_t i = 0; i < presets_count; i++) {
        _cleanup_(strbuf_finish) struct strbuf shown = STRBUF_INIT;
        set("preset", presets[i].name);
        config_show(config, false, &shown);
        for (char *rest = NULL, *line = strtok_r(shown.text, "\n", &rest); line;
             line = strtok_r(NULL, "\n", &rest)) {
            char *value = strchr(line, ' ') + strspn(strchr(line, ' '), " ");
            line[strcspn(line, " ")] = '\0';
            char *end = strstr(value, "  ");
            if (strncmp(value, "auto", 4) == 0)
                end = value + 4;
            *end = '\0';
            if (strcmp(line, "preset") != 0)
                set(line, strcmp(value, "-") == 0 ? "" : value); /* nothing is shown so */
        }
        struct config *fresh = config_new();
        assert_int_equal(config_set(fresh, "preset", presets[i].name, "--set", NULL), 0);
        assert_int_equal(config_policy(fresh)->runs, config_policy(config)->runs);
        assert_int_equal(config_policy(fresh)->order, config_policy(config)->order);
        assert_int_equal(config_policy(fresh)->queue.hard, config_policy(config)->queue.hard);
        assert_int_equal(config_policy(fresh)->retry[RETRY_FAILED].jitter_milli,
                         config_policy(config)->retry[RETRY_FAILED].jitter_milli);
        config_free(fresh);
    }
}

/* ---- explain ---- */

FIXTURE_TEST(explain_describes_one_key) {
    set("limits.runs", "3");
    assert_int_equal(config_explain(config, "limits.runs", false, &out, NULL), 0);
    assert_string_equal(strbuf_text(&out),
                        "limits.runs\n"
                        "  Maximum number of concurrent runs; unlimited also disables `pace`.\n"
                        "\n"
                        "  value:    a whole number from 0 to 1000000000 or unlimited\n"
                        "  default:  8\n"
                        "  now:      3 (--set)\n"
                        "\n"
                        "  in the presets:\n"
                        "    sluice       8\n"
                        "    loopr        50\n"
                        "    conductor    unlimited\n"
                        "    gastown      unlimited\n"
                        "    agency       1\n"
                        "    agent-queue  unlimited\n");
}

FIXTURE_TEST(explain_knows_names_and_patterns) {
    assert_int_equal(config_explain(config, "kinds.plan.max_running", false, &out, NULL), 0);
    contains("kinds.plan.max_running\n");
    contains("now:      unlimited (default)");
    contains("loopr        2\n");
    strbuf_clear(&out);
    assert_int_equal(config_explain(config, "kinds.K.max_running", false, &out, NULL), 0);
    contains("loopr        plan 2, spec 5, phase 20, ralph 50\n");
    assert_null(strstr(strbuf_text(&out), "now:"));
    strbuf_clear(&out);
    assert_int_equal(config_explain(config, "kinds.K.base", false, &out, NULL), 0);
    contains("default:  as score.base");
    strbuf_clear(&out);
    assert_int_equal(config_explain(config, "agents.bot.limiter", false, &out, NULL), 0);
    contains("now:      none (default)");
}

FIXTURE_TEST(explain_as_json) {
    assert_int_equal(config_explain(config, "limits.runs", true, &out, NULL), 0);
    contains("\"key\": \"limits.runs\",");
    contains("\"value\": 8,\n  \"origin\": \"default\",");
    contains("\"presets\": {\n    \"sluice\": \"8\",\n    \"loopr\": \"50\",");
}

FIXTURE_TEST(explain_refuses_unknown_keys) {
    struct error err = { 0 };
    assert_int_equal(config_explain(config, "limits.rnus", false, &out, &err), -EINVAL);
    assert_string_equal(err.text, "unknown key 'limits.rnus'; did you mean 'limits.runs'?");
    assert_int_equal(config_explain(config, "colour", false, &out, &err), -EINVAL);
    assert_string_equal(err.text, "unknown key 'colour'; 'sluice config keys' lists them");
    assert_int_equal(config_explain(config, "kinds..base", false, &out, &err), -EINVAL);
    assert_int_equal(config_explain(config, "limits", false, &out, &err), -EINVAL);
    assert_int_equal(out.length, 0);
}

FIXTURE_TEST(every_key_can_be_explained) {
    for (size_t i = 0; i < settings_count; i++) {
        strbuf_clear(&out);
        assert_int_equal(config_explain(config, settings[i].key, i % 2, &out, NULL), 0);
        contains(settings[i].key);
    }
}

/* ---- lists ---- */

FIXTURE_TEST(keys_lists_every_key) {
    config_keys(false, &out);
    for (size_t i = 0; i < settings_count; i++)
        contains(settings[i].text);
    strbuf_clear(&out);
    config_keys(true, &out);
    contains("\"key\": \"kinds.K.base\",");
}

FIXTURE_TEST(the_page_is_what_the_table_says) {
    _cleanup_(strbuf_finish) struct strbuf page = STRBUF_INIT;
    struct error err = { 0 };
    if (file_read(SOURCE_ROOT "/docs/reference/settings.md", 1u << 20, &page, &err) < 0)
        fail_msg("%s", err.text);
    config_reference(&out);
    if (strcmp(strbuf_text(&page), strbuf_text(&out)) != 0)
        fail_msg("docs/reference/settings.md is old; run: sluice config reference > "
                 "docs/reference/settings.md");
}
