/* gone.c: a task is no more; what of it is still on disk?
 *
 * Its run folders, those of its iterations, its marker, its worktree, and what others keep for it
 * (engine_set_forgotten). They go after the commit that has no row of it any more, so a commit that failed
 * has cost nothing. That commit holds a note with the ids as well: a daemon that dies in between leaves
 * it to the next one, which finishes the work. A later commit that is made anyway takes the note back.
 *
 * Folders are not swept by looking for those without a row: a backup that was restored by mistake would
 * cost the work of all tasks that are younger, and what it replaced could not be put back. */
#include "engine/gone_internal.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "engine/iteration.h"
#include "engine/note.h"
#include "engine/workspace.h"

#define NOTE "gone"

void engine_set_forgotten(struct engine *e, engine_forgotten forgotten, void *ctx) {
    e->forgotten = forgotten;
    e->forgotten_ctx = ctx;
}

void gone_note(struct engine *e, const char *id) {
    *LIST_ADD(&e->turn.gone) = turn_text(e, id);
}

static void forget(struct engine *e, const char *id) {
    launch_remove_marker(e, id);
    iteration_forget(e, id);
    executor_forget(e->executor, id);
    const struct project *project = project_of_id(e, id);
    if (e->forgotten && project)
        e->forgotten(e->forgotten_ctx, project->view.name, id);
}

void gone_write(struct engine *e) {
    _cleanup_(strbuf_finish) struct strbuf text = STRBUF_INIT;
    if (e->turn.gone.count == 0 && (!e->gone_is_noted || store_batch_count(e->turn.batch) == 0))
        return;
    for (size_t i = 0; i < e->turn.gone.count; i++)
        strbuf_printf(&text, "%s%s", i ? " " : "", e->turn.gone.items[i]);
    note_put(e, NOTE, "", e->turn.gone.count > 0 ? strbuf_text(&text) : NULL);
    e->gone_is_noting = true;
}

void gone_stored(struct engine *e) {
    if (e->gone_is_noting)
        e->gone_is_noted = e->turn.gone.count > 0;
    e->gone_is_noting = false;
    for (size_t i = 0; i < e->turn.gone.count; i++) {
        workspace_forget(e, e->turn.gone.items[i]);
        forget(e, e->turn.gone.items[i]);
    }
}

void gone_undone(struct engine *e) {
    e->gone_is_noting = false;
}

void gone_load(struct engine *e, const struct note_row *row) {
    if (e->started || strcmp(row->name, NOTE) != 0)
        return;
    free(e->gone_before);
    e->gone_before = xstrdup(row->text);
    e->gone_is_noted = true;
}

/* Worktrees apart: those of nobody were looked for already (workspaces_start). */
void gone_start(struct engine *e) {
    char *rest = e->gone_before;
    for (const char *id; rest && (id = strsep(&rest, " "));)
        if (*id && engine_task_of_id(e, id, NULL) == 0)
            forget(e, id);
    gone_free(e);
}

void gone_free(struct engine *e) {
    free(e->gone_before);
    e->gone_before = NULL;
}
