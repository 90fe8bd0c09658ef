/* poster.h: appends in a worker thread, so that the loop never waits for a lock.
 *
 * Life:   bus_poster_new → bus_post … → bus_poster_free. One thread of its own.
 * Order:  messages are appended in submission order.
 * Answer: `done` is called once for each, from the loop, when it is durable; from bus_poster_free
 *         with -ESHUTDOWN for those that were not appended. A wait for a lock then ends at once.
 * Cost:   queued messages are appended first and synced then, each file once. */
#pragma once

#include "bus/bus.h"

struct loop;
struct bus_poster;

/* `result` as from bus_append; `id` of an appended message. */
typedef void (*bus_posted)(void *ctx, int result, const char *id, const struct error *err);

int bus_poster_new(struct loop *loop, const char *home, struct bus_poster **ret_poster,
                   struct error *err);
struct bus_poster *bus_poster_free(struct bus_poster *poster); /* accepts NULL, returns NULL */
/* The message is copied; it was checked. `once` as in bus_append. */
void bus_post(struct bus_poster *poster, const struct bus_message *message, bool once,
              bus_posted done, void *ctx);
/* The task was deleted: removes its file, after messages posted before. One lock attempt; if that
 * fails, the file stays. */
void bus_remove_later(struct bus_poster *poster, const char *project, const char *task);
/* bus_retire, in queue order. */
void bus_retire_later(struct bus_poster *poster, const char *project, time_ms before);
bool bus_poster_is_idle(const struct bus_poster *poster); /* no `done` is pending */
