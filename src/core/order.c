/* order.c: an order as one line of text. */
#include "core/order.h"

#include <inttypes.h>

#include "base/macros.h"

static const char *const order_kinds[] = {
    [ORDER_START] = "start",
    [ORDER_STOP] = "stop",
    [ORDER_CHANGE] = "change",
    [ORDER_GROUP] = "group",
};
_Static_assert(ARRAY_SIZE(order_kinds) == ORDER_KIND_MAX, "an order has no name");

static void print_name(struct strbuf *out, const char *label, const struct symbol_table *symbols,
                       sym name) {
    if (name)
        strbuf_printf(out, " %s=%s", label, symbol_name(symbols, name));
}

void order_print(const struct order *o, const struct symbol_table *symbols, struct strbuf *out) {
    strbuf_puts(out, order_kinds[o->kind]);
    if (o->kind == ORDER_GROUP) {
        strbuf_printf(out, " group=%" PRIu32 " %s", o->group, task_state_name(o->to));
        return;
    }
    strbuf_printf(out, " task=%" PRIu64 " attempt=%" PRIu32 " iteration=%" PRIu32, o->task,
                  o->attempt, o->iteration);
    if (o->kind == ORDER_START) {
        print_name(out, "project", symbols, o->project);
        print_name(out, "agent", symbols, o->agent);
        print_name(out, "limiter", symbols, o->limiter);
        print_name(out, "workspace", symbols, o->workspace);
        strbuf_printf(out, " score=%" PRId32, o->score);
        if (o->lender)
            strbuf_printf(out, " lender=%" PRIu64, o->lender);
    }
    if (o->kind == ORDER_CHANGE)
        strbuf_printf(out, " %s->%s", task_state_name(o->from), task_state_name(o->to));
    if (o->kind == ORDER_CHANGE && o->to == TASK_HELD)
        strbuf_printf(out, "(%s) until=%" PRId64, hold_name(o->hold), o->until);
    strbuf_printf(out, " reason=%s", reason_name(o->reason));
}
