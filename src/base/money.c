/* money.c: see money.h. Read and written digit by digit. */
#include "base/money.h"

#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>

#define PLACES 6

static int complain(const char *text, struct error *err) {
    return error_set(err, -EINVAL, "'%.80s' is not an amount of dollars (examples: 2.50, $2.50)",
                     text);
}

int money_parse(const char *text, int64_t *ret_micro, struct error *err) {
    int64_t sum = 0;
    int places = -1; /* no point yet */
    bool any = false;
    for (const char *at = text + (*text == '$'); *at; at++) {
        if (*at == '.' && places < 0 && any) {
            places = 0;
            continue;
        }
        if (*at < '0' || *at > '9' || places >= PLACES)
            return complain(text, err);
        any = true;
        places += places >= 0;
        sum = sum * 10 + (*at - '0');
        if (sum > MONEY_MAX)
            return error_set(err, -ERANGE, "'%.80s' is too much: maximum is 1000000000 dollars",
                             text);
    }
    if (!any || places == 0)
        return complain(text, err);
    for (int i = places < 0 ? 0 : places; i < PLACES; i++) {
        sum *= 10;
        if (sum > MONEY_MAX)
            return error_set(err, -ERANGE, "'%.80s' is too much: maximum is 1000000000 dollars",
                             text);
    }
    *ret_micro = sum;
    return 0;
}

static void put(struct strbuf *out, int64_t micro, int least, const char *sign) {
    char digits[PLACES + 1];
    int places = PLACES;
    uint64_t amount = micro < 0 ? 0 - (uint64_t)micro : (uint64_t)micro;
    snprintf(digits, sizeof(digits), "%06" PRIu64, amount % MONEY_DOLLAR);
    while (places > least && digits[places - 1] == '0')
        digits[--places] = '\0';
    strbuf_printf(out, "%s%s%" PRIu64 "%s%s", micro < 0 ? "-" : "", sign, amount / MONEY_DOLLAR,
                  places > 0 ? "." : "", digits);
}

void money_put(struct strbuf *out, int64_t micro) {
    put(out, micro, 2, "$");
}

void money_put_number(struct strbuf *out, int64_t micro) {
    put(out, micro, 0, "");
}
