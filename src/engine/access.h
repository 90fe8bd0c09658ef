/* access.h: who may come in by TCP: tokens that people have.
 *
 * A token is `sl_ID_SECRET`: ID finds its row, and the SHA-256 of SECRET, 256 bits from the kernel, must be the
 * one that is kept. The secret is shown once, when the token is made; the store and its backups have the hash
 * alone. A token ends when it is revoked or expires, and outlives the daemon.
 *
 * A session is a token that a page got for a one-time code (page_code.h).
 *
 * Which rights a scope gives is decided elsewhere (ops/access.h). Kept as notes of the store, one for each token. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"
#include "base/sha256.h"
#include "base/time_ms.h"

#define ACCESS_ID_SIZE      11u /* with the NUL */
#define ACCESS_TOKEN_SIZE   58u /* "sl_", id, "_", 43 characters, NUL */
#define ACCESS_SECRET_SIZE  44u /* 43 characters of base64url and a NUL */
#define ACCESS_NAME_MAX     64u
#define ACCESS_MAX          256u /* tokens, without sessions */
#define ACCESS_SESSIONS_MAX 64u  /* one more ends the one that was not used for the longest time */

struct engine;
struct note_row;

enum access_scope {
    ACCESS_NONE,
    ACCESS_READ,
    ACCESS_SUBMIT, /* and read */
    ACCESS_ADMIN,  /* and submit */
    ACCESS_SCOPE_MAX,
};
const char *access_scope_name(enum access_scope scope);
enum access_scope access_scope_find(const char *name); /* ACCESS_NONE: there is none */
/* 1 to ACCESS_NAME_MAX letters, digits and ._- */
bool access_name_is_valid(const char *name);

struct engine_access {
    char id[ACCESS_ID_SIZE];
    char *name;
    enum access_scope scope;
    bool session;       /* of a page */
    time_ms created_at; /* by the clock of the engine, */
    time_ms expires_at; /* TIME_NEVER: it does not */
    time_ms used_at;    /* 0: never; exact within a minute after a crash */
};

/* --- at any time ----------------------------------------------------------------------------- */

size_t engine_access_count(const struct engine *engine);
const struct engine_access *engine_access_at(const struct engine *engine, size_t index);
/* By its id or, unless it is a session, its name; expired or not. NULL: there is none. */
const struct engine_access *engine_access_named(const struct engine *engine, const char *name);
/* Whose token this is; NULL: nobody's, any more. Takes as long for a wrong secret as for the right one. */
const struct engine_access *engine_find_access(const struct engine *engine, const char *token);
/* It was used now. Written with a later turn. */
void engine_use_access(struct engine *engine, const char *id);
/* How long it is good for from now on; TIME_NEVER: for ever. */
time_ms engine_access_left(const struct engine *engine, const struct engine_access *access);

/* --- inside a turn --------------------------------------------------------------------------- */

/* Of `draft` name, scope, session and expires_at count. -EEXIST: the name is taken (not of sessions, which may
 * share theirs); -ENOSPC: there are ACCESS_MAX. The token is in the caller's memory alone: wipe it. */
int engine_add_access(struct engine *engine, const struct engine_access *draft,
                      char ret_token[ACCESS_TOKEN_SIZE], char ret_id[ACCESS_ID_SIZE],
                      struct error *err);
/* By its id. The event `token.ended` tells those who have connections of it. */
void engine_end_access(struct engine *engine, const char *id, const char *by);

/* --- where they come in ------------------------------------------------------------------------ */

/* Given by whoever puts the daemon together. */
struct engine_tcp_listener {
    /* "http://127.0.0.1:7878"; NULL: nowhere. */
    const char *(*url)(void *ctx);
    /* Why nobody is let in although that was asked for, in one sentence; NULL: nothing is wrong. */
    const char *(*problem)(void *ctx);
    /* Lets clients of this machine in, at this port (0: any), until the daemon ends. Only when nobody is let in. */
    int (*open)(void *ctx, unsigned port, struct error *err);
    void *ctx;
};
void engine_set_tcp_listener(struct engine *engine, const struct engine_tcp_listener *entry);
const char *engine_tcp_listener_url(const struct engine *engine);     /* NULL: nowhere */
const char *engine_tcp_listener_problem(const struct engine *engine); /* NULL: none */
int engine_open_tcp_listener(struct engine *engine, unsigned port, struct error *err);

/* --- inside the engine ----------------------------------------------------------------------- */

/* The clock of the engine, now and not when its last turn was. */
time_ms access_now(const struct engine *e);
/* 32 random bytes as 43 characters. */
void access_make_secret(char ret[ACCESS_SECRET_SIZE]);
void access_hash(const char *text, uint8_t ret[SHA256_SIZE]);
