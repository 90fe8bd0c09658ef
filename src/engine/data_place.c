/* data_place.c: are the runs that have not ended where this daemon looks for them?
 *
 * A folder that is not there is taken for a run that was never begun, or is lost, and its work is done again. But it can
 * be elsewhere: two daemons of one machine, or of one cluster, share a store and not the folder of the runs; or
 * the file system of that folder is not mounted. So the store has a note for each host, which folder its daemon has used
 * last, and a daemon that misses a run which must be somewhere else does not start. A local run can be looked for
 * there, as that is the same machine; of one in Slurm the path alone must do. A folder that was moved is no longer
 * there. */
#include "engine/data_place.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "engine/engine_internal.h"
#include "engine/note.h"
#include "engine/runs_internal.h"
#include "rundir/rundir.h"

#define NOTE "data.runs:"

struct data_place {
    struct data_place *next;
    char *host, *runs; /* its folder */
};

struct data_places {
    struct data_place *first;
};

static struct data_places *data_places_of(const struct engine *e) {
    return e->part[PART_data_place];
}

static void data_place_loading(struct engine *e) {
    while (data_places_of(e)->first) {
        struct data_place *place = data_places_of(e)->first;
        data_places_of(e)->first = place->next;
        free(place->host);
        free(place->runs);
        free(place);
    }
}

static void data_place_load(struct engine *e, const struct note_row *row) {
    const char *host = note_key(row, NOTE);
    if (!host)
        return;
    struct data_place *place = xcalloc(1, sizeof(*place));
    place->host = xstrdup(host);
    place->runs = xstrdup(row->text);
    place->next = data_places_of(e)->first;
    data_places_of(e)->first = place;
}

static const char *place_of(const struct engine *e, const char *host) {
    for (const struct data_place *place = data_places_of(e)->first; place; place = place->next)
        if (strcmp(place->host, host) == 0)
            return place->runs;
    return NULL;
}

void data_place_load_run(struct engine *e, struct live_run *run, const struct run_row *row) {
    const char *host = row->host && *row->host ? row->host : executor_host(e->executor);
    run->place = place_of(e, host);
}

static void data_place_loaded(struct engine *e) {
    const char *host = executor_host(e->executor), *noted = place_of(e, host);
    if (noted && strcmp(noted, e->runs_folder) == 0)
        return;
    note_put(e, NOTE, host, e->runs_folder);
}

static bool has_folder(const char *root, const char *folder) {
    _cleanup_(strbuf_finish) struct strbuf path = STRBUF_INIT;
    strbuf_printf(&path, "%s/%s", root, folder);
    return access(strbuf_text(&path), F_OK) == 0;
}

static bool is_same(const char *one, const char *other) {
    struct stat a, b;
    return strcmp(one, other) == 0
           || (stat(one, &a) == 0 && stat(other, &b) == 0 && a.st_dev == b.st_dev
               && a.st_ino == b.st_ino);
}

/* It is in the folder that the daemon which has started it had. */
static bool is_elsewhere(const struct live_run *run, const char *here) {
    const char *there = run->place, *folder = run->view.folder;
    if (!there || is_same(there, here))
        return false;
    if (run->executor == EXECUTOR_SLURM && !has_folder(here, folder))
        return true;
    /* With a copy of it here it matters whether it lives. */
    return has_folder(there, folder)
           && (!has_folder(here, folder) || rundir_is_locked(there, folder) > 0);
}

int data_place_check(const struct engine *e, struct error *err) {
    for (size_t i = 0; i < run_count(e); i++) {
        const struct live_run *run = run_live_at(e, i);
        if (!run->is_away && is_elsewhere(run, e->runs_folder))
            return error_set(err, -EINVAL,
                             "the run '%s' has not ended, and is in '%s', not in '%s': daemons of "
                             "one host, and those that use Slurm, need one 'data.folder'",
                             run->view.folder, run->place, e->runs_folder);
    }
    return 0;
}

const char *data_place_missing(const struct engine *e) {
    for (size_t i = 0; i < run_count(e); i++) {
        const struct live_run *run = run_live_at(e, i);
        if (!run->is_away && run->place && is_same(run->place, e->runs_folder)
            && !has_folder(e->runs_folder, run->view.folder))
            return run->view.folder;
    }
    return NULL;
}

const struct engine_part data_place_part = {
    .name = "data_place",
    .state_size = sizeof(struct data_places),
    .at = { [STEP_UNLOAD] = data_place_loading,
            [STEP_LOADED] = data_place_loaded,
            [STEP_FREE] = data_place_loading },
    .load_note = data_place_load,
};
