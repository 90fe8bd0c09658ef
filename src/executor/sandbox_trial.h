/* sandbox_trial.h: does a sandbox work on this machine? */
#pragma once

#include "base/error.h"
#include "rundir/rundir.h"

/* Starts the command of a spec as a run would start it, by `sluice-shim --trial`, and waits for its end. 0: it was
 * seen to run and has ended with 0. `file`: where the spec is while it is tried. */
int sandbox_trial(const char *shim_path, const char *file, const struct run_spec *spec,
                  struct error *err);
