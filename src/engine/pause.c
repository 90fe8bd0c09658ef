/* pause.c: nothing new starts, of everything or of one project, until somebody says otherwise.
 *
 * Whoever asked for it and when is kept with it: the next person who wonders why nothing runs may be
 * another one, hours later and after a restart. A pause that is there already keeps its first author. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/json_write.h"
#include "engine/engine_internal.h"
#include "engine/projects_internal.h"

bool engine_is_paused(const struct engine *e) {
    return e->paused;
}

const struct engine_pause *engine_paused(const struct engine *e) {
    return e->paused ? &e->pause : NULL;
}

void pause_set(struct engine_pause *pause, const char *by, time_ms at) {
    char *copy = by ? xstrdup(by) : NULL; /* `by` may be the one that goes */
    free((char *)pause->by);
    *pause = (struct engine_pause){ .by = copy, .at = at };
}

struct pause pause_told(struct core *core, const struct engine_pause *pause) {
    return (struct pause){
        .cause = PAUSE_ASKED,
        .by = pause->by ? symbol_intern(core_symbols(core), pause->by, strlen(pause->by)) : 0,
        .at = pause->at,
    };
}

int pause_load(struct engine *e, const struct pause_row *row, struct error *err) {
    e->paused = row->paused;
    pause_set(&e->pause, row->paused ? row->by : NULL, row->paused ? row->at : 0);
    if (!row->paused)
        return 0;
    struct fact fact = { .kind = FACT_PAUSE, .pause = pause_told(e->core, &e->pause) };
    int r = core_apply(e->core, &fact, err);
    return r < 0 ? r : 0;
}

void pause_write_event(struct engine *e, const char *kind, const char *project, const char *by,
                       const char *reason) {
    _cleanup_(strbuf_finish) struct strbuf data = STRBUF_INIT;
    struct json_writer w;
    json_write_init(&w, &data, false);
    json_write_object_begin(&w);
    if (project)
        json_put_string(&w, "project", project);
    json_put_string(&w, "by", by);
    if (reason)
        json_put_string(&w, "reason", reason);
    json_write_object_end(&w);
    engine_event(e, kind, 0, 0, strbuf_text(&data));
}

int engine_pause(struct engine *e, bool paused, const char *by, struct error *err) {
    if (e->paused == paused)
        return 1;
    struct engine_pause pause = { .by = by, .at = e->now };
    struct fact fact = { .kind = paused ? FACT_PAUSE : FACT_RESUME };
    if (paused)
        fact.pause = pause_told(e->core, &pause);
    int r = engine_tell(e, &fact, err);
    if (r < 0)
        return r;
    e->paused = paused;
    pause_set(&e->pause, paused ? by : NULL, paused ? e->now : 0);
    struct pause_row row = { .paused = paused, .by = e->pause.by, .at = e->pause.at };
    store_put_pause(e->turn.batch, &row);
    pause_write_event(e, paused ? "daemon.paused" : "daemon.resumed", NULL, by, NULL);
    return 0;
}

int engine_pause_project(struct engine *e, const char *name, bool paused, const char *by,
                         struct error *err) {
    struct project *project = project_find(e, name);
    if (!project)
        return error_set(err, -ENOENT, "there is no project '%s'", name);
    struct engine_project *view = &project->view;
    if (!paused && view->standing == PROJECT_ORPHANED)
        return error_set(err, -EBUSY,
                         "projects.%s was removed from the configuration, and its caps with it: "
                         "put the section back, or set its caps with 'sluice project set %s "
                         "max_running=N' ('unlimited' for none)",
                         name, name);
    if (view->paused == paused)
        return 1;
    view->paused = paused;
    pause_set(&view->pause, paused ? by : NULL, paused ? e->now : 0);
    int r = project_tell(e, project, err);
    if (r < 0)
        return r;
    struct project_row row = {
        .name = view->name,
        .prefix = view->prefix,
        .paused = paused,
        .paused_by = view->pause.by,
        .paused_at = view->pause.at,
        .created_at = view->created_at,
    };
    store_put_project(e->turn.batch, &row);
    pause_write_event(e, paused ? "project.paused" : "project.resumed", view->name, by, NULL);
    return 0;
}
