/* task_batch.h: the tasks of one request. Private to ops/.
 *
 * batch_read checks each object alone: every member is known, has its type and is within its limits
 * (taskfile/task_member.h). batch_check compares names and ids with the daemon's state, and fills
 * the specs of new tasks. batch_add adds them. Strings are borrowed from the JSON.
 *
 * Used for requests (op_task_add.c), for spawn files and children of runs (children.c), and for
 * steps of formulas and tasks that move to another project (op_task_sling.c).
 *
 * Life: batch_read → batch_check → batch_add → batch_finish. Only batch_add changes anything. After
 * an error batch.index is the invalid submission. */
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
#define PRIORITY_USUAL           100

/* The warning for a priority that the configured order ignores. */
#define SUBMISSION_PRIORITY_NOTE                                                                   \
    "the order of tasks does not depend on their priority: the setting 'order' does not name it"

static inline int64_t given_or(int64_t value, int64_t otherwise) {
    return value == SUBMISSION_NOT_GIVEN ? otherwise : value;
}

/* --- batches --------------------------------------------------------------------------------- */

struct op_call;

struct batch {
    struct engine *engine;
    struct arena *arena; /* of the caller */
    struct submission *entries;
    size_t count;
    size_t requested;          /* the first ones; the others are candidates of these */
    size_t index;              /* of a requested one */
    size_t added;              /* number of tasks that do not exist yet */
    size_t queued;             /* of those, how many will wait: neither drafts nor held */
    size_t deferred;           /* number that the queue has no room for; 0 unless `partial` */
    uint32_t group;            /* of all entries; batch_add sets the one that it opens */
    task_id first;             /* the number of the first added task */
    uint32_t *by_number;       /* `added` indexes of entries */
    const struct op_call *run; /* for a run: it knows only tasks that it sees; or NULL */
    bool imports;              /* for a run: they are imported, not its children */
    size_t skip;               /* numbers that other batches of this turn get first */
    bool force, draft;
    bool keeps_links; /* the caller sets parents and dependencies after batch_check */
    bool partial;     /* add as many as `room` allows, and defer the others */
    amount room;
    bool no_best_of;    /* steps of a formula, and drafts that move, have no candidates */
    bool makes_group;   /* opens a group with a generated name, unless nothing is added */
    bool makes_default; /* one is for the project "default", which does not exist yet */
    const struct submission *executor_of; /* the last one whose executor was looked up; or NULL */
    const char *executor;                 /* for its project and agent */
    struct id_map names;
    json_t *made;            /* the objects of candidates; or NULL */
    struct id_map externals; /* of numbered submissions, by project and external id */
};

void batch_finish(struct batch *batch);

/* `tasks` and `body` (NULL: not stored) must live as long as the batch. */
int batch_read(struct batch *batch, json_t *tasks, const char *body, struct error *err);

/* Checks names, ids and cycles; assigns numbers, and fills the specs of new tasks. */
int batch_check(struct batch *batch, struct error *err);
/* Instead of batch_check, for the changed submission of one task that exists: names, and what is
 * stored of it. */
int batch_check_edit(struct batch *batch, struct error *err);
/* The submission that this number is assigned to, or NULL. */
const struct submission *batch_entry_of(const struct batch *batch, task_id task);
/* Adds the new tasks, all or none, with their budgets; first the project "default" and the group
 * (NULL: none is named; see makes_group) if they do not exist. */
int batch_add(struct batch *batch, const char *group, struct error *err);
/* `word`: the member `on_budget`; or NULL. */
enum engine_on_budget submission_on_budget(const char *word);
bool submission_has_limits(const struct engine_limits *limits); /* any is given */

/* Needs a slot of this key, too; `key` must live as long as the batch. */
void submission_add_resource(struct submission *s, const char *key, struct arena *arena);

#define DEFAULT_PROJECT "default"

/* A task of the kind `epic`, or of a project that only coordinates, runs nothing and is done when
 * its children are. */
#define EPIC_KIND "epic"
bool submission_is_epic(const struct engine *engine, const char *kind, const char *project);
/* op_task_sling.c: queued epics wait for the children that a batch has added to them. */
void epic_adopt_children(struct op_call *call, const struct batch *batch);

/* Can work of this project be merged this way? NULL: not given. */
int submission_check_merge(const struct config *config, const char *project, const char *merge,
                           const char *base_branch, struct error *err);
/* The warning for this member of a task in a project without worktrees, in the arena; or NULL. */
const char *submission_branch_note(const struct config *config, const char *project,
                                   const char *member, struct arena *arena);

/* --- admission ------------------------------------------------------------------------------- */

/* The tasks of a request, in order, and which of them need each other (core/task_graph.h). */
struct needs {
    uint32_t *starts, *targets;
    bool *waits, *deferred;
    uint32_t node_count, count;
    size_t capacity;
};
void needs_init(struct needs *needs, size_t node_count);
void needs_finish(struct needs *needs);
/* The next node; `waits`: it takes room in the queue. Then its targets. */
void needs_begin(struct needs *needs, bool waits);
void needs_add(struct needs *needs, size_t target);
/* Fills `deferred`; returns the number deferred. */
size_t needs_defer(struct needs *needs, amount room);
