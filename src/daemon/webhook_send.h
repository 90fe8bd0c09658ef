/* webhook_send.h: one try to deliver one thing to the webhook. Private to daemon/.
 *
 * A worker speaks with the webhook (webhook_line.h) and gives up after notify.timeout_s. The loop does not wait.
 *
 * Signed when there is a secret: Sluice-Signature is v1= and the HMAC-SHA-256, in hex, of what
 * Sluice-Timestamp says (seconds), a full stop, and the body. Made anew for each try, so a receiver can refuse
 * what is old. A secret that is configured and cannot be read stops the sending: nothing goes out unsigned. */
#pragma once

#include "daemon/notify_news.h"

struct webhook_sender;

struct webhook_result {
    bool ok;             /* acknowledged: 2xx */
    bool canceled;       /* the daemon ends */
    int status;          /* 0: there was no answer */
    time_ms retry_after; /* span that the receiver asks for; 0: it does not */
    char text[400];      /* one sentence about it */
};

/* Called once, from the loop, never from inside webhook_sender_post. */
typedef void (*webhook_posted)(void *ctx, const struct webhook_result *result);

struct webhook_sender *webhook_sender_new(struct engine *engine, struct loop *loop,
                                          char *const *environment);
/* What is on its way is given up, and nobody is told. Accepts NULL, returns NULL. */
struct webhook_sender *webhook_sender_free(struct webhook_sender *sender);
/* One at a time. */
void webhook_sender_post(struct webhook_sender *sender, const struct news *news,
                         webhook_posted posted, void *ctx);

/* "v1=…"; for tests. */
void webhook_sign(const char *secret, const char *timestamp, const char *body, struct strbuf *out);
