/* rows.h: stored rows as plain data.
 *
 * Rows have everything needed to restore the core (FACT_TASK_ADDED and the facts of the world), and
 * what users query later. Texts are borrowed: a batch copies them, and in an answer they are valid
 * during the callback. NULL is "none". */
#pragma once

#include <stddef.h>

#include "core/fact.h"

/* Scheduling state of one task. The submission is in its spec row. */
struct task_row {
    task_id id;
    const char *project, *kind, *agent, *limiter, *workspace, *serial;
    const char *run_agent, *run_limiter; /* of a live run */
    const char *resources;               /* names joined by commas; NULL: none */
    const task_id *depends_on;
    size_t depends_on_count;
    enum reason reason; /* of the last change */
    time_ms changed_at; /* last user-visible change; see store_change_task */
    /* Only the plain values of `spec` are used: the symbols and lists are the texts above. */
    struct task_spec spec;
};

/* The submission as JSON, and what lists show of it. Only an edit (store_edit_spec) changes it; what
 * a sling sets is in the context beside it. */
struct spec_row {
    task_id id;
    const char *title;
    const char *json;
    size_t json_size;        /* 0: up to its NUL */
    const char *external_id; /* unique in its project; NULL: none */
    const char *context;     /* JSON: parameters of the sling; NULL: none */
    time_ms changed_at;      /* in answers only: from its task row; 0: none */
};

/* A task's id in another system; unique in its project. */
struct external_row {
    task_id task;
    const char *external_id;
};

struct run_row {
    task_id task;
    uint32_t attempt;
    uint32_t iteration;
    const char *agent, *executor, *host, *boot_id, *folder;
    enum run_phase phase;
    bool ended;
    bool stop_now; /* its stop order, if there is one, kills immediately */
    time_ms ordered_at, started_at, ended_at; /* 0: not yet */
    time_ms limited_until;                    /* it reported a rate limit until then; 0: none */
    enum outcome outcome;                     /* with ended */
    const char
        *how; /* "exit" "signal" "timeout" "stopped" "launch" "lost" …; NULL while it lives */
    int32_t exit_code;             /* -1: none */
    int32_t exit_signal;           /* 0: none */
    int64_t tokens_in, tokens_out; /* -1: not reported */
    int64_t tokens_cached;         /* the cached part of tokens_in; -1: not reported */
    int64_t cost_micro_usd;        /* -1: not reported */
    const char *session;           /* of its agent */
    bool resumed;                  /* it continued an existing session */
    const char *model;             /* used by the agent, with ended */
    const char *result;            /* reported by the agent, with ended: "ok" "limited" … */
    const char *applied;           /* JSON: the limits actually in force */
    const char *message;           /* why it failed */
    const char *token_hash; /* SHA-256 of its token, in hex; NULL: none, or no longer valid */
    /* While live: the key its shim tags records with, in hex; the shim's pid (0: unknown), its
     * start time in clock ticks since boot, and its pid namespace; the cgroup of the run. */
    const char *shim_key;
    int64_t shim_pid, shim_start, shim_space;
    const char *cgroup;
};

/* `seq` has no gaps. */
struct event_row {
    uint64_t seq;
    time_ms at;
    const char *kind; /* "task.added" "task.state" "run.started" "run.ended" "daemon.started" … */
    task_id task;     /* 0: none */
    uint32_t attempt;
    const char *data; /* a JSON object, or NULL */
};

struct project_row {
    const char *name;
    const char *prefix; /* of its task ids; never changes */
    bool paused;
    const char *paused_by; /* with paused; NULL: unknown */
    time_ms paused_at;     /* with paused; 0: unknown */
    time_ms created_at;
};

/* Whether starts are paused; by whom, and since when. */
struct pause_row {
    bool paused;
    const char *by;
    time_ms at;
};

struct group_row {
    uint32_t id;
    const char *name;
    bool owned; /* its creator closes it */
    bool closed;
    time_ms created_at, closed_at;
};

/* Run-time state of a limiter or agent; the rest comes from the configuration. */
struct limiter_row {
    const char *name;
    struct limiter_spec spec; /* its plain run-time values */
};
struct agent_row {
    const char *name;
    struct agent_spec spec;
};

/* A project's usage in one bucket of the window; added to the stored row. */
struct usage_row {
    const char *project;
    time_ms bucket; /* its beginning */
    int64_t tokens, unreported;
    int32_t reports, starts, completions; /* negative: a start was undone */
    int64_t money;                        /* millionths of a dollar */
    int32_t priced, unpriced; /* ended runs that reported their cost, and that did not */
};

enum spent_span { SPENT_BOTH, SPENT_HOUR, SPENT_DAY };

/* Usage of ended runs of a project and agent; added to the stored row of the same span. */
struct spent_row {
    enum spent_span span;        /* which of the two sums; in answers too */
    const char *project, *agent; /* NULL: none; in answers also: all of them */
    time_ms at;                  /* end of a run; in answers the beginning of its hour or day */
    int64_t runs, ok;            /* ok: successful runs */
    int64_t busy_ms;
    int64_t tokens_in, tokens_out, tokens_cached, cost_micro_usd; /* of runs that reported them */
    int64_t unknown_tokens, unknown_cost;                         /* number of runs that did not */
};

/* Time that does not count as waiting (FACT_WAIT). */
struct wait_row {
    const char *project, *limiter; /* limiter NULL: none */
    const char *agent;             /* whose failover list applies; NULL: none */
    time_ms lost, closed_since;
};

/* Persistent state of a part of the daemon, under a unique name. */
struct note_row {
    const char *name;
    const char *text; /* writing NULL deletes it */
};

/* The answer to a request with an idempotency key, so that repeating it changes nothing. */
struct key_row {
    const char *key;
    time_ms at;
    int32_t status;
    const char *answer;
};
