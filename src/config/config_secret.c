/* config_secret.c: see config_secret.h. */
#include "config/config_secret.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "os/files.h"
#include "os/private_file.h"

/* "postgresql://user:password@host/…" */
static bool has_password(const char *url) {
    const char *user = strstr(url, "://");
    const char *at = user ? strchr(user, '@') : NULL;
    const char *colon = at ? memchr(user + 3, ':', (size_t)(at - user - 3)) : NULL;
    return colon != NULL || strstr(url, "password=");
}

static bool is_told(const char *key, bool holds, char ret_key[CONFIG_SECRET_KEY_MAX]) {
    if (holds)
        (void)snprintf(ret_key, CONFIG_SECRET_KEY_MAX, "%s", key);
    return holds;
}

bool config_has_secret(const struct config *config, char ret_key[CONFIG_SECRET_KEY_MAX]) {
    for (size_t i = 0; i < config_agent_count(config); i++) {
        const char *const *words = NULL;
        const char *name = config_agent_name(config, i);
        if (config_words(config, "agents.A.env", name, &words) == 0)
            continue;
        (void)snprintf(ret_key, CONFIG_SECRET_KEY_MAX, "agents.%s.env", name);
        return true;
    }
    return is_told("notify.webhook", *config_text(config, "notify.webhook", NULL), ret_key)
           || is_told("store.url", has_password(config_text(config, "store.url", NULL)), ret_key);
}

int config_write_file(const char *path, const struct strbuf *text, const struct config *config,
                      struct error *err) {
    char key[CONFIG_SECRET_KEY_MAX];
    bool is_new = access(path, F_OK) < 0 && errno == ENOENT;
    int r = is_new || config_has_secret(config, key) ? private_file_prepare(path, err) : 0;
    if (r < 0)
        return r;
    r = file_write(path, strbuf_text(text), text->length, err);
    if (r < 0 && is_new)
        (void)unlink(path); /* there was none, and there is none */
    return r;
}
