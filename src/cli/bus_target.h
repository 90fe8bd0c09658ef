/* bus_target.h: which file of the message bus a command is about.
 *
 * --project and --task say it; inside a run its own task is meant when neither is given. The files are used
 * as they are, whether a daemon runs or not; it is asked only for what nobody else knows. */
#pragma once

#include "bus/bus.h"
#include "cli/cmd.h"

struct bus_target {
    struct bus bus;
    char *project, *task; /* task NULL: the bus of the project; both NULL: none was named */
    struct strbuf path;
    bool own;           /* of the task whose run we are in */
    const char *sender; /* that task, on the bus of its project; else NULL */
};

#define BUS_TARGET_OPTIONS                                                                         \
    { "project", 'p', "NAME", "the bus of this project" }, {                                       \
        "task", 't', "ID", "the bus of this task"                                                  \
    }

/* CMD_OK, or has said what is wrong. `optional`: none need be named. */
int bus_target_find(const struct cmd_call *call, bool optional, struct bus_target *ret);
/* Before the first message: is there such a project or task, as far as a daemon can be asked? */
int bus_target_check(const struct bus_target *target);
void bus_target_finish(struct bus_target *target); /* usable with _cleanup_ */
