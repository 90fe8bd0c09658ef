/* http_sender.h: POSTs to the webhook and to the OpenTelemetry collector, outside the loop. Private
 * to daemon/.
 *
 * A worker thread sends, because a name lookup blocks. At shutdown a POST in progress is canceled.
 * A lookup cannot be, so its thread is left behind.
 *
 * https trusts the system's certificate authorities, or those of notify.ca_file, and uses the proxy
 * of the daemon's environment (http_client.h). */
#pragma once

#include "engine/engine.h"
#include "http_client/http_client.h"
#include "os/worker.h"

#define HTTP_SENDER_HEADERS_MAX 8u

struct http_result {
    bool ok;             /* 2xx */
    bool canceled;       /* shutdown */
    int status;          /* 0: no answer */
    time_ms retry_after; /* duration requested by the receiver; 0: none */
    char text[400];      /* message */
};
typedef void (*http_posted)(void *ctx, const struct http_result *result);

struct http_message {
    struct worker_job base;
    struct http_url url;
    char *headers[HTTP_SENDER_HEADERS_MAX + 1]; /* NULL-terminated */
    size_t header_count;
    char *body;
    size_t size;
    time_ms timeout;
    /* Of the sender. */
    char *ca, *proxy; /* or NULL */
    int cancel;
    struct http_result result;
};
/* With the headers common to all messages. */
struct http_message *http_message_new(const struct engine *engine);
void http_message_add(struct http_message *message, char *header); /* takes the header */
void http_message_free(struct http_message *message);              /* accepts NULL */

struct http_sender;

/* `posted` is called from the loop, never from inside http_sender_post. */
struct http_sender *http_sender_new(const struct engine *engine, struct loop *loop,
                                    http_posted posted, void *ctx);
struct http_sender *http_sender_free(struct http_sender *sender); /* accepts NULL, returns NULL */
/* Takes ownership of the message on success. One at a time. */
int http_sender_post(struct http_sender *sender, struct http_message *message, struct error *err);
