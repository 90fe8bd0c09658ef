/* sandbox_trial.h: does a sandbox work on this machine? */
#pragma once

#include "base/error.h"
#include "rundir/rundir.h"

/* Runs the command of a spec below a guard, in its sandbox, and waits. 0: exit status 0. */
int sandbox_trial(const char *shim_path, const struct run_spec *spec, struct error *err);
