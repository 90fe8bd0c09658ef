/* sweep.c: see sweep.h. What looks like no run of ours, by its name, is not touched. */
#include "executor/sweep.h"

#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "base/number.h"
#include "executor/run_table.h"
#include "executor/trash.h"
#include "os/outside.h"

static bool parse_attempt(const char *name, uint32_t *ret_attempt) {
    int64_t number = 0;
    if (strspn(name, "0123456789") != strlen(name) || number_parse_int(name, &number, NULL) < 0
        || number > UINT32_MAX)
        return false;
    *ret_attempt = (uint32_t)number;
    return true;
}

static void sweep_task(const struct sweep *sweep, const char *task, struct executor_sweep *told) {
    struct folder attempts;
    (void)outside_folder(&attempts, sweep->root, task);
    bool thrown = false;
    for (const char *name; (name = folder_next(&attempts));) {
        _cleanup_(strbuf_finish) struct strbuf folder = STRBUF_INIT;
        uint32_t attempt;
        if (!parse_attempt(name, &attempt) || told->known(told->ctx, task, attempt))
            continue;
        rundir_name(&folder, task, attempt);
        if (run_table_has_folder(sweep->runs, folder.text))
            continue;
        enum sweep_verdict verdict = sweep->look(sweep->ctx, folder.text, task, attempt);
        told->left += verdict == SWEEP_LEAVE;
        if (verdict == SWEEP_REMOVE && trash_throw(sweep->trash, folder.text) == 0) {
            told->removed++;
            thrown = true;
        }
    }
    folder_close(&attempts);
    if (thrown)
        (void)unlinkat(sweep->root, task, AT_REMOVEDIR); /* if that was all */
}

int sweep_folders(const struct sweep *sweep, struct executor_sweep *told, struct error *err) {
    struct folder tasks;
    int r = outside_folder(&tasks, AT_FDCWD, sweep->root_path);
    if (r < 0)
        return error_set(err, r, "cannot read folder '%s': %s", sweep->root_path, strerror(-r));
    for (const char *name; (name = folder_next(&tasks));)
        if (name[0] != '.')
            sweep_task(sweep, name, told);
    folder_close(&tasks);
    return 0;
}
