/* forecast.c: what can be said honestly about a start that has not happened.
 *
 * The simulation says when it would start if everything went well (engine_forecast). What it cannot say (a
 * person must act, the queue is too long to be played forward) is said by the place in the queue, or by
 * the time at which the gate opens. */
#include "ops/forecast.h"

#include <inttypes.h>

#include "ops/print.h"

/* When its first closed gate opens; 0: nobody knows. */
static time_ms gate_opens(const struct engine *engine, task_id task) {
    struct verdict first;
    if (!core_blocked(engine_core(engine), task, &first))
        return engine_now(engine);
    return first.opens_at == TIME_NEVER ? 0 : first.opens_at;
}

static void print_words(const struct engine *engine, task_id task, amount position,
                        struct strbuf *out) {
    struct verdict first;
    if (!core_blocked(engine_core(engine), task, &first))
        strbuf_puts(out, "with the next decision");
    else if (engine_forecast_start(engine, task) != TIME_NEVER)
        strbuf_puts(out, "if runs take as long as usual");
    else if (position > 1)
        strbuf_printf(out, "after about %" PRId64 " other%s", position - 1,
                      position == 2 ? "" : "s");
    else if (first.opens_at != TIME_NEVER)
        strbuf_puts(out, "when its gate opens");
    else
        strbuf_puts(out, "as soon as its gate opens");
}

void forecast_print(struct json_writer *w, const struct engine *engine, task_id task,
                    amount position) {
    struct task_view t;
    bool held = core_task(engine_core(engine), task, &t) && t.state == TASK_HELD;
    if (position <= 0 && !held) {
        json_write_null(w);
        return;
    }
    time_ms start = engine_forecast_start(engine, task);
    if (start == TIME_NEVER)
        start = position > 1 ? 0 : gate_opens(engine, task);
    _cleanup_(strbuf_finish) struct strbuf text = STRBUF_INIT;
    print_words(engine, task, position, &text);
    json_write_object_begin(w);
    print_time(w, "starts_at", start);
    print_count(w, "ahead", position > 0 ? position - 1 : -1);
    print_text(w, "text", strbuf_text(&text));
    json_write_object_end(w);
}
