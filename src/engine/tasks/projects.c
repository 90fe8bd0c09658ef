/* projects.c: projects and the ids of their tasks. The weight and caps of a project come from the
 * configuration. Its prefix is part of every id that was ever printed, so it is assigned once,
 * stored and never changed. */
#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/json_write.h"
#include "base/number.h"
#include "engine/alerts/alerts_internal.h"
#include "engine/note.h"
#include "os/log.h"

struct projects {
    LIST(struct engine_project) all;
    uint32_t *of_symbol; /* index + 1 */
    size_t of_symbol_capacity;
    bool paused;
    struct engine_pause pause; /* with paused; owns its text */
};

PART_STATE(projects, struct projects, projects_of)

/* --- names and ids --------------------------------------------------------------------------- */

struct engine_project *project_at(const struct engine *e, size_t index) {
    return &projects_of(e)->all.items[index];
}

size_t engine_project_count(const struct engine *e) {
    return projects_of(e)->all.count;
}

const struct engine_project *engine_project_at(const struct engine *e, size_t index) {
    return project_at(e, index);
}

static struct engine_project *project_find(const struct engine *e, const char *name) {
    for (size_t i = 0; i < engine_project_count(e); i++)
        if (strcmp(project_at(e, i)->name, name) == 0)
            return project_at(e, i);
    return NULL;
}

const struct engine_project *engine_find_project(const struct engine *e, const char *name) {
    const struct engine_project *project = project_find(e, name);
    return project && project->standing != PROJECT_DELETED ? project : NULL;
}

/* Ids are "<prefix>-<number>". */
struct engine_project *project_of_id(const struct engine *e, const char *id) {
    const char *dash = strrchr(id, '-');
    for (size_t i = 0; dash && i < engine_project_count(e); i++) {
        const char *prefix = project_at(e, i)->prefix;
        if (strlen(prefix) == (size_t)(dash - id) && strncmp(prefix, id, strlen(prefix)) == 0)
            return project_at(e, i);
    }
    return NULL;
}

struct engine_project *project_of_symbol(const struct engine *e, sym symbol) {
    const struct projects *p = projects_of(e);
    if (symbol >= p->of_symbol_capacity || p->of_symbol[symbol] == 0)
        return NULL;
    return &p->all.items[p->of_symbol[symbol] - 1];
}

struct engine_project *project_of_task(const struct engine *e, task_id task) {
    struct task_view view;
    return core_task(e->core, task, &view) ? project_of_symbol(e, view.project) : NULL;
}

const char *engine_task_id(const struct engine *e, task_id task, char buf[ENGINE_ID_MAX]) {
    const struct engine_project *project = project_of_task(e, task);
    char number[NUMBER_TEXT_MAX];
    const char *digits = number_text((int64_t)task, number);
    size_t length = project ? strnlen(project->prefix, ENGINE_ID_MAX - NUMBER_TEXT_MAX - 1) : 0;
    if (project)
        memcpy(buf, project->prefix, length);
    buf[length++] = project ? '-' : '#';
    memcpy(buf + length, digits, strlen(digits) + 1);
    return buf;
}

task_id engine_task_of_id(const struct engine *e, const char *id, struct error *err) {
    const char *dash = strrchr(id, '-');
    const char *digits = dash ? dash + 1 : *id == '#' ? id + 1 : id;
    int64_t number = 0;
    if (*digits == '\0' || strspn(digits, "0123456789") != strlen(digits)
        || number_parse_int(digits, &number, NULL) < 0 || number < 1) {
        error_set(err, -EINVAL, "'%.80s' is not a task id (example: web-17)", id);
        return 0;
    }
    struct task_view view;
    if (!core_task(e->core, (task_id)number, &view)) {
        error_set(err, -ENOENT, "there is no task '%.80s'", id);
        return 0;
    }
    const struct engine_project *project = project_of_symbol(e, view.project);
    size_t length = dash ? (size_t)(dash - id) : 0;
    if (dash && (strlen(project->prefix) != length || strncmp(id, project->prefix, length) != 0)) {
        error_set(err, -ENOENT, "there is no task '%.80s' (number %s is '%s-%s')", id, digits,
                  project->prefix, digits);
        return 0;
    }
    return (task_id)number;
}

/* --- the core -------------------------------------------------------------------------------- */

/* What a project is in the core comes from the configuration, its pause and its standing. */

