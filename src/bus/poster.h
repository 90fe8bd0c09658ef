/* poster.h: appends beside the loop, so that nobody waits for a lock.
 *
 * Life:   bus_poster_new → bus_post … → bus_poster_free. One thread of its own, from the first message on.
 * Order:  messages are appended in the order in which they were given.
 * Answer: `done` is called once for each, from the loop; from bus_poster_free with -ESHUTDOWN for those that
 *         were not appended. A wait for a lock ends at once then. */
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
bool bus_poster_is_idle(const struct bus_poster *poster); /* nothing waits for its `done` */
