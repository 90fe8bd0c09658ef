/* alert.h: what a person should look at, and what else is there that nobody ordered. Looking only. */
#pragma once

#include "engine/engine.h"

/* What a person should look at, while its cause is there; in the order in which they came up. */
struct engine_alert {
    const char *key;  /* of the cause: "chain:web-3" */
    const char *text; /* one sentence, with what to do */
    time_ms since;
    task_id task; /* 0: about none */
};
size_t engine_alert_count(const struct engine *engine);
const struct engine_alert *engine_alert_at(const struct engine *engine, size_t index);
bool engine_alert_is_open(const struct engine *engine, const char *key);
/* Inside a turn, by who knows a cause that the engine does not see: the webhook. Raising what is open and
 * clearing what is not changes nothing. */
void engine_alert_raise(struct engine *engine, const char *key, const char *text);
void engine_alert_clear(struct engine *engine, const char *key);

/* Living runs that are not ours, by the ids of their tasks: they hold places. NULL behind the last. */
const char *engine_external_at(const struct engine *engine, size_t index);
/* Has this task, which is finished, one of them? Then it must not be started again beside it. 0: no; else its
 * attempt. */
uint32_t engine_external_attempt(const struct engine *engine, task_id task);
