/* digest.h: what happened since a moment, gathered from the daemon and told to people.
 *
 * digest_gather asks for runs, events, tasks and the status and puts one JSON object together, which is also
 * what `sluice digest --json` prints:
 *   since, until           moments, in ms
 *   partial                there was more than is looked at: the sums are too small
 *   totals                 runs, ok, running, waiting, added, done, failed, canceled, restarts, busy_ms,
 *                          tokens_in, tokens_out, tokens_cached, cost_usd (null: nobody said),
 *                          unknown_cost, unknown_tokens (runs that did not say)
 *   done, failed           tasks: id, title, project, agent, at, runs, busy_ms, tokens, cost_usd, reason, message
 *   people                 what waits for a person: task or account, title, what, why, do
 *   spent                  project, agent and the sums of their runs
 *   waits                  tasks that wait longest now: id, title, state, since, gate, why
 *   limited                accounts that were limited: name, times, until
 *   gates                  who waits where now: gate, count
 * digest_print makes a page of it. All texts come from outside: the page makes them safe. */
#pragma once

#include <jansson.h>
#include <stdbool.h>

#include "base/strbuf.h"
#include "base/time_ms.h"
#include "cli/ask.h"

/* CMD_OK, or has said why not. */
int digest_gather(struct ask *ask, time_ms since, time_ms now, json_t **ret_digest);

/* Markdown, or one file of HTML that needs nothing else and runs nothing. */
void digest_print(const json_t *digest, bool html, struct strbuf *out);

/* A moment that is over: 12h (so long ago), yesterday, today, 18:30 (the last one), 2027-01-31 … */
int digest_since(const char *text, time_ms now, time_ms *ret_since, struct error *err);
