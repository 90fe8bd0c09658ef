/* follow.h: who must react once to what happened, reads the event log behind a cursor of its own.
 *
 * Bus messages, mirrored cards and notification hooks follow the events. The log is written in the
 * commit of what happened, so nothing is missed by a crash, and there is no second list to keep in step.
 *
 * Life:   follower_new before engine_start; it begins behind its stored cursor, or, when it is new, behind the
 *         last event there is.
 * Turn:   `handle` is called from the loop, in order, after the commit of the event; it must not wait. It says
 *         follower_done when the event needs it no more: at once, or later from the loop. Events that are
 *         not done hold back later ones beyond FOLLOW_AHEAD.
 * Crash:  the cursor is written with a later commit, so events since then are handled again: whoever
 *         reacts must notice what it has done already (the event's seq is the mark to leave). */
#pragma once

#include "engine/engine.h"

#define FOLLOW_AHEAD 256u

struct follower;

typedef void (*follower_handle)(void *ctx, const struct event_row *event);

/* `name` is kept in the store: it never changes. The engine frees it. */
struct follower *follower_new(struct engine *engine, const char *name, follower_handle handle,
                              void *ctx);
void follower_done(struct follower *follower, uint64_t seq);

/* For whoever must not do a thing twice: what is done by now is written with a commit of its own, soon. `saved` is
 * called once, from the loop, when it is on disk; not after follow_end. True: it is already. */
typedef void (*follower_saved)(void *ctx);
bool follower_save(struct follower *follower, follower_saved saved);
/* While it rests, an ending daemon does not wait for what it has not done: that may take days. */
void follower_rest(struct follower *follower, bool rests);

/* The daemon is about to end: nothing more is handed out, and the cursors are written with one last commit,
 * as far as the followers have come. */
void follow_end(struct engine *engine);
bool follow_is_ending(const struct engine *engine);
/* After follow_end: a follower has an event that it has not done, or a cursor is not written yet. */
bool follow_is_busy(const struct engine *engine);
