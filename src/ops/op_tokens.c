/* op_tokens.c: tokens for TCP clients, and links that open the dashboard.
 *
 * Tokens are managed only over the owner's socket: a stolen token cannot create another one that
 * outlives it. A secret is shown in one answer and stored nowhere, so that answer is not kept for
 * its idempotency key. */
#include <errno.h>
#include <string.h>

#include "base/number.h"
#include "engine/access.h"
#include "ops/print.h"
#include "os/log.h"

static const char *const scopes[] = { "read", "submit", "admin", NULL };

struct new_token {
    char token[ACCESS_TOKEN_SIZE];
    char id[ACCESS_ID_SIZE];
    enum access_scope scope;
    time_ms until;
};

static void wipe(void *state) {
    explicit_bzero(state, sizeof(struct new_token));
}

static int run_add(struct op_call *call) {
    struct new_token *made = op_state(call, sizeof(*made), wipe);
    int64_t span = op_number(call, "expires_s", 0);
    const char *name = op_text(call, "name"), *scope = op_text(call, "scope");
    if (!access_name_is_valid(name))
        return op_fail(call, -EINVAL,
                       "'%s' is not a name of a token: use 1 to %u letters, digits, dots, hyphens "
                       "and underscores",
                       utf8_quote(name).text, ACCESS_NAME_MAX);
    struct engine_access draft = {
        .name = (char *)name,
        .scope = scope ? access_scope_find(scope) : ACCESS_READ,
        .expires_at = span ? time_add(engine_now(call->engine), SECONDS(span)) : TIME_NEVER
    };
    int r = engine_add_access(call->engine, &draft, made->token, made->id, &call->err);
    if (r == 0)
        strbuf_puts(&call->memo, name);
    return r;
}

/* clang-format off */
#define TOKEN(X) \
    X(json_put_string, "id", T_TEXT, "its id", "k3f9x2m7aq", access->id) \
    X(json_put_string, "name", T_TEXT, "its name", "phone", access->name) \
    X(json_put_string, "scope", T_WORD, "what it may do", &words_scope, access_scope_name(access->scope)) \
    X(json_put_bool, "session", T_BOOL, "it belongs to a page that is signed in", NULL, access->session) \
    X(print_time, "created_at", T_TIME | T_NULL, "when it was made", NULL, access->created_at) \
    X(print_time, "expires_at", T_TIME | T_NULL, "when it ends; null: never", NULL, access->expires_at) \
    X(print_time, "used_at", T_TIME | T_NULL, "when it was last used", NULL, access->used_at)
static const struct shape token_shape = { "Token", "a token for clients that come over TCP", .members = SHAPE_ALL(TOKEN) };
/* clang-format on */

static void print_access(struct json_writer *w, const struct engine_access *access) {
    TOKEN(SHAPE_PRINT)
}

static void finish_add(struct op_call *call) {
    const struct new_token *made = op_state(call, sizeof(*made), wipe);
    const struct engine_access *access = engine_access_named(call->engine, made->id);
    struct json_writer w = op_begin(call);
    json_put_string(&w, "token", made->token);
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
                       utf8_quote(name).text);
    (void)op_answer(call, "s:s, s:s", "id", access->id, "name", access->name);
    engine_end_access(call->engine, arena_strdup(op_arena(call), access->id), op_actor(call));
    return 0;
}

/* --- the operations -------------------------------------------------------------------------- */

const struct op op_token_add = {
    OP("token.add", "POST", "/v1/tokens", "make a token for clients that connect over TCP"),
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
    OP_WRITES(ADMIN, NONE, run_add),
    .local = true,
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
    OP_READS(ADMIN, NONE, run_list),
    .local = true,
};

const struct op op_token_revoke = {
    OP("token.revoke", "POST", "/v1/tokens/{name}/revoke", "end a token at once"),
    .text = "Its connections end, streams too. A page is revoked by its id. Only at the owner's "
            "socket.",
    .params = PARAMS(PARAM(TEXT, PATH, "name", .text = "its name, or its id", .required = true,
                           .min = 1, .max = ACCESS_NAME_MAX)),
    .answers =
        ANSWERS({ "id", T_TEXT, "its id", "k3f9x2m7aq" }, { "name", T_TEXT, "its name", "phone" }),
    OP_WRITES(ADMIN, NONE, run_revoke),
    .local = true,
};

/* --- dashboard links ------------------------------------------------------------------------- */

