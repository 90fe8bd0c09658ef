/* cell.h: one member of an answer as a short text, for a table or a line.
 *
 * Returned by value, so that a row can be written in one expression:
 *     rows_add(&rows, (const char *[]){ name, cell_number(item, "used").text }); */
#pragma once

#include <jansson.h>

#include "base/time_ms.h"

struct cell {
    char text[64];
};

/* A number as it is, reals with up to three decimals; "-" when there is none. */
struct cell cell_number(const json_t *object, const char *key);
/* 0 … 1 as per cent, whole. */
struct cell cell_percent(const json_t *object, const char *key);
/* A number, or "unlimited" when there is none. */
struct cell cell_cap(const json_t *object, const char *key);
/* A point in time seen from `now`, as print_when: "3 m ago", "in 27 s"; "-" when there is none. */
struct cell cell_span(const json_t *object, const char *key, time_ms now);
/* A point in time on this machine's clock: 2027-01-31 18:30:05. */
struct cell cell_time(time_ms at);
