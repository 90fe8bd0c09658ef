/* alert.h: alerts, and runs that are not ours. */
#pragma once

#include "engine/engine.h"

/* Something that needs a person's attention, open while its cause lasts; in order of appearance. */
struct engine_alert {
    const char *key;  /* names the cause: "chain:web-3" */
    const char *text; /* the problem and what to do */
    time_ms since;
    task_id task; /* 0: no task */
};
size_t engine_alert_count(const struct engine *engine);
const struct engine_alert *engine_alert_at(const struct engine *engine, size_t index);
bool engine_alert_is_open(const struct engine *engine, const char *key);
/* Inside a turn, for causes the engine does not see (the webhook). Both are idempotent. */
void engine_alert_raise(struct engine *engine, const char *key, const char *text);
void engine_alert_clear(struct engine *engine, const char *key);

/* Live runs that are not ours, by task id; they hold slots. NULL after the last. */
const char *engine_external_at(const struct engine *engine, size_t index);
/* The attempt of such a run of this finished task, which must not be started beside it; 0: none. */
uint32_t engine_external_attempt(const struct engine *engine, task_id task);
