/* deleted.c: removes the files of deleted tasks.
 *
 * These are its run folders, its iterations, its marker, its worktree, and what others keep for it
 * (engine_set_forgotten). They are removed after the commit that deletes its row, so a failed
 * commit costs nothing. That commit also holds a note with the ids: if the daemon dies in between,
 * the next one finishes the work. A later commit that is made anyway removes the note.
 *
 * Folders without a row are not swept: a backup restored by mistake would cost the work of all
 * newer tasks, irrecoverably. */
#include <stdlib.h>
#include <string.h>

#include "engine/git/git_internal.h"
#include "engine/note.h"
#include "engine/runs/runs_internal.h"

#define NOTE "gone"

struct deleted {
    LIST(char *) ids; /* deleted in this turn; texts of the turn */
    char *before;     /* ids of the previous daemon, whose folders may be left; owned */
    bool is_noted, is_noting;
    char leaving[ENGINE_ID_MAX]; /* of the task that is about to be deleted */
    engine_forgotten forgotten;
    void *forgotten_ctx;
};

PART_STATE(deleted, struct deleted, deleted_of)

void engine_set_forgotten(struct engine *e, engine_forgotten forgotten, void *ctx) {
    deleted_of(e)->forgotten = forgotten;
    deleted_of(e)->forgotten_ctx = ctx;
}

/* The id has the prefix of its project, which only the core knows. */
static void deleted_applying(struct engine *e, const struct fact *fact) {
    if (fact->kind == FACT_DELETE || fact->kind == FACT_FORGET)
        engine_task_id(e, fact->task, deleted_of(e)->leaving);
}

static void deleted_applied(struct engine *e, const struct fact *fact) {
    if (fact->kind == FACT_DELETE || fact->kind == FACT_FORGET)
        *LIST_ADD(&deleted_of(e)->ids) = turn_text(e, deleted_of(e)->leaving);
}

static void forget(struct engine *e, const char *id) {
    struct deleted *d = deleted_of(e);
    launch_remove_marker(e, id);
    iteration_forget(e, id);
    executor_forget(e->executor, id);
    const struct engine_project *project = project_of_id(e, id);
    if (d->forgotten && project)
        d->forgotten(d->forgotten_ctx, project->name, id);
}

/* Puts the ids into the batch, or removes the note once their folders are removed. */
static void deleted_write(struct engine *e) {
    struct deleted *d = deleted_of(e);
    _cleanup_(strbuf_finish) struct strbuf text = STRBUF_INIT;
    if (d->ids.count == 0 && (!d->is_noted || store_batch_count(e->turn.batch) == 0))
        return;
    for (size_t i = 0; i < d->ids.count; i++)
        strbuf_printf(&text, "%s%s", i ? " " : "", d->ids.items[i]);
    note_put(e, NOTE, "", d->ids.count > 0 ? strbuf_text(&text) : NULL);
    d->is_noting = true;
}

static void deleted_stored(struct engine *e) {
    struct deleted *d = deleted_of(e);
    if (d->is_noting)
        d->is_noted = d->ids.count > 0;
    d->is_noting = false;
    for (size_t i = 0; i < d->ids.count; i++) {
        workspace_forget(e, d->ids.items[i]);
        forget(e, d->ids.items[i]);
    }
    d->ids.count = 0;
}

/* The commit failed: nothing is removed. */
static void deleted_undone(struct engine *e) {
    deleted_of(e)->is_noting = false;
    deleted_of(e)->ids.count = 0;
}

static void deleted_load(struct engine *e, const struct note_row *row) {
    struct deleted *d = deleted_of(e);
    if (e->started || strcmp(row->name, NOTE) != 0)
        return;
    free(d->before);
    d->before = xstrdup(row->text);
    d->is_noted = true;
}

/* Finishes the work of the previous daemon, once the runs are known. Except worktrees:
 * workspaces_start has checked orphans. */
static void deleted_start(struct engine *e) {
    char *rest = deleted_of(e)->before;
    for (const char *id; rest && (id = strsep(&rest, " "));)
        if (*id && engine_task_of_id(e, id, NULL) == 0)
            forget(e, id);
    free(TAKE_PTR(deleted_of(e)->before));
}

static void deleted_free(struct engine *e) {
    free(deleted_of(e)->before);
    free(deleted_of(e)->ids.items);
}

const struct engine_part deleted_part = {
    .state_size = sizeof(struct deleted),
    .at = { [STEP_START] = deleted_start,
            [STEP_AFTER_DECIDE] = deleted_write,
            [STEP_CARRY_OUT] = deleted_stored,
            [STEP_UNDONE] = deleted_undone,
            [STEP_FREE] = deleted_free },
    .applying = deleted_applying,
    .applied = deleted_applied,
    .load_note = deleted_load,
};
