/* op_keys.c: a request that is sent twice is done once.
 *
 * A client that lost its answer sends the same key again. What the key was answered with is written
 * in the same commit as what was done, so the two can never differ; it is found again in another
 * life of the daemon. Between a run and its commit the key is in flight: a call that comes with it
 * then waits for the first one and gets the same answer.
 *
 * With the answer goes a digest of what was asked: a key that comes back with other parameters is a
 * mistake of the client, and is told so instead of given an answer that is not his. Only what went
 * well is remembered: a refusal has changed nothing, and may be tried again. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/hash.h"
#include "ops/call_internal.h"

#define KEY_MIN 8
#define KEY_MAX 128

/* The calls whose key is in flight, of all engines, by what their key hashes to. There are no more
 * than clients that wait. */
#define BUCKETS 256u
static struct op_call *in_flight[BUCKETS];

bool op_key_is_valid(const char *key) {
    size_t size = strlen(key);
    for (const char *at = key; *at; at++)
        if (*at <= 0x20 || *at >= 0x7f)
            return false;
    return size >= KEY_MIN && size <= KEY_MAX;
}

/* --- what was asked -------------------------------------------------------------------------- */

static uint64_t digest_text(const char *text, size_t size) {
    return hash_bytes(text, size);
}

/* The members of an object in any order give the same digest. */
static uint64_t digest_json(const json_t *json) {
    uint64_t sum = (uint64_t)json_typeof(json);
    switch (json_typeof(json)) {
    case JSON_OBJECT: {
        const char *key;
        json_t *value;
        json_object_foreach((json_t *)json, key, value) {
            if (strcmp(key, OP_BODY) != 0)
                sum += hash_mix(digest_text(key, strlen(key)), digest_json(value));
        }
        return hash_u64(sum);
    }
    case JSON_ARRAY:
        for (size_t i = 0; i < json_array_size(json); i++)
            sum = hash_mix(sum, digest_json(json_array_get(json, i)));
        return hash_u64(sum);
    case JSON_STRING:
        return hash_mix(sum, digest_text(json_string_value(json), json_string_length(json)));
    case JSON_INTEGER:
        return hash_mix(sum, (uint64_t)json_integer_value(json));
    case JSON_REAL: {
        double value = json_real_value(json);
        return hash_mix(sum, digest_text((const char *)&value, sizeof(value)));
    }
    case JSON_TRUE:
    case JSON_FALSE:
    case JSON_NULL:
        break;
    }
    return hash_u64(sum);
}

static uint64_t digest_call(const struct op_call *call) {
    return hash_mix(digest_text(call->op->name, strlen(call->op->name)), digest_json(call->params));
}

static int refuse_other(struct op_call *call) {
    return op_fail(call, -EBUSY,
                   "the idempotency key '%s' was used for another request; use a new one",
                   op_quote(call->key).text);
}

/* --- in the store ---------------------------------------------------------------------------- */

/* The first line of what is stored: a version, the operation, the digest. */
static void print_head(const struct op_call *call, struct strbuf *out) {
    strbuf_printf(out, "1 %s %016" PRIx64 "\n", call->op->name, call->own->digest);
}

void keys_remember(struct op_call *call) {
    _cleanup_(strbuf_finish) struct strbuf text = STRBUF_INIT;
    const struct strbuf *what = call->op->replay ? &call->memo : &call->answer;
    print_head(call, &text);
    strbuf_add(&text, strbuf_text(what), what->length);
    engine_remember(call->engine, call->key, call->status ? call->status : 200, strbuf_text(&text));
}

static void take_known(struct op_call *call, const struct store_answer *answer) {
    struct op_private *p = call->own;
    if (!answer->key || !answer->key->answer)
        return;
    p->known.status = answer->key->status;
    p->known.answer = arena_strdup(&p->arena, answer->key->answer);
}

static int replay(struct op_call *call, const char *text) {
    call->replayed = true;
    call->status = call->own->known.status;
    if (call->op->replay)
        return call->op->replay(call, text);
    strbuf_puts(&call->answer, text);
    return 0;
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
    return replay(call, p->known.answer + head.length);
}

/* --- in flight ------------------------------------------------------------------------------- */

static struct op_call **bucket_of(const struct op_call *call) {
    return &in_flight[hash_bytes(call->key, strlen(call->key)) % BUCKETS];
}

static struct op_call *find_leader(const struct op_call *call) {
    struct op_call *at = *bucket_of(call);
    while (at && (at->engine != call->engine || strcmp(at->key, call->key) != 0))
        at = at->own->next_in_flight;
    return at;
}

/* The answer comes when the leader has its own (keys_end). */
static int follow(struct op_call *call, struct op_call *leader) {
    struct op_private *p = call->own;
    if (p->digest != leader->own->digest)
        return refuse_other(call);
    p->followed = leader;
    p->next_follower = leader->own->first_follower;
    leader->own->first_follower = call;
    return CALL_GO_ON;
}

int keys_begin(struct op_call *call) {
    struct op_private *p = call->own;
    p->digest = digest_call(call);
    struct op_call *leader = find_leader(call);
    if (leader)
        return follow(call, leader);
    p->leads = true;
    p->next_in_flight = *bucket_of(call);
    *bucket_of(call) = call;
    struct store_question question = { .kind = ASK_KEY, .key = call->key };
    return op_ask(call, &question, take_known, key_is_known);
}

static void leave(struct op_call *call) {
    struct op_call **at = bucket_of(call);
    while (*at != call)
        at = &(*at)->own->next_in_flight;
    *at = call->own->next_in_flight;
    call->own->leads = false;
}

void keys_end(struct op_call *call) {
    struct op_private *p = call->own;
    if (!p->leads)
        return;
    leave(call);
    struct op_call *follower = p->first_follower;
    while (follower) {
        struct op_call *next = follower->own->next_follower;
        follower->own->followed = NULL;
        follower->replayed = call->err.code == 0;
        follower->err = call->err;
        follower->index = call->index;
        follower->status = call->status;
        strbuf_clear(&follower->answer);
        if (call->err.code == 0)
            strbuf_add(&follower->answer, strbuf_text(&call->answer), call->answer.length);
        call_settle(follower);
        follower = next;
    }
}
