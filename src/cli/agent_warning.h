/* agent_warning.h: what will keep the agents of new tasks from working is said when the tasks are added, and not at night.
 *
 * For every command that adds tasks or starts drafts. The tasks are queued in any case. Inside a run, and for a daemon elsewhere, what
 * can be seen from here says nothing, and nothing is printed. */
#pragma once

#include <jansson.h>

#include "cli/ask.h"

/* The agents that these tasks name: an object of names, each with the sandbox of the first task that names it, or null. */
json_t *agent_warning_names(const json_t *tasks);
/* Warns once for each. Takes `names`. */
void agent_warning_print(struct ask *ask, json_t *names);
