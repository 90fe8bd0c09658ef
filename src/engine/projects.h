/* projects.h: where tasks belong. Included by engine.h. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"
#include "base/symbol_table.h"
#include "base/time_ms.h"

struct engine;

/* With paused: who asked for it, and when. */
struct engine_pause {
    const char *by; /* NULL: nobody knows */
    time_ms at;     /* 0: nobody knows */
};

/* Whether a project has a section of its own, `projects.NAME`, in the configuration. */
enum project_standing {
    PROJECT_PLAIN,      /* it never had one, and needs none */
    PROJECT_CONFIGURED, /* it has one */
    PROJECT_ORPHANED,   /* it had one, which was removed: paused until there is one again */
    PROJECT_DELETED,    /* hidden; kept for the ids of its finished tasks */
};

struct engine_project {
    const char *name, *prefix, *path; /* path: where its tasks run by default; or NULL */
    sym symbol;
    enum project_standing standing;
    time_ms standing_since;    /* with ORPHANED and DELETED */
    bool paused;               /* somebody asked for it; the configuration may too */
    struct engine_pause pause; /* with paused */
    uint32_t external;         /* living runs that are not ours */
    time_ms created_at;
};
size_t engine_project_count(const struct engine *engine);
const struct engine_project *engine_project_at(const struct engine *engine, size_t index);
/* NULL: there is none, or it was deleted. */
const struct engine_project *engine_find_project(const struct engine *engine, const char *name);

/* Inside a turn. */
int engine_add_project(struct engine *engine, const char *name, const char *prefix,
                       struct error *err);
/* Hides a project and starts nothing of it any more. Its finished tasks and its prefix stay: engine_add_project
 * brings it back. The caller has canceled what is unfinished and removed its section. */
int engine_delete_project(struct engine *engine, const char *name, const char *by,
                          struct error *err);
/* `by`: who asks; NULL: unknown. 1: it was so already. */
int engine_pause_project(struct engine *engine, const char *name, bool paused, const char *by,
                         struct error *err);
