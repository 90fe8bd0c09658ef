/* otlp_write.h: runs of agents as OpenTelemetry knows them, in the JSON of OTLP/HTTP.
 *
 * Names follow the semantic conventions for generative AI (development): a run is a span `invoke_agent NAME`; its
 * tokens are counted in gen_ai.client.inference.usage.*, its time in gen_ai.invoke_agent.duration. Input
 * tokens include cached ones. A run of a plain command is a span `run`, and no model is counted for it.
 *
 * Counters are cumulative since their beginning: a body that gets lost loses nothing but a point in time.
 * At most OTLP_TOTALS_MAX combinations of agent, model and error are kept; the others are
 * counted together, with otel.metric.overflow.
 *
 * Pure: no clock, no files. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/strbuf.h"
#include "base/time_ms.h"

#define OTLP_TOTALS_MAX 200u
#define OTLP_TRACE_SIZE 16u
#define OTLP_SPAN_SIZE  8u

/* The ids of a run: always the same, also when it is sent twice. */
struct otlp_ids {
    uint8_t trace[OTLP_TRACE_SIZE], span[OTLP_SPAN_SIZE];
};
/* `where`: what tells one queue from another; `run`: "web-17.2". */
struct otlp_ids otlp_ids_make(const char *where, const char *run, time_ms ordered_at);
/* "00-…-…-01", as the environment variable TRACEPARENT has it. */
void otlp_print_traceparent(const struct otlp_ids *ids, struct strbuf *out);

/* A run that has ended. NULL and -1: not known. */
struct otlp_run {
    struct otlp_ids ids;
    time_ms started_at, ended_at;
    const char *agent;    /* as configured; NULL: a plain command */
    const char *provider; /* with agent: agent_provider */
    const char *model, *session;
    const char *task, *project; /* "web-17", "web" */
    uint32_t attempt, iteration;
    const char *outcome;
    const char *error_type; /* a word of few; NULL: it went well */
    const char *message;    /* with error_type */
    int64_t tokens_in, tokens_out, tokens_cached, cost_micro_usd;
};

/* Who tells. */
struct otlp_source {
    const char *version;
    const char *instance; /* which daemon */
};

/* The body for /v1/traces. */
void otlp_write_spans(const struct otlp_source *source, const struct otlp_run *const *runs,
                      size_t count, struct strbuf *out);

/* The sums over runs. */
struct otlp_totals;
struct otlp_totals *otlp_totals_new(time_ms since);
struct otlp_totals *otlp_totals_free(struct otlp_totals *totals); /* accepts NULL, returns NULL */
void otlp_totals_add(struct otlp_totals *totals, const struct otlp_run *run);
/* The body for /v1/metrics. */
void otlp_totals_write(const struct otlp_totals *totals, const struct otlp_source *source,
                       time_ms now, struct strbuf *out);
