/* history.h: is what happened one of the histories that the rules allow?
 *
 * Three witnesses are heard: the diary that the runs wrote themselves, the event log, and the rows
 * of the tasks. Everything that is wrong is told by rig_expect. */
#pragma once

#include <stdbool.h>

#include "dag.h"
#include "diary.h"
#include "rig.h"

/* The children that agents have written down are there, all of them and each once; they are tasks
 * of the graph from now on. Before the others. */
void history_find_spawned(struct client *client, struct dag *dag);
/* Every task is there, has ended as foreseen, and each of its attempts ran once. */
void history_check_tasks(struct client *client, const struct dag *dag, const struct diary *diary);
/* At no instant were there more runs than places: in all, of a kind, a project, a phase, a
 * resource, and of tasks without a parent that had begun. The most runs at once. */
unsigned history_check_limits(const struct dag *dag, const struct diary *diary);
/* Nothing began before what it waits for had ended. */
void history_check_order(const struct dag *dag, const struct diary *diary);
/* Numbers without gaps; each task from state to state, each attempt once; a dependant after
 * `done`. How many there are. */
unsigned history_check_events(struct client *client, const struct dag *dag);
/* Processes that belong to this home and live. */
unsigned history_count_processes(const struct rig *rig);
