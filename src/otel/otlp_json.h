/* otlp_json.h: the pieces that every body of OTLP has. Private to otel/. */
#pragma once

#include "base/json_write.h"
#include "otel/otlp_write.h"

/* 64-bit numbers are texts there. */
void otlp_put_u64(struct json_writer *w, const char *key, uint64_t value);
void otlp_put_time(struct json_writer *w, const char *key, time_ms at);

/* One of a list of attributes; nothing when the value is not known. */
void otlp_put_text(struct json_writer *w, const char *key, const char *value);
void otlp_put_int(struct json_writer *w, const char *key, int64_t value);
void otlp_put_double(struct json_writer *w, const char *key, double value, int decimals);
void otlp_put_true(struct json_writer *w, const char *key);

/* {RESOURCES:[{"resource":{…},SCOPES:[{"scope":{…},ITEMS:[ … and its end. */
void otlp_begin(struct json_writer *w, const struct otlp_source *source,
                const char *const levels[3]);
void otlp_end(struct json_writer *w);
