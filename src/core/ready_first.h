/* ready_first.h: the first ready task in order that no gate and no key stops. Private to core/.
 *
 * Three levels of winner trees: the classes of a lane by their first tasks, the lanes of a project,
 * and the projects. A decision compares again only along the paths from what has changed to the
 * root, so it costs log n for each project and class that a fact or a start has touched.
 *
 * What opens is reported here: a lane or project that was found closed is left out until it is
 * touched. What closes need not be reported: the winner is checked before it is returned.
 *
 * - Touched one by one: a class with another first task, a project whose usage, share or own keys have
 *   changed, the lanes that were found shut when any shared key gets a free slot.
 * - core.epoch rises when gates of limiters or agents may open lanes, or when wait clocks of two
 *   lanes of a project may have moved apart: every lane is touched.
 * - Scores, overdue tasks and hours change with time. The bounds of a comparison say when.
 * - The deficit of every project changes with every start, but the order of two of them only where
 *   T/W crosses a bound that depends on these two: see fair_compare. */
#pragma once

#include "core/state.h"

/* 0: nothing may start. Without a roster. */
uint32_t ready_first(struct core *c);
/* The same for an idle agent of a roster. Visits all lanes. */
uint32_t ready_first_for(struct core *c, uint32_t worker);

void ready_add_project(struct core *c, uint32_t project);
void ready_add_lane(struct core *c, uint32_t lane);
void ready_add_class(struct core *c, uint32_t cls);
void ready_remove_class(struct core *c, uint32_t cls);

void ready_touch_class(struct core *c, uint32_t cls);
void ready_touch_project(struct core *c, uint32_t project);
void ready_reopen_project(struct core *c, uint32_t project); /* and its lanes */
void ready_touch_all(struct core *c);                        /* after a change of scores */