/* The command line requests, over the owner's socket, a code that is valid once and for a minute,
 * and opens a link with the code in the fragment, which browsers do not send. The page exchanges it
 * for a session: it gives the public half of a key that its browser keeps, and signs its requests
 * (api/page_key.h). What remains in a history or a terminal is worthless. The browser gets the link
 * from a file (engine_write_code_file).
 *
 * A process of a run gets no token for a code, however it found the code: a run must not gain its
 * owner's rights. The code is then consumed, because it has leaked. */

#define PAGE_NAME  "dashboard"
#define PAGE_SCOPE ACCESS_SUBMIT /* default */

/* A file with the link, for the browser. If it cannot be written, the link still works. */
static const char *write_file(struct op_call *call, const char *code, const char *link) {
    const char *path = NULL;
    struct error err = { 0 };
    if (op_flag(call, "file") && engine_write_code_file(call->engine, code, link, &path, &err) < 0)
        log_warning("no file for the browser: %s", err.text);
    return path;
}

/* At the port that was asked for; else at the one where pages came in last, or any that is free. */
static int open_listener(struct op_call *call) {
    unsigned port = (unsigned)op_number(call, "port", 0);
    unsigned last = engine_remembered_port(call->engine);
    if (port == 0 && last > 0 && engine_open_tcp_listener(call->engine, last, NULL) == 0)
        return 0;
    return engine_open_tcp_listener(call->engine, port, &call->err);
}

static int run_code(struct op_call *call) {
    char code[PAGE_CODE_SIZE];
    const char *scope = op_text(call, "scope");
    const char *url = engine_tcp_listener_url(call->engine);
    bool opened = !url;
    int r = url ? 0 : open_listener(call);
    if (r < 0)
        return r;
    if (opened)
        url = engine_tcp_listener_url(call->engine);
    scope = scope ? scope : access_scope_name(PAGE_SCOPE);
    time_ms until = engine_make_code(call->engine, access_scope_find(scope), code);
    _cleanup_(strbuf_finish) struct strbuf link = STRBUF_INIT;
    strbuf_printf(&link, "%s/#t=%s", url ? url : "", code);
    (void)op_answer(call, "s:s, s:s, s:s, s:s, s:I, s:b, s:s", "link", strbuf_text(&link), "url",
                    url, "code", code, "scope", scope, "expires_at", until, "opened", opened,
                    "file", write_file(call, code, strbuf_text(&link)));
    explicit_bzero(code, sizeof(code));
    if (link.text)
        explicit_bzero(link.text, link.length);
    return 0;
}

/* May the peer have a token? A link from a file is opened on this machine. */
static int check_peer(struct op_call *call, const struct page_code *code) {
    enum op_peer peer = call->find_peer ? call->find_peer(call) : OP_PEER_UNKNOWN;
    if (peer == OP_PEER_PROGRAM || (peer == OP_PEER_ELSEWHERE && !code->has_file))
        return 0;
    log_warning("the code of a dashboard link was refused: it came from %s",
                peer == OP_PEER_RUN         ? "a process of a run"
                : peer == OP_PEER_ELSEWHERE ? "outside of this machine"
                                            : "a process that cannot be identified");
    if (peer == OP_PEER_ELSEWHERE)
        return op_fail(call, -EACCES,
                       "this link is for a browser of the daemon's machine: run 'sluice dash "
                       "--print' for one that can be opened elsewhere");
    return op_fail(call, -EACCES,
                   "a process of a run cannot open the dashboard, nor can one that cannot be "
                   "identified: this link is used up");
}

/* A configured address needs no memory. */
static void remember_port(struct op_call *call) {
    const char *url = engine_tcp_listener_url(call->engine);
    const char *colon = url ? strrchr(url, ':') : NULL;
    int64_t port = 0;
    if (colon && number_parse_int(colon + 1, &port, NULL) == 0 && port > 0 && port <= UINT16_MAX
        && !*config_text(engine_config(call->engine), "http.listen", NULL))
        engine_remember_port(call->engine, (unsigned)port);
}

static int run_open(struct op_call *call) {
    struct new_token *made = op_state(call, sizeof(*made), wipe);
    const char *key = op_text(call, "key");
    uint8_t point[ACCESS_KEY_SIZE] = { 0 };
    if (key && (!number_hex_parse(key, point, sizeof(point)) || point[0] != 4))
        return op_fail(call, -EINVAL,
                       "'key' is not a public key: use the uncompressed point of a P-256 key in "
                       "hexadecimal digits");
    struct page_code code = engine_take_code(call->engine, op_text(call, "code"));
    made->scope = code.scope;
    if (made->scope == ACCESS_NONE)
        return op_fail(
            call, -EKEYREJECTED,
            "this link was used already, or is older than a minute: run 'sluice dash' again");
    int r = check_peer(call, &code);
    if (r < 0)
        return r;
    made->until = time_add(engine_now(call->engine),
                           config_number(engine_config(call->engine), "http.session_h", NULL));
    char name[] = PAGE_NAME;
    struct engine_access draft = { .name = name,
                                   .scope = made->scope,
                                   .session = true,
                                   .has_key = key != NULL,
                                   .expires_at = made->until };
    memcpy(draft.key, point, sizeof(point));
    r = engine_add_access(call->engine, &draft, made->token, made->id, &call->err);
    if (r < 0)
        return r;
    remember_port(call);
    strbuf_puts(&call->memo, made->id);
    return 0;
}

