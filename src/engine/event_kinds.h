/* event_kinds.h: the kinds of events. event_kinds.inc is the table. */
#pragma once

#include <stdbool.h>

bool event_kind_is_known(const char *kind);
