/* record.h: bounded strings, and records of names and values.
 *
 * Nothing here allocates: the shim formats its records in static memory, so an out-of-memory
 * condition cannot keep it from reporting the end of a run. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* --- writing --------------------------------------------------------------------------------- */

/* A bounded buffer; `full` is set when something was cut. */
struct record_out {
    char *text;
    size_t size, length;
    bool full;
};

void record_put(struct record_out *out, const char *bytes, size_t size);
void record_puts(struct record_out *out, const char *text);
void record_put_number(struct record_out *out, int64_t number);
/* In quotes; invalid UTF-8 becomes '?'. */
void record_put_json(struct record_out *out, const char *text);
/* name NUL value NUL */
void record_add(struct record_out *out, const char *name, const char *value);
void record_add_number(struct record_out *out, const char *name, int64_t number);

/* --- reading --------------------------------------------------------------------------------- */

struct record_in {
    const char *at, *end;
};

/* The next pair, or false: at the end, or if the rest is not a complete pair. */
bool record_next(struct record_in *in, const char **ret_name, const char **ret_value);
bool record_number(const char *value, int64_t min, int64_t max, int64_t *ret_number);
