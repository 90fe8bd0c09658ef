/* notify_env.c: what a command that tells people finds in its environment. */
#include "daemon/notify_env.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "engine/data_folder.h"
#include "executor/aside.h"

void notify_env_finish(struct notify_env *env) {
    arena_finish(&env->arena);
    env->count = 0;
}

static void add(struct notify_env *env, const char *pair) {
    if (env->count < NOTIFY_VARIABLES)
        env->pairs[env->count++] = pair;
}

void notify_env_put(struct notify_env *env, const char *name, const char *value) {
    _cleanup_(strbuf_finish) struct strbuf pair = STRBUF_INIT;
    strbuf_printf(&pair, "%s=%s", name, value ? value : "");
    add(env, arena_strdup(&env->arena, strbuf_text(&pair)));
}

void notify_env_put_number(struct notify_env *env, const char *name, int64_t number) {
    char text[24];
    (void)snprintf(text, sizeof(text), "%" PRId64, number);
    notify_env_put(env, name, text);
}

static const char *find_pair(const struct notify_env *env, const char *name) {
    size_t length = strlen(name);
    for (char *const *pair = env->daemon; pair && *pair; pair++)
        if (strncmp(*pair, name, length) == 0 && (*pair)[length] == '=')
            return *pair;
    return NULL;
}

void notify_env_pass(struct notify_env *env, const char *name) {
    const char *pair = find_pair(env, name);
    if (pair)
        add(env, pair);
}

const char *notify_env_of_daemon(const struct notify_env *env, const char *name) {
    const char *pair = find_pair(env, name);
    return pair ? strchr(pair, '=') + 1 : NULL;
}

void notify_env_end(struct notify_env *env, const struct engine *engine) {
    _cleanup_(strbuf_finish) struct strbuf mark = STRBUF_INIT;
    const char *const *words = NULL;
    notify_env_put(env, "SLUICE_SOCKET", engine_socket_path(engine));
    aside_mark(engine_data(engine), &mark);
    add(env, arena_strdup(&env->arena, strbuf_text(&mark)));
    size_t count = config_words(engine_config(engine), "tasks.env", NULL, &words);
    for (size_t i = 0; i < count; i++)
        notify_env_pass(env, words[i]);
}
