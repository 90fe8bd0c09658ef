/* model.h: the words of the scheduler, as types.
 *
 * Every enum here has names beside it (model.c) and ends in _MAX. The names are what people, files
 * and tests see; they never change once released. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/symbol_table.h"
#include "base/time_ms.h"

/* A task's number: given by whoever stores it, rising with every task ever added. It is the task's
 * identity in the core and the last tie-break of the order. 0 is "no task". */
typedef uint64_t task_id;

/* A cap or a budget. Not negative, or UNLIMITED. */
typedef int64_t amount;
#define UNLIMITED INT64_MAX

/* A budget of money, in millionths of a dollar. Zeroed: there is none. */
struct money_budget {
    bool is_set;
    int64_t micro;
};

enum task_state {
    TASK_ABSENT, /* named by another task (parent, dependency) but never added */
    TASK_DRAFT,
    TASK_WAITING,
    TASK_READY,
    TASK_STARTING,
    TASK_RUNNING,
    TASK_HELD,
    TASK_DONE,
    TASK_FAILED,
    TASK_CANCELED,
    TASK_INVALIDATED,
    TASK_STATE_MAX,
};

/* Why a task is held. Those with a time leave by themselves. */
enum hold {
    HOLD_NONE,
    HOLD_PERSON,   /* someone said hold */
    HOLD_BACKOFF,  /* retry after a failure; has a time */
    HOLD_RESTART,  /* between two iterations of a loop; has a time */
    HOLD_BREAKER,  /* too many launch failures; has a time */
    HOLD_BUDGET,   /* its agent ran out of budget; has a time. Its own is used up: has none */
    HOLD_REVIEW,   /* finished, waits for approve or reject */
    HOLD_EXTERNAL, /* finished its run, waits for someone to close it */
    HOLD_MARKER,   /* its DONE marker is not a file, so nothing could end it */
    HOLD_DENIED,   /* its agent was not permitted to do something: a person must allow it */
    HOLD_MAX,
};

enum run_phase {
    PHASE_WORKING,
    PHASE_WAITING,    /* for its own descendants: it may lend them its places */
    PHASE_VALIDATING, /* check commands run; needs no API */
    PHASE_DRAINING,   /* the run has ended, its children have not */
    PHASE_STOPPING,   /* a stop was ordered; every lease stays */
    PHASE_MAX,
};

/* A stop that was ordered, and what the task becomes at the end of its run. */
enum stop_wish { STOP_NONE, STOP_CANCEL, STOP_INVALIDATE, STOP_ORPHAN, STOP_WISH_MAX };

/* How a task is finished. */
enum until {
    UNTIL_EXIT,     /* exit code 0 */
    UNTIL_DONE,     /* its DONE marker exists */
    UNTIL_VALIDATE, /* its check commands pass */
    UNTIL_EXTERNAL, /* someone closes it */
    UNTIL_MAX,
};

enum parent_gate {
    PARENT_DONE, /* may start when the parent is done and its artifact exists */
    PARENT_NONE, /* may start at once */
    PARENT_GATE_MAX,
};

/* How one attempt ended, as the executor or the agent's adapter saw it. */
enum outcome {
    OUTCOME_OK, /* exit code 0, and where the task asks for it: marker there, checks passed */
    OUTCOME_UNFINISHED, /* exit code 0 without the marker */
    OUTCOME_INVALID,    /* the checks failed */
    OUTCOME_FAILED,     /* exit code other than 0, refused, crashed, … */
    OUTCOME_LAUNCH,     /* could not be launched, or died at once without output */
    OUTCOME_TIMEOUT,
    OUTCOME_LIMITED, /* rate limited or overloaded */
    OUTCOME_CLOSED,  /* auth or billing: the account is closed until a person clears it */
    OUTCOME_BUDGET,  /* the agent's own budget is used up */
    OUTCOME_LOST,    /* no end was recorded and nothing lives */
    OUTCOME_CANCELED,
    OUTCOME_CONFLICT, /* merge conflict */
    OUTCOME_UNMERGED, /* good work that could not be merged, and not because of a conflict */
    OUTCOME_AFRESH,   /* the session it should go on with is gone: once more without, not counted */
    OUTCOME_STUCK,    /* it changes nothing any more, or fails in the same way again and again */
    OUTCOME_DENIED,   /* the agent was not permitted to do something, and no check has passed */
    OUTCOME_MAX,
};

/* The failure classes that have a policy row. */
enum retry_class {
    RETRY_UNFINISHED,
    RETRY_FAILED,
    RETRY_LAUNCH,
    RETRY_LOST,
    RETRY_CLASS_MAX,
};

