/* stopping.c: who has heard that a task is canceled must not see its command begin afterwards.
 *
 * A stop that meets a shim before it has begun its command keeps it from beginning. But in between it may
 * just be doing so, and only the shim knows. So an answer to a cancel waits until every shim that was told
 * to stop and has not yet said that its command runs has said so, or has ended: a moment. If one cannot
 * (its program is on a disk that hangs), the answer comes after PATIENCE all the same; then that
 * shim gives the command up as soon as it can. */
#include "engine/engine_internal.h"

#define PATIENCE SECONDS(5)

static void answer_all(struct engine *e) {
    struct stopping *s = &e->stopping;
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

void stopping_init(struct engine *e) {
    e->stopping.timer = loop_timer_new(e->loop, patience_ends, e);
}

void stopping_finish(struct engine *e) {
    answer_all(e);
    loop_timer_free(e->loop, e->stopping.timer);
    e->stopping = (struct stopping){ 0 };
}

void stopping_told(struct engine *e, struct live_run *run) {
    if (run->is_heard || run->is_unheard || run->view.started_at)
        return;
    run->is_unheard = true;
    e->stopping.unheard++;
}

void stopping_heard(struct engine *e, struct live_run *run) {
    run->is_heard = true;
    if (!run->is_unheard)
        return;
    run->is_unheard = false;
    if (e->stopping.unheard > 0 && --e->stopping.unheard == 0)
        answer_all(e);
}

bool stopping_holds(struct engine *e, struct engine_request *request) {
    struct stopping *s = &e->stopping;
    if (!request->cancels || s->unheard == 0)
        return false;
    if (!s->held)
        loop_timer_set(e->loop, s->timer, time_add(loop_now_steady(e->loop), PATIENCE));
    request->next = s->held;
    s->held = request;
    return true;
}
