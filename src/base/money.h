/* money.h: dollars, exact, in millionths. No floating point: a comparison with a limit must not
 * depend on how a sum was rounded. */
#pragma once

#include <stdint.h>

#include "base/error.h"
#include "base/strbuf.h"

#define MONEY_DOLLAR INT64_C(1000000)
#define MONEY_MAX    (INT64_C(1000000000) * MONEY_DOLLAR) /* sums of many stay within 64 bits */

/* "12", "$2.50", "0.000001": up to six decimals, not negative, at most 10^9. The complete text. */
int money_parse(const char *text, int64_t *ret_micro, struct error *err);

/* "$12.40"; more decimals only for fractions of a cent: "$0.0125". */
void money_put(struct strbuf *out, int64_t micro);

/* The number only, for programs: "12.4", "0", "-3.25". */
void money_put_number(struct strbuf *out, int64_t micro);
