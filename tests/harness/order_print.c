/* order_print.c: see order_print.h. */
#include "order_print.h"

#include <inttypes.h>

static void print_name(struct strbuf *out, const char *label, const struct symbol_table *symbols,
                       sym name) {
    if (name)
        strbuf_printf(out, " %s=%s", label, symbol_name(symbols, name));
}

void order_print(const struct order *o, const struct symbol_table *symbols, struct strbuf *out) {
    static const char *const kinds[] = {
        [ORDER_START] = "start",       [ORDER_STOP] = "stop",   [ORDER_CHANGE] = "change",
        [ORDER_ESCALATE] = "escalate", [ORDER_GROUP] = "group",
    };
    strbuf_puts(out, kinds[o->kind]);
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
    if (o->kind == ORDER_ESCALATE) {
        strbuf_printf(out, " step=%" PRIu32 " failures=%" PRIu32, o->step, o->failures);
        print_name(out, "agent", symbols, o->agent);
        print_name(out, "instead_of", symbols, o->instead_of);
    }
    if (o->kind == ORDER_CHANGE)
        strbuf_printf(out, " %s->%s", task_state_name(o->from), task_state_name(o->to));
    if (o->kind == ORDER_CHANGE && o->to == TASK_HELD)
        strbuf_printf(out, "(%s) until=%" PRId64, hold_name(o->hold), o->until);
    strbuf_printf(out, " reason=%s", reason_name(o->reason));
}
