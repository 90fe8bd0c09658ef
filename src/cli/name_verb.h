/* name_verb.h: one thing done to each name on the command line: `limiter clear`, `group close`.
 *
 * One question per name, in the order given; the first that fails ends it, and what was done before
 * is told. With --json: the daemon's answer, or a list of them when there are several names. */
#pragma once

#include "cli/cmd.h"

struct name_verb {
    const char *before, *after; /* POST BEFORE name AFTER */
    const char *did, *already;  /* "cleared", "is open already" */
};

int name_verb_run(const struct cmd_call *call, const struct name_verb *verb);
