/* order_print.h: an order of the core as one line, for traces and for comparing lists. */
#pragma once

#include "base/strbuf.h"
#include "core/order.h"

/* Tasks are shown by number. */
void order_print(const struct order *order, const struct symbol_table *symbols, struct strbuf *out);
