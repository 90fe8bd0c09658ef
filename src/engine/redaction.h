/* redaction.h: values that the daemon knows and does not show.
 *
 * These are the secrets of runs (launch/secrets.c), the tokens of live runs, and everything that
 * looks like a token of access.h. They are redacted in:
 *
 *   logs                engine_read_log, in as many bytes as the value has
 *   events, messages    before they are stored
 *   answers             before they are sent (ops/op_call.c)
 *   what a run submits  before it is processed (ops/capability.c)
 *
 * A value is known from the launch of its run until 256 others have followed, even if the run has
 * ended, because its logs are still read. Values are in memory only. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "base/strbuf.h"
#include "os/redact_file.h"

struct engine;

/* Appends the text with `[redacted NAME]` in it. False: nothing to redact, nothing appended. */
bool engine_redact(const struct engine *engine, const char *text, size_t size, struct strbuf *out);
/* Keeps the length of the text. */
void engine_redact_in_place(const struct engine *engine, char *text);
/* As redact_pread, for the log of a run. */
ssize_t engine_read_log(const struct engine *engine, int fd, const struct redact_range *range,
                        char *space, const char **ret_bytes);

/* --- inside the engine ----------------------------------------------------------------------- */

/* `pair`: NAME=VALUE. Adds a reference of a live run. */
void redaction_add(struct engine *e, const char *pair);
/* Drops a reference. `is_worthless`: forgotten at once with the last reference. */
void redaction_release(struct engine *e, const char *pair, bool is_worthless);

/* A redacted text that is valid until the end of the turn. */
char *redaction_turn_text(struct engine *e, const char *text);
