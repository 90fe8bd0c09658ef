/* rows.h: what is kept on disk, as plain data.
 *
 * A row says everything that the core must be told to be as it was (FACT_TASK_ADDED and the facts
 * of the world), and what people ask about later. Texts are borrowed: in a batch the store copies
 * them, in an answer they live as long as the callback. NULL is "none". */
#pragma once

#include <stddef.h>

#include "core/fact.h"

/* Scheduling state of one task. What the submitter wrote is in its spec row and never changes. */
struct task_row {
    task_id id;
    const char *project, *kind, *agent, *limiter, *workspace, *serial;
    const char *run_agent, *run_limiter; /* of a live run */
    const char *resources;               /* names joined by commas; NULL: none */
    const task_id *depends_on;
    size_t depends_on_count;
    enum reason reason; /* of the last change */
    time_ms changed_at; /* when it last changed for users; see store_change_task */
    /* Of `told` only the plain values count: the symbols and lists are the texts above. */
    struct task_spec told;
};

/* What the submitter wrote, as JSON, and what lists show of it. It never changes; only what was said when
 * it was slung, which stands beside it. */
struct spec_row {
    task_id id;
    const char *title;
    const char *json;
    size_t json_size;        /* 0: up to its NUL */
    const char *external_id; /* unique in its project; NULL: none */
    const char *context;     /* JSON: what was said when it was slung; NULL: nothing */
    time_ms changed_at;      /* in answers only: that of its task row; 0: there is none */
};

/* What a task is called elsewhere; unique in its project. */
struct external_row {
    task_id task;
    const char *external_id;
};

/* One attempt. */
struct run_row {
    task_id task;
    uint32_t attempt;
    uint32_t iteration;
    const char *agent, *executor, *host, *boot_id, *folder;
    enum run_phase phase;
    bool ended;
    bool stop_now;                            /* its stop order, if there is one, kills at once */
    time_ms ordered_at, started_at, ended_at; /* 0: not yet */
    time_ms limited_until; /* its provider wants it to wait, it has said; 0: it has not */
    enum outcome outcome;  /* with ended */
    const char
        *how; /* "exit" "signal" "timeout" "stopped" "launch" "lost" …; NULL while it lives */
    int32_t exit_code;             /* -1: none */
    int32_t exit_signal;           /* 0: none */
    int64_t tokens_in, tokens_out; /* -1: not reported */
    int64_t tokens_cached;         /* of tokens_in, what came from a cache; -1: not reported */
    int64_t cost_micro_usd;        /* -1: not reported */
    const char *session;           /* of its agent */
    bool resumed;                  /* it went on with a session that was there before */
    const char *model;             /* that the agent has used, with ended */
    const char *said; /* what the agent itself calls its result, with ended: "ok" "limited" … */
    const char *applied;    /* JSON: which limits were really in force */
    const char *message;    /* one sentence: why it failed */
    const char *token_hash; /* SHA-256 of its token, in hex; NULL: it has none (any more) */
    /* While it lives: the key that its shim tags records with, in hex; who the shim is (0: not known), since when, in clock
     * ticks since boot, and the number of the pid namespace it is in; the cgroup of the run. */
    const char *shim_key;
    int64_t shim_pid, shim_start, shim_space;
    const char *cgroup;
};

/* Something that happened. `seq` is dense. */
struct event_row {
    uint64_t seq;
    time_ms at;
    const char *kind; /* "task.added" "task.state" "run.started" "run.ended" "daemon.started" … */
    task_id task;     /* 0: about none */
    uint32_t attempt;
    const char *data; /* a JSON object, or NULL */
};

struct project_row {
    const char *name;
    const char *prefix; /* of its task ids; never changes */
    bool paused;
    const char *paused_by; /* with paused; NULL: nobody knows */
    time_ms paused_at;     /* with paused; 0: nobody knows */
    time_ms created_at;
};

/* Whether anything is started at all; who stopped that, and when. */
struct pause_row {
    bool paused;
    const char *by;
    time_ms at;
};

struct group_row {
    uint32_t id;
    const char *name;
    bool owned; /* its maker closes it */
    bool closed;
    time_ms created_at, closed_at;
};

/* Run-time state of a limiter or an agent; what they are comes from the configuration. */
struct limiter_row {
    const char *name;
    struct limiter_spec told; /* its plain run-time values */
};
struct agent_row {
    const char *name;
    struct agent_spec told;
};

/* What a project used in one bucket of the window; added to what is there. */
struct usage_row {
    const char *project;
    time_ms bucket; /* its beginning */
    int64_t tokens, unreported;
    int32_t reports, starts, completions; /* negative: a start was taken back */
    int64_t money;                        /* millionths of a dollar */
    int32_t priced, unpriced;             /* ended runs that told their cost, and that did not */
};

enum spent_span { SPENT_BOTH, SPENT_HOUR, SPENT_DAY };

/* What ended runs of a project and an agent have used; added to what is there of the same span. */
struct spent_row {
    enum spent_span span; /* which of its two sums it is added to; in answers which one it is */
    const char *project, *agent; /* NULL: none; in answers also: all of them */
    time_ms at;                  /* an end of a run; in answers the beginning of its hour or day */
    int64_t runs, ok;            /* ok: those that ended well */
    int64_t busy_ms;
    int64_t tokens_in, tokens_out, tokens_cached, cost_micro_usd; /* of those that said so */
    int64_t unknown_tokens, unknown_cost;                         /* runs that did not */
};

/* How much of the time did not count as waiting (FACT_WAIT). */
struct wait_row {
    const char *project, *limiter; /* limiter NULL: none */
    const char *agent;             /* whose failover list counts; NULL: none */
    time_ms lost, closed_since;
};

/* What a part of the daemon must find again after a restart, under a name that no other part uses. */
struct note_row {
    const char *name;
    const char *text; /* written as NULL: there is none any more */
};

/* The answer a client got for its key, so that asking again changes nothing. */
struct key_row {
    const char *key;
    time_ms at;
    int32_t status;
    const char *answer;
};
