/* op_call.c: one call, from the front end to its answer.
 *
 * What writes runs inside the turn, before it decides; what only looks runs after the turn's
 * commit, so that nobody is shown what may never have happened. A question to the store may be
 * answered at once or after the turn: the call is then parked, and goes on in a turn of its own.
 * Whoever the call belongs to hears of it once, or never when he abandoned it. */
#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "engine/failing.h"
#include "engine/merges.h"
#include "engine/redaction.h"
#include "ops/access.h"
#include "ops/call_internal.h"
#include "ops/capability.h"

static int turn_runs(struct engine *engine, struct engine_request *request);
static void turn_decided(struct engine *engine, struct engine_request *request);
static void turn_done(struct engine *engine, struct engine_request *request,
                      enum store_outcome outcome, const struct error *err);

struct op_call *op_call_new(const struct op *op, struct engine *engine, json_t *params,
                            const char *key) {
    struct op_call *call = xcalloc(1, sizeof(*call));
    call->op = op;
    call->engine = engine;
    call->params = params;
    call->index = -1;
    struct op_private *p = call->own = xcalloc(1, sizeof(*p));
    p->call = call;
    p->request.run = turn_runs;
    p->request.decided = turn_decided;
    p->request.done = turn_done;
    if (key && op->writes)
        call->key = arena_strdup(&p->arena, key);
    return call;
}

void op_call_free(struct op_call *call) {
    if (!call)
        return;
    struct op_private *p = call->own;
    assert(p->place == CALL_NOWHERE && !p->asking && !p->leads);
    if (p->state && p->state_finish)
        p->state_finish(p->state);
    free(p->state);
    arena_finish(&p->arena);
    strbuf_finish(&p->more);
    free(p);
    json_decref(call->params);
    strbuf_finish(&call->answer);
    strbuf_finish(&call->memo);
    free(call->caller);
    free(call->user);
    free(call->log.path);
    free(call);
}

void *op_state(struct op_call *call, size_t size, void (*finish)(void *state)) {
    struct op_private *p = call->own;
    if (!p->state) {
        p->state = xcalloc(1, size);
        p->state_finish = finish;
    }
    return p->state;
}

const char *op_actor(const struct op_call *call) {
    return call->caller ? call->caller : call->user;
}

struct arena *op_arena(struct op_call *call) {
    return &call->own->arena;
}

struct strbuf *op_more(struct op_call *call) {
    return &call->own->more;
}

/* --- the answer ------------------------------------------------------------------------------ */

/* {"error":{"code","message","index"?}, more?} */
static void print_failure(struct op_call *call) {
    const struct strbuf *more = &call->own->more;
    struct strbuf *out = &call->answer;
    strbuf_clear(out);
    op_print_error(&call->err, out);
    if (call->index >= 0) {
        out->length -= strlen("}}");
        strbuf_printf(out, ",\"index\":%lld}}", (long long)call->index);
    }
    if (more->length > 0) {
        out->length -= strlen("}");
        strbuf_printf(out, ",%s}", strbuf_text(more));
    }
}

static void fill(struct op_call *call) {
    if (call->op->fill && !call->own->filled && !call->replayed)
        call->op->fill(call);
    call->own->filled = true;
}

/* What the daemon knows to be secret is in no answer, whoever has submitted it. */
static void redact(struct op_call *call) {
    struct strbuf shown = STRBUF_INIT;
    if (call->op->gives_token
        || !engine_redact(call->engine, strbuf_text(&call->answer), call->answer.length, &shown))
        return;
    strbuf_finish(&call->answer);
    call->answer = shown;
}

static void check_shape(const struct op_call *call) {
    if (call->own->abandoned)
        return;
    if (call->err.code != 0)
        shape_report(&shape_error, "error", &call->answer);
    else if (call->op->answers && !call->replayed)
        shape_report(call->op->answers, call->op->name, &call->answer);
}

struct json_writer op_begin(struct op_call *call) {
    struct json_writer w;
    json_write_init(&w, &call->answer, false);
    json_write_object_begin(&w);
    return w;
}

int op_end(struct json_writer *w) {
    json_write_object_end(w);
    return 0;
}

