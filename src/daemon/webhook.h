/* webhook.h: delivers news to notify.webhook, each until it is acknowledged. Private to daemon/.
 *
 * Outbox:  the event log. The cursor of a follower named "webhook" is the acknowledged position.
 *          Delivery is in event order, one at a time; the next one is sent when the cursor is on
 *          disk. So a killed daemon repeats at most one, with the same id, which lets receivers
 *          detect it.
 * Signed:  if there is a secret: Sluice-Signature is v1= and the HMAC-SHA-256, in hex, of
 *          Sluice-Timestamp (seconds), a full stop, and the body. Computed for each attempt, so a
 *          receiver can refuse old ones. If a configured secret cannot be read, nothing is sent:
 *          nothing goes out unsigned.
 * Failed:  anything but 2xx is retried, after notify.retry_s, then twice as long each time, up to
 *          notify.retry_max_s; after 410 (gone) once an hour; with Retry-After after that time, up
 *          to an hour. News older than notify.give_up_s, or refused (400, 413, 415, 422) eight
 *          times, are dropped.
 * Alerts:  `webhook` after ten minutes of failures, and at once after 410; `webhook:given-up`.
 *          Both are cleared by the next acknowledgement.
 * Bounded: at most FOLLOW_AHEAD events are in memory, the others stay in the log.
 *
 * Life:    webhook_new before engine_start → webhook_free before engine_free. Shutdown waits for
 *          an attempt in progress, not for queued ones. */
#pragma once

#include "daemon/http_sender.h"

struct webhook;

struct webhook *webhook_new(struct engine *engine, struct loop *loop);
struct webhook *webhook_free(struct webhook *webhook); /* accepts NULL, returns NULL */

/* The configuration may have changed: a new URL is tried at once, even if the queue is so long that
 * the event of the change has not been read yet. */
void webhook_check_config(struct webhook *webhook);

/* Sends a sample as soon as no attempt is in progress, ahead of the queue. `posted` is called once,
 * from the loop or from webhook_free. One at a time. False: no webhook is configured. */
bool webhook_test(struct webhook *webhook, http_posted posted, void *ctx);
