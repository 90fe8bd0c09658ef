/* op_call.c: one call, from the front end to its answer.
 *
 * A write runs inside the turn, before it decides; a read runs after the turn's commit, so nothing
 * is shown that may be undone. The store may answer a question immediately or after the turn; in
 * that case the call is parked and continues in a later turn. The owner of the call is notified
 * once, or never if it abandoned the call. */
#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/hash.h"
#include "engine/engine.h"
#include "engine/questions.h"
#include "engine/redaction.h"
#include "engine/worktrees.h"
#include "ops/op_internal.h"
#include "ops/print.h"
#include "ops/rights.h"

/* --- errors ---------------------------------------------------------------------------------- */

/* The errno of a refusal is chosen where it happens; this table maps it to HTTP. An unlisted code
 * is an internal error: 500. */

/* By status. Rows without a text look to a client like the row above. */
/* clang-format off */
static const struct {
    int code, status;
    const char *word, *text;
} errors[] = {
    { EINVAL, 400, "bad_request", "a parameter is invalid" },
    { ERANGE, 400, "bad_request", NULL },
    { E2BIG, 400, "bad_request", NULL },
    { ELOOP, 400, "cycle", "tasks would wait for each other" },
    { EKEYREJECTED, 401, "unauthorized", "over TCP: no token, or an expired one" },
    { EPERM, 403, "refused", "refused by a guard; `force` overrides it where the operation has it" },
    { EACCES, 403, "refused", NULL },
    { ENOENT, 404, "not_found", "the object does not exist" },
    { EEXIST, 409, "exists", "the name is taken" },
    { EBUSY, 409, "conflict", "not possible in this state, or the key was used for another request" },
    { ENOTUNIQ, 409, "ambiguous", "a name is the id of one task and the external id of another: the message names both" },
    { EFBIG, 413, "too_large", "the request is too large" },
    { EAGAIN, 429, "deferred", "the queue is full; nothing was stored" },
    { ENOTSUP, 501, "not_supported", "not available here" },
    { EIO, 503, "outcome_unknown", "the outcome is unknown: repeat the request with the same key" },
    { ESHUTDOWN, 503, "stopping", "the daemon is stopping" },
    { 0, 503, "standby", "another daemon is active; on the Unix socket `active` lists its addresses" },
    { 0, 503, "busy", "too many connections or streams: try again later" },
    { ENOSPC, 507, "disk_full", "the disk is full; nothing was stored" },
};
/* clang-format on */

void op_print_errors(struct strbuf *out) {
    for (size_t i = 0; i < ARRAY_SIZE(errors); i++)
        if (errors[i].text)
            strbuf_printf(out, "| %d | `%s` | %s |\n", errors[i].status, errors[i].word,
                          errors[i].text);
}

void op_print_error_words(struct json_writer *w) {
    for (size_t i = 0; i < ARRAY_SIZE(errors); i++)
        if (errors[i].text)
            json_write_string(w, errors[i].word);
}

static size_t error_row(int code) {
    size_t i = 0;
    while (i < ARRAY_SIZE(errors) && (errors[i].code == 0 || errors[i].code != -code))
        i++;
    return i;
}

int op_error_status(int code) {
    size_t row = error_row(code);
    return row < ARRAY_SIZE(errors) ? errors[row].status : 500;
}

const char *op_error_word(int code) {
    size_t row = error_row(code);
    return row < ARRAY_SIZE(errors) ? errors[row].word : "internal";
}

void op_print_error(const struct error *err, struct strbuf *out) {
    struct json_writer w;
    json_write_init(&w, out, false);
    json_write_pack(&w, "{s:{s:s, s:s}}", "error", "code", op_error_word(err->code), "message",
                    err->text);
}

int op_fail(struct op_call *call, int code, const char *format, ...) {
    char text[ERROR_TEXT_MAX]; /* the arguments may be the old message */
    va_list args;
    va_start(args, format);
    (void)vsnprintf(text, sizeof(text), format, args);
    va_end(args);
    return error_set(&call->err, code, "%s", text);
}

/* --- calls ----------------------------------------------------------------------------------- */

enum call_stage {
    CALL_NOWHERE, /* not submitted, or already answered */
    CALL_QUEUED,  /* the engine has its request */
    CALL_PARKED,  /* between turns: waits for the store, or for the call it follows */
};