static void answer(struct op_call *call) {
    struct op_private *p = call->own;
    p->place = CALL_NOWHERE;
    if (call->err.code == 0)
        fill(call);
    if (call->err.code == 0 && call->op->finish && !call->replayed)
        call->op->finish(call);
    if (call->err.code != 0) {
        engine_redact_in_place(call->engine, call->err.text);
        print_failure(call);
        call->status = op_error_status(call->err.code);
    } else if (call->status == 0) {
        call->status = 200;
    }
    check_shape(call);
    redact(call);
    keys_end(call);
    if (p->abandoned || !call->answered)
        op_call_free(call);
    else
        call->answered(call, call->ctx);
}

void call_settle(struct op_call *call) {
    struct op_private *p = call->own;
    p->over = true;
    if (p->place == CALL_PARKED)
        answer(call);
}

/* --- steps ----------------------------------------------------------------------------------- */

static void fail_with(struct op_call *call, int code, const struct error *why) {
    if (why && why->code != 0)
        call->err = *why;
    else if (call->err.code == 0)
        (void)op_fail(call, code, "%s failed", call->op->name);
}

/* Everything that can be done now. */
static void go_on(struct op_call *call) {
    struct op_private *p = call->own;
    int r = CALL_GO_ON;
    p->rests = false;
    while (r == CALL_GO_ON && !p->asking && !p->rests && !p->followed && !p->over)
        r = p->step(call);
    if (p->over || r == CALL_GO_ON)
        return;
    p->over = true;
    if (r < 0) {
        p->asking = false;
        fail_with(call, r, NULL);
        return;
    }
    call->err.code = 0; /* of something that was looked for and need not be there */
    if (call->key && !call->replayed)
        keys_remember(call);
}

/* What it waited for has come. */
static void resume(struct op_call *call) {
    struct op_private *p = call->own;
    if (p->place != CALL_PARKED)
        return; /* the turn that asked, or its end, goes on */
    if (p->over || (p->abandoned && !call->op->writes)) {
        answer(call);
    } else { /* what somebody asked for is done, whether he waits for it or not */
        p->place = CALL_QUEUED;
        engine_request(call->engine, &p->request);
    }
}

static void store_answered_call(void *ctx, const struct store_answer *answer_,
                                const struct error *err) {
    struct op_call *call = ctx;
    if (!err)
        call->own->take(call, answer_);
    op_wake(call, err ? -EIO : 0, err);
}

int op_ask(struct op_call *call, const struct store_question *question, op_taken take,
           op_step then) {
    struct op_private *p = call->own;
    p->question = *question;
    p->take = take;
    int r = op_wait(call, then);
    store_ask(engine_store(call->engine), &p->question, store_answered_call, call);
    return r;
}

int op_wait(struct op_call *call, op_step then) {
    call->own->step = then;
    call->own->asking = true;
    return CALL_GO_ON;
}

void op_wake(struct op_call *call, int code, const struct error *why) {
    struct op_private *p = call->own;
    p->asking = false;
    p->over = p->over || code < 0;
    if (code == -ESHUTDOWN && !why)
        (void)op_fail(call, code, "the daemon is ending");
    else if (code < 0)
        fail_with(call, code, why);
    resume(call);
}

static void is_ready(void *ctx) {
    op_wake(ctx, 0, NULL);
}

int op_wait_ready(struct op_call *call, op_start start, op_step then) {
    call->own->step = then;
    call->own->asking = !start(call->engine, is_ready, call);
    return CALL_GO_ON;
}

int op_done(struct op_call *call) {
    (void)call;
    return 0;
}

static void tasks_are_settled(void *ctx) {
    struct op_call *call = ctx;
    call->own->await = NULL;
    op_wake(call, 0, NULL);
}

int op_wait_tasks(struct op_call *call, const struct engine_await_spec *spec, op_step then) {
    int r = op_wait(call, then);
    call->own->await = engine_await_begin(call->engine, spec, tasks_are_settled, call);
    return r;
}

static const char *keep(struct op_private *p, const char *text) {
    return text ? arena_strdup(&p->arena, text) : NULL;
}

