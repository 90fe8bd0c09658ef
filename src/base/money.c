/* money.c: see money.h. */
#include "base/money.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>

#include "base/number.h"

#define PLACES 6

int money_parse(const char *text, int64_t *ret_micro, struct error *err) {
    const char *number = text + (*text == '$');
    int64_t micro = 0;
    int r = number_parse_decimal(number, PLACES, &micro);
    if (r == -ERANGE || (r == 0 && micro > MONEY_MAX))
        return error_set(err, -ERANGE, "'%.80s' is too much: maximum is 1000000000 dollars", text);
    if (r < 0 || *number < '0' || *number > '9') /* a sign */
        return error_set(err, -EINVAL,
                         "'%.80s' is not an amount of dollars (examples: 2.50, $2.50)", text);
    *ret_micro = micro;
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
