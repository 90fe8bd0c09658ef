/* webhook.h: delivers news to notify.webhook, each until it is acknowledged. Private to daemon/.
 *
 * Outbox:  the event log is it, and the cursor of a follower named "webhook" says what was acknowledged. In the
 *          order of the events, one at a time; the next one is sent when the cursor is on disk. A daemon
 *          that is killed therefore repeats one at the most, with the same id: receivers know it by that.
 * Failed:  anything but 2xx is tried again, after notify.retry_s, then twice as long each time, up to
 *          notify.retry_max_s; after 410 (gone) once an hour; when the receiver says how long (Retry-After), after
 *          that, up to an hour. What is older than notify.give_up_s, or was refused as such (400, 413, 415, 422)
 *          eight times, is given up.
 * Alerts:  `webhook` after ten minutes of failures, and at once after 410; `webhook:given-up`. Both are over
 *          with the next acknowledgement.
 * Bounded: at most FOLLOW_AHEAD events are in memory, the others wait in the log.
 *
 * Life:    webhook_new before engine_start → webhook_free before engine_free. An ending daemon waits for a try
 *          that is on its way, not for those that wait. */
#pragma once

#include "daemon/webhook_send.h"

struct webhook;

struct webhook *webhook_new(struct engine *engine, struct loop *loop, char *const *environment);
struct webhook *webhook_free(struct webhook *webhook); /* accepts NULL, returns NULL */

/* The configuration may be another one: a new URL is tried at once, also when so many events wait that the one
 * which tells of the change does not come in. */
void webhook_look(struct webhook *webhook);

/* Sends a sample as soon as no other try is on its way, whatever waits. `posted` is called once, from the
 * loop or from webhook_free. One at a time. False: there is no webhook. */
bool webhook_test(struct webhook *webhook, webhook_posted posted, void *ctx);
