/* live_run.h: a run that has not ended, and what was told of it. Private to engine/. */
#pragma once

#include "engine/engine.h"
#include "engine/executors.h"
#include "engine/run_proof.h"
#include "engine/run_token.h"
#include "executor/executor.h"

/* A run that has not ended. */
struct live_run {
    task_id task;
    struct engine_run view; /* its folder is owned */
    uint32_t iteration;
    char *agent;
    enum executor_kind executor;
    char *boot_id;          /* of the boot in which it was ordered */
    char *cwd;              /* of its command; NULL: what its shim was given says it */
    struct run_proof proof; /* what its records are tagged with, and who its shim is */
    char *host;             /* of one that is away; else NULL */
    const char
        *place; /* where it was when the rows were read; NULL: ours: recovery/data_folder.c */
    time_ms launch_deadline; /* until its command was seen; TIME_NEVER: seen */
    enum run_phase phase;
    struct run_token token;
    int64_t tokens_cached, cost_micro_usd; /* -1: not reported */
    int64_t
        tokens_total; /* a total that was reported, and is in the tokens as far as it is not told apart; 0: none */
    char *session;         /* of its agent; NULL: not known */
    char *model;           /* told at its end */
    const char *said;      /* the agent's own result, at its end; or NULL */
    char *sandbox;         /* the name of its kind; NULL: not known */
    bool sandbox_asked;    /* it was looked for */
    char *sandbox_root;    /* the folder that it may write, if it is in one */
    bool resumes;          /* it goes on with a session that was there before */
    bool adapter_known;    /* who listens to it is decided */
    bool is_over_budget;   /* that was told */
    bool cost_is_guessed;  /* by the prices of its model, while it runs */
    bool is_metered;       /* its numbers come from its telemetry: telemetry.h */
    time_ms limited_until; /* it has said that its provider wants it to wait; 0: it has not */
    char *spawner;         /* its task as it was submitted, if that spawns others; owned */
    bool spawner_known;    /* else the store must be asked for it */
    bool prepares;         /* its worktree is prepared before its command starts */
    bool deadline_moved;   /* of its launch, for that */
    bool own_command;      /* its task brings the command: what fails is not its agent */
    enum launch_cause launch_cause; /* of a launch that fails before its shim runs */
    bool stop_now;                  /* a stop order kills at once */
    bool is_alive;                  /* the start of the daemon has found it so */
    bool is_away;                   /* on another host: away.h */
    bool is_heard;   /* its shim has said that its command runs, or that it has ended */
    bool is_unheard; /* it was told to stop before: stopping.c */
    size_t position; /* in engine.live */
};

/* What the executor told since the last turn. Kept until a commit has it. */
enum happening_kind { HAPPENED_STARTED, HAPPENED_VALIDATING, HAPPENED_ENDED };
struct happening {
    enum happening_kind kind;
    struct run_key run;
    time_ms at;
    struct run_end end;
    bool is_forced; /* `outcome` counts, and not what the end says: its work could not be merged */
    bool is_fresh;  /* nobody has looked at its work yet */
    bool is_empty;  /* it succeeded, and its task has changed no file */
    enum outcome outcome;
    char note[256]; /* what became of its work; "": nothing to say */
};