struct op_private {
    struct engine_request request; /* first: the engine passes it back */
    struct op_call *call;
    enum call_stage stage;
    op_step step; /* the next step, inside a turn */
    bool waits;   /* for the store, or for op_wake */
    bool yields;  /* continues in the next turn */
    bool over;    /* has its result; only the answer is missing */
    bool filled;  /* the answer is printed, waiting for the commit */
    bool abandoned;
    struct store_query question;
    op_take_answer take;
    void *state;
    void (*state_finish)(void *state);
    struct arena arena;
    struct strbuf part;                     /* op_part */
    struct strbuf more;                     /* members beside "error" */
    struct merge_answer *merged;            /* op_wait_merge; in the arena */
    struct engine_await *await;             /* op_wait_tasks: what it waits for; or NULL */
    struct engine_answer_wait *answer_wait; /* op_wait_answer; or NULL */
    /* --- idempotency keys */
    uint64_t digest;                /* of the request, with or without a key */
    bool leads;                     /* in the list of keys in flight */
    struct op_call *next_in_flight; /* of those that lead */
    struct op_call *first_follower; /* calls with the same key, which get the same answer */
    struct op_call *next_follower;
    struct op_call *followed; /* the call that this one follows */
    struct key_row known;     /* from the store; strings are in the arena */
};

static int keys_begin(struct op_call *call);
static void keys_remember(struct op_call *call);
static void keys_end(struct op_call *call);