/* What a place belongs to: the kinds of limited key, in the order in which their gates are shown. */
enum lease_kind {
    LEASE_TASK,
    LEASE_SERIAL,
    LEASE_WORKSPACE,  /* one named path */
    LEASE_WORKSPACES, /* the number of a project's workspaces */
    LEASE_PROJECT,
    LEASE_KIND,
    LEASE_AGENT,
    LEASE_AGENTS, /* no named agent, and none of the roster is idle */
    LEASE_LIMITER,
    LEASE_RESOURCE,
    LEASE_REVIEW,
    LEASE_ROOTS,
    LEASE_RUNS,
    LEASE_KIND_MAX,
};

/* A condition that must hold before a task may start, in the order in which they are checked. */
enum gate {
    GATE_PAUSED,
    GATE_PROJECT,
    GATE_HELD,
    GATE_DEPENDENCY,
    GATE_PARENT,
    GATE_ARTIFACT,
    GATE_BREAKER,
    GATE_LIMITER,
    GATE_HOST,
    GATE_BUDGET,
    GATE_PROJECT_BUDGET,
    GATE_LEASE,
    GATE_PACE,
    GATE_MAX,
};

/* What GATE_HOST looks at. */
enum host_floor { HOST_DISK, HOST_MEMORY, HOST_LOAD, HOST_FLOOR_MAX };

/* Why a task changed its state, or why an order was given. */
enum reason {
    REASON_NONE,
    REASON_FIRST_IN_ORDER, /* start: it was its turn */
    REASON_PREREQUISITES,  /* ready: nothing is missing any more; waiting: something is again */
    REASON_EXECUTED,       /* running: the command was seen to start */
    REASON_SUCCEEDED,      /* done */
    REASON_DRAIN,          /* running, phase draining: waits for its children */
    REASON_DRAIN_TIMEOUT,  /* done, although children are not: a warning */
    REASON_ITERATE,        /* held: the next iteration comes */
    REASON_RETRY,          /* held: the next attempt comes */
    REASON_RELAUNCH,       /* waiting: launch failed, tried again at once */
    REASON_BREAKER,        /* held or failed: too many launch failures */
    REASON_LIMITED,        /* waiting: the account hit its limit; nothing counted */
    REASON_ACCOUNT_CLOSED, /* waiting: auth or billing; nothing counted */
    REASON_AGENT_BUDGET,   /* held: the agent's budget */
    REASON_LOST,           /* waiting or failed */
    REASON_RETRIES,        /* failed: no retry left */
    REASON_RESTARTS,       /* failed: no restart left */
    REASON_TIMEOUT,        /* failed: no retry left after a timeout */
    REASON_VALIDATION,     /* failed: the checks failed and no restart is left */
    REASON_CONFLICT,       /* failed: merge conflict */
    REASON_ORPHANED,       /* failed: the parent was deleted */
    REASON_DEPENDENCY,     /* failed: a dependency failed or was deleted */
    REASON_INVALIDATED,    /* the parent began a new iteration */
    REASON_CANCELED,       /* someone said cancel */
    REASON_HELD,           /* someone said hold */
    REASON_RELEASED,       /* someone said release, or the time has come */
    REASON_CLEARED,        /* back to draft */
    REASON_SLUNG,          /* draft → waiting */
    REASON_RETRIED,        /* someone said retry */
    REASON_AGAIN,          /* someone said again: a new iteration */
    REASON_REVIEW,         /* held: waits for approval */
    REASON_EXTERNAL,       /* held: waits to be closed */
    REASON_APPROVED,
    REASON_REJECTED,
    REASON_REFUSED,  /* waiting: the order could not be committed; all was restored */
    REASON_MARKED,   /* done: its DONE marker appeared while it waited */
    REASON_UNMERGED, /* failed: its work is good, and could not be merged */
    REASON_AFRESH,   /* waiting: begins a new session; nothing counted */
    REASON_STUCK,    /* failed: more of the same would change nothing */
    REASON_SPENT,    /* held: the task has used up its own budget */
    REASON_DENIED,   /* held: the agent was not permitted to do something; nothing counted */
    REASON_MAX,
};

const char *task_state_name(enum task_state state);
const char *hold_name(enum hold hold);
const char *run_phase_name(enum run_phase phase);
const char *stop_wish_name(enum stop_wish wish);
const char *until_name(enum until until);
const char *parent_gate_name(enum parent_gate gate);
const char *outcome_name(enum outcome outcome);
const char *retry_class_name(enum retry_class row);
const char *lease_kind_name(enum lease_kind kind);
const char *gate_name(enum gate gate);
const char *reason_name(enum reason reason);

/* Final: nothing the scheduler does by itself changes it any more. */
bool task_state_is_final(enum task_state state);
/* Final, and not done: those that wait for it to be done wait for a person. */
bool task_state_is_failure(enum task_state state);
/* Live: has or is getting a process, or waits for its children. */
bool task_state_is_live(enum task_state state);

/* The one transition table. Everything that sets a state asks here first. */
bool task_may_become(enum task_state from, enum task_state to);
