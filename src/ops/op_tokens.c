/* op_tokens.c: who has a token for the door by TCP: made, listed, revoked.
 *
 * None of it is done by TCP: whoever has stolen a token cannot make another one that outlives it. A secret is shown in
 * one answer and kept nowhere, so that answer is not remembered for its key: who asks again is told that it is gone. */
#include <errno.h>
#include <string.h>

#include "engine/access.h"
#include "ops/print.h"

static const char *const scopes[] = { "read", "submit", "admin", NULL };

struct made {
    char token[ACCESS_TOKEN_SIZE];
    char id[ACCESS_ID_SIZE];
};

static void wipe(void *state) {
    explicit_bzero(state, sizeof(struct made));
}

static time_ms end_of(const struct op_call *call) {
    int64_t span = op_number(call, "expires_s", 0);
    return span ? time_add(engine_now(call->engine), SECONDS(span)) : TIME_NEVER;
}

static int run_add(struct op_call *call) {
    struct made *made = op_state(call, sizeof(*made), wipe);
    const char *name = op_text(call, "name"), *scope = op_text(call, "scope");
    if (!access_name_is_valid(name))
        return op_fail(call, -EINVAL,
                       "'%s' is no name of a token: use 1 to %u letters, digits, dots, hyphens and "
                       "underscores",
                       op_quote(name).text, ACCESS_NAME_MAX);
    struct engine_access draft = { .name = (char *)name,
                                   .scope = scope ? access_scope_find(scope) : ACCESS_READ,
                                   .expires_at = end_of(call) };
    int r = engine_add_access(call->engine, &draft, made->token, made->id, &call->err);
    if (r == 0)
        strbuf_puts(&call->memo, name);
    return r;
}

/* clang-format off */
#define TOKEN(X) \
    X(print_text, "id", T_TEXT, "its id", "k3f9x2m7aq", access->id) \
    X(print_text, "name", T_TEXT, "its name", "phone", access->name) \
    X(print_text, "scope", T_WORD, "what it may do", &words_scope, access_scope_name(access->scope)) \
    X(print_bool, "session", T_BOOL, "it belongs to a page that is signed in", NULL, access->session) \
    X(print_time, "created_at", T_TIME | T_NULL, "when it was made", NULL, access->created_at) \
    X(print_time, "expires_at", T_TIME | T_NULL, "when it ends; null: never", NULL, access->expires_at) \
    X(print_time, "used_at", T_TIME | T_NULL, "when it was last used", NULL, access->used_at)
static const struct shape token_shape = { "Token", "a token for clients that come over TCP", .members = SHAPE_ALL(TOKEN) };
/* clang-format on */

static void print_access(struct json_writer *w, const struct engine_access *access) {
    TOKEN(SHAPE_PRINT)
}

static void finish_add(struct op_call *call) {
    const struct made *made = op_state(call, sizeof(*made), wipe);
    const struct engine_access *access = engine_access_named(call->engine, made->id);
    struct json_writer w = op_begin(call);
    print_text(&w, "token", made->token);
    if (access)
        print_access(&w, access);
    json_write_object_end(&w);
}

static int replay_add(struct op_call *call, const char *memo) {
    return op_fail(call, -EBUSY,
                   "token '%s' was made, and its answer, which had the secret, is gone: revoke it "
                   "and make another",
                   memo);
}

static void print_at(struct json_writer *w, struct op_call *call, size_t index) {
    json_write_object_begin(w);
    print_access(w, engine_access_at(call->engine, index));
    json_write_object_end(w);
}

static int run_list(struct op_call *call) {
    return names_list(call, engine_access_count(call->engine), print_at);
}

static int run_revoke(struct op_call *call) {
    const char *name = op_text(call, "name");
    const struct engine_access *access = engine_access_named(call->engine, name);
    if (!access)
        return op_fail(call, -ENOENT,
                       "there is no token '%s': 'sluice token list' shows those that there are",
                       op_quote(name).text);
    struct json_writer w = op_begin(call);
    print_text(&w, "id", access->id);
    print_text(&w, "name", access->name);
    json_write_object_end(&w);
    engine_end_access(call->engine, arena_strdup(op_arena(call), access->id), op_actor(call));
    return 0;
}

/* --- the operations -------------------------------------------------------------------------- */

const struct op op_token_add = {
    OP("token.add", "POST", "/v1/tokens", "make a token for clients that come by TCP"),
    .text = "Only at the owner's socket.",
    .params =
        PARAMS(PARAM(TEXT, BODY, "name",
                     .text = "what it is called: letters, digits, dots, hyphens and underscores",
                     .required = true, .min = 1, .max = ACCESS_NAME_MAX),
               PARAM(TEXT, BODY, "scope", .text = "what it may do; `read` when not given",
                     .choices = scopes),
               PARAM(NUMBER, BODY, "expires_s", .spelled = MEMBER_SPAN,
                     .text = "how long it is good for, in seconds; for ever when not given",
                     .min = 1, .max = 315360000)),
    .answers =
        &(const struct shape){
            .base = &token_shape,
            .members = SHAPE_ROWS({ "token", T_TEXT, "the token itself, shown here and never again",
                                    "sl_k3f9x2m7aq_…" }) },
    .right = OP_ADMIN,
    .writes = true,
    .local = true,
    .run = run_add,
    .gives_token = true,
    .finish = finish_add,
    .replay = replay_add,
};

const struct op op_token_list = {
    OP("token.list", "GET", "/v1/tokens", "list the tokens, and the pages that are signed in"),
    .text = "Never their secrets. Those that have expired are shown until the next one is made. "
            "Only at the owner's socket.",
    .params = PARAMS(OP_PARAM_LIMIT, OP_PARAM_CURSOR),
    .answers = ANSWERS(SHAPE_PAGE(&token_shape)),
    .right = OP_ADMIN,
    .local = true,
    .run = run_list,
};

const struct op op_token_revoke = {
    OP("token.revoke", "POST", "/v1/tokens/{name}/revoke", "end a token at once"),
    .text = "Its connections end, streams too. A page is revoked by its id. Only at the owner's "
            "socket.",
    .params = PARAMS(PARAM(TEXT, PATH, "name", .text = "its name, or its id", .required = true,
                           .min = 1, .max = ACCESS_NAME_MAX)),
    .answers =
        ANSWERS({ "id", T_TEXT, "its id", "k3f9x2m7aq" }, { "name", T_TEXT, "its name", "phone" }),
    .right = OP_ADMIN,
    .writes = true,
    .local = true,
    .run = run_revoke,
};