void op_call_free(struct op_call *call) {
    if (!call)
        return;
    struct op_private *p = call->own;
    assert(p->stage == CALL_NOWHERE && !p->waits && !p->leads);
    if (p->state && p->state_finish)
        p->state_finish(p->state);
    free(p->state);
    arena_finish(&p->arena);
    strbuf_finish(&p->part);
    strbuf_finish(&p->more);
    free(p);
    json_decref(call->params);
    strbuf_finish(&call->answer);
    strbuf_finish(&call->memo);
    free(call->caller);
    free(call->user);
    free(call->log.path);
    free(call->log.order);
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

struct strbuf *op_part(struct op_call *call) {
    return &call->own->part;
}

struct strbuf *op_error_members(struct op_call *call) {
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

/* No answer may contain a known secret. */
static void redact(struct op_call *call) {
    struct strbuf shown = STRBUF_INIT;
    if (call->op->gives_token
        || !engine_redact(call->engine, strbuf_text(&call->answer), call->answer.length, &shown))
        return;
    strbuf_finish(&call->answer);
    call->answer = shown;
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

int op_answer(struct op_call *call, const char *format, ...) {
    struct json_writer w = op_begin(call);
    va_list args;
    va_start(args, format);
    json_write_vpack(&w, format, args);
    va_end(args);
    return op_end(&w);
}

static void answer(struct op_call *call) {
    struct op_private *p = call->own;
    p->stage = CALL_NOWHERE;
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
    if (!p->abandoned && call->err.code != 0)
        shape_report(&shape_error, "error", &call->answer);
    else if (!p->abandoned && call->op->answers && !call->replayed)
        shape_report(call->op->answers, call->op->name, &call->answer);
    redact(call);
    keys_end(call);
    if (p->abandoned || !call->answered)
        op_call_free(call);
    else
        call->answered(call, call->ctx);
}

int op_authorized(struct op_call *call, const char *owner) {
    if (call->key) {
        _cleanup_(freep) char *key = xasprintf("%s/%s", owner, call->key);
        call->key = arena_strdup(op_arena(call), key);
    }
    call->own->step = call->key ? keys_begin : call->op->run;
    return CALL_CONTINUES;
}

/* --- steps ----------------------------------------------------------------------------------- */

static void fail_with(struct op_call *call, int code, const struct error *why) {
    if (why && why->code != 0)
        call->err = *why;
    else if (call->err.code == 0)
        (void)op_fail(call, code, "%s failed", call->op->name);
}

static void run_steps(struct op_call *call) {
    struct op_private *p = call->own;
    int r = CALL_CONTINUES;
    p->yields = false;
    while (r == CALL_CONTINUES && !p->waits && !p->yields && !p->followed && !p->over)
        r = p->step(call);
    if (p->over || r == CALL_CONTINUES)
        return;
    p->over = true;
    if (r < 0) {
        p->waits = false;
        fail_with(call, r, NULL);
        return;
    }
    call->err.code = 0; /* of an optional lookup */
    if (call->key && !call->replayed)
        keys_remember(call);
}

static void resume(struct op_call *call) {
    struct op_private *p = call->own;
    if (p->stage != CALL_PARKED)
        return; /* the turn that runs the call, or its end, continues it */
    if (p->over || (p->abandoned && !call->op->writes)) {
        answer(call);
    } else { /* a write completes even if its client has disconnected */
        p->stage = CALL_QUEUED;
        engine_request(call->engine, &p->request);
    }
}

static void take_stored(void *ctx, const struct store_answer *stored, const struct error *err) {
    struct op_call *call = ctx;
    if (!err)
        call->own->take(call, stored);
    op_wake(call, err ? -EIO : 0, err);
}

int op_query(struct op_call *call, const struct store_query *question, op_take_answer take,
             op_step then) {
    struct op_private *p = call->own;
    p->question = *question;
    p->take = take;
    int r = op_wait(call, then);
    store_query(engine_store(call->engine), &p->question, take_stored, call);
    return r;
}

int op_wait(struct op_call *call, op_step then) {
    call->own->step = then;
    call->own->waits = true;
    return CALL_CONTINUES;
}

void op_wake(struct op_call *call, int code, const struct error *why) {
    struct op_private *p = call->own;
    p->waits = false;
    p->over = p->over || code < 0;
    if (code == -ESHUTDOWN && !why)
        (void)op_fail(call, code, "the daemon is stopping");
    else if (code < 0)
        fail_with(call, code, why);
    resume(call);
}

static void wake_ready(void *ctx) {
    op_wake(ctx, 0, NULL);
}

int op_wait_ready(struct op_call *call, op_start start, op_step then) {
    call->own->step = then;
    call->own->waits = !start(call->engine, wake_ready, call);
    return CALL_CONTINUES;
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

static void answer_is_there(void *ctx, bool is_ending) {
    struct op_call *call = ctx;
    call->own->answer_wait = NULL;
    op_wake(call, is_ending ? -ESHUTDOWN : 0, NULL);
}

int op_wait_answer(struct op_call *call, task_id task, time_ms timeout, op_step then) {
    int r = op_wait(call, then);
    call->own->answer_wait =
        engine_answer_wait_begin(call->engine, task, timeout, answer_is_there, call);
    return r;
}

bool op_is_abandoned(const struct op_call *call) {
    return call->own->abandoned;
}

const char *op_keep(struct op_call *call, const char *text) {
    return text ? arena_strdup(op_arena(call), text) : NULL;
}

static void merge_is_over(void *ctx, const struct merge_answer *merged) {
    struct op_call *call = ctx;
    if (merged) {
        call->own->merged = arena_alloc(op_arena(call), sizeof(*merged));
        *call->own->merged = (struct merge_answer){ .result = merged->result,
                                                    .branch = op_keep(call, merged->branch),
                                                    .into = op_keep(call, merged->into),
                                                    .message = op_keep(call, merged->message),
                                                    .commit = op_keep(call, merged->commit) };
    }
    op_wake(call, merged ? 0 : -ESHUTDOWN, NULL);
}

int op_wait_merge(struct op_call *call, const struct merge_question *question, op_step then) {
    int waits = op_wait(call, then);
    int r = engine_merge(call->engine, question, merge_is_over, call, &call->err);
    if (r < 0)
        call->own->waits = false;
    return r < 0 ? r : waits;
}

const struct merge_answer *op_merged(const struct op_call *call) {
    return call->own->merged;
}

int op_yield(struct op_call *call, op_step then) {
    struct op_private *p = call->own;
    p->step = then;
    p->yields = true;
    return CALL_CONTINUES;
}

/* --- the turn -------------------------------------------------------------------------------- */

/* The turn was not stored, or its outcome is unknown. */
static void fail_commit(struct op_call *call, enum store_outcome outcome, const struct error *err) {
    const char *why = err && err->code ? err->text : "the store refused it";
    if (outcome == STORE_UNKNOWN)
        (void)op_fail(
            call, -EIO,
            "the request may or may not have been stored: repeat it with the same key (%s)", why);
    else if (!err || err->code == -ENOSPC || err->code == 0)
        (void)op_fail(call, -ENOSPC, "nothing was stored: %s", why);
    else
        (void)op_fail(call, -EPROTO, "nothing was stored: %s", why);
}

static int request_run(struct engine *engine, struct engine_request *request) {
    struct op_private *p = (struct op_private *)request;
    struct op_call *call = p->call;
    struct error why = { 0 };
    if (call->op->writes && !call->op->counts && engine_is_failing(engine, &why)) {
        p->over = true;
        fail_commit(call, STORE_FAILED, &why);
    } else if (call->op->writes) {
        run_steps(call);
    }
    return call->err.code;
}

/* Runs while the store writes. */
static void request_decided(struct engine *engine, struct engine_request *request) {
    struct op_private *p = (struct op_private *)request;
    (void)engine;
    if (p->over && p->call->op->writes && p->call->err.code == 0)
        fill(p->call);
}

static void request_done(struct engine *engine, struct engine_request *request,
                         enum store_outcome outcome, const struct error *err) {
    struct op_private *p = (struct op_private *)request;
    struct op_call *call = p->call;
    if (outcome != STORE_OK) {
        p->over = true;
        fail_commit(call, outcome, err);
    } else if (engine_is_broken(engine) && !call->op->writes) {
        p->over = true;
        (void)op_fail(call, -ESHUTDOWN, "the daemon is stopping: its store failed");
    } else if (!call->op->writes && p->abandoned) {
        p->over = true; /* its client has disconnected */
    } else if (!call->op->writes) {
        run_steps(call);
    }
    if (p->over && !p->waits) {
        answer(call);
        return;
    }
    p->stage = CALL_PARKED;
    if (!p->waits && !p->followed) { /* the answer arrived during the commit */
        p->stage = CALL_QUEUED;
        engine_request(engine, request);
    }
}

struct op_call *op_call_new(const struct op *op, struct engine *engine, json_t *params,
                            const char *key) {
    struct op_call *call = xcalloc(1, sizeof(*call));
    call->op = op;
    call->engine = engine;
    call->params = params;
    call->index = -1;
    struct op_private *p = call->own = xcalloc(1, sizeof(*p));
    p->call = call;
    p->request.run = request_run;
    p->request.decided = request_decided;
    p->request.done = request_done;
    if (key && op->writes)
        call->key = arena_strdup(&p->arena, key);
    return call;
}

void op_submit(struct op_call *call) {
    assert(call);
    struct op_private *p = call->own;
    assert(p->stage == CALL_NOWHERE && !p->over);
    p->step = call->run.token[0]    ? capability_begin
              : call->access.remote ? access_begin
              : call->key           ? keys_begin
                                    : call->op->run;
    p->stage = CALL_QUEUED;
    engine_request(call->engine, &p->request);
}

void op_abandon(struct op_call *call) {
    struct op_private *p = call->own;
    p->abandoned = true;
    call->find_peer = NULL;
    if (p->await) { /* otherwise it would wait until its timeout */
        engine_await_end(call->engine, p->await);
        tasks_are_settled(call);
    } else if (p->answer_wait) {
        engine_answer_wait_end(call->engine, p->answer_wait);
        answer_is_there(call, false);
    } else if (p->stage == CALL_NOWHERE) {
        op_call_free(call);
    }
}

#define KEY_MIN 8
#define KEY_MAX 128

/* Calls whose key is in flight, of all engines, by hash. At most one per waiting client. */
#define BUCKETS 256u
static struct op_call *in_flight[BUCKETS];

bool op_key_is_valid(const char *key) {
    size_t size = strlen(key);
    for (const char *at = key; *at; at++)
        if (*at <= 0x20 || *at >= 0x7f)
            return false;
    return size >= KEY_MIN && size <= KEY_MAX;
}

/* --- the digest of a request ----------------------------------------------------------------- */

static uint64_t digest_json(const json_t *json) {
    uint64_t sum = (uint64_t)json_typeof(json);
    switch (json_typeof(json)) {
    case JSON_OBJECT: {
        const char *key;
        json_t *value;
        json_object_foreach((json_t *)json, key, value) {
            if (strcmp(key, OP_BODY) != 0)
                sum += hash_mix(hash_bytes(key, strlen(key)), digest_json(value));
        }
        return hash_u64(sum);
    }
    case JSON_ARRAY:
        for (size_t i = 0; i < json_array_size(json); i++)
            sum = hash_mix(sum, digest_json(json_array_get(json, i)));
        return hash_u64(sum);
    case JSON_STRING:
        return hash_mix(sum, hash_bytes(json_string_value(json), json_string_length(json)));
    case JSON_INTEGER:
        return hash_mix(sum, (uint64_t)json_integer_value(json));
    case JSON_REAL: {
        double value = json_real_value(json);
        return hash_mix(sum, hash_bytes((const char *)&value, sizeof(value)));
    }
    case JSON_TRUE:
    case JSON_FALSE:
    case JSON_NULL:
        break;
    }
    return hash_u64(sum);
}

static int refuse_other(struct op_call *call) {
    return op_fail(call, -EBUSY,
                   "the idempotency key '%s' was used for another request; use a new one",
                   utf8_quote(call->key).text);
}

/* The first stored line: version, operation, digest. */
static void print_head(const struct op_call *call, struct strbuf *out) {
    strbuf_printf(out, "1 %s %016" PRIx64 "\n", call->op->name, call->own->digest);
}

/* `run` succeeded: stores the answer of the key in the same turn. */
static void keys_remember(struct op_call *call) {
    _cleanup_(strbuf_finish) struct strbuf text = STRBUF_INIT;
    const struct strbuf *what = call->op->replay ? &call->memo : &call->answer;
    print_head(call, &text);
    strbuf_add(&text, strbuf_text(what), what->length);
    engine_store_answer(call->engine, call->key, call->status ? call->status : 200,
                        strbuf_text(&text));
}

static void take_known(struct op_call *call, const struct store_answer *answer) {
    struct op_private *p = call->own;
    if (!answer->key || !answer->key->answer)
        return;
    p->known.status = answer->key->status;
    p->known.answer = arena_strdup(&p->arena, answer->key->answer);
}

static int key_is_known(struct op_call *call) {
    struct op_private *p = call->own;
    if (!p->known.answer) {
        p->step = call->op->run;
        return call->op->run(call);
    }
    _cleanup_(strbuf_finish) struct strbuf head = STRBUF_INIT;
    print_head(call, &head);
    if (strncmp(p->known.answer, strbuf_text(&head), head.length) != 0)
        return refuse_other(call);
    const char *text = p->known.answer + head.length;
    call->replayed = true;
    call->status = p->known.status;
    if (call->op->replay)
        return call->op->replay(call, text);
    strbuf_puts(&call->answer, text);
    return 0;
}

/* --- in flight ------------------------------------------------------------------------------- */

static struct op_call **bucket_of(const struct op_call *call) {
    return &in_flight[hash_bytes(call->key, strlen(call->key)) % BUCKETS];
}

static int keys_begin(struct op_call *call) {
    struct op_private *p = call->own;
    p->digest =
        hash_mix(hash_bytes(call->op->name, strlen(call->op->name)), digest_json(call->params));
    struct op_call *leader = *bucket_of(call);
    while (leader && (leader->engine != call->engine || strcmp(leader->key, call->key) != 0))
        leader = leader->own->next_in_flight;
    if (leader) {
        if (p->digest != leader->own->digest)
            return refuse_other(call);
        p->followed = leader;
        p->next_follower = leader->own->first_follower;
        leader->own->first_follower = call;
        return CALL_CONTINUES;
    }
    p->leads = true;
    p->next_in_flight = *bucket_of(call);
    *bucket_of(call) = call;
    struct store_query question = { .kind = QUERY_KEY, .key = call->key };
    return op_query(call, &question, take_known, key_is_known);
}

/* The call is about to be answered: its followers get the same answer. */
static void keys_end(struct op_call *call) {
    struct op_private *p = call->own;
    if (!p->leads)
        return;
    struct op_call **at = bucket_of(call);
    while (*at != call)
        at = &(*at)->own->next_in_flight;
    *at = p->next_in_flight;
    p->leads = false;
    for (struct op_call *follower = p->first_follower, *next; follower; follower = next) {
        next = follower->own->next_follower;
        follower->own->followed = NULL;
        follower->replayed = call->err.code == 0;
        follower->err = call->err;
        follower->index = call->index;
        follower->status = call->status;
        strbuf_clear(&follower->answer);
        if (call->err.code == 0)
            strbuf_add(&follower->answer, strbuf_text(&call->answer), call->answer.length);
        follower->own->over = true;
        if (follower->own->stage == CALL_PARKED)
            answer(follower);
    }
}
