/* server_metrics.c: the server's own numbers, behind those that the operation /metrics tells. */
#include "api/server_internal.h"
#include "base/metric.h"

void server_print_metrics(const struct server *server, struct strbuf *out) {
    const struct server_stats *s = &server->stats;
    metric_gauge(out, "http_connections", (int64_t)s->connections, "Connections of clients.");
    metric_gauge(out, "http_connections_limit", server->options.connections_max,
                 "Most connections at once.");
    metric_head(out, "http_streams", "gauge", "Streams that clients follow, by what they carry.");
    metric_labeled(out, "http_streams", "of", "events", (int64_t)s->event_streams);
    metric_labeled(out, "http_streams", "of", "log", (int64_t)s->log_streams);
    metric_gauge(out, "http_body_bytes", (int64_t)server->body_bytes,
                 "Bodies of requests that are being read.");
    metric_counter(out, "http_connections_total", s->accepted, "Connections that were made.");
    metric_counter(out, "http_connections_refused_total", s->refused,
                   "Connections that were refused: too many, or not of the owner.");
    metric_counter(out, "http_requests_total", s->requests, "Requests, refused ones too.");
    metric_head(out, "http_errors_total", "counter", "Answers that were errors, by whose fault.");
    metric_labeled(out, "http_errors_total", "of", "client", (int64_t)s->client_errors);
    metric_labeled(out, "http_errors_total", "of", "server", (int64_t)s->server_errors);
    metric_counter(out, "http_timeouts_total", s->timeouts,
                   "Clients that took too long to send or to read.");
    metric_counter(out, "http_streams_dropped_total", s->dropped_slow,
                   "Streams of events that were ended because their reader was too slow.");
}
