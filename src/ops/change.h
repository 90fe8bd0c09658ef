/* change.h: settings are changed in the file and in force, or in neither. Private to ops/.
 *
 *     _cleanup_(change_finish) struct change change = { 0 };
 *     change_prepare(call, items, count, &change)    nothing is written; wrong values are refused
 *     change_apply(call, &change)                    both, or <0 and neither */
#pragma once

#include "config/config_edit.h"
#include "ops/op_internal.h"

struct change {
    struct strbuf before, after; /* the file */
    bool existed;
    struct config *config; /* what it will be */
};
void change_finish(struct change *change);
int change_prepare(struct op_call *call, const struct config_change *items, size_t count,
                   struct change *ret);
int change_apply(struct op_call *call, struct change *change);

/* What the parameters `set` and `unset` say; in the arena. */
int change_collect(struct op_call *call, struct config_change **ret_items, size_t *ret_count);

/* A parameter of type OP_VALUE as the configuration writes it; in the arena. NULL: not given. */
const char *change_value(struct op_call *call, const json_t *value);
