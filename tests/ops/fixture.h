/* fixture.h: an engine with its operations, asked as a client would ask.
 *
 *     _cleanup_(ops_close) struct ops o = { 0 };
 *     ops_open(&o, NULL, NULL);
 *     struct reply r = ops_ask(&o, "POST", "/v1/tasks", "{\"tasks\":[…]}", NULL);
 *     … assert_int_equal(r.status, 200) … reply_text(&r, "tasks.0.id") …
 *     reply_finish(&r);
 *
 * Nothing runs, and no time passes but while something is computed aside (the forecast of `why`). */
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

/* `config`: YAML put behind what every test has (fixture.c), or NULL. */
void ops_open(struct ops *o, enum ops_store store, const char *config);
void ops_close(struct ops *o);
void ops_restart(struct ops *o); /* a new life of the daemon on the same home; SQLite only */
void ops_turn(struct ops *o);

/* Who is at the other end of what ops_ask_by asks; OP_PEER_PROGRAM until a test says otherwise. */
extern enum op_peer ops_peer;

struct reply {
    int status;
    bool replayed, answered, stops_daemon;
    char *text;
    json_t *json;         /* NULL: it is none */
    struct op_call *call; /* while it is not answered */
    struct loop *waiting; /* ended by the answer */
};
void reply_finish(struct reply *r);
/* Fails unless it has this status and, if `has` is not NULL, this text in it. Finishes it. */
void reply_expect(struct reply r, int status, const char *has);

/* Path with query. `body` NULL: none. */
struct reply ops_ask(struct ops *o, const char *method, const char *path, const char *body,
                     const char *key);
/* The same with a body that may contain anything. */
struct reply ops_ask_bytes(struct ops *o, const char *method, const char *path, const char *body,
                           size_t size, const char *key);
/* The same of a run, by its token. */
struct reply ops_ask_as(struct ops *o, const char *token, const char *method, const char *path,
                        const char *body);
struct reply ops_ask_as_key(struct ops *o, const char *token, const char *path, const char *body,
                            const char *key);
void ops_begin_as(struct ops *o, const char *token, const char *path, const char *body,
                  struct reply *reply);
/* The same by TCP, with a token of this scope, whose id is "scopescope"; ACCESS_NONE: without one. */
struct reply ops_ask_by(struct ops *o, enum access_scope scope, const char *path, const char *body,
                        const char *key);
/* Without the turn: several of these are answered by one. */
void ops_begin(struct ops *o, const char *path, const char *body, const char *key,
               struct reply *reply);

/* Until it is answered: it waits for something that is made aside. */
void ops_wait(struct ops *o, struct reply *reply);
void ops_begin_get(struct ops *o, const char *path, struct reply *reply);

/* "tasks.0.id": members and positions. Fails the test when it is not there. */
const json_t *reply_at(const struct reply *r, const char *path);
const char *reply_text(const struct reply *r, const char *path);
int64_t reply_int(const struct reply *r, const char *path);
bool reply_bool(const struct reply *r, const char *path);
bool reply_is_null(const struct reply *r, const char *path);
size_t reply_count(const struct reply *r, const char *path);

/* What is asked; POST when it has a body, else GET. */
struct question {
    const char *method, *path, *body, *key;
    const char *token;              /* of the run that asks; NULL: nobody's */
    const struct op_access *access; /* of who asks by TCP; NULL: nobody does */
    size_t size;                    /* of the body; 0: a text */
    const char *file;
    int line; /* of the test */
};

/* Asks and fails the test with the answer unless it has this status; the answer is dropped. */
#define ops_expect(o, status, method_, path_, body_)                                               \
    ops_check((o), (status), NULL,                                                                 \
              (struct question){ .method = (method_),                                              \
                                 .path = (path_),                                                  \
                                 .body = (body_),                                                  \
                                 .file = __FILE__,                                                 \
                                 .line = __LINE__ })
/* As above, and the sentence is this one. */
#define ops_refused(o, status, path_, body_, sentence)                                             \
    ops_check((o), (status), (sentence),                                                           \
              (struct question){ .method = (body_) ? "POST" : "GET",                               \
                                 .path = (path_),                                                  \
                                 .body = (body_),                                                  \
                                 .file = __FILE__,                                                 \
                                 .line = __LINE__ })
void ops_check(struct ops *o, int status, const char *sentence, struct question question);

/* Adds one task ("argv":["true"] and these members, with a comma at their end) and returns its number. */
task_id ops_add(struct ops *o, const char *members);

/* Everything that a refused request must leave as it was. */
struct ops_trace {
    uint64_t by_state[TASK_STATE_MAX];
    uint64_t rows, last_event, last_task, projects, groups, paused;
};
void ops_trace(struct ops *o, struct ops_trace *ret);
