/* postgres_link.h: the location of a server, and a connection to it. Private to store/. */
#pragma once

#include <libpq-fe.h>

#include "os/loop.h"
#include "store/sql.h"

#define PG_OLDEST_SERVER 130000
#define PG_VALUES_MAX    (2 * SQL_COLUMNS_MAX) /* of one statement */

/* --- servers, schemas and locks of a URL ----------------------------------------------------- */

#define PG_SCHEMA_MAX 48u

/* One of several: libpq gets them one at a time. */
struct pg_host {
    char *conninfo; /* the URL with this host alone, as libpq keywords; includes the password */
    char *shown;    /* "HOST:PORT" */
};

/* Our URL: libpq's, with two additional parameters. */
struct pg_target {
    char *url;                      /* passed to libpq if it names one host */
    char *shown;                    /* without a password */
    char schema[PG_SCHEMA_MAX + 1]; /* schema=NAME */
    int32_t lock;            /* the second half of the advisory lock; the first is PG_LOCK_CLASS */
    time_ms answer_timeout;  /* answer_timeout=SECONDS */
    time_ms connect_timeout; /* per host; libpq's applies only to its blocking calls */
    struct pg_host *hosts;   /* NULL: the URL names one, or none */
    size_t host_count;       /* 1 in that case */
};
#define PG_LOCK_CLASS 0x536c7563 /* "Sluc" */

int pg_target_parse(const char *url, struct pg_target *ret_target, struct error *err);
void pg_target_finish(struct pg_target *target); /* safe on a zeroed one */

/* --- connections ----------------------------------------------------------------------------- */

/* Outlives the link while one of its functions runs a callback. */
struct pg_guard {
    unsigned depth;
    bool is_freed; /* the link */
};

struct pg_link;
struct pg_guard *pg_guard_enter(struct pg_link *link);
bool pg_guard_leave(struct pg_guard *guard); /* returns is_freed */

/* A connection. Every statement yields one result, every sync one `synced`, in order. `lost` is
 * called once, and is the last callback. With a loop they are called from it, else from
 * pg_link_wait. */
struct pg_link {
    const struct pg_target *target;
    PGconn *pg;
    size_t host; /* index in the target's hosts */
    struct loop *loop;
    struct loop_watch *watch;
    struct loop_timer *timer;
    size_t expected; /* pending results and syncs */
    time_ms patience;
    time_ms silent_at; /* steady clock: without an answer until then the server is silent */
    void (*result)(void *ctx, const PGresult *result);
    void (*synced)(void *ctx); /* or NULL */
    void (*lost)(void *ctx, const struct error *err);
    void *ctx;
    struct pg_guard *guard;
    bool up, failed, dead; /* connected; nothing can be sent; no more callbacks */
    char last_notice[200]; /* of the server */
    void (*log)(void *ctx, const char *text);
    void *log_ctx;
};

/* Connects, blocking, to the first usable host; `patience` applies to each of them. The target must
 * outlive the link. */
int pg_link_connect(struct pg_link *link, const struct pg_target *target, time_ms patience,
                    struct error *err);
/* Connects to the same host as another link. */
int pg_link_connect_beside(struct pg_link *link, const struct pg_link *other, time_ms patience,
                           struct error *err);
/* The same in steps: begin, then go_on whenever the socket is ready for `ret_events`; 0 from go_on:
 * connected, 1: again. If one of them fails or takes too long (pg_link_is_late): next, and begin
 * again; false from next: that was the last host, and the message says how many were tried.
 * `address`: one of the host's addresses; "": any. */
int pg_link_begin(struct pg_link *link, const struct pg_target *target, const char *address,
                  struct error *err);
int pg_link_go_on(struct pg_link *link, unsigned *ret_events, struct error *err);
int pg_link_is_late(const struct pg_link *link, struct error *err); /* -ETIMEDOUT */
bool pg_link_next(struct pg_link *link, struct error *err);
void pg_link_close(struct pg_link *link);   /* safe on a zeroed one; no callbacks */
void pg_link_abandon(struct pg_link *link); /* no more callbacks or sends */
/* Transfers a connection that expects nothing. */
void pg_link_move(struct pg_link *link, const struct pg_target *target, struct pg_link *ret_link);

/* Runs one or more statements, blocking, before there is a pipeline; `ret_result` (of the last one)
 * may be NULL. The error has the code of its SQLSTATE and names the action (`what`). */
int pg_link_run(struct pg_link *link, const char *what, const char *sql, PGresult **ret_result,
                struct error *err);
/* The same for one statement with a text parameter. */
int pg_link_run_with(struct pg_link *link, const char *what, const char *sql, const char *value,
                     PGresult **ret_result, struct error *err);
/* 1: the next result of what was sent, 0: no more; -ETIMEDOUT. Blocks. */
int pg_link_next_result(struct pg_link *link, time_ms deadline, PGresult **ret_result,
                        struct error *err);
/* Waits for input; -ETIMEDOUT. */
int pg_link_poll(struct pg_link *link, time_ms deadline, struct error *err);

/* From now on statements are pipelined. */
int pg_link_pipeline(struct pg_link *link, struct error *err);
/* The loop delivers results, and detects a lost connection when nothing is expected. */
int pg_link_watch(struct pg_link *link, struct loop *loop, struct error *err);
void pg_link_leave_pipeline(struct pg_link *link);
void pg_link_prepare(struct pg_link *link, const char *name, const char *sql, const Oid *types,
                     int count);
void pg_link_send_text(struct pg_link *link, const char *sql); /* not prepared; text results */
struct pg_values {
    const char *const *values;
    const int *lengths;
    int count;
};
void pg_link_send(struct pg_link *link, const char *name, const struct pg_values *values);
void pg_link_flush(struct pg_link *link); /* the server can start before the rest is sent */
void pg_link_sync(struct pg_link *link);
/* Without a loop: runs until nothing is expected, or the connection is lost. */
void pg_link_wait(struct pg_link *link);

/* --- sessions -------------------------------------------------------------------------------- */

static inline void pg_result_free(PGresult **result) { /* for _cleanup_ */
    PQclear(*result);
}
/* A number from a text result; 0 if it has no such row or column. */
int64_t pg_result_number(const PGresult *result, int row, int column);
/* "cannot WHAT: …" and a negative errno. */
int pg_result_error(const struct pg_target *target, const char *what, const PGresult *result,
                    struct error *err);
int pg_connect_error(const struct pg_link *link, struct error *err);
/* The statement that sets up a session, and the check of its answer. `log` may be NULL. */
void pg_session_sql(const struct pg_link *link, struct strbuf *ret_sql);
int pg_session_check(const struct pg_link *link, const PGresult *result, struct error *err);
int pg_session_begin(struct pg_link *link, struct error *err); /* both, blocking */
/* -EBUSY names the holder. */
int pg_session_lock(struct pg_link *link, struct error *err);
void pg_session_lock_sql(const struct pg_target *target, struct strbuf *ret_sql);
/* One row with the holder's `who`, or none; an error if it cannot be read. */
void pg_session_holder_sql(const struct pg_target *target, struct strbuf *ret_sql);
/* "" if it is not held. */
int pg_session_holder(struct pg_link *link, bool *ret_held, char ret_who[STORE_WHO_MAX],
                      struct error *err);
