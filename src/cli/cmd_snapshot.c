/* cmd_snapshot.c: the live queue of the daemon, for `plan` and `sim`.
 *
 * Each piece is written when it comes, so a million tasks cost no memory. A broken connection leaves a file that is no
 * JSON, which `plan` and `sim` refuse; the exit code says it too. */
#include <errno.h>

#include "cli/ask.h"

static int take_bytes(void *ctx, const char *bytes, size_t size) {
    strbuf_add(ctx, bytes, size);
    output_some(ctx);
    return 0;
}

static int cmd_snapshot_run(const struct cmd_call *call) {
    _cleanup_(ask_finish) struct ask ask = { 0 };
    int code = ask_open(&ask, ASK_RUNNING);
    if (code != CMD_OK)
        return code;
    _cleanup_(strbuf_finish) struct strbuf out = STRBUF_INIT, path = STRBUF_INIT;
    strbuf_puts(&path, "/v1/snapshot");
    if (cmd_has(call, "anonymous"))
        client_query(&path, "anonymous", "true");
    int status = client_stream_bytes(ask.client, strbuf_text(&path), take_bytes, &out, &ask.err);
    if (status != 200) {
        if (ask.err.code >= 0)
            error_set(&ask.err, -EIO, "the daemon answered with status %d", status);
        return ask_failed(&ask);
    }
    output_rest(&out);
    return CMD_OK;
}

static const struct cmd_option snapshot_options[] = {
    { "anonymous", 'a', NULL, "replace names and ids by neutral ones" },
    { NULL },
};

const struct cmd cmd_snapshot = { "snapshot", .options = snapshot_options,
                                  .run = cmd_snapshot_run };
