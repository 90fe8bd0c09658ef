/* cmd_version.c: which program is this? The number comes from the build. */
#include "cli/cmd.h"

#include "base/json_write.h"
#include "cli/output.h"

static int cmd_version_run(const struct cmd_call *call) {
    _cleanup_(strbuf_finish) struct strbuf out = STRBUF_INIT;
    if (call->json) {
        struct json_writer w;
        json_write_init(&w, &out, false);
        json_write_object_begin(&w);
        json_write_key(&w, "version");
        json_write_string(&w, SLUICE_VERSION);
        json_write_object_end(&w);
    } else {
        strbuf_puts(&out, "sluice " SLUICE_VERSION);
    }
    strbuf_putc(&out, '\n');
    output_rest(&out);
    return CMD_OK;
}

const struct cmd cmd_version = { "version", .run = cmd_version_run };
