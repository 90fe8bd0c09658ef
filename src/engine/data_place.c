/* data_place.c: are runs of this host in the folder of another daemon?
 *
 * Two daemons of one machine that share a store and not the folder of the runs look like one host that has lost them
 * all: the second one would call them lost, and do their work beside them. So the store has a note for each host:
 * which folder its daemon has used last. A run that has not ended, and is there and not here, keeps this one from
 * starting. A folder that was moved is no longer there, and that of another machine never was. */
#include "engine/data_place.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "engine/engine_internal.h"
#include "engine/runs_internal.h"
#include "rundir/rundir.h"

#define NOTE "data.runs:"

void data_place_loading(struct engine *e) {
    free(e->data_place);
    e->data_place = NULL;
}

void data_place_load(struct engine *e, const struct note_row *row) {
    if (strncmp(row->name, NOTE, strlen(NOTE)) != 0 || !row->text
        || strcmp(row->name + strlen(NOTE), executor_host(e->executor)) != 0)
        return;
    free(e->data_place);
    e->data_place = xstrdup(row->text);
}

void data_place_loaded(struct engine *e) {
    if (e->data_place && strcmp(e->data_place, e->runs_folder) == 0)
        return;
    _cleanup_(strbuf_finish) struct strbuf name = STRBUF_INIT;
    strbuf_printf(&name, NOTE "%s", executor_host(e->executor));
    store_put_note(e->turn.batch,
                   &(struct note_row){ .name = strbuf_text(&name), .text = e->runs_folder });
}

static bool has_folder(const char *root, const char *folder) {
    _cleanup_(strbuf_finish) struct strbuf path = STRBUF_INIT;
    strbuf_printf(&path, "%s/%s", root, folder);
    return access(strbuf_text(&path), F_OK) == 0;
}

static bool is_same(const char *one, const char *other) {
    struct stat a, b;
    return stat(one, &a) == 0 && stat(other, &b) == 0 && a.st_dev == b.st_dev
           && a.st_ino == b.st_ino;
}

int data_place_check(const struct engine *e, struct error *err) {
    const char *there = e->data_place, *here = e->runs_folder;
    if (!there || is_same(there, here))
        return 0;
    for (size_t i = 0; i < e->live.count; i++) {
        const struct live_run *run = run_live_at(e, i);
        const char *folder = run->view.folder;
        /* A copy is here, too: then it matters whether it lives. */
        if (run->is_away || !has_folder(there, folder)
            || (has_folder(here, folder) && rundir_is_locked(there, folder) <= 0))
            continue;
        return error_set(err, -EINVAL,
                         "the run '%s' has not ended, and is in '%s', not in '%s': daemons of one "
                         "host need one 'data.folder' (daemons of two, two names: 'daemon.host')",
                         folder, there, here);
    }
    return 0;
}
