/* access.h: API tokens for clients of the TCP listener.
 *
 * A token is `sl_ID_SECRET`: ID finds its row, and the SHA-256 of SECRET (256 random bits) must
 * match the stored hash. The secret is shown once, when the token is created; the store and its
 * backups hold only the hash. A token is valid until it is revoked or expires, across restarts.
 *
 * A session is what a page of the dashboard got for a one-time code: a public key, whose private
 * half the browser keeps (api/page_key.h), or a token for a client that asks for one. ops/access.h
 * decides which rights a scope grants. Stored as one note per token. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"
#include "base/time_ms.h"

#define ACCESS_ID_SIZE      11u /* with the NUL */
#define ACCESS_TOKEN_SIZE   58u /* "sl_", id, "_", 43 characters, NUL */
#define ACCESS_SECRET_SIZE  44u /* 43 characters of base64url and a NUL */
#define ACCESS_KEY_SIZE     65u /* a point of P-256: 4, x, y */
#define ACCESS_NAME_MAX     64u
#define ACCESS_MAX          256u /* not counting sessions */
#define ACCESS_SESSIONS_MAX 64u  /* one more evicts the least recently used session */

struct engine;

enum access_scope {
    ACCESS_NONE,
    ACCESS_READ,
    ACCESS_SUBMIT, /* includes read */
    ACCESS_ADMIN,  /* includes submit */
    ACCESS_SCOPE_MAX,
};
const char *access_scope_name(enum access_scope scope);
enum access_scope access_scope_find(const char *name); /* ACCESS_NONE: unknown */
/* 1 to ACCESS_NAME_MAX letters, digits and ._- */
bool access_name_is_valid(const char *name);

struct engine_access {
    char id[ACCESS_ID_SIZE];
    char *name;
    enum access_scope scope;
    bool session;                 /* belongs to a dashboard page */
    bool has_key;                 /* of a session: it has no token, and signs its requests */
    uint8_t key[ACCESS_KEY_SIZE]; /* with has_key */
    time_ms created_at;           /* engine clock */
    time_ms expires_at;           /* TIME_NEVER: does not expire */
    time_ms used_at;              /* 0: never; exact within a minute after a crash */
};

/* --- at any time ----------------------------------------------------------------------------- */

size_t engine_access_count(const struct engine *engine);
const struct engine_access *engine_access_at(const struct engine *engine, size_t index);
/* By id or, except for sessions, by name; includes expired tokens. NULL: not found. */
const struct engine_access *engine_access_named(const struct engine *engine, const char *name);
/* The owner of a valid token, or NULL. A wrong secret takes as long as the right one. */
const struct engine_access *engine_find_access(const struct engine *engine, const char *token);
/* A valid session with this id that signs its requests, or NULL. */
const struct engine_access *engine_find_page(const struct engine *engine, const char *id);
/* Random, in the form of a secret: a new one for each start of the daemon. Not a secret. */
const char *engine_boot(const struct engine *engine);
/* Records a use. Written with a later turn. */
void engine_use_access(struct engine *engine, const char *id);
/* The remaining lifetime; TIME_NEVER: unlimited. */
time_ms engine_access_left(const struct engine *engine, const struct engine_access *access);

/* --- inside a turn --------------------------------------------------------------------------- */

/* Reads name, scope, session, key and expires_at of `draft`. -EEXIST: the name is taken (sessions
 * may share one); -ENOSPC: ACCESS_MAX is reached. Only the caller holds the token: wipe it. It is ""
 * with a key. */
int engine_add_access(struct engine *engine, const struct engine_access *draft,
                      char ret_token[ACCESS_TOKEN_SIZE], char ret_id[ACCESS_ID_SIZE],
                      struct error *err);
/* By id. The event `token.ended` lets servers close connections that use it. */
void engine_end_access(struct engine *engine, const char *id, const char *by);

/* --- inside the engine ------------------------------------------------------------------------ */

/* 256 random bits in the form of a token, which redaction finds in every text; not a token. */
void access_make_token(char ret[ACCESS_TOKEN_SIZE]);

/* --- TCP listener ----------------------------------------------------------------------------- */

/* Provided by the daemon. */
struct engine_tcp_listener {
    /* "http://127.0.0.1:7878"; NULL: not listening. */
    const char *(*url)(void *ctx);
    /* Why the configured listener is not open; NULL: no problem. */
    const char *(*problem)(void *ctx);
    /* Listens on loopback at this port (0: any) until the daemon ends. Only if not listening. */
    int (*open)(void *ctx, unsigned port, struct error *err);
    void *ctx;
};
void engine_set_tcp_listener(struct engine *engine, const struct engine_tcp_listener *listener);
const char *engine_tcp_listener_url(const struct engine *engine);     /* NULL: not listening */
const char *engine_tcp_listener_problem(const struct engine *engine); /* NULL: none */
int engine_open_tcp_listener(struct engine *engine, unsigned port, struct error *err);

/* The port that pages came to, for the next daemon: their address is part of their identity, and
 * they find the daemon there again. 0: none. engine_remember_port: inside a turn. */
unsigned engine_remembered_port(const struct engine *engine);
void engine_remember_port(struct engine *engine, unsigned port);
/* Is a page signed in? */
bool engine_has_pages(const struct engine *engine);

/* --- one-time codes --------------------------------------------------------------------------- */

/* One-time codes with which a page in the owner's browser gets a token.
 *
 * A code is valid for one use within PAGE_CODE_LIFE and is kept in memory only. The browser is not
 * given the code as an argument, because every process of this user can read those. It gets a file
 * that redirects to the link: mode 0600, in its own folder in the home, removed with its code. */

#define PAGE_CODE_SIZE ACCESS_SECRET_SIZE
#define PAGE_CODE_LIFE SECONDS(60)

/* A new code for pages with this scope; returns when it expires. */
time_ms engine_make_code(struct engine *engine, enum access_scope scope,
                         char ret_code[PAGE_CODE_SIZE]);
/* Writes the file that redirects to `link`, which contains this code. *ret_path is valid as long as
 * the code. Such a code is for a program of this machine. */
int engine_write_code_file(struct engine *engine, const char *code, const char *link,
                           const char **ret_path, struct error *err);

struct page_code {
    enum access_scope scope; /* ACCESS_NONE: unknown, used, or expired */
    bool has_file;
};
/* Uses up the code and removes its file. */
struct page_code engine_take_code(struct engine *engine, const char *code);
