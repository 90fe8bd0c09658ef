/* iteration_keep.c: how many folders may a loop leave that goes on for weeks?
 *
 * The first run and the newest retention.iterations keep their folders, and so do the iterations. The others
 * go when a run of the task ends, a few each time: usually there is one, more of them only when the setting
 * was lowered. The newest attempt stays, so the numbers that a start reads from the folders are right. */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <unistd.h>

#include "engine/engine_internal.h"
#include "engine/iteration.h"
#include "rundir/remove.h"
#include "rundir/rundir.h"

#define EACH_END    16u
#define ENTRIES_MAX 10000u /* deleted here, where they cannot be moved */

static bool is_there(const struct engine *e, const char *folder) {
    _cleanup_(strbuf_finish) struct strbuf path = STRBUF_INIT;
    strbuf_printf(&path, "%s/%s", e->runs_folder, folder);
    return access(strbuf_text(&path), F_OK) == 0;
}

static bool drop_run(struct engine *e, const char *id, uint32_t attempt) {
    _cleanup_(strbuf_finish) struct strbuf folder = STRBUF_INIT;
    rundir_name(&folder, id, attempt);
    if (!is_there(e, strbuf_text(&folder)))
        return false;
    executor_forget_folder(e->executor, strbuf_text(&folder));
    return true;
}

/* Among the run folders first: those are thrown away little by little, beside the loop. */
static bool drop_iteration(struct engine *e, const char *id, uint32_t iteration) {
    _cleanup_(strbuf_finish) struct strbuf from = STRBUF_INIT, to = STRBUF_INIT, name = STRBUF_INIT;
    iteration_path(e, id, iteration, NULL, &from);
    strbuf_printf(&name, "%s/iteration-%" PRIu32, id, iteration);
    strbuf_printf(&to, "%s/%s", e->runs_folder, strbuf_text(&name));
    if (rename(strbuf_text(&from), strbuf_text(&to)) == 0) {
        executor_forget_folder(e->executor, strbuf_text(&name));
        return true;
    }
    unsigned budget = ENTRIES_MAX;
    return errno == EXDEV && remove_tree_at(AT_FDCWD, strbuf_text(&from), &budget) == 0;
}

void iterations_keep_newest(struct engine *e, const struct live_run *run) {
    struct task_view t;
    char id[ENGINE_ID_MAX];
    int64_t keep = config_number(e->config, "retention.iterations", NULL);
    if (keep == 0 || !core_task(e->core, run->task, &t) || task_state_is_final(t.state))
        return;
    engine_task_id(e, run->task, id);
    int64_t last = (int64_t)run->view.attempt - keep;
    for (int64_t n = last; n > 1 && last - n < EACH_END && drop_run(e, id, (uint32_t)n);)
        n--;
    last = (int64_t)run->iteration - keep;
    for (int64_t n = last; n > 1 && last - n < EACH_END && drop_iteration(e, id, (uint32_t)n);)
        n--;
}