static void finish_open(struct op_call *call) {
    const struct new_token *made = op_state(call, sizeof(*made), wipe);
    (void)op_answer(call, "s:s, s:s, s:s, s:s, s:I", "token", made->token[0] ? made->token : NULL,
                    "id", made->id, "boot", engine_boot(call->engine), "scope",
                    access_scope_name(made->scope), "expires_at", made->until);
}

static int replay_open(struct op_call *call, const char *memo) {
    (void)memo;
    return op_fail(call, -EKEYREJECTED, "this link was used already: run 'sluice dash' again");
}

/* --- the operations -------------------------------------------------------------------------- */

const struct op op_session_code = {
    OP("session.code", "POST", "/v1/session/code", "make a link that opens the dashboard once"),
    .text = "Good for one use within a minute. If the daemon has no TCP listener (`http.listen`), "
            "it listens on a loopback port from now on, until it ends. Only at the owner's socket.",
    .params = PARAMS(
        PARAM(TEXT, BODY, "scope", .text = "what the page may do; `submit` when not given",
              .choices = scopes),
        PARAM(BOOLEAN, BODY, "file",
              .text = "also write a private file that redirects to the link, for a browser on this "
                      "machine: unlike the link, its path can be passed as an argument"),
        PARAM(NUMBER, BODY, "port",
              .text =
                  "where to listen, if the daemon does not yet; 0, or not given: any that is free",
              .min = 0, .max = 65535)),
    .answers =
        ANSWERS({ "link", T_TEXT, "opens the dashboard", "http://127.0.0.1:7878/#t=…" },
                { "url", T_TEXT | T_NULL, "where the daemon listens", "http://127.0.0.1:7878" },
                { "code", T_TEXT, "the code in the link" },
                { "scope", T_WORD, "what the page may do", &words_scope },
                { "expires_at", T_TIME, "until when it is good" },
                { "opened", T_BOOL, "the daemon began to listen for it" },
                { "file", T_TEXT | T_NULL,
                  "the path of the requested file, which has mode 0600 and is removed when the "
                  "code is used or expires" }),
    OP_READS(ADMIN, NONE, run_code),
    .local = true,
};

const struct op op_session_open = {
    OP("session.open", "POST", "/v1/session", "swap the code of a link for a session"),
    .text =
        "Needs no token over TCP, as /healthz and answer links do not. A code that was "
        "used, or is older than a minute, is refused (401). A process of a run is refused, too "
        "(403), and the code becomes invalid. With `key` the session has no token: each request "
        "is signed with the private key, `Authorization: Sluice-Key ID BOOT BODY SIGNATURE`. "
        "BODY is the SHA-256 of the body, or `-` without one. SIGNATURE is ECDSA with SHA-256, r "
        "and s, of these lines, without a newline at the end: `sluice-key-1`, the Host header, "
        "BOOT, ID, the method, the target with its query, BODY. Both are in hexadecimal digits. "
        "Another start of the daemon has another BOOT: it refuses the request with 401, and its "
        "header `X-Sluice-Boot` has the new one.",
    .params = PARAMS(PARAM(TEXT, BODY, "code", .text = "what stands behind `#t=` in the link",
                           .required = true, .min = 1, .max = 128),
                     PARAM(TEXT, BODY, "key",
                           .text = "the public key of the page: an uncompressed point of P-256 in "
                                   "hexadecimal digits; without it the session gets a token",
                           .min = 1, .max = 2 * ACCESS_KEY_SIZE)),
    .answers =
        ANSWERS({ "token", T_TEXT | T_NULL,
                  "for `Authorization: Bearer`; null if the session has a key", "sl_k3f9x2m7aq_…" },
                { "id", T_TEXT, "its id", "k3f9x2m7aq" },
                { "boot", T_TEXT, "this start of the daemon, for signatures", "q3vZbW0m…" },
                { "scope", T_WORD, "what it may do", &words_scope },
                { "expires_at", T_TIME, "until when it is good" }),
    OP_WRITES(READ, NONE, run_open),
    .open = true,
    .gives_token = true,
    .finish = finish_open,
    .replay = replay_open,
};
