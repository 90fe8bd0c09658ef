/* otlp_write.h: agent runs as OpenTelemetry spans and metrics, as OTLP/HTTP JSON.
 *
 * Names follow the semantic conventions for generative AI (development): a run is a span
 * `invoke_agent NAME`; tokens are counted in gen_ai.client.inference.usage.*, time in
 * gen_ai.invoke_agent.duration. Input tokens include cached ones. A plain command is a span `run`
 * without model counters.
 *
 * Counters are cumulative since start, so losing a body loses only one data point. At most
 * OTLP_TOTALS_MAX combinations of agent, model and error are kept; the others are counted together,
 * with otel.metric.overflow.
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

/* Deterministic: the same run always has the same ids. */
struct otlp_ids {
    uint8_t trace[OTLP_TRACE_SIZE], span[OTLP_SPAN_SIZE];
};
/* `where` identifies the queue; `run`: "web-17.2". */
struct otlp_ids otlp_ids_make(const char *where, const char *run, time_ms ordered_at);
/* "00-…-…-01", the format of the environment variable TRACEPARENT. */
void otlp_print_traceparent(const struct otlp_ids *ids, struct strbuf *out);

/* A run that has ended. NULL and -1: unknown. */
struct otlp_run {
    struct otlp_ids ids;
    time_ms started_at, ended_at;
    const char *agent;    /* as configured; NULL: a plain command */
    const char *provider; /* with agent: agent_provider */
    const char *model, *session;
    const char *task, *project; /* "web-17", "web" */
    uint32_t attempt, iteration;
    const char *outcome;
    const char *error_type; /* one of a few words; NULL: success */
    const char *message;    /* with error_type */
    int64_t tokens_in, tokens_out, tokens_cached, cost_micro_usd;
};

struct otlp_source {
    const char *version;
    const char *instance; /* daemon instance */
};

/* The body for /v1/traces. */
void otlp_write_spans(const struct otlp_source *source, const struct otlp_run *const *runs,
                      size_t count, struct strbuf *out);

struct otlp_totals;
struct otlp_totals *otlp_totals_new(time_ms since);
struct otlp_totals *otlp_totals_free(struct otlp_totals *totals); /* accepts NULL, returns NULL */
void otlp_totals_add(struct otlp_totals *totals, const struct otlp_run *run);
/* The body for /v1/metrics. */
void otlp_totals_write(const struct otlp_totals *totals, const struct otlp_source *source,
                       time_ms now, struct strbuf *out);
