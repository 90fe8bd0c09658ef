/* wait.c: the tool task_wait waits until tasks have ended or a timeout passes.
 *
 * There is no polling: each task is read once, and again when an event reports a change. Each task
 * has at most one open question; a change meanwhile makes it ask again. An unreachable daemon is
 * retried every second, because runs continue without it.
 *
 * Inside a run, the operation task.wait is called as well: while it is open, the run lends its
 * slots to the tasks that it waits for, and gets them back with the answer. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/macros.h"
#include "mcp/mcp_internal.h"

#define TASKS_MAX      64
#define TIMEOUT        50.0 /* s; many clients give up after a minute */
#define TIMEOUT_MAX    3600.0
#define PROGRESS_EVERY SECONDS(10) /* keep-alive for clients with an inactivity timeout */
#define ASK_AGAIN      SECONDS(1)

struct waited {
    char *task;
    json_t *shown; /* last answer of task.show; NULL: none yet */
    bool asking;
    bool again; /* changed since the question was sent */
    bool ended, needs_person;
    time_ms retry; /* when to retry after no answer; TIME_NEVER: not needed */
};

struct mcp_wait {
    struct waited *items;
    size_t count;
    bool any;
    bool lending;    /* task.wait is open */
    time_ms lend_at; /* when to call it; TIME_NEVER: not needed */
    bool owed;       /* timed out before every task was read: the missing answer ends the wait */
    time_ms began, deadline, progress_at;
    double progress; /* the last one reported */
};

void wait_free(struct mcp_wait *wait) {
    if (!wait)
        return;
    for (size_t i = 0; i < wait->count; i++) {
        free(wait->items[i].task);
        json_decref(wait->items[i].shown);
    }
    free(wait->items);
    free(wait);
}

void wait_describe(const struct mcp_tool *tool, json_t *properties, json_t *required) {
    (void)tool;
    json_t *tasks = json_pack("{s:s, s:{s:s}, s:i, s:i, s:s}", "type", "array", "items", "type",
                              "string", "minItems", 1, "maxItems", TASKS_MAX, "description",
                              "the tasks to wait for, by id");
    json_t *timeout = json_pack("{s:s, s:i, s:f, s:f, s:s}", "type", "number", "minimum", 0,
                                "maximum", TIMEOUT_MAX, "default", TIMEOUT, "description",
                                "most seconds to wait; 0 only looks");
    json_t *until =
        json_pack("{s:s, s:[s, s], s:s, s:s}", "type", "string", "enum", "all", "any", "default",
                  "all", "description", "wait until all of them have ended, or any");
    (void)json_object_set_new(properties, "tasks", tasks);
    (void)json_object_set_new(properties, "timeout_s", timeout);
    (void)json_object_set_new(properties, "until", until);
    (void)json_array_append_new(required, json_string("tasks"));
}

/* --- the result ------------------------------------------------------------------------------ */

static const char *state_of(const struct waited *item) {
    return json_string_value(json_object_get(item->shown, "state"));
}

static void copy_members(const json_t *from, const char *const *names, json_t *to) {
    for (; *names; names++) {
        json_t *value = json_object_get(from, *names);
        (void)json_object_set_new(to, *names, value ? json_incref(value) : json_null());
    }
}

/* The run with the highest attempt. */
static json_t *last_run(const json_t *shown) {
    static const char *const members[] = { "attempt", "outcome",   "how",        "exit_code",
                                           "signal",  "tokens_in", "tokens_out", "cost_usd",
                                           "message", NULL };
    const json_t *last = NULL;
    size_t i;
    json_t *run;
    json_array_foreach(json_object_get(shown, "runs"), i, run) {
        if (!last
            || json_integer_value(json_object_get(run, "attempt"))
                   > json_integer_value(json_object_get(last, "attempt")))
            last = run;
    }
    if (!last)
        return json_null();
    json_t *copy = json_object();
    copy_members(last, members, copy);
    return copy;
}

static json_t *describe(const struct waited *item) {
    static const char *const members[] = { "id", "title", "state", "reason", "why", NULL };
    json_t *task = json_object();
    copy_members(item->shown, members, task);
    if (!item->shown)
        (void)json_object_set_new(task, "id", json_string(item->task));
    (void)json_object_set_new(task, "ended", json_boolean(item->ended));
    (void)json_object_set_new(task, "needs_person", json_boolean(item->needs_person));
    (void)json_object_set_new(task, "run", last_run(item->shown));
    return task;
}

/* `or_stuck`: or until a person acts. */
static bool has_ended(const struct mcp_wait *wait, bool or_stuck) {
    size_t ended = 0;
    for (size_t i = 0; i < wait->count; i++)
        ended += wait->items[i].ended || (or_stuck && wait->items[i].needs_person);
    return wait->any ? ended > 0 : ended == wait->count;
}

