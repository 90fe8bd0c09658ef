/* submission.h: one task as a client wrote it. Private to ops/.
 *
 * Reading looks at the object alone: every member is known, has its type and is within its limits
 * (taskfile/task_member.h). What must be known to the daemon (names, ids) is checked by batch.h.
 * Texts are borrowed from the JSON. */
#pragma once

#include <jansson.h>

#include "base/arena.h"
#include "base/error.h"
#include "core/model.h"
#include "taskfile/task_member.h"

#define SUBMISSION_SPEC_MAX      (64u * 1024u)
#define SUBMISSION_RESOURCES_MAX 16u
#define SUBMISSION_BATCH_MAX     10000u

#define SUBMISSION_NOT_GIVEN INT64_MIN

/* Said of a priority that the order of tasks ignores. */
#define SUBMISSION_PRIORITY_NOTE                                                                   \
    "the order of tasks does not depend on their priority: the setting 'order' does not name it"

struct submission_names {
    const char **items;
    size_t count;
};

/* The type of a field, by the kind of its member. */
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
#define FIELD_ENV      const json_t *
#define FIELD_PAIRS    const json_t *
#define FIELD_OBJECT   const json_t *

/* NULL, or SUBMISSION_NOT_GIVEN of a number, when not given. */
struct submission {
    json_t *json;
    bool changed; /* while it was read: what is kept is not what was written */
#define MEMBER(name, kind, ...) FIELD_##kind name;
#include "taskfile/task_members.inc"
    struct submission_names dependencies, resource_names; /* depends_on and resources */
};

/* An artifact below the folder of its parent: of which iteration; 0: of the present one. */
uint32_t submission_artifact_iteration(const char *artifact);

/* Values that were written in another form, or under another name, are replaced in the object. */
int submission_read(json_t *json, time_ms now, struct arena *arena, struct submission *ret,
                    struct error *err);

/* submission_slurm.c: what Slurm is asked for; an object. */
int submission_check_slurm(const json_t *value, struct error *err);

/* What lists show: the title, or the beginning of the prompt or of the command. */
const char *submission_title(const struct submission *s, struct arena *arena);
