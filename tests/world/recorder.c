/* recorder.c: see recorder.h. */
#include "recorder.h"

#include <stdlib.h>
#include <string.h>

#include "../harness/order_print.h"
#include "base/alloc.h"
#include "names.h"

struct recorded {
    bool decision;
    struct fact fact;
};

void recorder_finish(struct recorder *r) {
    free(r->entries);
    arena_finish(&r->arena);
    strbuf_finish(&r->orders);
}

void recorder_clear(struct recorder *r) {
    r->count = 0;
    arena_reset(&r->arena);
    strbuf_clear(&r->orders);
}

static void *copy_of(struct recorder *r, const void *bytes, size_t size) {
    void *copy = arena_alloc(&r->arena, size ? size : 1);
    if (size)
        memcpy(copy, bytes, size);
    return copy;
}

static struct recorded *append(struct recorder *r) {
    r->entries = xgrow(r->entries, &r->capacity, r->count + 1, sizeof(*r->entries));
    struct recorded *entry = &r->entries[r->count++];
    *entry = (struct recorded){ 0 };
    return entry;
}

void recorder_fact(struct recorder *r, const struct fact *fact) {
    if (!r->on)
        return;
    struct fact copy = *fact;
    if (fact->kind == FACT_POLICY) {
        copy.policy = copy_of(r, fact->policy, sizeof(*fact->policy));
    } else if (fact->kind == FACT_TASK_ADDED) {
        struct task_spec *spec = copy_of(r, fact->spec, sizeof(*fact->spec));
        spec->depends_on = copy_of(r, spec->depends_on, spec->depends_on_count * sizeof(task_id));
        spec->resources = copy_of(r, spec->resources, spec->resource_count * sizeof(sym));
        copy.spec = spec;
    } else if (fact->kind == FACT_DEPENDENCIES) {
        copy.dependencies.items =
            copy_of(r, fact->dependencies.items, fact->dependencies.count * sizeof(task_id));
    }
    append(r)->fact = copy;
}

static void print_orders(const struct order *orders, size_t count,
                         const struct symbol_table *symbols, struct strbuf *out) {
    for (size_t i = 0; i < count; i++) {
        order_print(&orders[i], symbols, out);
        strbuf_putc(out, '\n');
    }
    strbuf_puts(out, "-\n");
}

void recorder_decision(struct recorder *r, const struct order *orders, size_t count,
                       const struct symbol_table *symbols) {
    if (!r->on)
        return;
    append(r)->decision = true;
    print_orders(orders, count, symbols, &r->orders);
}

void recorder_replay(const struct recorder *r, struct breach *breach) {
    struct core *core = core_new();
    struct strbuf orders = STRBUF_INIT;
    names_intern(core_symbols(core));
    for (size_t i = 0; i < r->count; i++) {
        if (!r->entries[i].decision) {
            (void)core_apply(core, &r->entries[i].fact, NULL);
            continue;
        }
        size_t count;
        const struct order *list = core_decide(core, &count);
        print_orders(list, count, core_symbols(core), &orders);
    }
    if (strcmp(strbuf_text(&orders), strbuf_text(&r->orders)) != 0)
        breach_set(breach, "I23", "the same facts gave other orders to a second core");
    strbuf_finish(&orders);
    core_free(core);
}
