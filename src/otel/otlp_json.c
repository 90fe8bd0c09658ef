/* otlp_json.c: see otlp_json.h. */
#include "otel/otlp_json.h"

#include <inttypes.h>
#include <stdio.h>

#define CONVENTIONS "https://opentelemetry.io/schemas/1.42.0"

void otlp_put_u64(struct json_writer *w, const char *key, uint64_t value) {
    char text[24];
    (void)snprintf(text, sizeof(text), "%" PRIu64, value);
    json_write_key(w, key);
    json_write_string(w, text);
}

void otlp_put_time(struct json_writer *w, const char *key, time_ms at) {
    otlp_put_u64(w, key, at > 0 ? (uint64_t)at * 1000000u : 0);
}

static void begin_attribute(struct json_writer *w, const char *key) {
    json_write_object_begin(w);
    json_write_key(w, "key");
    json_write_string(w, key);
    json_write_key(w, "value");
    json_write_object_begin(w);
}

static void end_attribute(struct json_writer *w) {
    json_write_object_end(w);
    json_write_object_end(w);
}

void otlp_put_text(struct json_writer *w, const char *key, const char *value) {
    if (!value || !*value)
        return;
    begin_attribute(w, key);
    json_write_key(w, "stringValue");
    json_write_string(w, value);
    end_attribute(w);
}

void otlp_put_int(struct json_writer *w, const char *key, int64_t value) {
    if (value < 0)
        return;
    begin_attribute(w, key);
    otlp_put_u64(w, "intValue", (uint64_t)value);
    end_attribute(w);
}

void otlp_put_double(struct json_writer *w, const char *key, double value, int decimals) {
    begin_attribute(w, key);
    json_write_key(w, "doubleValue");
    json_write_double(w, value, decimals);
    end_attribute(w);
}

void otlp_put_true(struct json_writer *w, const char *key) {
    begin_attribute(w, key);
    json_write_key(w, "boolValue");
    json_write_bool(w, true);
    end_attribute(w);
}

static void put_list(struct json_writer *w, const char *key) {
    json_write_key(w, key);
    json_write_array_begin(w);
}

void otlp_begin(struct json_writer *w, const struct otlp_source *source,
                const char *const levels[3]) {
    json_write_object_begin(w);
    put_list(w, levels[0]);
    json_write_object_begin(w);
    json_write_key(w, "resource");
    json_write_object_begin(w);
    put_list(w, "attributes");
    otlp_put_text(w, "service.name", "sluice");
    otlp_put_text(w, "service.version", source->version);
    otlp_put_text(w, "service.instance.id", source->instance);
    json_write_array_end(w);
    json_write_object_end(w);
    put_list(w, levels[1]);
    json_write_object_begin(w);
    json_write_key(w, "scope");
    json_write_object_begin(w);
    json_write_key(w, "name");
    json_write_string(w, "sluice");
    json_write_key(w, "version");
    json_write_string(w, source->version);
    json_write_object_end(w);
    json_write_key(w, "schemaUrl");
    json_write_string(w, CONVENTIONS);
    put_list(w, levels[2]);
}

void otlp_end(struct json_writer *w) {
    json_write_array_end(w);
    json_write_object_end(w);
    json_write_array_end(w);
    json_write_object_end(w);
    json_write_array_end(w);
    json_write_object_end(w);
}
