/* submission.h: a task that is to be added.
 *
 * The request is read into it (ops/task_batch.h): every member of the table (task_members.inc) has
 * a field of the same name and its own type. The checks against the daemon's state complete the
 * fields and fill `spec`; engine_add_tasks adds it to the core. Strings are borrowed from the JSON
 * or from the arena of the request. */
#pragma once

#include <jansson.h>

#include "base/error.h"
#include "base/json_span.h"
#include "core/fact.h"

struct engine;

#define SUBMISSION_NOT_GIVEN INT64_MIN

/* The type of a field, by member kind. */
#define FIELD_NAME     const char *
#define FIELD_LINE     const char *
#define FIELD_BODY     const char *
#define FIELD_CHOICE   const char *
#define FIELD_PATH     const char *
#define FIELD_PLACE    const char *
#define FIELD_ARTIFACT const char *
#define FIELD_WHOLE    int64_t
#define FIELD_SPAN     int64_t /* ms */
#define FIELD_SIZE     int64_t
#define FIELD_MONEY    int64_t /* millionths */
#define FIELD_MOMENT   int64_t
#define FIELD_SWITCH   int64_t /* 0 or 1 */
#define FIELD_NAMES    const json_t *
#define FIELD_WORDS    const json_t *
#define FIELD_CHECKS   const json_t *
#define FIELD_GATE     const json_t *
#define FIELD_ENV      const json_t *
#define FIELD_PAIRS    const json_t *
#define FIELD_OBJECT   const json_t *

struct engine_project;

struct submission_names {
    const char **items;
    size_t count;
};

struct submission {
    /* NULL, or SUBMISSION_NOT_GIVEN for a number, if not given. The checks set `project`, `title`
     * and, for a shared folder, `workspace`. */
#define MEMBER(name, kind, ...) FIELD_##kind name;
#include "taskfile/task_members.inc"
    json_t *json;
    struct json_span span;                    /* `json` as sent; from NULL: it was changed since */
    const char *stored;                       /* `json` as stored: without spaces between tokens */
    struct submission_names depends_names;    /* depends_on */
    struct submission_names resource_names;   /* resources, and keys that the checks have added */
    const struct engine_project *project_row; /* NULL: "default", which does not exist yet */
    size_t candidate_of;                      /* of the entry before this number; 0: of none */
    bool already;                             /* not added: the task spec.id has its external id */
    bool deferred;                            /* not added: the queue has no room */
    /* The engine sets the symbols and `resources`, and `id` if it is 0. */
    struct task_spec spec;
};

/* The members of its spec that name things; `resources` must live as long as the spec is used. */
int engine_complete_spec(struct engine *engine, struct submission *submission,
                         sym resources[RESOURCES_MAX], struct error *err);

static inline bool submission_is_new(const struct submission *s) {
    return !s->already && !s->deferred;
}
