/* data_place.h: does this daemon look for the runs of its host where they are?
 *
 * The rows are read: data_place_loading, data_place_load for each note, data_place_loaded. Then, once, before any run is
 * looked at: data_place_check. Private to engine/. */
#pragma once

#include "base/error.h"

struct engine;
struct note_row;

void data_place_loading(struct engine *engine);
void data_place_load(struct engine *engine, const struct note_row *row);
void data_place_loaded(
    struct engine *engine); /* the note is put into the batch of the turn, if it has changed */
/* -EINVAL: a run that has not ended is in the folder that the last daemon of this host had, and not in ours. */
int data_place_check(const struct engine *engine, struct error *err);
