/* sandbox_choice.c: see sandbox_choice.h. */
#include "config/sandbox_choice.h"

#include <stdio.h>
#include <string.h>

#include "base/macros.h"

#define PLACES  3
#define KEY_MAX 48

/* The places that may say something, the strongest first; `name` NULL: there is none of it. */
struct places {
    struct {
        const char *prefix, *name;
        bool there;
    } at[PLACES];
};

static struct places places_of(const char *project, const char *agent) {
    return (struct places){ {
        { "projects.P", project, project != NULL },
        { "agents.A", agent, agent != NULL },
        { "tasks", NULL, true },
    } };
}

static const char *key_of(const struct places *places, size_t index, const char *member,
                          char key[KEY_MAX]) {
    (void)snprintf(key, KEY_MAX, "%s.%s", places->at[index].prefix, member);
    return key;
}

const char *config_sandbox(const struct config *config, const char *project, const char *agent,
                           const char *const **ret_wrap) {
    struct places places = places_of(project, agent);
    char key[KEY_MAX];
    *ret_wrap = NULL;
    for (size_t i = 0; i < PLACES; i++) {
        const char *name = places.at[i].name;
        const char *const *words = NULL;
        if (!places.at[i].there)
            continue;
        if (config_words(config, key_of(&places, i, "wrap", key), name, &words) > 0) {
            *ret_wrap = words;
            return "wrap";
        }
        if (!name || config_is_set(config, key_of(&places, i, "sandbox", key), name))
            return config_text(config, key_of(&places, i, "sandbox", key), name);
    }
    return "none"; /* `tasks` says something */
}

/* Of the first place that has it set; else of `tasks`. */
static const char *text_of(const struct config *config, const char *member, const char *project,
                           const char *agent) {
    struct places places = places_of(project, agent);
    char key[KEY_MAX];
    size_t i = 0;
    while (i + 1 < PLACES
           && !(places.at[i].there
                && config_is_set(config, key_of(&places, i, member, key), places.at[i].name)))
        i++;
    return config_text(config, key_of(&places, i, member, key), places.at[i].name);
}

bool config_sandbox_network(const struct config *config, const char *project, const char *agent) {
    return strcmp(text_of(config, "sandbox_network", project, agent), "on") == 0;
}

const char *config_sandbox_image(const struct config *config, const char *project,
                                 const char *agent) {
    return text_of(config, "sandbox_image", project, agent);
}

void config_sandbox_paths(const struct config *config, const char *list, const char *project,
                          const char *agent, config_each_path each, void *ctx) {
    struct places places = places_of(project, agent);
    char key[KEY_MAX], member[16];
    (void)snprintf(member, sizeof(member), "sandbox_%s", list);
    for (size_t i = 0; i < PLACES; i++) {
        const char *const *words = NULL;
        size_t count = places.at[i].there ? config_words(config, key_of(&places, i, member, key),
                                                         places.at[i].name, &words)
                                          : 0;
        for (size_t k = 0; k < count; k++)
            each(ctx, words[k]);
    }
}
