/* batch.h: many submissions that come in together, or not at all. Private to ops/.
 *
 * Life:    batch_read → batch_check → engine_add_tasks(batch.drafts) → batch_finish
 * Nothing is told or written here. After an error batch.index is the submission that is wrong. */
#pragma once

#include "base/id_map.h"
#include "base/json_span.h"
#include "engine/engine.h"
#include "ops/submission.h"

struct op_call;

struct batch_entry {
    struct submission s;
    struct json_span span;                /* as it was written; from NULL: print it */
    const struct engine_project *project; /* NULL: "default", which is not there yet */
    task_id id;                           /* of the existing task, or of the one that is added */
    bool already;                         /* nothing is added for it */
    bool deferred;                        /* nothing is added for it: the queue has no room */
    task_id parent;
    task_id *depends_on;
    size_t depends_on_count;
};

struct batch {
    struct engine *engine;
    struct arena *arena; /* of whoever has the batch */
    struct batch_entry *entries;
    size_t count;
    size_t index;
    size_t added;              /* how many are not there already */
    size_t queued;             /* how many of those will wait: no drafts, none that is held */
    size_t deferred;           /* how many the queue has no room for; 0 unless `partial` */
    task_id first;             /* the number of the first that is added */
    uint32_t *by_number;       /* `added` indexes of entries */
    const struct op_call *run; /* of a run: it knows of no task but those that it sees; or NULL */
    size_t skip;               /* numbers that other batches of this turn get first */
    bool force, draft;
    bool partial; /* add as many as `room` allows, and defer the others */
    amount room;
    bool makes_default; /* one is for the project "default", which is not there yet */
    struct id_map names;
    struct id_map externals;     /* of those that have a number, by project and external id */
    struct engine_draft *drafts; /* `added` of them */
};

void batch_finish(struct batch *batch);

/* Reads all of them. `tasks` and `body` (NULL: not kept) must live as long as the batch. */
int batch_read(struct batch *batch, json_t *tasks, const char *body, struct error *err);

/* The entry of this project that has the external id, or 0. */
task_id batch_external(const struct batch *batch, const char *project, const char *external_id);

/* Names, ids, guards, rings; every entry gets its number, and those that are new a draft. */
int batch_check(struct batch *batch, struct error *err);
/* A draft does not wait, nor does a task that is held or has ended elsewhere. */
bool submission_waits(const struct batch *batch, const struct submission *s);
/* batch_admit.c: sets `deferred`; at most `room` of the others wait. */
void batch_admit(struct batch *batch, amount room);
/* Whether a task is added for it. */
bool batch_adds(const struct batch_entry *entry);
/* The entry that this number is given to, or NULL. */
const struct batch_entry *batch_entry_of(const struct batch *batch, task_id task);
/* After they were added: those with budgets of their own have them. */
void batch_give_budgets(const struct batch *batch);

/* --- submission_check.c: one of them against what the daemon knows ---------------------------- */

#define DEFAULT_PROJECT "default"
const char *submission_project(const struct submission *s);

/* What it says, or the configuration for it. */
enum parent_gate submission_parent_gate(const struct batch *batch, const struct batch_entry *entry);

/* A task that runs nothing and is done when its children are: of the kind `epic`, or of a project
 * that only coordinates. */
#define EPIC_KIND "epic"
bool submission_is_epic(const struct engine *engine, const char *kind, const char *project);
/* sling_epic.c: epics that are in the queue wait for the children that a batch has added to
 * them. */
void epic_adopt_children(struct op_call *call, const struct batch *batch);

int submission_check(struct batch *batch, struct batch_entry *entry, struct error *err);
/* submission_workspace.c: where it works, and what is done with its work. */
int submission_check_workspace(const struct batch *batch, const struct batch_entry *entry,
                               struct error *err);
/* Can work of this project be brought in so? NULL: nothing was said. */
struct submission_merge {
    const char *project, *merge, *base_branch;
};
int submission_check_merge(const struct config *config, const struct submission_merge *wish,
                           struct error *err);
/* A branch to start from, where nothing starts from a branch: what to say of it, in the arena; or
 * NULL. */
const char *submission_branch_note(const struct config *config, const char *project,
                                   struct arena *arena);
/* submission_slurm.c: whether it runs in Slurm, and in which partition: a key that it needs. */
int submission_place(const struct batch *batch, const struct submission *s,
                     struct engine_draft *draft, struct error *err);
/* Its parent and its dependencies as numbers; those of the batch have theirs. */
int submission_link(const struct batch *batch, struct batch_entry *entry, struct error *err);
int submission_draft(const struct batch *batch, const struct batch_entry *entry,
                     struct engine_draft *ret, struct error *err);
