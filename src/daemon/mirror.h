/* mirror.h: the state of a task that came from a card is written back to the card.
 *
 * A follower of the events (engine/follow.h) named "cards". A task came from a card when its meta says so
 * (`card`, a path); it is written with `cards.mirror`, or when its import asked for it (`mirror`). Files are
 * written by a thread of its own, one after the other; each line of history ends with the number of its
 * event, so one that is handled again after a crash is not written twice.
 *
 * Life: mirror_new between engine_new and engine_start → mirror_free before engine_free. What is not
 * written then is written by the next daemon. */
#pragma once

struct engine;
struct loop;
struct mirror;

struct mirror *mirror_new(struct engine *engine, struct loop *loop);
struct mirror *mirror_free(struct mirror *mirror); /* accepts NULL, returns NULL */
