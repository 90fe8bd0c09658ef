/* otlp_spans.c: one span for each run.
 *
 * Its ids are made from what the run is, not drawn: the agent learns them before it starts, the daemon may be
 * started again meanwhile, and a span that is sent twice is the same one. */
#include <stdio.h>
#include <string.h>

#include "base/sha256.h"
#include "otel/otlp_json.h"
#include "otel/otlp_write.h"

#define KIND_INTERNAL 1
#define STATUS_ERROR  2

struct otlp_ids otlp_ids_of(const char *where, const char *run, time_ms ordered_at) {
    struct otlp_ids ids;
    struct sha256 hash;
    uint8_t digest[SHA256_SIZE];
    sha256_init(&hash);
    sha256_add(&hash, where, strlen(where) + 1);
    sha256_add(&hash, run, strlen(run) + 1);
    sha256_add(&hash, &ordered_at, sizeof(ordered_at));
    sha256_end(&hash, digest);
    memcpy(ids.trace, digest, sizeof(ids.trace));
    memcpy(ids.span, digest + sizeof(ids.trace), sizeof(ids.span));
    ids.trace[0] |= 1; /* all zeros would mean: none */
    ids.span[0] |= 1;
    return ids;
}

static void print_hex(const uint8_t *bytes, size_t size, char *ret) {
    static const char digits[] = "0123456789abcdef";
    for (size_t i = 0; i < size; i++) {
        ret[2 * i] = digits[bytes[i] >> 4];
        ret[2 * i + 1] = digits[bytes[i] & 15];
    }
    ret[2 * size] = '\0';
}

void otlp_print_parent(const struct otlp_ids *ids, struct strbuf *out) {
    char trace[2 * OTLP_TRACE_SIZE + 1], span[2 * OTLP_SPAN_SIZE + 1];
    print_hex(ids->trace, sizeof(ids->trace), trace);
    print_hex(ids->span, sizeof(ids->span), span);
    strbuf_printf(out, "00-%s-%s-01", trace, span);
}

static void put_attributes(struct json_writer *w, const struct otlp_run *run) {
    json_put_array(w, "attributes");
    if (run->agent) {
        otlp_put_text(w, "gen_ai.operation.name", "invoke_agent");
        otlp_put_text(w, "gen_ai.provider.name", run->provider);
        otlp_put_text(w, "gen_ai.agent.name", run->agent);
        otlp_put_text(w, "gen_ai.request.model", run->model);
        otlp_put_text(w, "gen_ai.conversation.id", run->session);
    }
    otlp_put_int(w, "gen_ai.usage.input_tokens", run->tokens_in);
    otlp_put_int(w, "gen_ai.usage.output_tokens", run->tokens_out);
    otlp_put_int(w, "gen_ai.usage.cache_read.input_tokens", run->tokens_cached);
    otlp_put_text(w, "error.type", run->error_type);
    otlp_put_text(w, "sluice.task", run->task);
    otlp_put_text(w, "sluice.project", run->project);
    otlp_put_int(w, "sluice.attempt", run->attempt);
    otlp_put_int(w, "sluice.iteration", run->iteration);
    otlp_put_text(w, "sluice.outcome", run->outcome);
    if (run->cost_micro_usd >= 0)
        otlp_put_double(w, "sluice.cost_usd", (double)run->cost_micro_usd / 1e6, 6);
    json_write_array_end(w);
}

static void put_span(struct json_writer *w, const struct otlp_run *run) {
    char hex[2 * OTLP_TRACE_SIZE + 1];
    _cleanup_(strbuf_finish) struct strbuf name = STRBUF_INIT;
    strbuf_puts(&name, run->agent ? "invoke_agent " : "run");
    strbuf_puts(&name, run->agent ? run->agent : "");
    json_write_object_begin(w);
    print_hex(run->ids.trace, sizeof(run->ids.trace), hex);
    json_put_string(w, "traceId", hex);
    print_hex(run->ids.span, sizeof(run->ids.span), hex);
    json_put_string(w, "spanId", hex);
    json_put_string(w, "name", strbuf_text(&name));
    json_put_int(w, "kind", KIND_INTERNAL);
    otlp_put_time(w, "startTimeUnixNano", run->started_at);
    otlp_put_time(w, "endTimeUnixNano", run->ended_at);
    put_attributes(w, run);
    json_put_object(w, "status");
    if (run->error_type) {
        json_put_int(w, "code", STATUS_ERROR);
        json_put_string(w, "message", run->message ? run->message : "");
    }
    json_write_object_end(w);
    json_write_object_end(w);
}

void otlp_write_spans(const struct otlp_source *source, const struct otlp_run *const *runs,
                      size_t count, struct strbuf *out) {
    static const char *const levels[] = { "resourceSpans", "scopeSpans", "spans" };
    struct json_writer w;
    json_write_init(&w, out, false);
    otlp_begin(&w, source, levels);
    for (size_t i = 0; i < count; i++)
        put_span(&w, runs[i]);
    otlp_end(&w);
}
