/* builtin.c: agents that need no configuration.
 *
 * They are defaults of their names, and not rows of a preset: an agent of which nobody speaks costs nothing and is
 * shown nowhere, and one line about it in a file (its slots, its model) does not make it another. One that
 * has a command of its own is only a name: what that prints nobody can know. */
#include <string.h>

#include "agent/agent.h"
#include "config/config_internal.h"

/* Each is the name of its adapter and of its account, too. So that a const config knows their symbols. */
void builtin_init(struct config *config) {
    const char *name;
    for (size_t i = 0; (name = agent_builtin(i)); i++)
        (void)symbol_intern(&config->texts, name, strlen(name));
}

bool builtin_value(const struct config *config, const struct setting *setting, const char *name,
                   int64_t *ret_value) {
    bool differs = setting->section == SECTION_AGENTS
                   && (strcmp(setting->key, "agents.A.adapter") == 0
                       || strcmp(setting->key, "agents.A.limiter") == 0);
    if (!differs || !agent_is_builtin(name) || config_is_set(config, "agents.A.command", name))
        return false;
    *ret_value = symbol_find(&config->texts, name, strlen(name));
    return true;
}

void config_know_agent(struct config *config, const char *name) {
    if (!agent_is_builtin(name))
        return;
    config_add_name(config, SECTION_AGENTS, name);
    const char *limiter = config_text(config, "agents.A.limiter", name);
    if (*limiter)
        config_add_name(config, SECTION_LIMITERS, limiter);
}
