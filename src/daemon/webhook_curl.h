/* webhook_curl.h: the program that speaks HTTPS, with the webhook and with the collector. Private to daemon/.
 *
 * curl, or another that takes its options (notify.https_command). All that it is to send is in two files that
 * only the owner can read: arguments are seen by every user of a machine. It knows the authorities that this
 * machine trusts, and sends nothing to a server whose certificate is not of them. */
#pragma once

#include "daemon/webhook_line.h"
#include "executor/aside.h"

struct webhook_curl;

/* `name` is that of its files, and of no other's. */
struct webhook_curl *webhook_curl_new(struct engine *engine, struct loop *loop,
                                      char *const *environment, const char *name,
                                      webhook_posted came_back, void *ctx);
struct webhook_curl *webhook_curl_free(struct webhook_curl *curl); /* accepts NULL, returns NULL */
/* Takes the message, unless it fails. One at a time. */
int webhook_curl_post(struct webhook_curl *curl, struct webhook_message *message,
                      struct error *err);

/* --- pure parts: webhook_curl_text.c ------------------------------------------------------------ */

/* The file with its options; `body` is the path of the other one. */
void webhook_curl_print(const struct webhook_message *message, const char *body,
                        struct strbuf *out);
/* What came of it: a status, without a sentence, or a sentence why there is none. */
void webhook_curl_read(const char *program, const struct aside_end *end, time_ms now,
                       struct webhook_result *ret);
