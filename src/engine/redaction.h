/* redaction.h: values that the daemon knows and does not show.
 *
 * These are the secrets of runs (launch/secrets.c), the tokens of live runs, and everything that looks like a token of
 * access.h. They are replaced in what is shown, in what a run submits, and in what is stored of its output:
 *
 *   logs                engine_read_log, in as many bytes as the value has
 *   events, messages    before they are stored
 *   answers             before they are sent (ops/op_call.c)
 *   what a run submits  before it is looked at (ops/capability.c)
 *
 * A value is known from the launch of its run until 256 others have followed, also when the run has ended: its
 * logs are still read. It is in memory alone. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "base/strbuf.h"
#include "os/redact_file.h"

struct engine;

/* The text with `[redacted NAME]` in it, appended. False: there is nothing to replace, and nothing is appended. */
bool engine_redact(const struct engine *engine, const char *text, size_t size, struct strbuf *out);
/* In as many bytes as the text has. */
void engine_redact_in_place(const struct engine *engine, char *text);
/* As redact_pread, of a log of a run. */
ssize_t engine_read_log(const struct engine *engine, int fd, const struct redact_range *range,
                        char *space, const char **ret_bytes);

/* --- inside the engine ----------------------------------------------------------------------- */

/* `pair`: NAME=VALUE. One more live run has it. */
void redaction_add(struct engine *e, const char *pair);
/* One less. `is_worthless`: once no live run has it, it is forgotten at once. */
void redaction_release(struct engine *e, const char *pair, bool is_worthless);

/* A text of the turn, redacted. */
char *redaction_turn_text(struct engine *e, const char *text);
