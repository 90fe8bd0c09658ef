/* store_internal.h: between the checked front and a backend. Private to store/.
 *
 * A backend's store begins with `struct store`. Every backend function is called by store.c alone,
 * with arguments that were checked; `commit` ends with store_finish_commit, now or later. */
#pragma once

#include "store/await.h"
#include "store/row_copy.h"
#include "store/store.h"

enum write_kind {
    WRITE_ADD_TASK,
    WRITE_CHANGE_TASK, /* flag: with its dependencies */
    WRITE_DELETE_TASK, /* number */
    WRITE_ADD_SPEC,
    WRITE_PUT_RUN,
    WRITE_ADD_EVENT,
    WRITE_PRUNE_EVENTS, /* number: the first that is kept */
    WRITE_PUT_PROJECT,
    WRITE_PUT_GROUP,
    WRITE_DELETE_GROUP, /* number */
    WRITE_PUT_LIMITER,
    WRITE_PUT_AGENT,
    WRITE_ADD_USAGE,
    WRITE_PRUNE_USAGE, /* time */
    WRITE_PUT_WAIT,
    WRITE_ADD_KEY,
    WRITE_PRUNE_KEYS, /* time */
    WRITE_PUT_PAUSE,
    WRITE_TAKE_NUMBERS, /* number: the last of them */
    WRITE_PUT_NOTE,
    WRITE_PUT_CONTEXT, /* spec: its id and context */
    WRITE_ADD_SPENT,
    WRITE_PRUNE_SPENT, /* time; flag: of days */
    WRITE_KIND_MAX,
};

struct store_write {
    enum write_kind kind;
    bool flag;
    union {
        const void *row;
        const struct task_row *task;
        const struct spec_row *spec;
        const struct run_row *run;
        const struct event_row *event;
        const struct project_row *project;
        const struct group_row *group;
        const struct limiter_row *limiter;
        const struct agent_row *agent;
        const struct usage_row *usage;
        const struct wait_row *wait;
        const struct key_row *key;
        const struct pause_row *pause;
        const struct note_row *note;
        const struct spent_row *spent;
        uint64_t number;
        time_ms time;
    };
};

/* Writes happen in this many rounds: specs behind all tasks, which may come behind them in the batch, and
 * contexts behind the specs. */
#define STORE_ROUNDS 3u
static inline unsigned store_write_round(const struct store_write *write) {
    return write->kind == WRITE_PUT_CONTEXT ? 2 : write->kind == WRITE_ADD_SPEC;
}

/* The beginning of the hour or the day that a point in time lies in. */
static inline time_ms store_span_of(time_ms at, bool days) {
    time_ms span = days ? DAYS(1) : HOURS(1);
    return at - (at % span + span) % span;
}

struct store_batch {
    struct arena arena;
    struct store_write *writes;
    size_t count, capacity;
    bool in_flight;
};

struct store_backend {
    const char *name;
    int (*open)(const struct store_options *options, struct store **ret_store,
                struct store_report *ret_report, struct error *err);
    void (*show)(const char *url, char ret_shown[STORE_SHOWN_MAX]); /* or NULL: as it is */
    int (*look)(const char *url, struct store_look *ret_look,
                struct error *err); /* or NULL: none is
                                                                                      kept */
    void (*close)(struct store *store);
    int (*load)(struct store *store, const struct store_reader *reader,
                struct store_totals *ret_totals, struct error *err);
    void (*ahead)(struct store *store, const struct store_batch *batch); /* or NULL: all at once */
    void (*commit)(struct store *store, const struct store_batch *batch);
    void (*ask)(struct store *store, const struct store_question *question, store_answered done,
                void *ctx);
    time_ms (*maintain)(struct store *store, time_ms idle_ms);
    /* All three, none, or the first alone, which says why not. One at a time; `go_on` is called between commits until it returns 0, or <0 with
     * a sentence; 1: again after `ret_again`. `cancel`: false, it was in place already. */
    int (*backup_begin)(struct store *store, const char *path, struct error *err);
    int (*backup_go_on)(struct store *store, time_ms *ret_again, struct error *err);
    bool (*backup_cancel)(struct store *store);
    int (*restore)(const char *url, const char *path, char ret_kept[512], struct error *err);
    void (*info)(const struct store *store, struct store_info *ret); /* what only it knows */
    /* Ends what is on its way; NULL: nothing ever is when a call has returned. */
    void (*give_up)(struct store *store, const struct error *why);
    /* All four or none: it cannot be waited for. See await.h; `open` takes options->awaited. */
    int (*await)(struct loop *loop, const char *url, store_is_free free, void *ctx,
                 struct store_await **ret_await, struct error *err);
    void (*await_cancel)(struct store_await *await);
    int (*await_holder)(struct store_await *await, char ret_who[STORE_WHO_MAX]);
    int (*holder)(const char *url, char ret_who[STORE_WHO_MAX], struct error *err);
};

/* A backend's begins with this. */
struct store_await {
    const struct store_backend *backend;
};

struct store {
    const struct store_backend *backend;
    struct store_batch *in_flight;   /* the one that is being committed */
    const struct store_batch *ahead; /* the one of which something was sent ahead */
    store_committed done;
    void *done_ctx;
    int64_t began_us;
    struct error broken; /* code 0: it is not */
    enum store_use use;
    store_copied copied; /* of the backup that goes on; NULL: none does */
    char *copy_path;     /* of one that waits for the end of a commit; or NULL */
    void *copied_ctx;
    uint64_t commits, rows;
    int64_t last_commit_us, slowest_commit_us;
    struct latency latency; /* of commits */
};

extern const struct store_backend memory_backend, sqlite_backend, postgres_backend;

/* As store_open, with a backend that the table need not know (tests). */
int store_open_backend(const struct store_backend *backend, const struct store_options *options,
                       struct store **ret_store, struct store_report *ret_report,
                       struct error *err);

/* The end of a commit: frees the front for the next one, then calls whoever asked. */
void store_finish_commit(struct store *store, enum store_outcome outcome, const struct error *err);

/* Every note that is loaded goes this way to its reader: the one that stands in an unfinished copy refuses
 * whoever wants to work with it. */
#define STORE_COPY_NOTE "store.copy"
int store_load_note(const struct store *store, const struct store_reader *reader,
                    const struct note_row *row, struct error *err);

/* From now on nothing is answered; the first reason is kept. */
void store_break(struct store *store, const struct error *err);
