/* names.h: lists of things that have a name. Private to ops/. */
#pragma once

#include "ops/print.h"

/* {"items":[…],"next"}: `each` prints one. Positions are cursors: such lists only grow. */
typedef void (*names_print)(struct json_writer *w, struct op_call *call, size_t index);
int names_list(struct op_call *call, size_t count, names_print each);