static void pause_set(struct engine_pause *pause, const char *by, time_ms at) {
    char *copy = by ? xstrdup(by) : NULL; /* `by` may be the one that is freed */
    free((char *)pause->by);
    *pause = (struct engine_pause){ .by = copy, .at = at };
}

static struct pause pause_spec(struct core *core, const struct engine_pause *pause) {
    return (struct pause){
        .cause = PAUSE_REQUESTED,
        .by = pause->by ? symbol_intern(core_symbols(core), pause->by, strlen(pause->by)) : 0,
        .at = pause->at,
    };
}

static bool project_is_stopped(const struct config *config, const struct engine_project *view,
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

static void project_fact(const struct config *config, struct core *core,
                         const struct engine_project *project, struct fact *ret) {
    config_project_spec(config, core, project->name, &ret->project);
    if (project->paused) {
        ret->project.paused = true;
        ret->project.pause = pause_spec(core, &project->pause);
    }
    if (project_is_stopped(config, project, &ret->project.pause))
        ret->project.paused = true;
}

/* The symbol belongs to the current core, which may be new. */
static int project_apply(struct engine *e, struct engine_project *project, struct error *err) {
    struct fact fact = { .kind = FACT_PROJECT };
    project_fact(e->config, e->core, project, &fact);
    project->symbol = fact.project.id;
    const char *path = config_text(e->config, "projects.P.path", project->name);
    free((char *)project->path);
    project->path = *path ? xstrdup(path) : NULL;
    struct projects *p = projects_of(e);
    size_t before = p->of_symbol_capacity, need = (size_t)project->symbol + 1;
    p->of_symbol = xgrow(p->of_symbol, &p->of_symbol_capacity, need, sizeof(*p->of_symbol));
    memset(p->of_symbol + before, 0, (p->of_symbol_capacity - before) * sizeof(*p->of_symbol));
    p->of_symbol[project->symbol] = (uint32_t)(project - p->all.items) + 1;
    int r = core_apply(e->core, &fact, err);
    return r < 0 ? r : 0;
}

static int projects_apply_all(struct engine *e, struct error *err) {
    struct projects *p = projects_of(e);
    if (p->of_symbol)
        memset(p->of_symbol, 0, p->of_symbol_capacity * sizeof(*p->of_symbol));
    int r = 0;
    for (size_t i = 0; i < p->all.count && r == 0; i++)
        r = project_apply(e, &p->all.items[i], err);
    return r;
}

static int projects_apply_to_copy(const struct engine *e, const struct config *config,
                                  struct core *copy, struct error *err) {
    int r = 0;
    for (size_t i = 0; i < engine_project_count(e) && r >= 0; i++) {
        struct fact fact = { .kind = FACT_PROJECT };
        project_fact(config, copy, project_at(e, i), &fact);
        r = core_apply(copy, &fact, err);
    }
    return r < 0 ? r : 0;
}

/* --- pauses ----------------------------------------------------------------------------------- */

/* Nothing new starts, globally or in one project, until it is resumed. The author and the time are
 * kept: the next person who wonders why nothing runs may be another one, hours later and after a
 * restart. Pausing again keeps the first author. */

bool engine_is_paused(const struct engine *e) {
    return projects_of(e)->paused;
}

const struct engine_pause *engine_paused(const struct engine *e) {
    return projects_of(e)->paused ? &projects_of(e)->pause : NULL;
}

static int projects_load_totals(struct engine *e, const struct store_totals *totals,
                                struct error *err) {
    struct projects *p = projects_of(e);
    const struct pause_row *row = &totals->pause;
    p->paused = row->paused;
    pause_set(&p->pause, row->paused ? row->by : NULL, row->paused ? row->at : 0);
    if (!row->paused)
        return 0;
    struct fact fact = { .kind = FACT_PAUSE, .pause = pause_spec(e->core, &p->pause) };
    int r = core_apply(e->core, &fact, err);
    return r < 0 ? r : 0;
}

/* `project` NULL: global; `reason` NULL: none besides the author. */
static void pause_write_event(struct engine *e, const char *kind, const char *project,
                              const char *by, const char *reason) {
    struct event_data data;
    struct json_writer *w = event_begin(&data);
    put_text(w, "project", project);
    json_put_string(w, "by", by);
    put_text(w, "reason", reason);
    event_end(e, &data, kind, 0, 0);
}

int engine_pause(struct engine *e, bool paused, const char *by, struct error *err) {
    struct projects *p = projects_of(e);
    if (p->paused == paused)
        return 1;
    struct engine_pause pause = { .by = by, .at = e->now };
    struct fact fact = { .kind = paused ? FACT_PAUSE : FACT_RESUME };
    if (paused)
        fact.pause = pause_spec(e->core, &pause);
    int r = engine_apply(e, &fact, err);
    if (r < 0)
        return r;
    p->paused = paused;
    pause_set(&p->pause, paused ? by : NULL, paused ? e->now : 0);
    struct pause_row row = { .paused = paused, .by = p->pause.by, .at = p->pause.at };
    store_put_pause(e->turn.batch, &row);
    pause_write_event(e, paused ? "daemon.paused" : "daemon.resumed", NULL, by, NULL);
    return 0;
}

int engine_pause_project(struct engine *e, const char *name, bool paused, const char *by,
                         struct error *err) {
    struct engine_project *project = project_find(e, name);
    if (!project)
        return error_set(err, -ENOENT, "there is no project '%s'", name);
    if (!paused && project->standing == PROJECT_ORPHANED)
        return error_set(err, -EBUSY,
                         "projects.%s was removed from the configuration, and its caps with it: "
                         "put the section back, or set its caps with 'sluice project set %s "
                         "max_running=N' ('unlimited' for none)",
                         name, name);
    if (project->paused == paused)
        return 1;
    project->paused = paused;
    pause_set(&project->pause, paused ? by : NULL, paused ? e->now : 0);
    int r = project_apply(e, project, err);
    if (r < 0)
        return r;
    struct project_row row = {
        .name = project->name,
        .prefix = project->prefix,
        .paused = paused,
        .paused_by = project->pause.by,
        .paused_at = project->pause.at,
        .created_at = project->created_at,
    };
    store_put_project(e->turn.batch, &row);
    pause_write_event(e, paused ? "project.paused" : "project.resumed", project->name, by, NULL);
    return 0;
}

/* --- removed sections ------------------------------------------------------------------------- */

/* Which projects have a section in the configuration, and what happens without it. A section holds
 * the caps of a project. Removing it, by mistake or on purpose, must not start everything that the
 * caps held back. So the store remembers which projects had a section: one that lost it is paused,
 * in the same turn and after every start, until there is a section again or the project is deleted.
 * Projects that never had one (`sluice project add NAME`) use the defaults.
 *
 * The pause is derived from note and configuration each time it is applied, so no start can come
 * between the new configuration and the pause. */

#define NOTE_PREFIX "project:"

static const char *const words[] = {
    [PROJECT_CONFIGURED] = "configured",
    [PROJECT_ORPHANED] = "orphaned",
    [PROJECT_DELETED] = "deleted",
};

static void project_set_standing(struct engine *e, struct engine_project *project,
                                 enum project_standing standing) {
    bool is_dated = standing == PROJECT_ORPHANED || standing == PROJECT_DELETED;
    _cleanup_(strbuf_finish) struct strbuf text = STRBUF_INIT;
    project->standing = standing;
    project->standing_since = is_dated ? e->now : 0;
    if (standing != PROJECT_PLAIN)
        strbuf_printf(&text, "%s %" PRId64, words[standing], project->standing_since);
    note_put(e, NOTE_PREFIX, project->name, text.length > 0 ? strbuf_text(&text) : NULL);
    turn_wrote(e);
}

static void project_standing_load(struct engine *e, const struct note_row *row) {
    const char *name = note_key(row, NOTE_PREFIX);
    if (!name)
        return;
    struct engine_project *project = project_find(e, name);
    for (size_t i = PROJECT_CONFIGURED; project && i < ARRAY_SIZE(words); i++) {
        size_t length = strlen(words[i]);
        if (strncmp(row->text, words[i], length) != 0 || row->text[length] != ' ')
            continue;
        project->standing = (enum project_standing)i;
        project->standing_since = strtoll(row->text + length, NULL, 10);
    }
}

static int lose_section(struct engine *e, struct engine_project *project, struct error *err) {
    const char *name = project->name;
    project_set_standing(e, project, PROJECT_ORPHANED);
    pause_write_event(e, "project.paused", name, NULL, "section_removed");
    _cleanup_(freep) char *key = xasprintf("section:%s", name);
    struct share_view share = { 0 };
    bool has_unfinished = false;
    (void)core_share(e->core, project->symbol, &share);
    for (int state = TASK_DRAFT; state < TASK_DONE; state++) /* the final states follow */
        has_unfinished |= share.by_state[state] > 0;
    if (!has_unfinished)
        log_info("projects.%s was removed from the configuration: project '%s' is paused", name,
                 name);
    else
        alert_raise(
            e, key, 0, 0,
            "projects.%s was removed from the configuration, and its caps with it: project "
            "'%s' is paused; put the section back, set its caps with 'sluice project set %s "
            "max_running=N', or 'sluice project delete %s'",
            name, name, name, name);
    return project_apply(e, project, err);
}

static int regain_section(struct engine *e, struct engine_project *project, struct error *err) {
    bool was_orphaned = project->standing == PROJECT_ORPHANED;
    project_set_standing(e, project, PROJECT_CONFIGURED);
    if (!was_orphaned)
        return 0;
    log_info("project '%s' has a section in the configuration again: it goes on", project->name);
    pause_write_event(e, "project.resumed", project->name, NULL, NULL);
    return project_apply(e, project, err);
}

static int projects_settle(struct engine *e, struct error *err) {
    int r = 0;
    for (size_t i = 0; i < engine_project_count(e) && r == 0; i++) {
        struct engine_project *project = project_at(e, i);
        enum project_standing standing = project->standing;
        bool has_section = config_has_project(e->config, project->name);
        if (has_section && standing != PROJECT_CONFIGURED && standing != PROJECT_DELETED)
            r = regain_section(e, project, err);
        else if (!has_section && standing == PROJECT_CONFIGURED)
            r = lose_section(e, project, err);
        else if (standing == PROJECT_ORPHANED || standing == PROJECT_DELETED)
            r = project_apply(e, project, err); /* it was applied before its note was read */
    }
    return r;
}

int engine_delete_project(struct engine *e, const char *name, const char *by, struct error *err) {
    struct engine_project *project = project_find(e, name);
    if (!project || project->standing == PROJECT_DELETED)
        return error_set(err, -ENOENT, "there is no project '%s'", name);
    project_set_standing(e, project, PROJECT_DELETED);
    pause_write_event(e, "project.deleted", name, by, NULL);
    return project_apply(e, project, err);
}

/* --- new projects ---------------------------------------------------------------------------- */

#define PREFIX_MAX     16
#define PREFIX_USUAL   8
#define DEFAULT_NAME   "default"
#define DEFAULT_PREFIX "t"

static int project_register(struct engine *e, const struct project_row *row, struct error *err) {
    struct engine_project *project = project_find(e, row->name);
    if (!project) {
        project = LIST_ADD(&projects_of(e)->all);
        *project = (struct engine_project){ .name = xstrdup(row->name),
                                            .prefix = xstrdup(row->prefix),
                                            .created_at = row->created_at };
    }
    project->paused = row->paused;
    pause_set(&project->pause, row->paused_by, row->paused_at);
    return project_apply(e, project, err);
}

static const struct engine_project *with_prefix(const struct engine *e, const char *prefix) {
    for (size_t i = 0; i < engine_project_count(e); i++)
        if (strcmp(project_at(e, i)->prefix, prefix) == 0)
            return project_at(e, i);
    return NULL;
}

static bool prefix_is_valid(const char *prefix) {
    size_t length = strlen(prefix);
    if (length == 0 || length > PREFIX_MAX || !isalpha((unsigned char)prefix[0]))
        return false;
    for (const char *c = prefix; *c; c++)
        if (*c == '-' ? !isalpha((unsigned char)c[1]) : !isalnum((unsigned char)*c))
            return false;
    return true;
}

/* Letters and digits of the name, with a number appended if that is taken. */
static void make_prefix(const struct engine *e, const char *name, char ret[PREFIX_MAX + 1]) {
    size_t length = 0;
    for (const char *c = name; *c && length < PREFIX_USUAL; c++)
        if (isalpha((unsigned char)*c) || (length > 0 && isdigit((unsigned char)*c)))
            ret[length++] = (char)tolower((unsigned char)*c);
    if (length == 0)
        ret[length++] = 'p';
    ret[length] = '\0';
    for (unsigned n = 2; with_prefix(e, ret); n++)
        snprintf(ret + length, PREFIX_MAX + 1 - length, "%u", n);
}

static int check_prefix(const struct engine *e, const char *name, const char *prefix,
                        struct error *err) {
    if (!prefix_is_valid(prefix))
        return error_set(err, -EINVAL,
                         "prefix '%.40s' of project '%s': 1 to %d letters, digits and hyphens, "
                         "with a letter first and after each hyphen",
                         prefix, name, PREFIX_MAX);
    const struct engine_project *other = with_prefix(e, prefix);
    if (other)
        return error_set(err, -EEXIST, "prefix '%s' belongs to project '%s': choose another",
                         prefix, other->name);
    return 0;
}

/* It was deleted; the ids of its tasks keep their prefix. */
static int bring_back(struct engine *e, struct engine_project *project, const char *prefix,
                      struct error *err) {
    if (prefix && strcmp(prefix, project->prefix) != 0)
        return error_set(err, -EEXIST,
                         "project '%s' was deleted and has the prefix '%s', which does not change",
                         project->name, project->prefix);
    pause_write_event(e, "project.restored", project->name, NULL, NULL);
    project_set_standing(e, project,
                         config_has_project(e->config, project->name) ? PROJECT_CONFIGURED
                                                                      : PROJECT_PLAIN);
    return project_apply(e, project, err);
}

int engine_add_project(struct engine *e, const char *name, const char *prefix, struct error *err) {
    struct engine_project *known = project_find(e, name);
    if (known && known->standing == PROJECT_DELETED)
        return bring_back(e, known, prefix, err);
    if (known)
        return error_set(err, -EEXIST, "project '%s' already exists", name);
    const char *configured = config_text(e->config, "projects.P.prefix", name);
    if (!prefix && *configured)
        prefix = configured;
    char made[PREFIX_MAX + 1];
    if (!prefix && strcmp(name, DEFAULT_NAME) == 0 && !with_prefix(e, DEFAULT_PREFIX))
        prefix = DEFAULT_PREFIX;
    if (!prefix) {
        make_prefix(e, name, made);
        prefix = made;
    }
    int r = check_prefix(e, name, prefix, err);
    if (r < 0)
        return r;
    struct project_row row = { .name = name, .prefix = prefix, .created_at = e->now };
    r = project_register(e, &row, err);
    if (r < 0)
        return r;
    store_put_project(e->turn.batch, &row);
    turn_wrote(e);
    return 0;
}

/* The i-th configured project, if it has no row yet or was deleted, and its configured prefix, or "". */
static const char *new_project(const struct engine *e, size_t i, const char **ret_prefix) {
    const char *name = config_project_name(e->config, i);
    *ret_prefix = config_text(e->config, "projects.P.prefix", name);
    return engine_find_project(e, name) ? NULL : name;
}

/* Whether configured projects that have no row yet could be added. */
static int projects_check(struct engine *e, struct error *err) {
    const char *prefix, *other;
    for (size_t i = 0; i < config_project_count(e->config); i++) {
        const char *name = new_project(e, i, &prefix);
        if (!name || !*prefix || project_find(e, name))
            continue; /* a deleted one has its prefix */
        int r = check_prefix(e, name, prefix, err);
        if (r < 0)
            return r;
        for (size_t k = 0; k < i; k++)
            if (new_project(e, k, &other) && strcmp(prefix, other) == 0)
                return error_set(err, -EEXIST, "projects '%s' and '%s' want the same prefix '%s'",
                                 config_project_name(e->config, k), name, prefix);
    }
    return 0;
}

/* Adds the projects that have no row yet: those with a configured prefix first, so that generated
 * prefixes avoid these. */
static int projects_take_config(struct engine *e, struct error *err) {
    const char *prefix;
    int r = 0;
    for (int made = 0; made < 2; made++)
        for (size_t i = 0; i < config_project_count(e->config) && r == 0; i++) {
            const char *name = new_project(e, i, &prefix);
            if (name && (*prefix == '\0') == made)
                r = engine_add_project(e, name, NULL, err);
        }
    return r == 0 ? projects_settle(e, err) : r;
}

static void projects_free(struct engine *e) {
    struct projects *p = projects_of(e);
    for (size_t i = 0; i < p->all.count; i++) {
        struct engine_project *view = &p->all.items[i];
        free((char *)view->name);
        free((char *)view->prefix);
        free((char *)view->path);
        pause_set(&view->pause, NULL, 0);
    }
    free(p->all.items);
    free(p->of_symbol);
    pause_set(&p->pause, NULL, 0);
    *p = (struct projects){ 0 };
}

const struct engine_part projects_part = {
    .state_size = sizeof(struct projects),
    .at = { [STEP_UNLOAD] = projects_free, [STEP_FREE] = projects_free },
    .try = { [TRY_CHECK_CONFIG] = projects_check, [TRY_TAKE_CONFIG] = projects_take_config },
    .load_project = project_register,
    .load_note = project_standing_load,
    .load_totals = projects_load_totals,
    .apply_config = projects_apply_all,
    .apply_to_copy = projects_apply_to_copy,
};
