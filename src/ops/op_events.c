/* op_events.c: reads the append-only, numbered event log.
 *
 * Three ways to page: forward from a number, backward from one, or the newest page. A task filters
 * the same pages. */
#include <errno.h>

#include "ops/print.h"
#include "ops/rights.h"

struct reading {
    task_id task;
    uint64_t from;
    bool back; /* newest first from the store, reversed for the client */
    bool cursor;
};

static void take_events(struct op_call *call, const struct store_answer *answer) {
    const struct reading *s = op_state(call, sizeof(*s), NULL);
    size_t limit = op_limit(call);
    size_t count = answer->count < limit ? answer->count : limit;
    struct json_writer w = op_begin(call);
    json_put_array(&w, "items");
    for (size_t i = 0; i < count; i++) {
        const struct event_row *event = &answer->events[s->back ? count - 1 - i : i];
        if (capability_sees(call, event->task))
            print_event(&w, call->engine, event);
    }
    json_write_array_end(&w);
    op_print_next(&w, 'e', s->cursor && answer->count > count ? answer->events[count - 1].seq : 0);
    /* The stream's position includes hidden events. */
    if (call->run.token[0] && answer->count > 0)
        json_write_pack(&w, "s:I, s:I", "looked", (int64_t)count, "to",
                        (int64_t)answer->events[s->back ? 0 : count - 1].seq);
    if (!s->cursor)
        json_write_pack(&w, "s:I, s:I", "first_seq", (int64_t)engine_first_event(call->engine),
                        "last_seq", (int64_t)engine_last_event(call->engine));
    json_write_object_end(&w);
}

static int query(struct op_call *call) {
    const struct reading *s = op_state(call, sizeof(*s), NULL);
    size_t limit = op_limit(call);
    struct store_query question = { .kind = s->back ? QUERY_EVENTS_BACK : QUERY_EVENTS,
                                    .task = s->task,
                                    .after = s->back ? 0 : s->from,
                                    .before = s->back ? s->from : 0,
                                    .limit = limit < STORE_ANSWER_MAX ? limit + 1 : limit };
    return op_query(call, &question, take_events, op_done);
}

static int run_of_task(struct op_call *call) {
    struct reading *s = op_state(call, sizeof(*s), NULL);
    bool given;
    s->cursor = true;
    s->task = op_task(call);
    if (!s->task)
        return call->err.code;
    int r = op_cursor(call, 'e', &s->from, &given);
    return r < 0 ? r : query(call);
}

static int run_all(struct op_call *call) {
    struct reading *s = op_state(call, sizeof(*s), NULL);
    int64_t after = op_number(call, "after", -1), before = op_number(call, "before", 0);
    if (after >= 0 && before > 0)
        return op_fail(call, -EINVAL, "'after' and 'before' cannot be used together");
    if (op_text(call, "task")) {
        s->task = op_named_task(call, op_text(call, "task"));
        if (!s->task)
            return call->err.code;
    }
    s->back = after < 0;
    s->from = (uint64_t)(s->back ? before : after);
    return query(call);
}

#define SCANNED_MEMBERS                                                                            \
    { "looked", T_INT | T_MAYBE, "of a run: how many events were looked at" }, {                   \
        "to", T_INT | T_MAYBE, "of a run: the last of those"                                       \
    }

const struct op op_task_events = {
    OP("task.events", "GET", "/v1/tasks/{id}/events", "list what happened to a task, oldest first"),
    .params = PARAMS(OP_PARAM_ID, OP_PARAM_LIMIT, OP_PARAM_CURSOR),
    .answers = ANSWERS(SHAPE_PAGE(&shape_event), SCANNED_MEMBERS),
    OP_READS(READ, SUBTREE, run_of_task),
};

const struct op op_event_list = {
    OP("event.list", "GET", "/v1/events", "list or follow what happens"),
    .text =
        "A page, always oldest first: the newest one when neither `after` nor `before` is given. "
        "With `Accept: text/event-stream` it is a stream that goes on: `id` is the number, `event` "
        "the kind, `data` the object. `Last-Event-ID` or `after` resumes it; when that is too old "
        "there is one `event: reset`, and the client reads the state again.",
    .params = PARAMS(
        PARAM(NUMBER, QUERY, "after", .text = "events with a higher number, oldest first"),
        PARAM(NUMBER, QUERY, "before", .text = "the last ones with a lower number", .min = 1),
        PARAM(TEXT, QUERY, "task", .text = "only about this task", .min = 1, .max = 160),
        OP_PARAM_LIMIT),
    .answers =
        ANSWERS(SHAPE_PAGE(&shape_event), { "first_seq", T_INT, "the oldest event that is kept" },
                { "last_seq", T_INT, "the newest" }, SCANNED_MEMBERS),
    OP_READS(READ, LIST, run_all),
    .answer = OP_ANSWER_EVENTS,
};
