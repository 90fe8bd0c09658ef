/* history.h: checks that what happened is a history that the rules allow.
 *
 * The checks use three sources: the diary written by the runs, the event log, and the records
 * of the tasks. Violations are reported with rig_expect. */
#pragma once

#include <stdbool.h>

#include "dag.h"
#include "diary.h"
#include "rig.h"

/* Checks that every child that an agent spawned was added exactly once, and adds them to the
 * graph. Call it before the other checks. */
void history_find_spawned(struct client *client, struct dag *dag);
/* Checks that every task exists and has ended as expected, and that each of its attempts ran once. */
void history_check_tasks(struct client *client, const struct dag *dag, const struct diary *diary);
/* Checks that no cap was exceeded at any instant: of all runs, of a kind, a project, a phase, a
 * resource, or of started tasks without a parent. */
struct history_peaks {
    unsigned runs,
        resource; /* the largest number at once: of all runs, of those with the resource */
};
struct history_peaks history_check_limits(const struct dag *dag, const struct diary *diary);
/* Checks that no task began before its dependencies and its parent had ended. */
void history_check_order(const struct dag *dag, const struct diary *diary);
/* Checks that sequence numbers have no gaps, that state changes of each task follow each other, that each attempt
 * started once, and that a dependent started after `done`. Returns the number of events. */
unsigned history_check_events(struct client *client, const struct dag *dag);
/* Number of live processes that belong to this home. */
unsigned history_count_processes(const struct rig *rig);
