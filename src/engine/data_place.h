/* data_place.h: does this daemon look for runs where they are?
 *
 * The rows are read: data_place_loading, data_place_load for each note, data_place_load_run for each run, then
 * data_place_loaded. After that, once, before any run is looked at, the questions. Private to engine/. */
#pragma once

#include "base/error.h"

struct engine;
struct live_run;
struct run_row;

void data_place_load_run(struct engine *engine, struct live_run *run, const struct run_row *row);

/* -EINVAL: one that has not ended is in the folder of another daemon, and not in ours. */
int data_place_check(const struct engine *engine, struct error *err);
