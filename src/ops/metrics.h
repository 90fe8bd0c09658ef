/* metrics.h: the parts of /metrics that say what is used and what waits. Private to ops/. */
#pragma once

#include "ops/op_internal.h"

void metrics_print_limits(const struct engine *engine, struct strbuf *out);
void metrics_print_budgets(const struct engine *engine, struct strbuf *out);
/* How many wait at each gate; of a lease its kind is told, not what it is called. */
void metrics_print_gates(const struct engine *engine, struct strbuf *out);
/* Tokens, money and ends of runs since the daemon began. */
void metrics_print_spent(const struct engine *engine, struct strbuf *out);
