/* store_internal.h: the interface between the checked front end and a backend. Private to store/.
 *
 * A backend's store begins with `struct store`. Only store.c calls backend functions, with checked
 * arguments; `commit` ends with store_finish_commit, now or later. */
#pragma once

#include "store/await.h"
#include "store/row_type.h"
#include "store/scan.h"
#include "store/store.h"

enum write_kind {
    /* A task, spec, event or key must be new; usage and spent are added; others replace the
     * existing row. */
    WRITE_ROW,
    WRITE_CHANGE,  /* an existing task; flags: enum store_task_change */
    WRITE_DELETE,  /* a task or group: number; a note: its row */
    WRITE_PRUNE,   /* events below `number`, others before `time`; flags: sums of days */
    WRITE_CONTEXT, /* of a spec: its id and context */
    WRITE_EDIT,    /* of a spec: its id, title and JSON */
    WRITE_NUMBERS, /* up to `number` are assigned */
    WRITE_KIND_MAX,
};

struct store_write {
    enum write_kind kind;
    enum row_kind of;
    unsigned flags;
    union {
        const void *row;
        const struct task_row *task;
        const struct spec_row *spec;
        const struct run_row *run;
        const struct event_row *event;
        const struct key_row *key;
        const struct note_row *note;
        const struct spent_row *spent;
        uint64_t number;
        time_ms time;
    };
};

static inline bool store_writes(const struct store_write *write, enum row_kind of) {
    return write->kind == WRITE_ROW && write->of == of;
}

/* Writes happen in this many rounds: specs after all tasks, which may follow them in the batch, and
 * changes of specs after the specs. */
#define STORE_ROUNDS 3u
static inline unsigned store_write_round(const struct store_write *write) {
    return write->kind == WRITE_CONTEXT || write->kind == WRITE_EDIT
               ? 2
               : store_writes(write, ROW_SPEC);
}

enum row_kind store_table_kind(enum store_table table);
struct store_write *store_write_row(struct store_batch *batch, enum row_kind of, const void *row);

/* The message for a rule broken by this write. `external`: that of external ids. */
int store_refuse(const struct store_write *write, bool external, struct error *err);

struct store_batch {
    struct arena arena;
    struct store_write *writes;
    size_t count, capacity;
    bool in_flight;
};

/* Writes one row; 0, or an error, which ends the batch. */
typedef int (*store_writer)(void *store, const struct store_write *write, struct error *err);
/* Calls the function of each write, in order and in rounds; returns the first error. NULL: nothing
 * to write for this kind. */
int store_batch_apply(const struct store_batch *batch, const store_writer writers[WRITE_KIND_MAX],
                      void *store, struct error *err);

struct store_backend {
    const char *name;
    int (*open)(const struct store_options *options, struct store **ret_store,
                struct store_report *ret_report, struct error *err);
    void (*show)(const char *url, char ret_shown[STORE_SHOWN_MAX]); /* or NULL: unchanged */
    /* or NULL: nothing is kept */
    int (*summary)(const char *url, struct store_summary *ret_summary, struct error *err);
    void (*close)(struct store *store);
    int (*load)(struct store *store, const struct store_reader *reader,
                struct store_totals *ret_totals, struct error *err);     /* err is not NULL */
    void (*ahead)(struct store *store, const struct store_batch *batch); /* or NULL: all at once */
    void (*commit)(struct store *store, const struct store_batch *batch);
    void (*query)(struct store *store, const struct store_query *question, store_answered done,
                  void *ctx);
    time_ms (*maintain)(struct store *store, time_ms idle_ms); /* or NULL: nothing to do */
    /* All three, none, or only the first, which reports why a backup is not supported. One at a
     * time; `go_on` is called between commits until it returns 0, or <0 with a message; 1: again
     * after `ret_again`. `cancel` returns false if the copy was already in place. */
    int (*backup_begin)(struct store *store, const char *path, struct error *err);
    int (*backup_go_on)(struct store *store, time_ms *ret_again, struct error *err);
    bool (*backup_cancel)(struct store *store);
    int (*restore)(const char *url, const char *path, char ret_kept[512], struct error *err);
    void (*info)(const struct store *store, struct store_info *ret); /* backend-specific values */
    /* Abandons what is in progress; NULL: nothing ever is after a call has returned. */
    void (*give_up)(struct store *store, const struct error *why);
    /* All four or none: waiting is not supported. See await.h; `open` takes options->awaited. */
    int (*await)(struct loop *loop, const char *url, store_is_free free, void *ctx,
                 struct store_await **ret_await, struct error *err);
    void (*await_cancel)(struct store_await *await);
    int (*await_holder)(struct store_await *await, char ret_who[STORE_WHO_MAX]);
    int (*holder)(const char *url, char ret_who[STORE_WHO_MAX], struct error *err);
};

/* First member of a backend's. */
struct store_await {
    const struct store_backend *backend;
};

/* The highest numbers ever assigned. */
struct store_numbers {
    task_id task;
    uint64_t event;
};

struct store {
    const struct store_backend *backend;
    struct store_numbers last;       /* set by the backend's `open` */
    struct store_numbers next;       /* including the batch being committed, or sent ahead */
    struct store_batch *in_flight;   /* being committed */
    const struct store_batch *ahead; /* the batch of which a part was sent ahead */
    store_committed done;
    void *done_ctx;
    int64_t began_us;
    struct error broken; /* code 0: it is not */
    enum store_use use;
    store_copied copied; /* of the backup in progress; or NULL */
    char *copy_path;     /* of a backup that waits for the end of a commit; or NULL */
    void *copied_ctx;
    uint64_t commits, rows;
    int64_t last_commit_us, slowest_commit_us;
    struct latency latency; /* of commits */
};

extern const struct store_backend memory_backend, sqlite_backend, postgres_backend;

/* Like store_open, with a backend that need not be in the table (tests). */
int store_open_backend(const struct store_backend *backend, const struct store_options *options,
                       struct store **ret_store, struct store_report *ret_report,
                       struct error *err);

/* Ends a commit: allows the next one, then calls the callback. */
void store_finish_commit(struct store *store, enum store_outcome outcome, const struct error *err);

/* Passes one row to the reader; for a spec, struct external_row. The note of an unfinished copy
 * refuses any other use. */
#define STORE_COPY_NOTE "store.copy"
int store_pass_row(const struct store *store, const struct store_reader *reader, enum row_kind kind,
                   const void *row, struct error *err);

/* --- answers --------------------------------------------------------------------------------- */

/* The row kind of an answer; ROW_KIND_MAX: task numbers. */
enum row_kind store_answer_kind(enum store_query_kind kind);
size_t store_answer_row(enum store_query_kind kind); /* bytes of one row */
/* Calls `done` with the rows; err->code not 0: with the error instead. */
void store_answer(store_answered done, void *ctx, const void *rows, size_t count,
                  const struct error *err);

/* From now on nothing is answered; the first reason is kept. */
void store_break(struct store *store, const struct error *err);