/* A draft, held without a time, or behind a closed account. */
static bool needs_person(const json_t *shown) {
    const char *state = json_string_value(json_object_get(shown, "state"));
    if (json_is_true(json_object_get(shown, "needs_person"))
        || (state && strcmp(state, "draft") == 0))
        return true;
    return state && strcmp(state, "held") == 0
           && !json_is_integer(json_object_get(shown, "not_before"));
}

static void finish(struct mcp_request *request) {
    const struct mcp_wait *wait = request->wait;
    json_t *tasks = json_array();
    for (size_t i = 0; i < wait->count; i++)
        (void)json_array_append_new(tasks, describe(&wait->items[i]));
    json_t *value = json_pack("{s:b, s:f, s:o}", "ended", has_ended(wait, false), "waited_s",
                              (double)(request->mcp->now - wait->began) / 1000.0, "tasks", tasks);
    tools_done(request, value);
}

/* --- progress -------------------------------------------------------------------------------- */

static void print_states(const struct mcp_wait *wait, struct strbuf *out) {
    for (size_t i = 0; i < wait->count; i++) {
        const struct waited *item = &wait->items[i];
        const char *state = state_of(item);
        const char *why = json_string_value(json_object_get(item->shown, "why"));
        strbuf_printf(out, "%s%s is %s", i > 0 ? "; " : "", item->task,
                      state ? state : "not known yet");
        if (why && !item->ended)
            strbuf_printf(out, " (%s)", why);
    }
}

/* Values must increase, whatever the clock does. */
static void report_progress(struct mcp_request *request) {
    struct mcp_wait *wait = request->wait;
    const json_t *meta = json_object_get(request->params, "_meta");
    json_t *token = json_object_get(meta, "progressToken");
    wait->progress_at = time_add(request->mcp->now, PROGRESS_EVERY);
    if (!json_is_string(token) && !json_is_integer(token))
        return;
    _cleanup_(strbuf_finish) struct strbuf text = STRBUF_INIT;
    double progress = (double)(request->mcp->now - wait->began) / 1000.0;
    wait->progress = progress > wait->progress ? progress : wait->progress + 0.001;
    print_states(wait, &text);
    message_notify(request->mcp, "notifications/progress",
                   json_pack("{s:O, s:f, s:f, s:o}", "progressToken", token, "progress",
                             wait->progress, "total", (double)(wait->deadline - wait->began) / 1000,
                             "message", message_text(strbuf_text(&text), text.length)));
}

/* --- reading tasks --------------------------------------------------------------------------- */

static void answered(struct mcp_request *request, size_t index, const struct mcp_reply *reply);

static void read_task(struct mcp_request *request, size_t index) {
    struct waited *item = &request->wait->items[index];
    if (item->asking) {
        item->again = true;
        return;
    }
    item->asking = true;
    item->again = false;
    item->retry = TIME_NEVER;
    request_ask(request, "task.show", json_pack("{s:s}", "id", item->task), index, answered);
}

/* True: the wait has ended, and the request is freed. */
static bool settle(struct mcp_request *request) {
    struct mcp_wait *wait = request->wait;
    bool late = request->mcp->now >= wait->deadline;
    /* Even a wait of 0 s needs one answer per task, unless the daemon does not answer. */
    wait->owed = false;
    for (size_t i = 0; late && i < wait->count; i++)
        wait->owed |= !wait->items[i].shown && wait->items[i].asking;
    bool over = has_ended(wait, true) && !wait->lending;
    if (!over && (!late || wait->owed))
        return false;
    finish(request);
    return true;
}

static void answered(struct mcp_request *request, size_t index, const struct mcp_reply *reply) {
    struct waited *item = &request->wait->items[index];
    item->asking = false;
    if (reply->code < 0 && !reply->absent) {
        tools_fail(request, "%s", reply->message);
        return;
    }
    if (reply->code < 0) {
        item->retry = time_add(request->mcp->now, ASK_AGAIN);
        (void)settle(request);
        return;
    }
    const char *before = state_of(item);
    const char *now = json_string_value(json_object_get(reply->value, "state"));
    bool changed = !before || !now || strcmp(before, now) != 0;
    json_decref(item->shown);
    item->shown = json_incref(reply->value);
    static const char *const finals[] = { "done", "failed", "canceled", "invalidated" };
    item->ended = false;
    for (size_t i = 0; now && i < ARRAY_SIZE(finals); i++)
        item->ended |= strcmp(finals[i], now) == 0;
    item->needs_person = needs_person(item->shown);
    if (settle(request))
        return;
    size_t read = 0;
    for (size_t i = 0; i < request->wait->count; i++)
        read += request->wait->items[i].shown != NULL;
    if (changed && read == request->wait->count)
        report_progress(request);
    if (item->again)
        read_task(request, index);
}

/* --- lending --------------------------------------------------------------------------------- */

/* Timed out or settled: the tasks' states decide. No daemon: retry, the wait continues. Refused: this
 * run may not lend. */
