/* text.h: numbers and names as the reports show them. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/strbuf.h"
#include "base/time_ms.h"

/* The two largest units: "250 ms", "42 s", "12 min 5 s", "4 h 12 min", "2 d 3 h". */
void text_duration(struct strbuf *out, time_ms span);
/* With a comma between thousands. */
void text_count(struct strbuf *out, int64_t count);
/* 0.5 as "50 %"; below ten with one decimal where it has one. */
void text_percent(struct strbuf *out, double part);

/* Columns on a terminal of UTF-8 text: wide characters count two, combining ones none. */
size_t text_columns(const char *text);
/* A name that came from outside, safe for a terminal (no control characters), cut to `columns` with
 * a mark at the end. Returns the columns it takes. */
size_t text_name(struct strbuf *out, const char *name, size_t columns, bool unicode);
