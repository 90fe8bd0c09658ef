/* lifecycle.h: what becomes of tasks, posted to the message bus by the daemon itself.
 *
 * A follower of the events (engine/follow.h) named "bus". Which events become messages says the setting
 * bus.lifecycle; see docs/bus.md for the lines. The id of a message is made from its event, so
 * that one which is handled again after a crash is recognised in the file and posted once.
 *
 * Life: lifecycle_new between engine_new and engine_start → lifecycle_started → lifecycle_free after
 * engine_free and bus_poster_free. */
#pragma once

struct engine;
struct bus_poster;
struct lifecycle;

struct lifecycle *lifecycle_new(struct engine *engine, struct bus_poster *poster);
void lifecycle_started(struct lifecycle *lifecycle);
struct lifecycle *lifecycle_free(struct lifecycle *lifecycle); /* accepts NULL, returns NULL */
