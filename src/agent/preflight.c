/* preflight.c: what is there after a login, and what each agent may do. */
#include "agent/preflight.h"

#include <string.h>

#include "agent/reader_internal.h"
#include "base/macros.h"

#define LIST(...)  ((const char *const[]){ __VA_ARGS__, NULL })
#define WORDS(...) ((const struct agent_login_words[]){ __VA_ARGS__, { NULL, NULL } })

#define CLAUDE_VARIABLES                                                                           \
    "ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN", "CLAUDE_CODE_OAUTH_TOKEN",                        \
        "CLAUDE_CODE_USE_BEDROCK", "CLAUDE_CODE_USE_VERTEX"

static const struct agent_preflight rows[] = {
    {
        .adapter = "claude",
        .login_files = LIST(".claude/.credentials.json"),
        .login_variables = LIST(CLAUDE_VARIABLES),
        .settings = WORDS({ ".claude/settings.json", LIST("\"apiKeyHelper\"", CLAUDE_VARIABLES) }),
        .login = "run 'claude' once and log in, or put a key into agents.claude.env_file",
        .may = AGENT_MAY_EDIT,
        .may_sandboxed = AGENT_MAY_WORK,
        .allow = "agents.claude.args=\"--allowedTools=Bash\"",
        .allowed = WORDS({ ".claude/settings.json", LIST("\"Bash\"", "bypassPermissions") }),
    },
    {
        .adapter = "codex",
        .login_files = LIST(".codex/auth.json"),
        .login_variables = LIST("CODEX_API_KEY", "OPENAI_API_KEY"),
        .settings = WORDS({ ".codex/config.toml", LIST("experimental_bearer_token", "env_key") }),
        .login = "run 'codex login', or put a key into agents.codex.env_file",
        .may = AGENT_MAY_WORK,
        .may_sandboxed = AGENT_MAY_WORK,
    },
    {
        .adapter = "copilot",
        .login_files = LIST(".config/gh/hosts.yml", ".config/github-copilot/apps.json",
                            ".config/github-copilot/hosts.json"),
        .login_variables =
            LIST("COPILOT_GITHUB_TOKEN", "GH_TOKEN", "GITHUB_TOKEN", "COPILOT_PROVIDER_BASE_URL"),
        .settings = WORDS({ ".copilot/config.json", LIST("logged_in_users", "copilot_tokens") }),
        .login_elsewhere = true,
        .login = "run 'copilot' once and log in, or put a token into agents.copilot.env_file",
        .may = AGENT_MAY_WORK,
        .may_sandboxed = AGENT_MAY_WORK,
    },
    {
        .adapter = "gemini",
        .login_files = LIST(".gemini/oauth_creds.json"),
        .login_variables = LIST("GEMINI_API_KEY", "GOOGLE_API_KEY", "GOOGLE_GENAI_USE_VERTEXAI"),
        .settings = WORDS({ ".gemini/.env", LIST("GEMINI_API_KEY", "GOOGLE_API_KEY") }),
        .login = "run 'gemini' once and log in, or put a key into agents.gemini.env_file",
        .may = AGENT_MAY_EDIT,
        .may_sandboxed = AGENT_MAY_EDIT,
        .allow = "agents.gemini.args=\"--approval-mode yolo\"",
    },
    {
        .adapter = "opencode",
        .login_files = LIST(".local/share/opencode/auth.json"),
        .login_variables =
            LIST("ANTHROPIC_API_KEY", "OPENAI_API_KEY", "OPENROUTER_API_KEY", "GEMINI_API_KEY"),
        .settings = WORDS({ ".config/opencode/opencode.json", LIST("apiKey", "baseURL") },
                          { ".config/opencode/opencode.jsonc", LIST("apiKey", "baseURL") }),
        .login_elsewhere = true,
        .login = "run 'opencode auth login', or put a key into agents.opencode.env_file",
        .may = AGENT_MAY_AS_SET,
        .may_sandboxed = AGENT_MAY_AS_SET,
    },
};

const struct agent_preflight *agent_preflight(const struct agent_adapter *adapter) {
    for (size_t i = 0; adapter && i < ARRAY_SIZE(rows); i++)
        if (strcmp(rows[i].adapter, adapter->name) == 0)
            return &rows[i];
    return NULL;
}

static bool is_option(const char *word, const char *const *options) {
    for (; options && *options; options++) {
        size_t length = strlen(*options);
        if (strncmp(word, *options, length) == 0 && (word[length] == '\0' || word[length] == '='))
            return true;
    }
    return false;
}

enum agent_may agent_may(const struct agent_adapter *adapter, const char *const *more,
                         bool is_sandboxed) {
    const struct agent_preflight *row = agent_preflight(adapter);
    if (!row)
        return AGENT_MAY_AS_SET;
    for (; more && *more; more++)
        if (is_option(*more, adapter->instead) || is_option(*more, adapter->tools_instead))
            return AGENT_MAY_AS_SET;
    return is_sandboxed ? row->may_sandboxed : row->may;
}
