/* op.h: the table of operations.
 *
 * HTTP routes, MCP tools, docs/reference/api.md and docs/reference/openapi.json are derived from
 * the table (op_table). Parameters are checked against the rows of the operation before its
 * function is called.
 *
 * Adding an operation
 *   1. src/ops/op_NAME.c     exports `const struct op op_NAME`, with the shape of its answer
 *                            (shape.h); a family of operations shares a file
 *   2. src/ops/op_table.c    one line, by name
 *   3. src/ops/meson.build   the file
 *   4. tests/ops/            a valid call, and an invalid one per parameter
 *   5. `make docs`           regenerates docs/reference/api.md, docs/reference/openapi.json and
 *                            web/src/types.ts
 * Tests compare the documents with the table, try invalid input on every operation, compare every
 * answer with its shape, and require one successful answer of each. */
#pragma once

#include <jansson.h>
#include <stdbool.h>

#include "base/error.h"
#include "engine/access.h"
#include "engine/engine.h"
#include "ops/shape.h"
#include "taskfile/task_member.h"

enum op_type {
    OP_TEXT,
    OP_NUMBER, /* integer */
    OP_DECIMAL,
    OP_BOOLEAN,
    OP_LIST, /* of texts */
    OP_OBJECT,
    OP_ARRAY,
    OP_VALUE,    /* of a setting: a string, number or boolean, as in the configuration */
    OP_SETTINGS, /* such values by the names of settings under `settings` */
    OP_TYPE_MAX,
};
enum op_place { OP_IN_PATH, OP_IN_QUERY, OP_IN_BODY, OP_PLACE_MAX };
enum op_right { OP_READ, OP_SUBMIT, OP_ADMIN, OP_RUN /* a run, about itself */, OP_RIGHT_MAX };
/* What the token of a run gives access to (rights.h). */
enum op_reach {
    OP_REACH_NONE,        /* owner only */
    OP_REACH_SELF,        /* `task` is its own */
    OP_REACH_SUBTREE,     /* `id` is its own or a descendant */
    OP_REACH_LIST,        /* shows no more than that; also for `parent` and `task` */
    OP_REACH_DESCENDANTS, /* `tasks` are descendants */
    OP_REACH_CHILDREN,    /* adds descendants */
    OP_REACH_PROJECT,     /* `name` is its project */
    OP_REACH_ALL,         /* harmless */
    OP_REACH_MAX,
};

struct op_param {
    const char *name; /* NULL ends a list */
    enum op_type type;
    enum op_place place;
    bool required;
    bool lines;       /* may have several lines, tabs and control characters */
    int64_t min, max; /* of numbers, and the length of texts and lists; max 0: the type's own */
    const char *const *choices; /* of texts; ends with NULL */
    const char *settings;       /* with OP_SETTINGS: "projects.P." */
    /* A number that may also be a string: MEMBER_SPAN (30m), MEMBER_MOMENT (18:30) or MEMBER_MONEY
     * ($2.50); 0: none. */
    enum task_member_kind spelled;
    const char *text; /* lower case, no full stop */
};

/* How the answer is sent. */
enum op_answer_kind {
    OP_ANSWER_JSON,
    OP_ANSWER_TEXT,   /* /metrics; api/ adds its own */
    OP_ANSWER_EVENTS, /* JSON, or a stream of events if the client accepts it; sent by api/ */
    OP_ANSWER_LOG,    /* bytes of a file, optionally followed; sent by api/ */
    OP_ANSWER_FILE,   /* JSON in a file, which may be large; sent by api/ */
    OP_ANSWER_PAGE,   /* HTML; over TCP errors are pages, too (op_print_error_page) */
};

struct op_call;

