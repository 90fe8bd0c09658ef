/* webhook_line.h: the thread that speaks HTTP with the webhook. Private to daemon/.
 *
 * A thread, because the look-up of a name can only be waited for. When the daemon ends, a try on its way is
 * canceled; a look-up cannot be, so a thread that is in one is left to itself: it owns what it uses. */
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
    int cancel; /* the line's */
    struct webhook_result result;
};
void webhook_message_free(struct webhook_message *message); /* accepts NULL */

struct webhook_line;

/* `result` has a status, or a sentence why there is none. */
int webhook_line_new(struct loop *loop, webhook_posted came_back, void *ctx,
                     struct webhook_line **ret_line, struct error *err);
struct webhook_line *webhook_line_free(struct webhook_line *line); /* accepts NULL, returns NULL */
/* Takes the message. One at a time. */
void webhook_line_post(struct webhook_line *line, struct webhook_message *message);
