/* money.h: dollars as people write them, exact, in millionths. No floating point: a limit that is
 * compared must not depend on how a sum was rounded. */
#pragma once

#include <stdint.h>

#include "base/error.h"
#include "base/strbuf.h"

#define MONEY_DOLLAR INT64_C(1000000)
#define MONEY_MAX    (INT64_C(1000000000) * MONEY_DOLLAR) /* sums of many stay inside 64 bits */

/* "12", "$2.50", "0.000001": up to six places, not negative, at most a thousand millions. The
 * complete text. */
int money_parse(const char *text, int64_t *ret_micro, struct error *err);

/* "$12.40"; with as many places as it takes when there are fractions of a cent: "$0.0125". */
void money_put(struct strbuf *out, int64_t micro);

/* The number alone, for programs: "12.4", "0", "-3.25". */
void money_put_number(struct strbuf *out, int64_t micro);
