/* paths.c: where agents keep what they need of the home directory. The lists are beside each adapter. */
#include <string.h>

#include "agent/agent.h"
#include "agent/reader_internal.h"

#define CWD     "{cwd}"
#define CWD_MAX 200 /* a longer folder is shortened in a way of the agent's own */

const struct agent_path *agent_paths(const struct agent_adapter *adapter) {
    static const struct agent_path none[] = { { NULL, AGENT_PATH_READ } };
    return adapter && adapter->paths ? adapter->paths : none;
}

/* The name begins the last part of a path, or of the name of a package: …/bin/codex-acp, @scope/codex-acp@1.0. */
const struct agent_adapter *agent_adapter_behind(const char *const *words) {
    for (; *words; words++) {
        const char *slash = strrchr(*words, '/'), *name = slash ? slash + 1 : *words;
        for (size_t i = 0; i < agent_adapter_count(); i++) {
            const struct agent_adapter *one = agent_adapter_at(i);
            size_t length = strlen(one->name);
            if (one->paths && strncmp(name, one->name, length) == 0
                && (name[length] == '\0' || name[length] == '-' || name[length] == '@'))
                return one;
        }
    }
    return NULL;
}

/* /home/me/my.web → -home-me-my-web */
static void put_cwd(const char *cwd, struct strbuf *out) {
    for (; *cwd; cwd++) {
        bool plain = (*cwd >= 'a' && *cwd <= 'z') || (*cwd >= 'A' && *cwd <= 'Z')
                     || (*cwd >= '0' && *cwd <= '9');
        strbuf_putc(out, plain ? *cwd : '-');
    }
}

void agent_path_resolve(const struct agent_adapter *adapter, const struct agent_path *path,
                        const struct agent_place *place, struct strbuf *out) {
    const char *home = place->home, *cwd = place->cwd;
    const char *rest = path->path, *name = adapter->settings_variable;
    const char *folder = adapter->settings_folder;
    size_t length = folder ? strlen(folder) : 0;
    const char *other = name ? place->variable(place->ctx, name) : NULL;
    if (other && *other == '/' && folder && strncmp(rest, folder, length) == 0) {
        home = other;
        rest += rest[length] == '/' ? length + 1 : 0; /* ".claude.json" is inside such a folder */
    }
    strbuf_printf(out, "%s/", home);
    const char *at = strstr(rest, CWD);
    if (!at) {
        strbuf_puts(out, rest);
    } else if (strlen(cwd) > CWD_MAX) {
        strbuf_add(out, rest, (size_t)(at - rest) - 1); /* the folder of all of them */
    } else {
        strbuf_add(out, rest, (size_t)(at - rest));
        put_cwd(cwd, out);
        strbuf_puts(out, at + strlen(CWD));
    }
}
