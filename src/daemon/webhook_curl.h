/* webhook_curl.h: the program that speaks HTTPS with the webhook. Private to daemon/.
 *
 * curl, or another that takes its options (notify.https_command). All that it is to send is in a file that
 * only the owner can read: arguments are seen by every user of a machine. */
#pragma once

#include "daemon/webhook_line.h"
#include "executor/aside.h"

struct webhook_curl;

struct webhook_curl *webhook_curl_new(struct engine *engine, struct loop *loop,
                                      char *const *environment, webhook_posted came_back,
                                      void *ctx);
struct webhook_curl *webhook_curl_free(struct webhook_curl *curl); /* accepts NULL, returns NULL */
/* Takes the message, unless it fails. One at a time. */
int webhook_curl_post(struct webhook_curl *curl, struct webhook_message *message,
                      struct error *err);

/* The options file; for tests. */
void webhook_curl_print(const struct webhook_message *message, struct strbuf *out);
/* What the program has printed last is the status; for tests. */
void webhook_curl_read(const char *program, const struct aside_end *end,
                       struct webhook_result *ret);
