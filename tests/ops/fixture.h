/* fixture.h: an engine with its operations, called as a client would call them.
 *
 *     _cleanup_(ops_close) struct ops o = { 0 };
 *     ops_open(&o, NULL, NULL);
 *     struct reply r = ops_ask(&o, "POST", "/v1/tasks", "{\"tasks\":[…]}", NULL);
 *     … assert_int_equal(r.status, 200) … reply_text(&r, "tasks.0.id") …
 *     reply_finish(&r);
 *
 * No process runs, and no time passes, except while a helper process computes an answer (the forecast of `why`). */
#pragma once

#include <jansson.h>

#include "engine/engine.h"
#include "ops/op.h"

struct ops {
    char home[64];
    char config_file[80];
    char url[80];
    struct loop *loop;
    struct bus_poster *bus;
    struct store *store;
    struct engine *engine;
};

enum ops_store { OPS_MEMORY, OPS_SQLITE };

/* `config`: YAML that is appended to the configuration of all tests (fixture.c), or NULL. */
void ops_open(struct ops *o, enum ops_store store, const char *config);
void ops_close(struct ops *o);
void ops_restart(struct ops *o); /* restarts the daemon on the same home; SQLite only */
void ops_turn(struct ops *o);

/* The peer of requests made with ops_ask_by; OP_PEER_PROGRAM by default. */
extern enum op_peer ops_peer;

struct reply {
    int status;
    bool replayed, answered, stops_daemon;
    char *text;
    json_t *json;         /* NULL: the body is not JSON */
    struct op_call *call; /* until it is answered */
    struct loop *waiting; /* stopped by the answer */
};
void reply_finish(struct reply *r);
/* Fails unless the reply has this status and contains `has` (if not NULL). Frees the reply. */
void reply_expect(struct reply r, int status, const char *has);

/* `path` includes the query. `body` may be NULL. */
struct reply ops_ask(struct ops *o, const char *method, const char *path, const char *body,
                     const char *key);
/* The same with a body that may contain any bytes. */
struct reply ops_ask_bytes(struct ops *o, const char *method, const char *path, const char *body,
                           size_t size, const char *key);
/* The same as a run, with its token. */
struct reply ops_ask_as(struct ops *o, const char *token, const char *method, const char *path,
                        const char *body);
struct reply ops_ask_as_key(struct ops *o, const char *token, const char *path, const char *body,
                            const char *key);
void ops_begin_as(struct ops *o, const char *token, const char *path, const char *body,
                  struct reply *reply);
void ops_begin_keyed(struct ops *o, const char *token, const char *path, const char *body,
                     const char *key, struct reply *reply);
/* The same over TCP, with a token of this scope, whose id is "scopescope"; ACCESS_NONE: without a token. */
struct reply ops_ask_by(struct ops *o, enum access_scope scope, const char *path, const char *body,
                        const char *key);
/* Does not run a turn: one turn can answer several of these. */
void ops_begin(struct ops *o, const char *path, const char *body, const char *key,
               struct reply *reply);

/* Runs the loop until a reply that depends on a helper process is answered. */
void ops_wait(struct ops *o, struct reply *reply);
void ops_begin_get(struct ops *o, const char *path, struct reply *reply);

/* "tasks.0.id": members and positions. Fails the test if the member does not exist. */
const json_t *reply_at(const struct reply *r, const char *path);
const char *reply_text(const struct reply *r, const char *path);
int64_t reply_int(const struct reply *r, const char *path);
bool reply_bool(const struct reply *r, const char *path);
bool reply_is_null(const struct reply *r, const char *path);
size_t reply_count(const struct reply *r, const char *path);

/* A request. The method is POST with a body, otherwise GET. */
struct question {
    const char *method, *path, *body, *key;
    const char *token;              /* of the run that sends it; NULL: not sent by a run */
    const struct op_access *access; /* of a client over TCP; NULL: not over TCP */
    size_t size;                    /* of the body; 0: strlen */
    const char *file;
    int line; /* in the test */
};

/* Sends a request, and fails the test with the answer unless it has this status. Frees the answer. */
#define ops_expect(o, status, method_, path_, body_)                                               \
    ops_check((o), (status), NULL,                                                                 \
              (struct question){ .method = (method_),                                              \
                                 .path = (path_),                                                  \
                                 .body = (body_),                                                  \
                                 .file = __FILE__,                                                 \
                                 .line = __LINE__ })
/* The same, and compares the error message. */
#define ops_refused(o, status, path_, body_, message)                                              \
    ops_check((o), (status), (message),                                                            \
              (struct question){ .method = (body_) ? "POST" : "GET",                               \
                                 .path = (path_),                                                  \
                                 .body = (body_),                                                  \
                                 .file = __FILE__,                                                 \
                                 .line = __LINE__ })
void ops_check(struct ops *o, int status, const char *message, struct question question);

/* Adds one task with "argv":["true"] and `members`, which end with a comma. Returns its number. */
task_id ops_add(struct ops *o, const char *members);

/* State that a refused request must not change. */
struct ops_trace {
    uint64_t by_state[TASK_STATE_MAX];
    uint64_t rows, last_event, last_task, projects, groups, paused;
};
void ops_trace(struct ops *o, struct ops_trace *ret);
