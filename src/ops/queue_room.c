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
            json_put_int(w, kind, depth);
    }
    json_write_object_end(w);
}

int queue_room_check(struct op_call *call, size_t count, struct queue_room *ret) {
    const struct policy *policy = config_policy(engine_config(call->engine));
    *ret = (struct queue_room){ .soft = policy->queue.soft, .hard = policy->queue.hard };
    ret->before = core_queue_depth(engine_core(call->engine), 0);
    ret->depth = ret->before + (amount)count;
    if (count == 0)
        return 0;
    ret->late = ret->depth > ret->soft;
    if (ret->depth <= ret->hard)
        return 0;
    struct json_writer w;
    json_write_init(&w, op_error_members(call), false);
    strbuf_puts(op_error_members(call), "\"depths\":");
    print_depths(call, &w);
    return op_fail(call, -EAGAIN,
                   "deferred: %" PRId64 " tasks wait already, and the queue takes %" PRId64
                   " (queue.hard); nothing was stored; try again later, or raise the limits",
                   ret->before, ret->hard);
}

amount queue_room_left(const struct op_call *call) {
    amount depth = core_queue_depth(engine_core(call->engine), 0);
    amount hard = config_policy(engine_config(call->engine))->queue.hard;
    return hard > depth ? hard - depth : 0;
}

static void print_delayed(struct op_call *call, const struct queue_room *a, struct strbuf *text) {
    strbuf_printf(text, "%s (%" PRId64 " wait, queue.soft is %" PRId64,
                  config_preset_text(engine_config(call->engine), PRESET_TEXT_QUEUE_LONG), a->depth,
                  a->soft);
    const char *kind;
    for (size_t i = 0; (kind = op_kind_at(call->engine, i)); i++) {
        sym symbol = op_symbol(call->engine, kind);
        amount depth = symbol ? core_queue_depth(engine_core(call->engine), symbol) : 0;
        if (depth > 0)
            strbuf_printf(text, "; %s %" PRId64, utf8_quote(kind).text, depth);
    }
    strbuf_putc(text, ')');
}

void queue_room_print(struct op_call *call, struct json_writer *w, const struct queue_room *a) {
    _cleanup_(strbuf_finish) struct strbuf text = STRBUF_INIT;
    if (a->deferred > 0)
        json_put_int(w, "deferred", (int64_t)a->deferred);
    if (a->deferred > 0) {
        strbuf_printf(&text, "%zu deferred: the queue takes %" PRId64 " (queue.hard)", a->deferred,
                      a->hard);
        if (a->before > 0)
            strbuf_printf(&text, ", and %" PRId64 " waited already", a->before);
        strbuf_puts(&text, "; repeat it later to continue");
    } else if (a->late)
        print_delayed(call, a, &text);
    json_put_string(w, "warning", text.length > 0 ? strbuf_text(&text) : a->note);
    if (text.length == 0)
        return;
    json_write_key(w, "depths");
    print_depths(call, w);
}

void queue_room_print_now(struct op_call *call, struct json_writer *w) {
    _cleanup_(strbuf_finish) struct strbuf text = STRBUF_INIT;
    struct queue_room room;
    (void)queue_room_check(call, 0, &room);
    if (room.depth > room.soft)
        print_delayed(call, &room, &text);
    json_write_pack(w, "{s:I, s", "depth", room.depth, "depths");
    print_depths(call, w);
    print_amount(w, "soft", room.soft);
    print_amount(w, "hard", room.hard);
    json_put_string(w, "warning", text.length > 0 ? strbuf_text(&text) : NULL);
    json_write_object_end(w);
}
