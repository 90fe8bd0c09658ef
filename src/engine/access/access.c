/* access.c: see access.h. There are few tokens, so lookup is linear. Each is one note, `access:ID`,
 * whose text is a line of words: scope, type, hash or key, three times, name. The last use is
 * written at most once a minute per token, so that a page that polls every second costs no
 * commits. */
#include "engine/access/access_internal.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/json_write.h"
#include "base/number.h"
#include "base/sha256.h"
#include "engine/engine_internal.h"
#include "engine/note.h"
#include "os/random.h"

#define NOTE         "access:"
#define PORT_NOTE    "page_port"
#define PREFIX       "sl_"
#define SECRET_BYTES 32u
#define USED_EVERY   MINUTES(1)
#define PROOF_MAX    (2 * ACCESS_KEY_SIZE)

struct token {
    struct engine_access view;
    uint8_t hash[SHA256_SIZE];
    time_ms used_stored; /* as stored */
};

struct accesses {
    struct engine_request request; /* must be first: cast back from it */
    LIST(struct token) tokens;
    struct engine_tcp_listener listener;
    char boot[ACCESS_SECRET_SIZE];
    unsigned page_port; /* where pages last came in; 0: none */
    bool is_queued;     /* the request */
};

PART_STATE(access, struct accesses, all_of)

static const char *const scope_names[ACCESS_SCOPE_MAX] = {
    [ACCESS_NONE] = "none",
    [ACCESS_READ] = "read",
    [ACCESS_SUBMIT] = "submit",
    [ACCESS_ADMIN] = "admin",
};

const char *access_scope_name(enum access_scope scope) {
    return scope_names[scope];
}

enum access_scope access_scope_find(const char *name) {
    for (enum access_scope scope = ACCESS_READ; scope < ACCESS_SCOPE_MAX; scope++)
        if (strcmp(scope_names[scope], name) == 0)
            return scope;
    return ACCESS_NONE;
}

bool access_name_is_valid(const char *name) {
    static const char letters[] =
        "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-";
    size_t length = strlen(name);
    return length > 0 && length <= ACCESS_NAME_MAX && strspn(name, letters) == length;
}

/* --- life ------------------------------------------------------------------------------------ */

/* Drops what came from rows. */
static void access_forget(struct engine *e) {
    for (size_t i = 0; i < all_of(e)->tokens.count; i++)
        free(all_of(e)->tokens.items[i].view.name);
    all_of(e)->tokens.count = 0;
    all_of(e)->page_port = 0;
}

static void access_free(struct engine *e) {
    access_forget(e);
    free(all_of(e)->tokens.items);
}

time_ms access_now(const struct engine *e) {
    return e->wall_at_start + (loop_now_steady(e->loop) - e->steady_at_start);
}

/* --- rows ------------------------------------------------------------------------------------ */

static void write_note(struct engine *e, struct token *token) {
    const struct engine_access *view = &token->view;
    char proof[PROOF_MAX + 1];
    if (view->has_key)
        number_hex_print(view->key, ACCESS_KEY_SIZE, proof);
    else
        sha256_hex(token->hash, proof);
    _cleanup_(freep) char *text =
        xasprintf("%s %s %s %" PRId64 " %" PRId64 " %" PRId64 " %s", access_scope_name(view->scope),
                  view->has_key   ? "key"
                  : view->session ? "session"
                                  : "token",
                  proof, view->created_at, view->expires_at, view->used_at, view->name);
    note_put(e, NOTE, view->id, text);
    token->used_stored = view->used_at;
    turn_wrote(e);
}

static bool load_port(struct engine *e, const struct note_row *row) {
    int64_t port = 0;
    const char *rest = note_key(row, PORT_NOTE);
    if (!rest || *rest)
        return false;
    if (number_parse_int(row->text, &port, NULL) == 0 && port > 0 && port <= UINT16_MAX)
        all_of(e)->page_port = (unsigned)port;
    return true;
}

