/* op_daemon_backup.c: a copy of the store that can be opened. */
#include <errno.h>
#include <sys/stat.h>

#include "ops/print.h"
#include "os/clock.h"

static int print(struct op_call *call) {
    const char *path = op_text(call, "path");
    time_ms began = *(const time_ms *)op_state(call, sizeof(time_ms), NULL);
    struct stat st = { 0 };
    (void)stat(path, &st);
    struct json_writer w = op_begin(call);
    print_text(&w, "path", path);
    print_int(&w, "bytes", st.st_size);
    print_int(&w, "took_ms", clock_read_steady() - began);
    return op_end(&w);
}

static void backup_is_over(void *ctx, const struct error *err) {
    op_wake(ctx, err ? err->code : 0, err);
}

static int run(struct op_call *call) {
    const char *path = op_text(call, "path");
    if (path[0] != '/')
        return op_fail(call, -EINVAL,
                       "'%s' must be an absolute path: the daemon is in another folder",
                       op_quote(path).text);
    time_ms *began = op_state(call, sizeof(*began), NULL);
    *began = clock_read_steady();
    int r = op_wait(call, print);
    engine_backup(call->engine, path, backup_is_over, call);
    return r;
}

/* It changes nothing that a repetition could do twice: it takes no key, and runs after the turn's commit. */
const struct op op_daemon_backup = {
    OP("daemon.backup", "POST", "/v1/backup", "copy the store to a file"),
    .text = "The copy is checked and on disk when this is answered; until then the daemon goes on "
            "with everything else. `sluice restore` puts it back. One at a time: another one "
            "meanwhile is refused.",
    .params =
        PARAMS(PARAM(TEXT, BODY, "path", .text = "where the copy goes, on the daemon's machine",
                     .required = true, .min = 1, .max = 4096)),
    .answers = ANSWERS({ "path", T_TEXT, "the copy", "/backup/sluice.db" },
                       { "bytes", T_INT, "its size" }, { "took_ms", T_SPAN, "how long it took" }),
    .right = OP_ADMIN,
    .local = true, /* it writes a file, where the client says */
    .run = run,
};
