/* cmd_restore.c: puts a backup in the place of the state.
 *
 * The command line does not know the database; `sluiced --restore` does the work: it checks the
 * file, keeps the old state beside the new one, and refuses while a daemon has the home. That a
 * daemon runs is looked at here as well, because the sentence can then say what to do. */
#include "cli/ask.h"
#include "cli/daemon.h"
#include "cli/full_path.h"
#include "cli/program.h"
#include "os/files.h"

#define SLUICED_BUSY 4 /* its exit code when another one has the home */

static int check_no_daemon(void) {
    _cleanup_(ask_finish) struct ask ask = { 0 };
    int code = ask_open(&ask, ASK_TRY);
    if (code == CMD_NO_DAEMON)
        return CMD_OK;
    if (code == CMD_OK) {
        cmd_warn("a daemon is running: 'sluice down' stops it, the runs go on");
        return CMD_REFUSED;
    }
    return code;
}

static int cmd_restore_run(const struct cmd_call *call) {
    if (!cmd_has(call, "yes"))
        return cmd_usage_error(call->cmd, "'restore' replaces every task by those of the backup: "
                                          "say --yes");
    struct error err = { 0 };
    _cleanup_(strbuf_finish) struct strbuf path = STRBUF_INIT, program = STRBUF_INIT;
    FILE *file;
    if (full_path(call->args[0], &path, &err) < 0 || file_open(strbuf_text(&path), &file, &err) < 0)
        return cmd_error(&err);
    file_close(file);
    int code = check_no_daemon();
    if (code != CMD_OK)
        return code;
    if (daemon_find_program("sluiced", &program, &err) < 0)
        return cmd_fail(&err);
    const char *const argv[] = { "sluiced", "--restore", strbuf_text(&path), NULL };
    int status;
    _cleanup_(strbuf_finish) struct strbuf told = STRBUF_INIT;
    enum program_take take = call->json ? PROGRAM_TAKE_OUTPUT : PROGRAM_TAKE_NOTHING;
    if (program_run(strbuf_text(&program), argv, take, &told, &status, &err) < 0)
        return cmd_fail(&err);
    if (status != 0)
        return status == SLUICED_BUSY ? CMD_REFUSED : CMD_FAILED; /* it has said why */
    if (call->json)                                               /* else sluiced has printed it */
        return ask_print_json(json_pack("{s:o}", "restored", ask_string(strbuf_text(&path))));
    return CMD_OK;
}

static const struct cmd_option restore_options[] = {
    { "yes", 'y', NULL, "really replace what is there now" },
    { NULL },
};

const struct cmd cmd_restore = { "restore", .options = restore_options, .min_args = 1,
                                 .max_args = 1, .run = cmd_restore_run };
