/* json_value.c: what a wanted value says: exact numbers without floating point, and small questions. */
#include <string.h>

#include "agent/json_scan.h"

#define EXPONENT_MOST 9999

static bool is_digit(char c) {
    return c >= '0' && c <= '9';
}

/* Digits into a mantissa of at most nineteen, and how many of them it lacks. */
static const char *digits_take(const char *at, uint64_t *mantissa, unsigned *used, int *dropped) {
    for (; is_digit(*at); at++) {
        if (*used < 19) {
            *mantissa = *mantissa * 10 + (uint64_t)(*at - '0');
            *used += *mantissa > 0;
        } else {
            *dropped += 1;
        }
    }
    return at;
}

static int64_t micro_scale(uint64_t mantissa, int exponent, bool negative) {
    for (; exponent > 0 && mantissa > 0; exponent--)
        if (__builtin_mul_overflow(mantissa, 10, &mantissa)) {
            mantissa = UINT64_MAX;
            break;
        }
    unsigned last = 0;
    for (; exponent < 0 && mantissa > 0; exponent++) {
        last = (unsigned)(mantissa % 10);
        mantissa /= 10;
    }
    if (exponent < 0)
        last = 0;
    mantissa += last >= 5;
    if (negative)
        return mantissa > INT64_MAX ? INT64_MIN : -(int64_t)mantissa;
    return mantissa > INT64_MAX ? INT64_MAX : (int64_t)mantissa;
}

bool json_number_micro(const char *text, int64_t *ret_micro) {
    const char *at = text;
    bool negative = *at == '-';
    at += negative;
    if (!is_digit(at[0]) || (at[0] == '0' && is_digit(at[1])))
        return false;
    uint64_t mantissa = 0;
    unsigned used = 0;
    int dropped = 0, exponent = 0;
    at = digits_take(at, &mantissa, &used, &dropped);
    exponent = dropped;
    if (*at == '.') {
        const char *from = ++at;
        dropped = 0;
        at = digits_take(at, &mantissa, &used, &dropped);
        if (at == from)
            return false;
        exponent -= (int)(at - from) - dropped;
    }
    if (*at == 'e' || *at == 'E') {
        at++;
        bool down = *at == '-';
        at += down || *at == '+';
        int more = 0;
        if (!is_digit(*at))
            return false;
        for (; is_digit(*at); at++)
            more = more > EXPONENT_MOST ? more : more * 10 + (*at - '0');
        exponent += down ? -more : more;
    }
    if (*at)
        return false;
    *ret_micro = micro_scale(mantissa, exponent + 6, negative);
    return true;
}

bool json_value_is(const struct json_value *value, const char *text) {
    return value->kind == SCAN_STRING && !value->is_cut && strcmp(value->text, text) == 0;
}

bool json_value_is_true(const struct json_value *value) {
    return value->kind == SCAN_TRUE;
}

bool json_value_has_text(const struct json_value *value) {
    return value->kind == SCAN_STRING && value->length > 0;
}

int64_t json_value_count(const struct json_value *value) {
    return value->kind == SCAN_NUMBER && value->micro >= 0 ? value->micro / 1000000 : -1;
}

int64_t json_value_sum_micro(const struct json_value *value) {
    return value->sum_count > 0 ? value->sum_micro : -1;
}

int64_t json_value_sum(const struct json_value *value) {
    return value->sum_count > 0 ? value->sum_micro / 1000000 : -1;
}
