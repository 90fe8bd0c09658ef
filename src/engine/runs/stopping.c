/* stopping.c: a client that knows that a task is canceled must not see its command start
 * afterwards.
 *
 * A stop that reaches a shim before it has started its command prevents the start. But it may be
 * starting it just then, and only the shim knows. So the answer to a cancel waits until every shim
 * that was asked to stop before it reported a running command has reported that or has ended: a
 * moment. If one cannot (its program is on a hung disk), the answer is sent after PATIENCE; that
 * shim then drops the command as soon as it can. */
#include "engine/runs/runs_internal.h"

#define PATIENCE SECONDS(5)

struct stopping {
    struct engine_request *held;
    uint32_t unconfirmed; /* number of such live runs */
    struct loop_timer *timer;
};

PART_STATE(stopping, struct stopping, stopping_of)

static void answer_all(struct engine *e) {
    struct stopping *s = stopping_of(e);
    loop_timer_clear(e->loop, s->timer);
    while (s->held) {
        struct engine_request *request = s->held;
        s->held = request->next;
        request->next = NULL;
        request->done(e, request, STORE_OK, NULL);
    }
}

static void patience_ends(void *ctx) {
    answer_all(ctx);
}

static void stopping_init(struct engine *e) {
    stopping_of(e)->timer = loop_timer_new(e->loop, patience_ends, e);
}

static void stopping_finish(struct engine *e) {
    answer_all(e);
    loop_timer_free(e->loop, stopping_of(e)->timer);
    *stopping_of(e) = (struct stopping){ 0 };
}

void stopping_sent(struct engine *e, struct live_run *run) {
    if (run->is_confirmed || run->is_unconfirmed || run->view.started_at)
        return;
    run->is_unconfirmed = true;
    stopping_of(e)->unconfirmed++;
}

void stopping_confirmed(struct engine *e, struct live_run *run) {
    run->is_confirmed = true;
    if (!run->is_unconfirmed)
        return;
    run->is_unconfirmed = false;
    if (stopping_of(e)->unconfirmed > 0 && --stopping_of(e)->unconfirmed == 0)
        answer_all(e);
}

static bool stopping_holds(struct engine *e, struct engine_request *request) {
    struct stopping *s = stopping_of(e);
    if (!request->cancels || s->unconfirmed == 0)
        return false;
    if (!s->held)
        loop_timer_set(e->loop, s->timer, time_add(loop_now_steady(e->loop), PATIENCE));
    request->next = s->held;
    s->held = request;
    return true;
}

static bool stopping_drop(struct engine *e, struct engine_request *request) {
    return request_unlink(&stopping_of(e)->held, request);
}

const struct engine_part stopping_part = {
    .state_size = sizeof(struct stopping),
    .at = { [STEP_INIT] = stopping_init, [STEP_FREE] = stopping_finish },
    .holds_answer = stopping_holds,
    .abandoned = stopping_drop,
};
