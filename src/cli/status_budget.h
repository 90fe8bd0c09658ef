/* status_budget.h: how full a budget is, as `status` shows it: "######.... 62%, 10k reserved". */
#pragma once

#include <jansson.h>

#include "base/strbuf.h"
#include "base/time_ms.h"

/* `item`: one of the daemon's budgets. */
void status_tokens(const json_t *item, time_ms now, struct strbuf *out);
void status_money(const json_t *item, time_ms now, struct strbuf *out);
/* Dollars as millionths; -1: none. */
int64_t status_micro(const json_t *item, const char *member);
