/* cmd_backup.c: a copy of the whole state while work goes on. The daemon writes it, because it alone
 * may read its database; so the path must mean the same to it. */
#include <inttypes.h>

#include "cli/ask.h"
#include "cli/full_path.h"

#define BACKUP_TIMEOUT HOURS(1) /* many gigabytes on a slow disk */

static int cmd_backup_run(const struct cmd_call *call) {
    _cleanup_(strbuf_finish) struct strbuf path = STRBUF_INIT;
    _cleanup_(ask_finish) struct ask ask = { 0 };
    if (full_path(call->args[0], &path, &ask.err) < 0)
        return cmd_error(&ask.err);
    int code = ask_open(&ask, ASK_START);
    if (code != CMD_OK)
        return code;
    client_set_timeout(ask.client, BACKUP_TIMEOUT);
    code = ask_post(&ask, json_pack("{s:o}", "path", ask_string(strbuf_text(&path))), "/v1/backup");
    if (ask_ended(call, &ask, &code))
        return code;
    return cmd_say("%s written: %" PRId64 " bytes in %" PRId64 " ms",
                   ask_text(ask.answer, "path", strbuf_text(&path)),
                   ask_int(ask.answer, "bytes", 0), ask_int(ask.answer, "took_ms", 0));
}

const struct cmd cmd_backup = { "backup", .min_args = 1, .max_args = 1, .run = cmd_backup_run };