/* An unreadable row is not a token and grants no access. */
static void access_load(struct engine *e, const struct note_row *row) {
    char scope[16], what[16], proof[PROOF_MAX + 1], name[ACCESS_NAME_MAX + 1];
    const char *id = note_key(row, NOTE);
    struct token token = { 0 };
    struct engine_access *view = &token.view;
    if (load_port(e, row) || !id || strlen(id) >= ACCESS_ID_SIZE
        || sscanf(row->text, "%15s %15s %130s %" SCNd64 " %" SCNd64 " %" SCNd64 " %64s", scope,
                  what, proof, &view->created_at, &view->expires_at, &view->used_at, name)
               != 7)
        return;
    view->scope = access_scope_find(scope);
    view->has_key = strcmp(what, "key") == 0;
    if (view->scope == ACCESS_NONE
        || !(view->has_key ? number_hex_parse(proof, view->key, ACCESS_KEY_SIZE)
                           : sha256_from_hex(proof, token.hash)))
        return;
    memcpy(view->id, id, strlen(id) + 1);
    view->session = view->has_key || strcmp(what, "session") == 0;
    view->name = xstrdup(name);
    token.used_stored = view->used_at;
    *LIST_ADD(&all_of(e)->tokens) = token;
}

static void remove_token(struct engine *e, size_t at) {
    struct accesses *a = all_of(e);
    struct token *token = &a->tokens.items[at];
    note_put(e, NOTE, token->view.id, NULL);
    turn_wrote(e);
    free(token->view.name);
    memmove(token, token + 1, (a->tokens.count - at - 1) * sizeof(*token));
    a->tokens.count--;
}

/* --- last use --------------------------------------------------------------------------------- */

static int write_used(struct engine *engine, struct engine_request *request) {
    struct accesses *a = (struct accesses *)request;
    for (size_t i = 0; i < a->tokens.count; i++)
        if (a->tokens.items[i].view.used_at >= a->tokens.items[i].used_stored + USED_EVERY)
            write_note(engine, &a->tokens.items[i]);
    return 0;
}

static void used_is_written(struct engine *engine, struct engine_request *request,
                            enum store_outcome outcome, const struct error *err) {
    (void)engine;
    (void)outcome; /* after a failed commit it is as stored */
    (void)err;
    ((struct accesses *)request)->is_queued = false;
}

static void access_init(struct engine *e) {
    all_of(e)->request.run = write_used;
    all_of(e)->request.done = used_is_written;
    access_make_secret(all_of(e)->boot);
}

static struct token *find_token(const struct engine *e, const char *id) {
    for (size_t i = 0; i < all_of(e)->tokens.count; i++)
        if (strcmp(all_of(e)->tokens.items[i].view.id, id) == 0)
            return &all_of(e)->tokens.items[i];
    return NULL;
}

void engine_use_access(struct engine *e, const char *id) {
    struct accesses *a = all_of(e);
    struct token *token = find_token(e, id);
    if (!token)
        return;
    token->view.used_at = access_now(e);
    if (a->is_queued || token->view.used_at < token->used_stored + USED_EVERY)
        return;
    a->is_queued = true;
    engine_request(e, &a->request);
}

/* --- reading --------------------------------------------------------------------------------- */

size_t engine_access_count(const struct engine *e) {
    return all_of(e)->tokens.count;
}

const struct engine_access *engine_access_at(const struct engine *e, size_t index) {
    return &all_of(e)->tokens.items[index].view;
}

time_ms engine_access_left(const struct engine *e, const struct engine_access *access) {
    return access->expires_at == TIME_NEVER ? TIME_NEVER
                                            : time_max(0, access->expires_at - access_now(e));
}

const struct engine_access *engine_access_named(const struct engine *e, const char *name) {
    for (size_t i = 0; i < engine_access_count(e); i++) {
        const struct engine_access *view = engine_access_at(e, i);
        if (strcmp(view->id, name) == 0 || (!view->session && strcmp(view->name, name) == 0))
            return view;
    }
    return NULL;
}

