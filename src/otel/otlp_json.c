/* otlp_json.c: see otlp_json.h. */
#include "otel/otlp_json.h"

#include <inttypes.h>
#include <stdio.h>

#define CONVENTIONS "https://opentelemetry.io/schemas/1.42.0"

void otlp_put_u64(struct json_writer *w, const char *key, uint64_t value) {
    char text[24];
    (void)snprintf(text, sizeof(text), "%" PRIu64, value);
    json_put_string(w, key, text);
}

void otlp_put_time(struct json_writer *w, const char *key, time_ms at) {
    otlp_put_u64(w, key, at > 0 ? (uint64_t)at * 1000000u : 0);
}

static void begin_attribute(struct json_writer *w, const char *key) {
    json_write_object_begin(w);
    json_put_string(w, "key", key);
    json_put_object(w, "value");
}

static void end_attribute(struct json_writer *w) {
    json_write_object_end(w);
    json_write_object_end(w);
}

void otlp_put_text(struct json_writer *w, const char *key, const char *value) {
    if (!value || !*value)
        return;
    begin_attribute(w, key);
    json_put_string(w, "stringValue", value);
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
    json_put_double(w, "doubleValue", value, decimals);
    end_attribute(w);
}

void otlp_put_true(struct json_writer *w, const char *key) {
    begin_attribute(w, key);
    json_put_bool(w, "boolValue", true);
    end_attribute(w);
}

void otlp_begin(struct json_writer *w, const struct otlp_source *source,
                const char *const levels[3]) {
    json_write_object_begin(w);
    json_put_array(w, levels[0]);
    json_write_object_begin(w);
    json_put_object(w, "resource");
    json_put_array(w, "attributes");
    otlp_put_text(w, "service.name", "sluice");
    otlp_put_text(w, "service.version", source->version);
    otlp_put_text(w, "service.instance.id", source->instance);
    json_write_array_end(w);
    json_write_object_end(w);
    json_put_array(w, levels[1]);
    json_write_object_begin(w);
    json_put_object(w, "scope");
    json_put_string(w, "name", "sluice");
    json_put_string(w, "version", source->version);
    json_write_object_end(w);
    json_put_string(w, "schemaUrl", CONVENTIONS);
    json_put_array(w, levels[2]);
}

void otlp_end(struct json_writer *w) {
    json_write_array_end(w);
    json_write_object_end(w);
    json_write_array_end(w);
    json_write_object_end(w);
    json_write_array_end(w);
    json_write_object_end(w);
}
