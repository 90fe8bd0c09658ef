/* webhook_line.h: POSTs to the webhook and to the collector, beside the loop. Private to daemon/.
 *
 * A worker, because the lookup of a name can only be waited for. When the daemon ends, a try on its way is
 * canceled; a lookup cannot be, so a thread that is in one is left behind.
 *
 * https trusts the authorities of this machine, or those of notify.ca_file, and goes through the proxy that the environment
 * of the daemon names (http_client.h). */
#pragma once

#include "daemon/webhook_send.h"
#include "http_client/http_client.h"
#include "os/worker.h"

#define WEBHOOK_HEADERS_MAX 8u

/* What is sent. */
struct webhook_message {
    struct worker_job base;
    struct http_url url;
    char *headers[WEBHOOK_HEADERS_MAX + 1]; /* ends with NULL */
    size_t header_count;
    char *body;
    size_t size;
    time_ms timeout;
    /* The line's. */
    char *ca, *proxy; /* or NULL */
    int cancel;
    struct webhook_result result;
};
void webhook_message_free(struct webhook_message *message); /* accepts NULL */

struct webhook_line;

/* `came_back` gets a status, or a sentence why there is none. */
struct webhook_line *webhook_line_new(const struct engine *engine, struct loop *loop,
                                      char *const *environment, webhook_posted came_back,
                                      void *ctx);
struct webhook_line *webhook_line_free(struct webhook_line *line); /* accepts NULL, returns NULL */
/* Takes the message, unless it fails. One at a time. */
int webhook_line_post(struct webhook_line *line, struct webhook_message *message,
                      struct error *err);
