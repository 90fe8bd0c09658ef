/* dag.h: a graph of up to a thousand tasks, generated from a seed, and the expected outcome of
 * each.
 *
 * The same seed and rules give the same tasks. Some fail, loop or spawn children.
 * Only the daemon is killed, never a run, so the outcome of every task and the number of its
 * runs are known beforehand, except for DUE_EITHER. */
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#define DAG_PROJECTS     5
#define DAG_KINDS        4
#define DAG_PHASES       3
#define DAG_DEPENDS      3
#define DAG_RESOURCE_CAP 2 /* limits.resource.db */

enum dag_end { END_EXIT, END_DONE, END_VALIDATE };

enum dag_due {
    DUE_DONE,
    DUE_FAILED,
    DUE_WAITING, /* its dependency failed or waits forever */
    DUE_EITHER,  /* child of a loop: done or invalidated, depending on when it was added */
};

/* How the rules of a preset affect a history. */
struct dag_rules {
    const char *name;
    const char *config; /* the text of sluice.yaml, with delays in fractions of a second */
    const char *kinds[DAG_KINDS];  /* NULL: no such kind */
    unsigned kind_caps[DAG_KINDS]; /* 0: unlimited, also for the following caps */
    unsigned runs, roots;
    enum dag_end until; /* default of a task */
    unsigned failures,
        launches;       /* runs of a task that never succeeds: retried by exit code, as a loop */
    bool serial;        /* tasks are not parallelizable by default */
    bool children_wait; /* for their parent */
    bool angry;         /* a loop may exit with another code than 0 */
    bool short_queue;   /* the queue is short, so that some tasks are deferred */
    bool lost_fails;    /* a lost run fails its task, and the test retries it */
    unsigned project_cap[DAG_PROJECTS];
};

struct dag_task {
    char id[40];                   /* assigned by the daemon */
    unsigned project, kind, phase; /* DAG_KINDS, DAG_PHASES: none */
    bool parallel, says_parallel, resource, leaves_one, angry, unlaunchable;
    enum dag_end until;
    unsigned good; /* the attempt or iteration that succeeds; 0: never */
    unsigned milliseconds;
    unsigned spawns; /* number of children that its agent spawns */
    bool spawned;    /* it was spawned */
    int parent;      /* -1: none */
    int depends[DAG_DEPENDS];
    unsigned depends_count;
    enum dag_due due;
    unsigned runs_due;
};

struct dag {
    const struct dag_rules *rules;
    struct dag_task *tasks;
    unsigned count;
};

void dag_make(struct dag *dag, const struct dag_rules *rules, unsigned count, uint64_t seed);
void dag_free(struct dag *dag);
/* Adds a child that the task `parent` has spawned. */
void dag_add_spawned(struct dag *dag, unsigned parent, const char *id);

/* The `count` tasks from `first` on, as a batch request. Earlier tasks are referenced by id. `agent` is
 * loop_agent; `home` has the diary and the marks. */
json_t *dag_batch(const struct dag *dag, unsigned first, unsigned count, const char *agent,
                  const char *home);
/* Stores the ids from the answer to the batch; false: the answer has no valid ids. */
bool dag_learn(struct dag *dag, unsigned first, unsigned count, const json_t *answer);

unsigned dag_due_count(const struct dag *dag, enum dag_due due);
bool dag_iterates(const struct dag_task *task);