const struct engine_access *engine_find_access(const struct engine *e, const char *token) {
    uint8_t hash[SHA256_SIZE];
    const struct engine_access *found = NULL;
    if (strlen(token) != ACCESS_TOKEN_SIZE - 1 || strncmp(token, PREFIX, strlen(PREFIX)) != 0)
        return NULL;
    const char *id = token + strlen(PREFIX), *secret = id + ACCESS_ID_SIZE;
    if (secret[-1] != '_')
        return NULL;
    sha256_of(secret, strlen(secret), hash);
    for (size_t i = 0; i < engine_access_count(e); i++) {
        const struct token *known = &all_of(e)->tokens.items[i];
        if (!known->view.has_key && strncmp(known->view.id, id, ACCESS_ID_SIZE - 1) == 0
            && sha256_same(known->hash, hash) && engine_access_left(e, &known->view) > 0)
            found = &known->view;
    }
    return found;
}

const struct engine_access *engine_find_page(const struct engine *e, const char *id) {
    const struct token *token = find_token(e, id);
    return token && token->view.has_key && engine_access_left(e, &token->view) > 0 ? &token->view
                                                                                   : NULL;
}

const char *engine_boot(const struct engine *e) {
    return all_of(e)->boot;
}

/* --- creating -------------------------------------------------------------------------------- */

void access_make_secret(char ret[ACCESS_SECRET_SIZE]) {
    static const char letters[] =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
    uint8_t bytes[SECRET_BYTES + 1] = { 0 };
    random_bytes(bytes, SECRET_BYTES);
    for (size_t i = 0, out = 0; i < SECRET_BYTES; i += 3) {
        uint32_t part = (uint32_t)bytes[i] << 16 | (uint32_t)bytes[i + 1] << 8
                        | (i + 2 < SECRET_BYTES ? bytes[i + 2] : 0u);
        for (unsigned shift = 18; out < ACCESS_SECRET_SIZE - 1; shift -= 6) {
            ret[out++] = letters[part >> shift & 63];
            if (shift == 0)
                break;
        }
    }
    ret[ACCESS_SECRET_SIZE - 1] = '\0';
    explicit_bzero(bytes, sizeof(bytes));
}

static void make_id(char ret[ACCESS_ID_SIZE]) {
    static const char letters[] = "abcdefghijklmnopqrstuvwxyz234567";
    uint8_t bytes[ACCESS_ID_SIZE - 1];
    random_bytes(bytes, sizeof(bytes));
    for (size_t i = 0; i < sizeof(bytes); i++)
        ret[i] = letters[bytes[i] & 31];
    ret[ACCESS_ID_SIZE - 1] = '\0';
}

void access_make_token(char ret[ACCESS_TOKEN_SIZE]) {
    char id[ACCESS_ID_SIZE], secret[ACCESS_SECRET_SIZE];
    make_id(id);
    access_make_secret(secret);
    (void)snprintf(ret, ACCESS_TOKEN_SIZE, PREFIX "%s_%s", id, secret);
    explicit_bzero(secret, sizeof(secret));
}

static void write_event(struct engine *e, const char *kind, const struct engine_access *view,
                        const char *by) {
    struct event_data data;
    struct json_writer *w = event_begin(&data);
    json_put_string(w, "id", view->id);
    json_put_string(w, "name", view->name);
    json_put_string(w, "scope", access_scope_name(view->scope));
    json_put_bool(w, "session", view->session);
    put_text(w, "by", by);
    event_end(e, &data, kind, 0, 0);
}

/* Removes expired tokens and, if there are too many sessions, the least recently used one. */
static void make_room(struct engine *e) {
    struct accesses *a = all_of(e);
    size_t sessions = 0;
    for (size_t i = a->tokens.count; i-- > 0;)
        if (engine_access_left(e, &a->tokens.items[i].view) == 0)
            remove_token(e, i);
    const struct engine_access *oldest = NULL;
    for (size_t i = 0; i < a->tokens.count; i++) {
        const struct engine_access *view = &a->tokens.items[i].view;
        if (!view->session)
            continue;
        sessions++;
        if (!oldest
            || time_max(view->used_at, view->created_at)
                   < time_max(oldest->used_at, oldest->created_at))
            oldest = view;
    }
    if (sessions >= ACCESS_SESSIONS_MAX)
        engine_end_access(e, oldest->id, NULL);
}