static void merge_is_over(void *ctx, const struct merge_answer *answer_) {
    struct op_private *p = ((struct op_call *)ctx)->own;
    if (answer_) {
        p->merged = arena_alloc(&p->arena, sizeof(*p->merged));
        *p->merged = (struct merge_answer){ .result = answer_->result,
                                            .branch = keep(p, answer_->branch),
                                            .into = keep(p, answer_->into),
                                            .message = keep(p, answer_->message),
                                            .commit = keep(p, answer_->commit) };
    }
    op_wake(ctx, answer_ ? 0 : -ESHUTDOWN, NULL);
}

int op_wait_merge(struct op_call *call, const struct merge_question *question, op_step then) {
    int waits = op_wait(call, then);
    int r = engine_merge(call->engine, question, merge_is_over, call, &call->err);
    if (r < 0)
        call->own->asking = false;
    return r < 0 ? r : waits;
}

const struct merge_answer *op_merged(const struct op_call *call) {
    return call->own->merged;
}

int op_rest(struct op_call *call, op_step then) {
    struct op_private *p = call->own;
    p->step = then;
    p->rests = true;
    return CALL_GO_ON;
}

/* --- the turn -------------------------------------------------------------------------------- */

/* Nothing of the turn has happened, or nobody knows. */
static void fail_commit(struct op_call *call, enum store_outcome outcome, const struct error *err) {
    const char *why = err && err->code ? err->text : "the store refused it";
    if (outcome == STORE_UNKNOWN)
        (void)op_fail(call, -EIO, "it may be stored or not: ask again with the same key (%s)", why);
    else if (!err || err->code == -ENOSPC || err->code == 0)
        (void)op_fail(call, -ENOSPC, "nothing was stored: %s", why);
    else
        (void)op_fail(call, -EPROTO, "nothing was stored: %s", why);
}

static int turn_runs(struct engine *engine, struct engine_request *request) {
    struct op_private *p = (struct op_private *)request;
    struct op_call *call = p->call;
    struct error why = { 0 };
    if (call->op->writes && !call->op->counts && engine_is_failing(engine, &why)) {
        p->over = true;
        fail_commit(call, STORE_FAILED, &why);
    } else if (call->op->writes) {
        go_on(call);
    }
    return call->err.code;
}

/* While the store writes, there is time for it. */
static void turn_decided(struct engine *engine, struct engine_request *request) {
    struct op_private *p = (struct op_private *)request;
    (void)engine;
    if (p->over && p->call->op->writes && p->call->err.code == 0)
        fill(p->call);
}

static void turn_done(struct engine *engine, struct engine_request *request,
                      enum store_outcome outcome, const struct error *err) {
    struct op_private *p = (struct op_private *)request;
    struct op_call *call = p->call;
    if (outcome != STORE_OK) {
        p->over = true;
        fail_commit(call, outcome, err);
    } else if (engine_is_broken(engine) && !call->op->writes) {
        p->over = true;
        (void)op_fail(call, -ESHUTDOWN, "the daemon is ending: its store failed");
    } else if (!call->op->writes && p->abandoned) {
        p->over = true; /* nobody is there to read it */
    } else if (!call->op->writes) {
        go_on(call);
    }
    if (p->over && !p->asking) {
        answer(call);
        return;
    }
    p->place = CALL_PARKED;
    if (!p->asking && !p->followed) { /* the answer came while the turn was committed */
        p->place = CALL_QUEUED;
        engine_request(engine, request);
    }
}

void op_submit(struct op_call *call) {
    struct op_private *p = call->own;
    assert(p->place == CALL_NOWHERE && !p->over);
    p->step = call->run.token[0]    ? capability_begin
              : call->access.remote ? access_begin
              : call->key           ? keys_begin
                                    : call->op->run;
    p->place = CALL_QUEUED;
    engine_request(call->engine, &p->request);
}

void op_abandon(struct op_call *call) {
    struct op_private *p = call->own;
    p->abandoned = true;
    call->find_peer = NULL;
    if (p->await) { /* nobody else would end it before its time is over */
        engine_await_end(call->engine, p->await);
        tasks_are_settled(call);
    } else if (p->place == CALL_NOWHERE) {
        op_call_free(call);
    }
}
