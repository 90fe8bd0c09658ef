/* child_spans.c: see child_spans.h. */
#include "ops/child_spans.h"

#include <errno.h>

#include "engine/run_token.h"
#include "ops/op_internal.h"

/* None is longer than any. */
static time_ms span_of(time_ms span) {
    return span == 0 ? TIME_NEVER : span;
}

static time_ms configured_timeout(const struct engine *engine, const char *agent) {
    const struct config *config = engine_config(engine);
    return agent ? config_number(config, "agents.A.timeout_s", agent)
                 : config_number(config, "tasks.timeout_s", NULL);
}

static time_ms configured_idle(const struct engine *engine) {
    return config_number(engine_config(engine), "tasks.idle_timeout_s", NULL);
}

struct child_spans child_spans_of(const struct engine *engine, task_id parent) {
    struct child_spans own = { 0 };
    struct task_spec told = { 0 };
    if (!engine_run_spans_of(engine, parent, &own.timeout, &own.idle))
        return own;
    (void)core_task_spec(engine_core(engine), parent, &told);
    const char *agent = op_name_of(engine, told.run_agent ? told.run_agent : told.agent);
    if (span_of(own.timeout) >= configured_timeout(engine, agent))
        own.timeout = 0;
    if (span_of(own.idle) >= configured_idle(engine))
        own.idle = 0;
    return own;
}

static int bound(json_t *task, const char *member, time_ms of_agent, time_ms of_parent,
                 struct error *err) {
    const json_t *given = json_object_get(task, member);
    time_ms most = time_min(of_agent, span_of(of_parent));
    if (most == TIME_NEVER)
        return 0;
    if (!json_is_number(given)) {
        if (most < of_agent)
            json_object_set_new(task, member, json_real((double)most / 1000.0));
        return 0;
    }
    if (json_number_value(given) * 1000.0 <= (double)most)
        return 0;
    return error_set(err, -EACCES, "'%s': a child may have %g s at most, as its %s has", member,
                     (double)most / 1000.0, most < of_agent ? "parent" : "agent");
}

int child_spans_bound(const struct engine *engine, const struct child_spans *parent, json_t *task,
                      struct error *err) {
    const char *agent = json_string_value(json_object_get(task, "agent"));
    int r = bound(task, "timeout_s", configured_timeout(engine, agent), parent->timeout, err);
    return r < 0 ? r : bound(task, "idle_timeout_s", configured_idle(engine), parent->idle, err);
}
