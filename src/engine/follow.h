/* follow.h: consumers of the event log, each with its own cursor.
 *
 * Bus messages, mirrored cards and notification hooks follow the events. The log is written in the
 * commit of what happened, so a crash loses nothing, and there is no second list to keep in step.
 *
 * Life:   follower_new before engine_start; it begins after its stored cursor or, if new, after the
 *         last event.
 * Turn:   `handle` is called from the loop, in order, after the commit of the event; it must not
 *         block. It calls follower_done for the event, at once or later from the loop. Unfinished
 *         events hold back later ones beyond FOLLOW_AHEAD.
 * Crash:  the cursor is written with a later commit, so events since then are handled again.
 *         Handlers must detect repeats, by the event's seq. */
#pragma once

#include "engine/engine.h"

#define FOLLOW_AHEAD 256u

struct follower;

typedef void (*follower_handle)(void *ctx, const struct event_row *event);

/* `name` is stored and must never change. The engine frees the follower. */
struct follower *follower_new(struct engine *engine, const char *name, follower_handle handle,
                              void *ctx);
void follower_done(struct follower *follower, uint64_t seq);

/* For effects that must not happen twice: commits the cursor soon, in a commit of its own. `saved`
 * is called once, from the loop, after that; not after follow_end. True: already on disk. */
typedef void (*follower_saved)(void *ctx);
bool follower_save(struct follower *follower, follower_saved saved);
/* While it rests, an ending daemon does not wait for its unfinished events: that may take days. */
void follower_rest(struct follower *follower, bool rests);

/* The daemon is about to end: no more events are handed out, and one last commit writes the cursors
 * as far as the followers have come. */
void follow_end(struct engine *engine);
bool follow_is_ending(const struct engine *engine);
/* After follow_end: a follower has an unfinished event, or a cursor is not written yet. */
bool follow_is_busy(const struct engine *engine);
