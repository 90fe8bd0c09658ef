/* otlp_value.c: see otlp_value.h. Nothing here fails: what is not what it should be is not there. */
#include "otel/otlp_value.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"

#define NUMBER_TEXT_MAX 64u

static bool parse_text(const char *text, double *ret_number) {
    size_t length = strlen(text);
    char *end = NULL;
    /* Neither blanks nor the words and hexadecimal numbers that strtod would take. */
    if (length == 0 || length > NUMBER_TEXT_MAX || strspn(text, "0123456789+-.eE") != length)
        return false;
    double number = strtod(text, &end);
    if (*end != '\0' || !isfinite(number))
        return false;
    *ret_number = number;
    return true;
}

bool otlp_value_number(const json_t *value, double *ret_number) {
    if (json_is_string(value))
        return parse_text(json_string_value(value), ret_number);
    if (!json_is_number(value) || !isfinite(json_number_value(value)))
        return false;
    *ret_number = json_number_value(value);
    return true;
}

uint64_t otlp_value_u64(const json_t *value) {
    if (json_is_integer(value))
        return json_integer_value(value) > 0 ? (uint64_t)json_integer_value(value) : 0;
    const char *text = json_string_value(value);
    size_t length = text ? strlen(text) : 0;
    if (length == 0 || length > 20 || strspn(text, "0123456789") != length)
        return 0;
    errno = 0;
    unsigned long long number = strtoull(text, NULL, 10);
    return errno ? 0 : number;
}

static size_t attribute_count(const json_t *attributes) {
    size_t count = json_array_size(attributes);
    return count < OTLP_ATTRIBUTES_MAX ? count : OTLP_ATTRIBUTES_MAX;
}

const json_t *otlp_attribute(const json_t *attributes, const char *name) {
    for (size_t i = 0; i < attribute_count(attributes); i++) {
        const json_t *attribute = json_array_get(attributes, i);
        const char *key = json_string_value(json_object_get(attribute, "key"));
        if (key && strcmp(key, name) == 0)
            return json_object_get(attribute, "value");
    }
    return NULL;
}

const char *otlp_attribute_text(const json_t *attributes, const char *name) {
    return json_string_value(json_object_get(otlp_attribute(attributes, name), "stringValue"));
}

/* The member that holds the value, whichever it is. */
static const json_t *plain_value(const json_t *value) {
    static const char *const members[] = { "stringValue", "intValue", "doubleValue", "boolValue" };
    for (size_t i = 0; i < sizeof(members) / sizeof(*members); i++) {
        const json_t *plain = json_object_get(value, members[i]);
        if (plain)
            return plain;
    }
    return NULL;
}

bool otlp_attribute_number(const json_t *attributes, const char *name, double *ret_number) {
    return otlp_value_number(plain_value(otlp_attribute(attributes, name)), ret_number);
}

static uint64_t hash_value(const json_t *value) {
    double number = 0;
    if (json_is_string(value))
        return hash_bytes(json_string_value(value), json_string_length(value));
    if (otlp_value_number(value, &number))
        return hash_bytes(&number, sizeof(number));
    return json_is_true(value) ? 1 : 2;
}

uint64_t otlp_attributes_hash(const json_t *attributes) {
    uint64_t sum = 0;
    for (size_t i = 0; i < attribute_count(attributes); i++) {
        const json_t *attribute = json_array_get(attributes, i);
        const json_t *key = json_object_get(attribute, "key");
        const json_t *value = plain_value(json_object_get(attribute, "value"));
        if (json_is_string(key))
            sum += hash_mix(hash_value(key), value ? hash_value(value) : 0);
    }
    return sum;
}
