/* queue_room.c: see queue_room.h. */
#include "ops/queue_room.h"

#include <errno.h>
#include <inttypes.h>

static void print_depths(struct op_call *call, struct json_writer *w) {
    const struct core *core = engine_core(call->engine);
    json_write_object_begin(w);
    const char *kind;
    for (size_t i = 0; (kind = op_kind_at(call->engine, i)); i++) {
        amount depth = core_queue_depth(core, op_symbol(call->engine, kind));
        if (op_symbol(call->engine, kind) && depth > 0)
            print_int(w, kind, depth);
    }
    json_write_object_end(w);
}

int queue_room_check(struct op_call *call, size_t count, struct queue_room *ret) {
    const struct policy *policy = config_policy(engine_config(call->engine));
    amount queued = (amount)count;
    *ret = (struct queue_room){ .soft = policy->queue.soft };
    if (queued == 0)
        return 0;
    ret->depth = core_queue_depth(engine_core(call->engine), 0) + queued - 1;
    ret->late = ret->depth > ret->soft;
    if (ret->depth < policy->queue.hard)
        return 0;
    struct json_writer w;
    json_write_init(&w, op_more(call), false);
    strbuf_puts(op_more(call), "\"depths\":");
    print_depths(call, &w);
    return op_fail(call, -EAGAIN,
                   "deferred: %" PRId64 " tasks wait already, and the queue takes %" PRId64
                   " (queue.hard); nothing was stored",
                   ret->depth - queued + 1, policy->queue.hard);
}

void queue_room_print(struct op_call *call, struct json_writer *w, const struct queue_room *a) {
    if (!a->late) {
        print_text(w, "warning", NULL);
        return;
    }
    _cleanup_(strbuf_finish) struct strbuf text = STRBUF_INIT;
    strbuf_printf(&text, "Queue delayed; respecting caps (%" PRId64 " wait, queue.soft is %" PRId64,
                  a->depth + 1, a->soft);
    const char *kind;
    for (size_t i = 0; (kind = op_kind_at(call->engine, i)); i++) {
        sym symbol = op_symbol(call->engine, kind);
        amount depth = symbol ? core_queue_depth(engine_core(call->engine), symbol) : 0;
        if (depth > 0)
            strbuf_printf(&text, "; %s %" PRId64, op_quote(kind).text, depth);
    }
    strbuf_putc(&text, ')');
    print_text(w, "warning", strbuf_text(&text));
    json_write_key(w, "depths");
    print_depths(call, w);
}
