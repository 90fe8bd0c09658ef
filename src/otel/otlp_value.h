/* otlp_value.h: values as OTLP writes them in JSON. Private to otel/.
 *
 * 64-bit numbers are texts there, and some clients write them as numbers; both are taken. */
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

/* A finite number, from a number or a text. */
bool otlp_value_number(const json_t *value, double *ret_number);
/* A time or another 64-bit number; 0: none. */
uint64_t otlp_value_u64(const json_t *value);

/* The value of an attribute, {"stringValue":…} and so on; NULL: there is none of this name. Of the first
 * OTLP_ATTRIBUTES_MAX. */
#define OTLP_ATTRIBUTES_MAX 128u
const json_t *otlp_attribute(const json_t *attributes, const char *name);
const char *otlp_attribute_text(const json_t *attributes, const char *name); /* or NULL */
bool otlp_attribute_number(const json_t *attributes, const char *name, double *ret_number);
/* The same for the same attributes, in whatever order they come. */
uint64_t otlp_attributes_hash(const json_t *attributes);
