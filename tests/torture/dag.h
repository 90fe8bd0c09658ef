/* dag.h: a thousand tasks that depend on each other, made from a seed, and what must become of
 * each.
 *
 * The same seed and the same rules give the same tasks. Failures, loops and children are in it;
 * because only the daemon is killed and never a run, the end of every task and the number of its
 * runs is known beforehand (DUE_EITHER apart). */
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#define DAG_PROJECTS 5
#define DAG_KINDS    4
#define DAG_PHASES   3
#define DAG_DEPENDS  3

enum dag_end { END_EXIT, END_DONE, END_VALIDATE };

enum dag_due {
    DUE_DONE,
    DUE_FAILED,
    DUE_WAITING, /* for a task that has failed, or waits so itself: for ever */
    DUE_EITHER,  /* child of a loop: done, or invalidated, as it was added late or early */
};

/* What the rules of a preset mean for a history. */
struct dag_rules {
    const char *name;
    const char *config;            /* the text of sluice.yaml, scaled to fractions of a second */
    const char *kinds[DAG_KINDS];  /* NULL: none */
    unsigned kind_caps[DAG_KINDS]; /* 0: unlimited, as below */
    unsigned runs, roots;
    enum dag_end until;          /* of a task that says nothing */
    unsigned failures, launches; /* runs of one that never succeeds: by exit code, as a loop */
    bool serial;                 /* a task that says nothing is not parallelizable */
    bool children_wait;          /* for their parent */
    bool angry;                  /* a loop may exit with another code than 0 */
    bool short_queue;            /* so many are offered that some are deferred */
    bool lost_fails;             /* a lost run fails its task, and somebody retries it */
    unsigned project_cap[DAG_PROJECTS];
};

struct dag_task {
    char id[40];                   /* given by the daemon */
    unsigned project, kind, phase; /* DAG_KINDS, DAG_PHASES: none */
    bool parallel, says_parallel, resource, leaves_one, angry, unlaunchable;
    enum dag_end until;
    unsigned good; /* the attempt or iteration that succeeds; 0: none */
    unsigned milliseconds;
    unsigned spawns; /* children that its agent writes down */
    bool spawned;    /* it is one of them */
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
/* A child that was spawned by the task of that index is part of it from now on. */
void dag_add_spawned(struct dag *dag, unsigned parent, const char *id);

/* The tasks from `first` on, as a batch: those before have their ids. `agent` is loop_agent,
 * `home` has the diary and the marks. */
json_t *dag_batch(const struct dag *dag, unsigned first, unsigned count, const char *agent,
                  const char *home);
/* The answer to it; false: it is none. */
bool dag_learn(struct dag *dag, unsigned first, unsigned count, const json_t *answer);

unsigned dag_due_count(const struct dag *dag, enum dag_due due);
bool dag_iterates(const struct dag_task *task);
