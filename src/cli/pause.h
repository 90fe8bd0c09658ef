/* pause.h: what `pause`, `resume` and the same words below `project` share. */
#pragma once

#include "cli/cmd.h"

/* Pauses (or resumes) the projects that the arguments name; without arguments everything. */
int pause_run(const struct cmd_call *call, bool pause);
