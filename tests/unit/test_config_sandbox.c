/* test_config_sandbox.c: which setting decides the sandbox of a run. */
#include <string.h>

#include "base/strbuf.h"
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

static void expect(const char *project, const char *agent, const char *wanted) {
    const char *const *wrap;
    assert_string_equal(config_sandbox(config, project, agent, &wrap), wanted);
    assert_int_equal(wrap != NULL, strcmp(wanted, "wrap") == 0);
}

#define EACH(name_) TEST_WITH(name_, set_up, tear_down)

EACH(it_is_automatic) {
    expect("web", "claude", "auto");
    expect(NULL, NULL, "auto");
    assert_true(config_sandbox_network(config, "web", "claude"));
    assert_string_equal(config_sandbox_image(config, "web", NULL), "");
}

EACH(project_goes_before_agent_goes_before_all) {
    set("tasks.sandbox", "none");
    expect("web", "claude", "none");
    set("agents.claude.sandbox", "bubblewrap");
    expect("web", "claude", "bubblewrap");
    expect("web", "codex", "none");
    set("projects.web.sandbox", "podman");
    expect("web", "claude", "podman");
    expect("db", "claude", "bubblewrap");
    set("projects.web.sandbox", "auto"); /* set explicitly, so it counts */
    expect("web", "claude", "auto");
}

EACH(a_program_of_its_own_is_the_stronger_word_of_the_same_place) {
    const char *const *wrap;
    set("agents.claude.sandbox", "none");
    set("agents.claude.wrap", "firejail --quiet");
    expect("web", "claude", "wrap");
    assert_string_equal(config_sandbox(config, "web", "claude", &wrap), "wrap");
    assert_string_equal(wrap[0], "firejail");
    assert_string_equal(wrap[1], "--quiet");
    assert_null(wrap[2]);
    set("projects.web.sandbox", "bubblewrap");
    expect("web", "claude", "bubblewrap");
}

EACH(the_network_has_the_same_order) {
    set("agents.claude.sandbox_network", "off");
    assert_false(config_sandbox_network(config, "web", "claude"));
    assert_true(config_sandbox_network(config, "web", "codex"));
    set("projects.web.sandbox_network", "on");
    assert_true(config_sandbox_network(config, "web", "claude"));
    set("tasks.sandbox_image", "debian");
    set("projects.web.sandbox_image", "node");
    assert_string_equal(config_sandbox_image(config, "web", "claude"), "node");
    assert_string_equal(config_sandbox_image(config, NULL, "claude"), "debian");
}

static void put(void *ctx, const char *path) {
    strbuf_printf(ctx, "%s;", path);
}

EACH(lists_are_added_up) {
    _cleanup_(strbuf_finish) struct strbuf all = STRBUF_INIT;
    set("tasks.sandbox_read", "/opt/a");
    set("agents.claude.sandbox_read", "~/b .cache");
    set("projects.web.sandbox_read", "/srv/c");
    set("projects.web.sandbox_write", "/srv/d");
    config_sandbox_paths(config, "read", "web", "claude", put, &all);
    assert_string_equal(strbuf_text(&all), "/srv/c;~/b;.cache;/opt/a;");
    strbuf_clear(&all);
    config_sandbox_paths(config, "read", "db", NULL, put, &all);
    assert_string_equal(strbuf_text(&all), "/opt/a;");
    strbuf_clear(&all);
    config_sandbox_paths(config, "write", "web", NULL, put, &all);
    assert_string_equal(strbuf_text(&all), "/srv/d;");
}

EACH(paths_lead_nowhere_else) {
    static const char *const bad[] = { "/", "..", "../x", "/a/../b", "~/.." };
    struct error err = { 0 };
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
        if (config_set(config, "tasks.sandbox_write", bad[i], "test", &err) == 0)
            fail_msg("'%s' is taken", bad[i]);
    set("tasks.sandbox_write", "a..b ~/x /y");
}