static void lent(struct mcp_request *request, size_t index, const struct mcp_reply *reply) {
    struct mcp_wait *wait = request->wait;
    (void)index;
    wait->lending = false;
    if (reply->code == 0 || reply->absent)
        wait->lend_at = time_add(request->mcp->now, ASK_AGAIN);
    if (!settle(request) && reply->code == 0)
        wait_event(request, NULL);
}

static void lend(struct mcp_request *request) {
    struct mcp_wait *wait = request->wait;
    json_t *tasks = json_array();
    for (size_t i = 0; i < wait->count; i++)
        (void)json_array_append_new(tasks, json_string(wait->items[i].task));
    time_ms left = wait->deadline - request->mcp->now;
    wait->lend_at = TIME_NEVER;
    wait->lending = true;
    request_ask(request, "task.wait",
                json_pack("{s:o, s:b, s:I}", "tasks", tasks, "any", wait->any, "timeout_s",
                          (json_int_t)((left + 999) / 1000)),
                0, lent);
}

/* Each read may be answered at once and end the request, which must not be used afterwards. */
void wait_event(struct mcp_request *request, const char *task) {
    const struct mcp *mcp = request->mcp;
    uint64_t ended = mcp->ended;
    for (size_t i = 0; mcp->ended == ended && i < request->wait->count; i++) {
        const struct waited *item = &request->wait->items[i];
        if (!item->ended && (!task || resource_same_task(item->task, task)))
            read_task(request, i);
    }
}

void wait_tick(struct mcp_request *request) {
    const struct mcp_wait *wait = request->wait;
    time_ms now = request->mcp->now;
    if (settle(request))
        return;
    if (now >= wait->progress_at)
        report_progress(request);
    if (wait->lend_at <= now && now < wait->deadline) {
        lend(request);
        return; /* may be freed */
    }
    for (size_t i = 0; i < wait->count; i++)
        if (wait->items[i].retry <= now) {
            read_task(request, i);
            return; /* may be freed; the others are due at once */
        }
}

time_ms wait_next(const struct mcp_request *request) {
    const struct mcp_wait *wait = request->wait;
    time_ms next = time_min(wait->owed ? TIME_NEVER : wait->deadline, wait->progress_at);
    next = time_min(next, wait->lend_at);
    for (size_t i = 0; i < wait->count; i++)
        next = time_min(next, wait->items[i].retry);
    return next;
}

void wait_stop(struct mcp_request *request) {
    finish(request);
}

/* --- start ----------------------------------------------------------------------------------- */

static int read_arguments(const json_t *arguments, struct mcp_wait *wait, double *ret_seconds,
                          struct error *err) {
    const json_t *tasks = json_object_get(arguments, "tasks");
    const json_t *timeout = json_object_get(arguments, "timeout_s");
    const json_t *until = json_object_get(arguments, "until");
    const char *word = json_string_value(until);
    double seconds = timeout ? json_number_value(timeout) : TIMEOUT;
    size_t count = json_array_size(tasks);
    if (!json_is_array(tasks) || count == 0 || count > TASKS_MAX)
        return error_set(err, -EINVAL, "'tasks' must be a list of 1 to %d ids", TASKS_MAX);
    for (size_t i = 0; i < count; i++)
        if (json_string_length(json_array_get(tasks, i)) == 0)
            return error_set(err, -EINVAL, "an entry of 'tasks' is no id");
    if ((timeout && !json_is_number(timeout)) || seconds < 0 || seconds > TIMEOUT_MAX)
        return error_set(err, -ERANGE, "'timeout_s' must be from 0 to %.0f seconds", TIMEOUT_MAX);
    if (until && (!word || (strcmp(word, "all") != 0 && strcmp(word, "any") != 0)))
        return error_set(err, -EINVAL, "'until' must be all or any");
    wait->any = word && strcmp(word, "any") == 0;
    wait->count = count;
    wait->items = xcalloc(count, sizeof(*wait->items));
    for (size_t i = 0; i < count; i++) {
        wait->items[i].task = xstrdup(json_string_value(json_array_get(tasks, i)));
        wait->items[i].retry = TIME_NEVER;
    }
    *ret_seconds = seconds;
    return 0;
}

/* Subscribes before reading, so that no event between the two is missed. */
void wait_begin(struct mcp_request *request, json_t *arguments) {
    struct mcp_wait *wait = xcalloc(1, sizeof(*wait));
    struct mcp *mcp = request->mcp;
    struct error err = { 0 };
    double seconds = 0;
    int r = read_arguments(arguments, wait, &seconds, &err);
    json_decref(arguments);
    request->wait = wait;
    if (r < 0) {
        tools_fail(request, "%s", err.text);
        return;
    }
    wait->began = mcp->now;
    wait->deadline = time_add(mcp->now, (time_ms)(seconds * 1000));
    wait->progress_at = time_add(mcp->now, PROGRESS_EVERY);
    wait->lend_at = TIME_NEVER;
    request_watch(mcp);
    uint64_t ended = mcp->ended;
    wait_event(request, NULL);
    if (mcp->ended == ended && mcp->task && wait->deadline > mcp->now)
        lend(request);
}
