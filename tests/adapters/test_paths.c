/* test_paths.c: what agents need of the home directory, and that their settings are not among what they can write. */
#include <string.h>

#include "agent/agent.h"
#include "harness/test.h"

static const char *variable(void *ctx, const char *name) {
    const char *const *pair = ctx;
    return pair && strcmp(pair[0], name) == 0 ? pair[1] : NULL;
}

static const char *resolve(const char *name, const char *path, const char *cwd,
                           const char *const *pair) {
    static struct strbuf out;
    const struct agent_adapter *adapter = agent_adapter_find(name);
    const struct agent_path *one = agent_paths(adapter);
    while (one->path && strcmp(one->path, path) != 0)
        one++;
    if (!one->path)
        fail_msg("%s has no path '%s'", name, path);
    strbuf_clear(&out);
    const struct agent_path_context place = { "/home/me", cwd, variable, (void *)(uintptr_t)pair };
    agent_path_resolve(adapter, one, &place, &out);
    return strbuf_text(&out);
}

TEST(paths_are_in_the_home) {
    assert_string_equal(resolve("claude", ".claude.json", "/w", NULL), "/home/me/.claude.json");
    assert_string_equal(resolve("codex", ".codex/sessions", "/w", NULL),
                        "/home/me/.codex/sessions");
}

/* As Claude Code 2.1 calls the folder of its transcripts. */
TEST(a_folder_is_part_of_a_name) {
    static const char path[] = ".claude/projects/{cwd}";
    char deep[300] = "/";
    assert_string_equal(resolve("claude", path, "/root/.cache/my_work", NULL),
                        "/home/me/.claude/projects/-root--cache-my-work");
    memset(deep + 1, 'x', sizeof(deep) - 2);
    assert_string_equal(resolve("claude", path, deep, NULL), "/home/me/.claude/projects");
}

TEST(a_variable_moves_all_of_it) {
    static const char *const claude[] = { "CLAUDE_CONFIG_DIR", "/srv/c" };
    static const char *const codex[] = { "CODEX_HOME", "/srv/x" };
    assert_string_equal(resolve("claude", ".claude.json", "/w", claude), "/srv/c/.claude.json");
    assert_string_equal(resolve("claude", ".claude/settings.json", "/w", claude),
                        "/srv/c/settings.json");
    assert_string_equal(resolve("claude", ".claude/projects/{cwd}", "/w", claude),
                        "/srv/c/projects/-w");
    assert_string_equal(resolve("codex", ".codex/auth.json", "/w", codex), "/srv/x/auth.json");
    assert_string_equal(resolve("codex", ".codex/auth.json", "/w", claude),
                        "/home/me/.codex/auth.json");
}

static bool is_setting(const char *path) {
    static const char *const words[] = { "settings",   "config",      "hooks",   "mcp",
                                         "agents",     "commands",    "plugins", "skills",
                                         "extensions", ".claude.json" };
    for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
        if (strstr(path, words[i]))
            return true;
    return false;
}

TEST(settings_are_only_read) {
    unsigned seen = 0;
    for (size_t i = 0; agent_adapters[i]; i++)
        for (const struct agent_path *path = agent_paths(agent_adapters[i]); path->path; path++) {
            seen += is_setting(path->path);
            if (is_setting(path->path) && path->use != AGENT_PATH_READ)
                fail_msg("%s can write '%s'", agent_adapters[i]->name, path->path);
        }
    assert_true(seen > 10);
}

/* Codex cannot make a sandbox of its own inside another one when it is root. */
TEST(a_sandbox_around_it_is_enough) {
    static const char *const own[] = { "--sandbox", "read-only", NULL };
    struct agent_launch launch = { .is_boxed = true };
    _cleanup_(strbuf_finish) struct strbuf words = STRBUF_INIT;
    (void)agent_command(agent_adapter_find("codex"), &launch, &words);
    assert_non_null(memmem(words.text, words.length, "danger-full-access", 18));
    strbuf_clear(&words);
    launch.more = own;
    (void)agent_command(agent_adapter_find("codex"), &launch, &words);
    assert_null(memmem(words.text, words.length, "danger-full-access", 18));
    strbuf_clear(&words);
    launch = (struct agent_launch){ 0 };
    (void)agent_command(agent_adapter_find("codex"), &launch, &words);
    assert_non_null(memmem(words.text, words.length, "workspace-write", 15));
}