struct op {
    const char *name;    /* "task.cancel" */
    const char *method;  /* "GET" or "POST" */
    const char *path;    /* "/v1/tasks/{id}/why" */
    const char *summary; /* one line, lower case, no full stop */
    const char *text;    /* details, or NULL */
    const struct op_param *params;
    const struct shape *answers; /* NULL: the answer is not JSON of ours */
    enum op_right right;
    enum op_reach reach;
    bool writes; /* takes an idempotency key */
    /* Also for tasks that a run may import (rights.h), whatever `reach` is. */
    bool imports;
    bool local; /* never over TCP, whatever the token */
    bool open;  /* over TCP without a token */
    bool
        form; /* for a page that may be anywhere: the body may be a form, and any local user may send it */
    /* Writes, and takes effect even if it cannot be stored: it may be what fixes the store. */
    bool counts;
    bool gives_token; /* the answer contains a token for the caller: nothing is redacted */
    enum op_answer_kind answer;
    /* Called inside a turn. 0, or <0 with a message in call->err; the errno becomes the status. A
     * function that needs the store returns op_query (op_internal.h), which continues with the answer
     * in this turn or a later one. A write runs before the turn decides, and must have changed
     * nothing when it returns <0. A read runs after the turn's commit and shows only committed
     * state. */
    int (*run)(struct op_call *call);
    /* For writes, or NULL: fills the answer after the turn has decided. The commit may still be in
     * progress; the answer is sent only after it. */
    void (*fill)(struct op_call *call);
    void (*finish)(struct op_call *call);
    /* With `fill` or `finish`: produces the answer from call->memo, which `run` has filled, in
     * another turn or process. Without: call->answer is stored for the key. */
    int (*replay)(struct op_call *call, const char *memo);
};

struct op_run {
    char token[40]; /* "": the caller is not a run; set by the front end */
    task_id task;   /* resolved when the call begins */
    uint32_t attempt;
};

/* The client of a TCP connection, found by the front end (engine_find_access). */
struct op_access {
    bool remote; /* over TCP; otherwise the rest is unused */
    char id[ACCESS_ID_SIZE];
    enum access_scope scope; /* ACCESS_NONE: no token was sent */
};

/* The peer of a TCP connection. */
enum op_peer {
    OP_PEER_UNKNOWN,   /* not known */
    OP_PEER_RUN,       /* a process of a run */
    OP_PEER_ELSEWHERE, /* another machine, or a program that hides its descriptors, like sshd */
    OP_PEER_PROGRAM,   /* a program of this machine that does not belong to a run */
};

/* How a log is sent. */
enum op_log_format {
    OP_LOG_RAW,
    OP_LOG_TEXT,    /* events of agents as a transcript */
    OP_LOG_ENTRIES, /* one JSON object per line: entries of a transcript, and pieces of other output */
    OP_LOG_PIECES, /* the same, without transcript */
};

struct op_call {
    const struct op *op;
    struct engine *engine;
    json_t *params;       /* checked; owned by the call */
    const char *key;      /* idempotency key, or NULL */
    struct strbuf answer; /* JSON text without a final newline; of an error too */
    struct strbuf memo;   /* see op.replay */
    int status;           /* HTTP; set when it is answered */
    struct error err;     /* code 0: success */
    int64_t index;        /* with an error: index of the invalid list entry; -1: none */
    bool replayed;        /* the key was used before, and this is its stored answer */
    bool stops_daemon;    /* the daemon shall exit after this answer */
    /* Set by the front end, or NULL; freed with the call. */
    char *caller; /* the calling run, "web-17.2"; with a token derived, not trusted */
    char *user;   /* the calling user, "ann" */
    struct op_run run;
    struct op_access access;
    /* Set by the front end, or NULL: finds the TCP peer. Scans all processes, so call it only when
     * it matters. */
    enum op_peer (*find_peer)(const struct op_call *call);
    /* OP_ANSWER_LOG, OP_ANSWER_FILE: what to send. */
    struct {
        char *path;
        uint64_t offset;
        bool follow;
        task_id task;
        uint32_t attempt;
        /* Adapter that wrote the events (engine_run_adapter); NULL: not events. */
        const char *adapter;
        enum op_log_format format;
        /* `path` is out.log, merged with err.log beside it in the order of this file; NULL: not
         * merged. `tail`: only this many bytes of the end of both; 0: from the offsets. */
        char *order;
        uint64_t err_offset, tail;
    } log;
    /* Set by the front end: called once, after the commit. Free the call there with
     * op_call_free. */
    void (*answered)(struct op_call *call, void *ctx);
    void *ctx;
    struct op_private *own; /* private to ops/ */
};

