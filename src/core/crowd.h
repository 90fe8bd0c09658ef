/* crowd.h: how many ready tasks name the same rare keys. Private to core/.
 *
 * All tasks of a class are stopped by the same gates, but for the rare keys (serial, workspace,
 * resource) that each names for itself. Those of a class that name the same ones are a crowd: so
 * many of them that counting them is counting the waiting tasks, without looking at one.
 *
 * A task with a workspace is in two crowds: the one of its workspace, and the one without it (or only
 * its class, if it names nothing else). There may be as many workspaces as tasks, but few are taken
 * at a time: whoever counts begins with the crowds of the classes and then corrects them by those
 * of the workspaces that have no place. A task that names no rare key is in none and costs nothing. */
#pragma once

#include "core/state.h"

void crowd_enter(struct core *c, uint32_t task); /* it is ready, its class is set */
void crowd_leave(struct core *c, uint32_t task); /* before its class goes */

/* For the map of crowds. */
bool crowd_same(const void *ctx, uint32_t handle, const void *wanted);
