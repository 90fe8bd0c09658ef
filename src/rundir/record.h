/* record.h: texts of bounded size, and rows of name and value.
 *
 * Nothing here uses the heap: the shim formats its records in memory that it has had since its
 * start, so a full machine cannot keep it from telling how a run ended. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* --- writing --------------------------------------------------------------------------------- */

/* A text that stops growing at its end; `full` tells that something was left out. */
struct record_out {
    char *text;
    size_t size, length;
    bool full;
};

void record_put(struct record_out *out, const char *bytes, size_t size);
void record_puts(struct record_out *out, const char *text);
void record_put_number(struct record_out *out, int64_t number);
/* In quotes; what is no UTF-8 becomes '?'. */
void record_put_json(struct record_out *out, const char *text);
/* name NUL value NUL */
void record_add(struct record_out *out, const char *name, const char *value);
void record_add_number(struct record_out *out, const char *name, int64_t number);

/* --- reading --------------------------------------------------------------------------------- */

struct record_in {
    const char *at, *end;
};

/* The next pair, or false: at the end, and when what is left is no whole pair. */
bool record_next(struct record_in *in, const char **ret_name, const char **ret_value);
/* Is it a number within the bounds? */
bool record_number(const char *value, int64_t min, int64_t max, int64_t *ret_number);
