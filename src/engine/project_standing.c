/* project_standing.c: which projects have a section in the configuration, and what happens without it.
 *
 * A section holds the caps of a project. Removing it, by mistake or on purpose, must not start everything
 * that the caps held back. So the store remembers which projects had a section: one that lost it is paused,
 * in the same turn and after every start, until there is a section again or the project is deleted. Projects
 * that never had one (`sluice project add NAME`) work with the defaults.
 *
 * The pause is derived from note and configuration each time the core is told, so no start can come between
 * the new configuration and the pause. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine/alert_internal.h"
#include "engine/engine_internal.h"
#include "engine/note.h"
#include "engine/projects_internal.h"
#include "os/log.h"

#define NOTE_PREFIX "project:"

static const char *const words[] = {
    [PROJECT_CONFIGURED] = "configured",
    [PROJECT_ORPHANED] = "orphaned",
    [PROJECT_DELETED] = "deleted",
};

bool project_is_stopped(const struct config *config, const struct engine_project *view,
                        struct pause *ret) {
    bool has_lost_it = view->standing != PROJECT_PLAIN && !config_has_project(config, view->name);
    if (view->standing != PROJECT_DELETED && !has_lost_it)
        return false;
    *ret = (struct pause){
        .cause = view->standing == PROJECT_DELETED ? PAUSE_DELETED : PAUSE_SECTION_REMOVED,
        .at = view->standing_since,
    };
    return true;
}

void project_set_standing(struct engine *e, struct project *project,
                          enum project_standing standing) {
    bool is_dated = standing == PROJECT_ORPHANED || standing == PROJECT_DELETED;
    _cleanup_(strbuf_finish) struct strbuf text = STRBUF_INIT;
    project->view.standing = standing;
    project->view.standing_since = is_dated ? e->now : 0;
    if (standing != PROJECT_PLAIN)
        strbuf_printf(&text, "%s %" PRId64, words[standing], project->view.standing_since);
    note_put(e, NOTE_PREFIX, project->view.name, text.length > 0 ? strbuf_text(&text) : NULL);
    turn_wrote(e);
}

void project_standing_load(struct engine *e, const struct note_row *row) {
    const char *name = note_key(row, NOTE_PREFIX);
    if (!name)
        return;
    struct project *project = project_find(e, name);
    for (size_t i = PROJECT_CONFIGURED; project && i < ARRAY_SIZE(words); i++) {
        size_t length = strlen(words[i]);
        if (strncmp(row->text, words[i], length) != 0 || row->text[length] != ' ')
            continue;
        project->view.standing = (enum project_standing)i;
        project->view.standing_since = strtoll(row->text + length, NULL, 10);
    }
}

static bool has_unfinished(const struct engine *e, const struct project *project) {
    struct share_view share = { 0 };
    (void)core_share(e->core, project->view.symbol, &share);
    for (int state = TASK_DRAFT; state < TASK_STATE_MAX; state++)
        if (share.by_state[state] > 0 && !task_state_is_final((enum task_state)state))
            return true;
    return false;
}

static int lose_section(struct engine *e, struct project *project, struct error *err) {
    const char *name = project->view.name;
    _cleanup_(strbuf_finish) struct strbuf key = STRBUF_INIT;
    project_set_standing(e, project, PROJECT_ORPHANED);
    pause_write_event(e, "project.paused", name, NULL, "section_removed");
    strbuf_printf(&key, "section:%s", name);
    if (!has_unfinished(e, project))
        log_info("projects.%s was removed from the configuration: project '%s' is paused", name,
                 name);
    else
        alert_raise(
            e, strbuf_text(&key), 0, 0,
            "projects.%s was removed from the configuration, and its caps with it: project "
            "'%s' is paused; put the section back, set its caps with 'sluice project set %s "
            "max_running=N', or 'sluice project delete %s'",
            name, name, name, name);
    return project_tell(e, project, err);
}

static int regain_section(struct engine *e, struct project *project, struct error *err) {
    bool was_orphaned = project->view.standing == PROJECT_ORPHANED;
    project_set_standing(e, project, PROJECT_CONFIGURED);
    if (!was_orphaned)
        return 0;
    log_info("project '%s' has a section in the configuration again: it goes on",
             project->view.name);
    pause_write_event(e, "project.resumed", project->view.name, NULL, NULL);
    return project_tell(e, project, err);
}

int projects_settle(struct engine *e, struct error *err) {
    int r = 0;
    for (size_t i = 0; i < project_count(e) && r == 0; i++) {
        struct project *project = project_at(e, i);
        enum project_standing standing = project->view.standing;
        bool has_section = config_has_project(e->config, project->view.name);
        if (has_section && standing != PROJECT_CONFIGURED && standing != PROJECT_DELETED)
            r = regain_section(e, project, err);
        else if (!has_section && standing == PROJECT_CONFIGURED)
            r = lose_section(e, project, err);
        else if (standing == PROJECT_ORPHANED || standing == PROJECT_DELETED)
            r = project_tell(e, project, err); /* it was told before its note was read */
    }
    return r;
}

int engine_delete_project(struct engine *e, const char *name, const char *by, struct error *err) {
    struct project *project = project_find(e, name);
    if (!project || project->view.standing == PROJECT_DELETED)
        return error_set(err, -ENOENT, "there is no project '%s'", name);
    project_set_standing(e, project, PROJECT_DELETED);
    pause_write_event(e, "project.deleted", name, by, NULL);
    return project_tell(e, project, err);
}
