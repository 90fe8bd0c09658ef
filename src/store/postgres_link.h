/* postgres_link.h: where a server is, and a connection to it. Private to store/. */
#pragma once

#include <libpq-fe.h>

#include "os/loop.h"
#include "store/sql.h"

#define PG_OLDEST_SERVER 130000
#define PG_VALUES_MAX    (2 * SQL_COLUMNS_MAX) /* of one statement */

/* --- servers, schemas and locks of a URL -------------------------------------------------------- */

#define PG_SCHEMA_MAX 48u

/* One of several: libpq gets them one by one. */
struct pg_host {
    char *conninfo; /* the URL with this host alone, as libpq's keywords; with the password */
    char *shown;    /* "HOST:PORT" */
};

/* A URL of ours: libpq's, with two more parameters. */
struct pg_place {
    char *url;                      /* what libpq gets, when it names one host */
    char *shown;                    /* without a password */
    char schema[PG_SCHEMA_MAX + 1]; /* schema=NAME */
    int32_t lock;            /* the second half of the advisory lock; the first is PG_LOCK_CLASS */
    time_ms answer_timeout;  /* answer_timeout=SECONDS */
    time_ms connect_timeout; /* of each host; libpq's holds only for its own waiting */
    struct pg_host *hosts;   /* NULL: the URL names one, or none */
    size_t host_count;       /* 1 then */
};
#define PG_LOCK_CLASS 0x536c7563 /* "Sluc" */

int pg_place_parse(const char *url, struct pg_place *ret_place, struct error *err);
void pg_place_finish(struct pg_place *place); /* safe on a zeroed one */

/* --- connections -------------------------------------------------------------------------------- */

/* Outlives the link while one of its functions calls somebody. */
struct pg_guard {
    unsigned depth;
    bool gone;
};

struct pg_link;
struct pg_guard *pg_guard_enter(struct pg_link *link);
bool pg_guard_leave(struct pg_guard *guard); /* true: the link is gone */

/* A connection. Every statement that was sent brings one result, every sync one `synced`, in order. `lost`
 * comes once; after that nothing does. With a loop they come from it, else from pg_link_wait. */
struct pg_link {
    const struct pg_place *place;
    PGconn *pg;
    size_t host; /* which one of the place's */
    struct loop *loop;
    struct loop_watch *watch;
    struct loop_timer *timer;
    size_t expected; /* results and syncs that are to come */
    time_ms patience;
    void (*result)(void *ctx, const PGresult *result);
    void (*synced)(void *ctx);
    void (*lost)(void *ctx, const struct error *err);
    void *ctx;
    struct pg_guard *guard;
    bool up, doomed, dead;
    char last_words[200]; /* the last notice of the server */
    void (*log)(void *ctx, const char *text);
    void *log_ctx;
};

/* Connects, waiting, to the first host that can be used; `patience` is for each of them. The place must
 * outlive the link. */
int pg_link_connect(struct pg_link *link, const struct pg_place *place, time_ms patience,
                    struct error *err);
/* To the one that another link has, and to no other. */
int pg_link_connect_beside(struct pg_link *link, const struct pg_link *other, time_ms patience,
                           struct error *err);
/* The same in steps: begin, then go_on whenever the socket is ready for what `ret_events` says; 0 from
 * go_on: it is connected, 1: again. When one of them fails, or it takes too long (pg_link_is_late): next, and
 * begin again; false from next: that was the last host, and the sentence says how many were tried. */
int pg_link_begin(struct pg_link *link, const struct pg_place *place, struct error *err);
int pg_link_go_on(struct pg_link *link, unsigned *ret_events, struct error *err);
int pg_link_is_late(const struct pg_link *link, struct error *err); /* -ETIMEDOUT */
bool pg_link_next(struct pg_link *link, struct error *err);
void pg_link_close(struct pg_link *link);   /* safe on a zeroed one; nothing is called */
void pg_link_abandon(struct pg_link *link); /* nothing is brought or sent any more */
/* One that is connected and expects nothing becomes somebody else's. */
void pg_link_move(struct pg_link *link, const struct pg_place *place, struct pg_link *ret_link);

/* One or more statements, waiting, before there is a pipeline; `ret_result` (of the last one) may be NULL.
 * The error has the code of its SQLSTATE and names what was to be done (`what`). */
int pg_link_run(struct pg_link *link, const char *what, const char *sql, PGresult **ret_result,
                struct error *err);
/* One, with a text as its parameter. */
int pg_link_run_with(struct pg_link *link, const char *what, const char *sql, const char *value,
                     PGresult **ret_result, struct error *err);
/* Waits until there is something to read; -ETIMEDOUT. */
int pg_link_poll(struct pg_link *link, time_ms deadline, struct error *err);

/* From now on statements are sent one behind the other. */
int pg_link_pipeline(struct pg_link *link, struct error *err);
/* The loop brings what comes of them, and what comes when nothing is expected. */
int pg_link_watch(struct pg_link *link, struct loop *loop, struct error *err);
void pg_link_leave_pipeline(struct pg_link *link);
void pg_link_prepare(struct pg_link *link, const char *name, const char *sql, const Oid *types,
                     int count);
void pg_link_ask(struct pg_link *link, const char *sql); /* one that is not prepared; texts come */
struct pg_values {
    const char *const *values;
    const int *lengths;
    int count;
};
void pg_link_send(struct pg_link *link, const char *name, const struct pg_values *values);
void pg_link_flush(struct pg_link *link); /* the server need not wait for the rest */
void pg_link_sync(struct pg_link *link);
/* Without a loop: until nothing is expected any more, or it is lost. */
void pg_link_wait(struct pg_link *link);

/* --- sessions ----------------------------------------------------------------------------------- */

/* A number of an answer in text; 0 when there is none. */
int64_t pg_result_number(const PGresult *result, int row, int column);
/* "cannot WHAT: …" and a negative errno. */
int pg_result_error(const struct pg_place *place, const char *what, const PGresult *result,
                    struct error *err);
int pg_connect_error(const struct pg_link *link, struct error *err);
/* The statement that makes a connection what it must be, and what its answer must say. `log` may be NULL. */
void pg_session_sql(const struct pg_link *link, struct strbuf *ret_sql);
int pg_session_check(const struct pg_link *link, const PGresult *result, struct error *err);
int pg_session_begin(struct pg_link *link, struct error *err); /* both, waiting */
/* -EBUSY with who has it. */
int pg_session_lock(struct pg_link *link, struct error *err);
void pg_session_lock_sql(const struct pg_place *place, struct strbuf *ret_sql);
/* One row with what the holder said of itself, or none; an error where it cannot be read. */
void pg_session_holder_sql(const struct pg_place *place, struct strbuf *ret_sql);
/* "" when nobody has it. */
int pg_session_holder(struct pg_link *link, bool *ret_held, char ret_who[STORE_WHO_MAX],
                      struct error *err);
