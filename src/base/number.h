/* number.h: parses user input as exact numbers. The complete text must be a number. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "base/strbuf.h"

/* A decimal integer with optional sign. */
int number_parse_int(const char *text, int64_t *ret_value, struct error *err);

#define NUMBER_TEXT_MAX 24 /* bytes of the longest 64-bit number, with sign and NUL */
/* In decimal, inside `buf`. Without printf: for the shim, and faster. */
const char *number_text(int64_t number, char buf[NUMBER_TEXT_MAX]);

/* 0 to 15; -1: not a hexadecimal digit. */
int number_hex_digit(char digit);
/* `ret` has room for 2 * size digits, in lower case, and a NUL. */
void number_hex_print(const uint8_t *bytes, size_t size, char *ret);
/* Accepts exactly what number_hex_print prints. `ret` is untouched otherwise. */
bool number_hex_parse(const char *digits, uint8_t *ret, size_t size);

/* A decimal number with up to `places` decimals, in units of the last one: "1.5" with 2 is 150. 0,
 * -EINVAL: not a number, -E2BIG: more decimals, -ERANGE. */
int number_parse_decimal(const char *text, int places, int64_t *ret_value);
/* A decimal number with up to three decimals, in thousandths: "1.5" is 1500. No exponent. */
int number_parse_milli(const char *text, int64_t *ret_milli, struct error *err);

/* A duration in ms: 90s, 30m, 2h, 1.5d; digits alone are seconds. -ERANGE: more than a hundred
 * years. */
int number_parse_span(const char *text, int64_t *ret_ms, struct error *err);
/* A size in MB of 2^20 bytes, rounded up: 512MB, 1.5GB, 64K, 1T; digits alone are MB. */
int number_parse_size(const char *text, int64_t *ret_mb, struct error *err);
/* "24 h", "90 min", "1.5 s": in the largest unit that gives an integer. */
void number_print_span(struct strbuf *out, int64_t ms);
