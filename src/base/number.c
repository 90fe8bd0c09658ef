/* number.c: strict number parsing.
 *
 * strtoll is not used: it skips blanks, accepts other bases and leaves the rest of the text to the
 * caller. A typing error in a user's file must be an error with a message, not a nearly right
 * number. Messages quote at most 80 bytes, so that long input does not hide what was expected. */
#include "base/number.h"

#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "base/macros.h"
#include "base/time_ms.h"

#define MILLI_PLACES 3
#define SPAN_MOST    DAYS(36500)

/* Accumulates away from zero in the direction of the sign, so that INT64_MIN needs no special
 * case. */
struct digits {
    int64_t value;
    bool negative;
    bool overflow;
};

static const char *take_sign(const char *text, struct digits *digits) {
    digits->negative = *text == '-';
    return *text == '-' || *text == '+' ? text + 1 : text;
}

static void add_digit(struct digits *digits, int digit) {
    if (__builtin_mul_overflow(digits->value, 10, &digits->value)
        || __builtin_add_overflow(digits->value, digits->negative ? -digit : digit, &digits->value))
        digits->overflow = true;
}

/* Returns the first character that is not a digit. */
static const char *take_digits(const char *text, struct digits *digits) {
    for (; *text >= '0' && *text <= '9'; text++)
        add_digit(digits, *text - '0');
    return text;
}

int number_parse_int(const char *text, int64_t *ret_value, struct error *err) {
    assert(text && ret_value);
    struct digits digits = { 0 };
    const char *start = take_sign(text, &digits);
    const char *end = take_digits(start, &digits);
    if (end == start || *end != '\0')
        return error_set(err, -EINVAL, "'%.80s' is not a whole number (example: 42)", text);
    if (digits.overflow)
        return error_set(err, -ERANGE, "'%.80s' is too large a number", text);
    *ret_value = digits.value;
    return 0;
}

int number_parse_decimal(const char *text, int places, int64_t *ret_value) {
    assert(text && ret_value);
    struct digits digits = { 0 };
    const char *start = take_sign(text, &digits);
    const char *end = take_digits(start, &digits);
    bool valid = end != start;
    if (valid && *end == '.') {
        const char *fraction = end + 1;
        end = take_digits(fraction, &digits);
        valid = end != fraction;
        places -= end - fraction > places ? places + 1 : (int)(end - fraction);
    }
    if (!valid || *end != '\0')
        return -EINVAL;
    if (places < 0)
        return -E2BIG;
    for (; places > 0; places--)
        add_digit(&digits, 0);
    *ret_value = digits.value;
    return digits.overflow ? -ERANGE : 0;
}

int number_parse_milli(const char *text, int64_t *ret_milli, struct error *err) {
    int64_t value = 0;
    int r = number_parse_decimal(text, MILLI_PLACES, &value);
    if (r == -EINVAL)
        return error_set(err, r, "'%.80s' is not a number (example: 1.5)", text);
    if (r == -E2BIG)
        return error_set(err, -EINVAL, "'%.80s' has more than three decimal places", text);
    if (r < 0)
        return error_set(err, r, "'%.80s' is too large a number", text);
    *ret_milli = value;
    return 0;
}

struct unit {
    const char *name;
    int64_t factor;
};

/* A number with up to three decimals and one of the units (the first has no name), in thousandths
 * of the smallest unit. -ERANGE: does not fit. */
static int parse_with_unit(const char *text, const struct unit *units, size_t count,
                           int64_t *ret_milli) {
    char number[24];
    size_t size = strspn(text, "0123456789."), unit = 0;
    int64_t milli = 0;
    while (unit < count && strcmp(units[unit].name, text + size) != 0)
        unit++;
    if (size == 0 || unit == count)
        return -EINVAL;
    if (size >= sizeof(number))
        return -ERANGE;
    memcpy(number, text, size);
    number[size] = '\0';
    int r = number_parse_milli(number, &milli, NULL);
    return r == 0 && __builtin_mul_overflow(milli, units[unit].factor, ret_milli) ? -ERANGE : r;
}

int number_parse_span(const char *text, int64_t *ret_ms, struct error *err) {
    static const struct unit units[] = {
        { "", 1 }, { "s", 1 }, { "m", 60 }, { "h", 3600 }, { "d", 86400 },
    };
    int64_t span = 0;
    int r = parse_with_unit(text, units, ARRAY_SIZE(units), &span);
    if (r == -ERANGE || span > SPAN_MOST)
        return error_set(err, -ERANGE, "'%.100s' is too long: maximum is 100 years", text);
    if (r < 0)
        return error_set(err, -EINVAL, "not a span: '%.100s' (examples: 90s, 30m, 2h, 1d)", text);
    *ret_ms = span;
    return 0;
}

int number_parse_size(const char *text, int64_t *ret_mb, struct error *err) {
    static const struct unit units[] = {
        { "", 1 << 10 },  { "K", 1 },        { "KB", 1 },      { "M", 1 << 10 },  { "MB", 1 << 10 },
        { "G", 1 << 20 }, { "GB", 1 << 20 }, { "T", 1 << 30 }, { "TB", 1 << 30 },
    };
    static const int64_t megabyte = INT64_C(1000) << 10; /* in thousandths of a KB */
    int64_t size = 0;
    int r = parse_with_unit(text, units, ARRAY_SIZE(units), &size);
    if (r == -ERANGE)
        return error_set(err, -ERANGE, "'%.80s' is too large a size", text);
    if (r < 0)
        return error_set(err, -EINVAL, "'%.80s' is not a size (examples: 512MB, 1.5GB)", text);
    *ret_mb = size / megabyte + (size % megabyte != 0);
    return 0;
}

const char *number_text(int64_t number, char buf[NUMBER_TEXT_MAX]) {
    uint64_t rest = number < 0 ? -(uint64_t)number : (uint64_t)number;
    char *at = &buf[NUMBER_TEXT_MAX - 1];
    *at = '\0';
    do
        *--at = (char)('0' + rest % 10);
    while ((rest /= 10) > 0);
    if (number < 0)
        *--at = '-';
    return at;
}

int number_hex_digit(char digit) {
    if (digit >= '0' && digit <= '9')
        return digit - '0';
    if (digit >= 'a' && digit <= 'f')
        return digit - 'a' + 10;
    return digit >= 'A' && digit <= 'F' ? digit - 'A' + 10 : -1;
}

static const char hex_digits[] = "0123456789abcdef";

void number_hex_print(const uint8_t *bytes, size_t size, char *ret) {
    for (size_t i = 0; i < size; i++) {
        *ret++ = hex_digits[bytes[i] >> 4];
        *ret++ = hex_digits[bytes[i] & 15];
    }
    *ret = '\0';
}

bool number_hex_parse(const char *digits, uint8_t *ret, size_t size) {
    if (strspn(digits, hex_digits) != 2 * size || digits[2 * size])
        return false;
    for (size_t i = 0; i < size; i++)
        ret[i] =
            (uint8_t)(number_hex_digit(digits[2 * i]) << 4 | number_hex_digit(digits[2 * i + 1]));
    return true;
}

void number_print_span(struct strbuf *out, int64_t ms) {
    if (ms >= HOURS(1) && ms % HOURS(1) == 0)
        strbuf_printf(out, "%" PRId64 " h", ms / HOURS(1));
    else if (ms >= MINUTES(1) && ms % MINUTES(1) == 0)
        strbuf_printf(out, "%" PRId64 " min", ms / MINUTES(1));
    else
        strbuf_printf(out, "%g s", (double)ms / 1000.0);
}
