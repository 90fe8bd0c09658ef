/* logs_follow.h: follows the runs of a group. */
#pragma once

#include "cli/follow.h"
#include "cli/request.h"

/* Prints the lines of all runs of the group's tasks as they are written, "ID: LINE", until all
 * tasks are final; up to FOLLOW_LOGS_MAX runs at a time, in the order of submission. `model` has
 * name, to, raw and text of the streams. An exit code. */
int logs_follow_group(const char *group, const struct log_stream *model);
