/* projects.h: projects. Included by engine.h. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"
#include "base/symbol_table.h"
#include "base/time_ms.h"

struct engine;

/* With paused: who asked for it, and when. */
struct engine_pause {
    const char *by; /* NULL: unknown */
    time_ms at;     /* 0: unknown */
};

/* Whether a project has a section `projects.NAME` in the configuration. */
enum project_standing {
    PROJECT_PLAIN,      /* never had one, and needs none */
    PROJECT_CONFIGURED, /* has one */
    PROJECT_ORPHANED,   /* its section was removed: paused until there is one again */
    PROJECT_DELETED,    /* hidden; kept for the ids of its finished tasks */
};

struct engine_project {
    const char *name, *prefix, *path; /* path: default directory of its tasks; or NULL */
    sym symbol;
    enum project_standing standing;
    time_ms standing_since;    /* with ORPHANED and DELETED */
    bool paused;               /* on request; the configuration may pause it too */
    struct engine_pause pause; /* with paused */
    uint32_t external;         /* live runs that are not ours */
    time_ms created_at;
};
size_t engine_project_count(const struct engine *engine);
const struct engine_project *engine_project_at(const struct engine *engine, size_t index);
/* NULL: unknown or deleted. */
const struct engine_project *engine_find_project(const struct engine *engine, const char *name);

/* Inside a turn. */
int engine_add_project(struct engine *engine, const char *name, const char *prefix,
                       struct error *err);
/* Hides a project and stops starting its tasks. Its finished tasks and prefix stay:
 * engine_add_project restores it. The caller has canceled the unfinished ones and removed its
 * section. */
int engine_delete_project(struct engine *engine, const char *name, const char *by,
                          struct error *err);
/* `by`: who asks; NULL: unknown. 1: no change. */
int engine_pause_project(struct engine *engine, const char *name, bool paused, const char *by,
                         struct error *err);
