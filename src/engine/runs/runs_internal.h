/* runs_internal.h: live runs, their start and their end. Private to engine/. */
#pragma once

#include "agent/agent.h"
#include "engine/agents.h"
#include "engine/engine_internal.h"
#include "engine/tasks/tasks_internal.h"

/* --- runs ------------------------------------------------------------------------------------- */

struct live_run *run_find(const struct engine *e, task_id task);
struct live_run *run_find_attempt(const struct engine *e, struct run_key key);
static inline struct run_key run_key_of(const struct live_run *run) {
    return (struct run_key){ .task = run->task, .attempt = run->view.attempt };
}
size_t run_count(const struct engine *e);
struct live_run *run_live_at(const struct engine *e, size_t index);
struct live_run *run_add(struct engine *e, task_id task, uint32_t attempt);
void run_remove(struct engine *e, task_id task);
/* The spec that the shim got; refused if it was changed since. */
int run_read_spec(const struct engine *e, const struct live_run *run, struct run_spec_read **ret,
                  struct error *err);

/* The value of a variable that the run was launched with; NULL: not set. */
const char *run_spec_variable(const struct run_spec *spec, const char *name);
/* The same, for struct agent_path_context. */
const char *run_spec_lookup(void *spec, const char *name);

/* A start order that is committed. */
void launch_later(struct engine *e, task_id task);
/* Its command must be seen to run within the configured time from now on. */
void launch_set_deadline(struct engine *e, struct live_run *run);
/* The marker file of a task with until: done. */
char *launch_marker_path(const struct engine *e, task_id task);
void launch_remove_marker(const struct engine *e, const char *id);

/* --- stopping.c ------------------------------------------------------------------------------ */

void stopping_sent(struct engine *e, struct live_run *run); /* its shim has the stop */
/* Its command runs, or never will. */
void stopping_confirmed(struct engine *e, struct live_run *run);

/* --- run_end.c: the end of a run ---------------------------------------------------------------
 *
 * One pipeline from the record of the executor to the rows of the task. Each stage completes at
 * once or starts something slow; then the part that does it calls run_end_continue with what it has
 * found out. Only run_end.c knows which stage is next, and only run_outcome_decide knows what the
 * facts mean. Outside of a turn, except for the last step. */

enum end_stage {
    END_LOG,      /* the output of its agent is read to the end: agents/listen.c */
    END_TREE,     /* its work tree is hashed: stuck.c */
    END_CHILDREN, /* what its task spawns is known: spawning.c */
    END_DELIVERY, /* its work is committed, and merged or handed over: git/workspace.c */
    END_READY,    /* the next turn applies the end, in one commit */
};

/* What became of the work of a run in a worktree. */
struct end_delivery {
    const struct run_end *end; /* its own, or that of a check after a rebase, or of a stop */
    bool is_failed;            /* with `outcome` */
    enum outcome outcome;
    const char *note;
    bool changed_nothing;   /* its task changed no file */
    const char *conflict;   /* with OUTCOME_CONFLICT: what a run must repair; or NULL */
    bool conflict_iterates; /* the next iteration repairs it */
};
/* One member, by the stage; END_LOG and END_CHILDREN have none. */
struct end_result {
    const char *tree; /* END_TREE; NULL: unknown */
    const struct end_delivery *delivery;
};

extern const struct executor_events run_end_events;
/* A launch that did not happen: ends without a run. */
void run_end_unlaunched(struct engine *e, const struct live_run *run, enum run_end_kind kind,
                        const struct error *why);
/* The stage is complete. Ignored if the run does not wait for it. */
void run_end_continue(struct engine *e, struct run_key run, enum end_stage stage,
                      const struct end_result *result);
/* The recorded end of a run that waits in a stage; NULL: none. */
const struct run_end *run_end_find(const struct engine *e, struct run_key run);
/* What a run whose end is recorded still waits for, as text; NULL: nothing. */
const char *run_end_doing(const struct engine *e, task_id task);
/* Inside a turn: records this end at once. Frees `run`. */
void run_end_now(struct engine *e, struct live_run *run, const struct run_end *end);
/* Records the end of an attempt that others have followed; no other effect. */
void run_end_record(struct engine *e, const struct live_run *run, struct run_end *end);

/* --- run_outcome.c ---------------------------------------------------------------------------- */

/* Everything that an outcome depends on. Facts that are not known yet are zero. */
struct end_facts {
    const struct run_end *end;
    const struct agent_outcome *reported; /* NULL: its output is not read */
    enum until until;
    enum marker marker;      /* with UNTIL_DONE */
    bool stop_requested;     /* by the core */
    bool is_taken;           /* the run of a person who has taken the task over */
    bool is_taken_from;      /* the core requested the stop for such a person */
    bool has_account;        /* that can be limited or closed */
    bool must_print;         /* it has an agent that does not end silently */
    bool resumes;            /* it continues an earlier session */
    bool checks_passed;      /* with AGENT_DENIED: it had checks, and all have passed */
    bool gave_up_waiting;    /* its provider asked it to wait, and it ended soon after */
    const char *denial;      /* with AGENT_DENIED: the message */
    const char *budget_stop; /* it was stopped because a budget is used up: the message, or "" */

    const char *question; /* its task has asked a person, and the answer was not used; or NULL */

