/* launch_client.c: an agent that speaks a protocol is run by a client of ours, which stands beside the shim.
 *
 * The client is part of the run: it is in the sandbox, outlives the daemon, and is killed with the rest. */
#include "engine/launch_client.h"

#include <errno.h>
#include <string.h>

#include "engine/agents.h"

/* In a sandbox everything may be permitted: that is what it is for. */
static const char *permissions_of(const struct launch_box *box) {
    const char *set = config_text(box->e->config, "agents.A.permissions", box->run->agent);
    if (strcmp(set, "auto") != 0)
        return set;
    return box->kind == SANDBOX_NONE ? "edits" : "allow";
}

/* Of a program on this machine that a sandbox shows as it is. */
static int check_installed(const struct launch_box *box, struct error *err) {
    _cleanup_(strbuf_finish) struct strbuf program = STRBUF_INIT, found = STRBUF_INIT;
    if (box->run->executor != EXECUTOR_LOCAL || box->kind == SANDBOX_PODMAN)
        return 0;
    engine_agent_program(box->e, box->run->agent, &program, &found);
    const char *name = strbuf_text(&program);
    if (found.length > 0 || (*name != '/' && strchr(name, '/')))
        return 0;
    return error_set(err, -ENOENT, "cannot run '%.120s': %s", name, strerror(ENOENT));
}

static void put_client_path(const struct launch_box *box, const struct agent_adapter *adapter,
                            struct strbuf *out) {
    const char *there = config_text(box->e->config, "slurm.shim", NULL);
    const char *shim = box->run->executor != EXECUTOR_LOCAL && *there ? there : box->e->shim_path;
    const char *slash = strrchr(shim, '/');
    if (slash)
        strbuf_add(out, shim, (size_t)(slash - shim) + 1);
    strbuf_puts(out, agent_adapter_client(adapter));
}

int launch_client_words(const struct launch_box *box, const struct agent_adapter *adapter,
                        const char *resume, struct strbuf *out, size_t *ret_count,
                        struct error *err) {
    const struct config *config = box->e->config;
    const char *agent = box->run->agent;
    _cleanup_(strbuf_finish) struct strbuf path = STRBUF_INIT;
    int r = check_installed(box, err);
    if (r < 0)
        return r;
    put_client_path(box, adapter, &path);
    struct agent_client client = {
        .program = strbuf_text(&path),
        .permissions = permissions_of(box),
        .resume = resume,
        .mode = config_text(config, "agents.A.mode", agent),
        .model = config_text(config, "agents.A.model", agent),
        .auth_method = config_text(config, "agents.A.auth_method", agent),
    };
    client.count = config_words(config, "agents.A.command", agent, &client.words);
    *ret_count = agent_client_command(&client, out);
    return 0;
}
