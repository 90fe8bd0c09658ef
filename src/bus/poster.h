/* poster.h: appends beside the loop, so that nobody waits for a lock.
 *
 * Life:   bus_poster_new → bus_post … → bus_poster_free. One thread of its own.
 * Order:  messages are appended in the order in which they were given.
 * Answer: `done` is called once for each, from the loop, when it survives a power cut; from bus_poster_free with
 *         -ESHUTDOWN for those that were not appended. A wait for a lock ends at once then.
 * Cost:   what has gathered is appended first and synced then, each file once. */
#pragma once

#include "bus/bus.h"

struct loop;
struct bus_poster;

/* `result` as that of bus_append; `id` of a message that was appended. */
typedef void (*bus_posted)(void *ctx, int result, const char *id, const struct error *err);

int bus_poster_new(struct loop *loop, const char *home, struct bus_poster **ret_poster,
                   struct error *err);
struct bus_poster *bus_poster_free(struct bus_poster *poster); /* accepts NULL, returns NULL */
/* The message is copied; checked already. `once` as in bus_append. */
void bus_post(struct bus_poster *poster, const struct bus_message *message, bool once,
              bus_posted done, void *ctx);
/* The task is no more: its file goes, behind what was posted to it before. Its lock is asked for once; what
 * cannot be removed stays. */
void bus_forget(struct bus_poster *poster, const char *project, const char *task);
/* bus_retire, in its turn. */
void bus_retire_later(struct bus_poster *poster, const char *project, time_ms before);
bool bus_poster_is_idle(const struct bus_poster *poster); /* nothing waits for its `done` */