#define OP_LINK_PATH "/answer/" /* of answer links (op_links.c) */

extern const struct op *const op_table[]; /* by name, NULL at the end */
const struct op *op_find(const char *name);
/* Fills the path's parameters into a new object. NULL: no such path; *ret_allowed: the allowed
 * method, if only the method was wrong. */
const struct op *op_route(const char *method, const char *path, json_t **ret_params,
                          const char **ret_allowed);
/* Adds the parameters of a query string, or of a body. */
int op_take_query(const struct op *op, const char *query, json_t *params, struct error *err);
int op_take_body(const struct op *op, const char *body, size_t size, json_t *params,
                 struct error *err);
/* The body of a form of a page: application/x-www-form-urlencoded. */
int op_take_form(const struct op *op, const char *body, size_t size, json_t *params,
                 struct error *err);
int op_check(const struct op *op, json_t *params, struct error *err);

/* `key`: copied; 8 to 128 printable characters (op_key_is_valid), or NULL. Ignored by reads. */
struct op_call *op_call_new(const struct op *op, struct engine *engine, json_t *params /* taken */,
                            const char *key);
bool op_key_is_valid(const char *key);
void op_call_free(struct op_call *call);
void op_submit(struct op_call *call);
/* May the holder of this token see the task? 0: no task. Always true without a token. */
bool op_run_sees(const struct engine *engine, const struct op_run *run, task_id task);
/* The client disconnected: `answered` is not called; the call frees itself. A write completes; a
 * read is dropped. */
void op_abandon(struct op_call *call);

/* HTTP status and code word of an error: -ENOENT → 404 "not_found". */
int op_error_status(int code);
const char *op_error_word(int code);
void op_print_error(const struct error *err, struct strbuf *out);
void op_print_error_page(const struct error *err, struct strbuf *out);

/* {"seq","at","kind","task","attempt","data"}: the JSON of an event in all front ends. */
void op_print_event(const struct engine *engine, const struct event_row *event, struct strbuf *out);

/* [{"name","there","instead","fix"}]: the kernel features available to a daemon with its runs in
 * `folder`, which need not exist. Leaves no files behind. */
void op_print_kernel(const char *folder, struct strbuf *out);

struct engine_spawn;
/* For engine_set_spawner; `ctx` is not used. */
int spawn_tasks(void *ctx, struct engine *engine, const struct engine_spawn *spawn,
                struct error *err);

struct engine_firing;
/* For engine_set_firing; `ctx` is not used. */
int fire_tasks(void *ctx, struct engine *engine, const struct engine_firing *firing,
               struct error *err);

/* From now on, compares every answer with its shape and writes the results to this file
 * (shape_report). */
void op_check_answers(int fd);

/* docs/reference/api.md, docs/reference/members.md, docs/reference/openapi.json, web/src/types.ts,
 * web/src/states.css and web/src/members.ts. */
void op_print_markdown(struct strbuf *out);
void op_print_typescript(struct strbuf *out);
void op_print_css(struct strbuf *out);
void op_print_members(struct strbuf *out);
void op_print_events(struct strbuf *out);
void op_print_form(struct strbuf *out);
void op_print_openapi(struct strbuf *out, const char *version);
/* The table as C (src/mcp/catalog.h), for programs that do not link the operations. */
void op_print_catalog(struct strbuf *out);
