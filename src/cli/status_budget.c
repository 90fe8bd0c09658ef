/* status_budget.c: see status_budget.h. What nobody knows the cost of is told beside every sum of money. */
#include "cli/status_budget.h"

#include "base/money.h"
#include "cli/ask.h"
#include "cli/print_task.h"

#define WIDTH 10 /* of a bar */

int64_t status_micro(const json_t *item, const char *member) {
    double dollars = ask_real(item, member, -1);
    return dollars < 0 ? -1 : (int64_t)(dollars * (double)MONEY_DOLLAR + 0.5);
}

static void put_bar(const json_t *item, time_ms now, double used, double cap, struct strbuf *out) {
    time_ms opens_at = ask_int(item, "opens_at", 0);
    double part = cap > 0 ? used / cap : 1;
    if (cap < 0)
        return;
    for (int i = 0; i < WIDTH; i++)
        strbuf_putc(out, (i + 0.5) / WIDTH < part ? '#' : '.');
    if (cap > 0)
        strbuf_printf(out, " %.0f%%", part * 100);
    if (used >= cap && opens_at > now)
        strbuf_printf(out, ", opens %s", print_when(opens_at, now).text);
}

static void put_comma(struct strbuf *out) {
    if (out->length > 0)
        strbuf_puts(out, ", ");
}

void status_tokens(const json_t *item, time_ms now, struct strbuf *out) {
    int64_t reserved = ask_int(item, "reserved", 0);
    put_bar(item, now, (double)ask_int(item, "used", 0), (double)ask_int(item, "cap", -1), out);
    if (reserved <= 0)
        return;
    put_comma(out);
    strbuf_printf(out, "%s reserved", print_short(reserved).text);
}

void status_money(const json_t *item, time_ms now, struct strbuf *out) {
    int64_t reserved = status_micro(item, "usd_reserved");
    int64_t unknown = ask_int(item, "unknown_cost_runs", 0);
    put_bar(item, now, (double)status_micro(item, "usd_used"),
            (double)status_micro(item, "usd_cap"), out);
    if (reserved > 0) {
        put_comma(out);
        money_put(out, reserved);
        strbuf_puts(out, " reserved");
    }
    if (unknown > 0) {
        put_comma(out);
        strbuf_printf(out, "%lld run%s of unknown cost", (long long)unknown,
                      unknown == 1 ? "" : "s");
    }
}