    const char *spawn_error; /* its children cannot be added; NULL: they can, or are not known */
    bool delivery_failed;    /* with `delivery_outcome`; `end` has the message */
    enum outcome delivery_outcome;
    const char *delivery_note;
    bool changed_nothing;
    bool conflict_iterates; /* with OUTCOME_CONFLICT: the next iteration repairs it */
    bool check_expired;     /* its check was pending for longer than it may be */

    /* Known when the end is applied. */
    const char *marker_message;                  /* with MARKER_NO_FILE */
    const char *tree;                            /* of its work; NULL: unknown */
    int64_t most_same_trees, most_same_failures; /* the settings; 0: off */
    uint32_t same_trees;           /* iterations that left the tree unchanged, with this one */
    const char *last_failure;      /* or NULL */
    uint32_t same_failures;        /* how often that was the failure, without this one */
    const char *exhausted_account; /* limited for longer than limiter.max_wait_s; or NULL */
};

struct end_verdict {
    enum outcome outcome;
    char message[256];
    char own_message[256]; /* without the report of the agent */
    char failure[320];     /* to be counted (session_count_failure); "": none */
    bool counts_tree;      /* the tree is to be counted (session_count_tree) */
    bool closes_account;   /* `exhausted_account` */
};

void run_outcome_decide(const struct end_facts *facts, struct end_verdict *ret);
/* It printed something, or ran for a while: it was launched successfully. */
bool run_end_showed_life(const struct run_end *end);

/* --- spawning --------------------------------------------------------------------------------- */

/* The task as submitted is known. */
void spawning_launched(struct live_run *run, const char *spec, size_t size, bool spawns);
/* True: what its task spawns is unknown, and the store is asked; END_CHILDREN follows. */
bool spawning_must_query(struct engine *e, struct live_run *run);
/* Adds the tasks of its spawn file as children, if there is one. `check_only`: whether they could
 * be added, before work is merged that another iteration would have to fix. */
int spawning_add_children(struct engine *e, const struct live_run *run, bool check_only,
                          struct error *err);

/* --- stuck ------------------------------------------------------------------------------------ */

/* True: its work tree is hashed first; END_TREE follows. */
bool stuck_hash_tree(struct engine *e, const struct live_run *run, const struct run_end *end);

/* --- iteration -------------------------------------------------------------------------------- */

/* Files of one iteration of a task.
 *
 *   HOME/tasks/<id>/iterations/<NNN>/prompt.md     what the agent got
 *                                    feedback.md   about the previous iteration; optional
 *                                    artifacts/    what it leaves for others
 *                                    diff.json its changes (workspace/diff_record.h); in a worktree
 *
 * Created at the launch, idempotently. Deleted with the task. */

#define ITERATION_ARTIFACTS "artifacts"
#define ITERATION_FEEDBACK  "feedback.md"
#define ITERATION_PROMPT    "prompt.md"
#define ITERATION_OWN       "own" /* of the task: where a run in a sandbox puts its marker */

/* `name`: one of these, or NULL for the folder itself. */
char *iteration_path(const struct engine *e, const char *id, uint32_t iteration, const char *name);

/* Creates the folders of this run's iteration. */
int iteration_prepare(struct engine *e, const char *id, uint32_t iteration, struct error *err);
bool iteration_has_feedback(const struct engine *e, const char *id, uint32_t iteration);
/* Appends the submitted prompt with the configured additions to `out`; also writes prompt.md. */
int iteration_prompt(const struct engine *e, const struct live_run *run, const char *prompt,
                     struct strbuf *out, struct error *err);
/* The prompt of a session that is resumed because its result was not accepted: the feedback. Also
 * writes prompt.md. False: no feedback exists. */
bool iteration_feedback_prompt(const struct engine *e, const struct live_run *run,
                               struct strbuf *out);
/* The prompt of a session that is resumed with the message of a follow-up. Also writes prompt.md.
 * False: this attempt has no message. */
bool iteration_message_prompt(const struct engine *e, const struct live_run *run,
                              struct strbuf *out);
/* Where the run writes the tasks that shall follow it. */
char *iteration_spawn_path(const struct engine *e, const char *id, uint32_t iteration,
                           const char *spawn);
/* The task is finished: empty folders are deleted, or kept for another task. */
void iteration_tidy(struct engine *e, task_id task, uint32_t iteration);
/* A run has ended: deletes what retention.iterations does not keep of its task. */
void iterations_keep_newest(struct engine *e, const struct live_run *run);

/* The task was deleted: its folders go with its run folders. Call before executor_forget. */
void iteration_forget(const struct engine *e, const char *id);

/* --- feedback.c ------------------------------------------------------------------------------ */

#define FEEDBACK_HISTORY "\n## Earlier iterations\n" /* what follows is about earlier ones */

/* What was wrong with an iteration. */
struct feedback {
    const struct run_end *end;
    const char *of_check; /* the message of the end without the agent's text */
    enum outcome outcome;
    const char *conflict; /* with OUTCOME_CONFLICT: what must be repaired; or NULL */
};
/* The run has ended: writes what was wrong if another iteration follows. A conflict is written in any
 * case: a retry of the task repairs it, too. */
void feedback_write(struct engine *e, const struct live_run *run, const struct feedback *feedback);
/* A finished task begins an iteration that repairs a conflict. */
void feedback_write_conflict(struct engine *e, task_id task, const char *conflict);
