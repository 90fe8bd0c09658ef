/* task_batch.h: the tasks of one request. Private to ops/.
 *
 * batch_read checks each object alone: every member is known, has its type and is within its limits
 * (taskfile/task_member.h). batch_check compares names and ids with the daemon's state, and fills
 * the specs of new tasks. Strings are borrowed from the JSON.
 *
 * Life: batch_read → batch_check → engine_add_tasks(batch.entries) → batch_finish. Nothing is
 * applied or written here. After an error batch.index is the invalid submission. */
#pragma once

#include <jansson.h>

#include "base/arena.h"
#include "base/error.h"
#include "base/id_map.h"
#include "engine/allowance.h"
#include "engine/engine.h"
#include "engine/submission.h"

#define SUBMISSION_SPEC_MAX      (64u * 1024u)
#define SUBMISSION_RESOURCES_MAX 16u
#define SUBMISSION_BATCH_MAX     10000u

/* The warning for a priority that the configured order ignores. */
#define SUBMISSION_PRIORITY_NOTE                                                                   \
    "the order of tasks does not depend on their priority: the setting 'order' does not name it"

/* --- batches --------------------------------------------------------------------------------- */

struct op_call;

struct batch {
    struct engine *engine;
    struct arena *arena; /* of the caller */
    struct submission *entries;
    size_t count;
    size_t index;
    size_t added;              /* number of tasks that do not exist yet */
    size_t queued;             /* of those, how many will wait: neither drafts nor held */
    size_t deferred;           /* number that the queue has no room for; 0 unless `partial` */
    task_id first;             /* the number of the first added task */
    uint32_t *by_number;       /* `added` indexes of entries */
    const struct op_call *run; /* for a run: it knows only tasks that it sees; or NULL */
    size_t skip;               /* numbers that other batches of this turn get first */
    bool force, draft;
    bool partial; /* add as many as `room` allows, and defer the others */
    amount room;
    bool makes_default; /* one is for the project "default", which does not exist yet */
    struct id_map names;
    struct id_map externals; /* of numbered submissions, by project and external id */
};

void batch_finish(struct batch *batch);

/* `tasks` and `body` (NULL: not stored) must live as long as the batch. */
int batch_read(struct batch *batch, json_t *tasks, const char *body, struct error *err);

/* Checks names, ids and cycles; assigns numbers, and fills the specs of new tasks. */
int batch_check(struct batch *batch, struct error *err);
/* The submission that this number is assigned to, or NULL. */
const struct submission *batch_entry_of(const struct batch *batch, task_id task);
/* Call after adding: sets the budgets of new tasks. */
void batch_set_budgets(const struct batch *batch);
/* `word`: the member `on_budget`; or NULL. */
enum engine_on_budget submission_on_budget(const char *word);
bool submission_has_limits(const struct engine_limits *limits); /* any is given */

/* Needs a slot of this key, too; copied into the arena. */
void submission_add_resource(struct submission *s, const char *key, struct arena *arena);

#define DEFAULT_PROJECT "default"

/* A task of the kind `epic`, or of a project that only coordinates, runs nothing and is done when
 * its children are. */
#define EPIC_KIND "epic"
bool submission_is_epic(const struct engine *engine, const char *kind, const char *project);
/* op_task_sling.c: queued epics wait for the children that a batch has added to them. */
void epic_adopt_children(struct op_call *call, const struct batch *batch);

/* Can work of this project be merged this way? NULL: not given. */
struct submission_merge {
    const char *project, *merge, *base_branch;
};
int submission_check_merge(const struct config *config, const struct submission_merge *wanted,
                           struct error *err);
/* The warning for a base branch in a project without worktrees, in the arena; or NULL. */
const char *submission_branch_note(const struct config *config, const char *project,
                                   struct arena *arena);
