/* submission.h: one task as a client wrote it. Private to ops/.
 *
 * Reading looks at the object alone: every member is known, has its type and is within its limits. What
 * must be known to the daemon (names, ids) is checked by batch.h. Texts are borrowed from the JSON. */
#pragma once

#include <jansson.h>

#include "base/arena.h"
#include "base/error.h"
#include "core/model.h"

#define SUBMISSION_SPEC_MAX      (64u * 1024u)
#define SUBMISSION_ENV_MAX       (32u * 1024u)
#define SUBMISSION_ARGV_MAX      128u
#define SUBMISSION_DEPENDS_MAX   256u
#define SUBMISSION_RESOURCES_MAX 16u
#define SUBMISSION_CHECKS_MAX    32u
#define SUBMISSION_BATCH_MAX     10000u

#define SUBMISSION_NOT_GIVEN INT64_MIN

/* Said of a priority that the order of tasks ignores. */
#define SUBMISSION_PRIORITY_NOTE                                                                   \
    "the order of tasks does not depend on their priority: the setting 'order' does not name it"

struct submission {
    const json_t *json;
    const char *name, *project, *kind, *title, *prompt, *agent, *parent, *artifact, *serial, *spawn,
        *workspace, *limiter, *external_id, *cwd, *stdin_path, *stop_signal, *until, *parent_gate,
        *merge, *base_branch, *resume, *on_budget, *failover, *executor, *sandbox, *state;
    const json_t *argv, *checks, *env, *meta, *depends_json, *resources_json, *slurm, *inside,
        *wrap;
    /* SUBMISSION_NOT_GIVEN when not given. Booleans are 0 or 1. */
    int64_t priority, retries, not_before, created_at, iteration, memory_mb, processes, nice,
        tokens, usd, run_tokens, run_usd;
    int64_t timeout_ms, idle_timeout_ms, grace_ms;
    int64_t parallelizable, review, hold, draft;
    /* Trimmed, split at commas, each once. */
    const char **depends_on, **resources;
    size_t depends_on_count, resource_count;
};

/* An artifact below the folder of its parent: of which iteration; 0: of the present one. */
uint32_t submission_artifact_iteration(const char *artifact);

/* Lists are made in the arena. */
int submission_read(const json_t *json, struct arena *arena, struct submission *ret,
                    struct error *err);

/* submission_slurm.c: what Slurm is asked for; an object. */
int submission_check_slurm(const char *name, const json_t *value, struct error *err);

/* What lists show: the title, or the beginning of the prompt or of the command. */
const char *submission_title(const struct submission *s, struct arena *arena);

/* Every member, for the documents: its name, what may be written and what it means. False: no more. */
bool submission_member(size_t index, const char **ret_name, const char **ret_type,
                       const char **ret_text);