int engine_add_access(struct engine *e, const struct engine_access *draft,
                      char ret_token[ACCESS_TOKEN_SIZE], char ret_id[ACCESS_ID_SIZE],
                      struct error *err) {
    char secret[ACCESS_SECRET_SIZE];
    struct token token = { .view = *draft };
    const struct engine_access *other = engine_access_named(e, draft->name);
    size_t count = 0;
    for (size_t i = 0; i < engine_access_count(e); i++)
        count += !engine_access_at(e, i)->session;
    if (!draft->session && other && engine_access_left(e, other) > 0)
        return error_set(err, -EEXIST,
                         "there is a token '%s' already: choose another name, or revoke it",
                         draft->name);
    if (!draft->session && count >= ACCESS_MAX)
        return error_set(err, -ENOSPC, "there are %u tokens already: revoke some", ACCESS_MAX);
    make_room(e);
    do
        make_id(token.view.id);
    while (engine_access_named(e, token.view.id));
    ret_token[0] = '\0';
    if (!draft->has_key) {
        access_make_secret(secret);
        sha256_of(secret, strlen(secret), token.hash);
        (void)snprintf(ret_token, ACCESS_TOKEN_SIZE, PREFIX "%s_%s", token.view.id, secret);
        explicit_bzero(secret, sizeof(secret));
    }
    token.view.name = xstrdup(draft->name);
    token.view.created_at = access_now(e);
    token.view.used_at = 0;
    memcpy(ret_id, token.view.id, ACCESS_ID_SIZE);
    struct token *added = LIST_ADD(&all_of(e)->tokens);
    *added = token;
    write_note(e, added);
    write_event(e, "token.added", &added->view, NULL);
    return 0;
}

void engine_end_access(struct engine *e, const char *id, const char *by) {
    struct token *token = find_token(e, id);
    if (!token)
        return;
    write_event(e, "token.ended", &token->view, by);
    remove_token(e, (size_t)(token - all_of(e)->tokens.items));
}

/* --- TCP listener ----------------------------------------------------------------------------- */

void engine_set_tcp_listener(struct engine *e, const struct engine_tcp_listener *listener) {
    all_of(e)->listener = *listener;
}

const char *engine_tcp_listener_url(const struct engine *e) {
    const struct engine_tcp_listener *listener = &all_of(e)->listener;
    return listener->url ? listener->url(listener->ctx) : NULL;
}

const char *engine_tcp_listener_problem(const struct engine *e) {
    const struct engine_tcp_listener *listener = &all_of(e)->listener;
    return listener->problem ? listener->problem(listener->ctx) : NULL;
}

int engine_open_tcp_listener(struct engine *e, unsigned port, struct error *err) {
    const struct engine_tcp_listener *listener = &all_of(e)->listener;
    if (!listener->open)
        return error_set(err, -ENOTSUP, "this daemon does not listen on TCP");
    return listener->open(listener->ctx, port, err);
}

/* --- the port of the pages -------------------------------------------------------------------- */

void engine_remember_port(struct engine *e, unsigned port) {
    char text[16];
    if (port == all_of(e)->page_port)
        return;
    all_of(e)->page_port = port;
    (void)snprintf(text, sizeof(text), "%u", port);
    note_put(e, PORT_NOTE, "", text);
    turn_wrote(e);
}

unsigned engine_remembered_port(const struct engine *e) {
    return all_of(e)->page_port;
}

bool engine_has_pages(const struct engine *e) {
    for (size_t i = 0; i < engine_access_count(e); i++) {
        const struct engine_access *view = engine_access_at(e, i);
        if (view->session && engine_access_left(e, view) > 0)
            return true;
    }
    return false;
}

const struct engine_part access_part = {
    .state_size = sizeof(struct accesses),
    .at = { [STEP_INIT] = access_init, [STEP_UNLOAD] = access_forget, [STEP_FREE] = access_free },
    .load_note = access_load,
};
