/* kit.h: shared functions of the store tests. */
#pragma once

#include "base/strbuf.h"
#include "os/loop.h"
#include "store/store.h"

/* A new folder, if possible in a memory file system, where fsync is fast. The caller frees. */
char *kit_folder(void);
void kit_remove_folder(const char *folder);             /* with everything in it */
void kit_copy_folder(const char *from, const char *to); /* plain files only */
void kit_copy_file(const char *from, const char *to);
void kit_remove_files(const char *folder);
char *kit_path(const char *folder, const char *name); /* the caller frees */

/* The cmocka state of a test that needs a folder and the path of a file in it, which does not exist yet. */
struct kit_file {
    char *folder, *path;
    struct error err;
    struct store_report report;
};
int kit_file_open(void **state);
int kit_file_close(void **state);

/* These fail the test with the message on an error. */
struct store *kit_open(const char *url, struct store_report *ret_report);
struct store_totals kit_load(struct store *store, const struct store_reader *reader);
void kit_commit(struct store *store, struct store_batch *batch); /* must be OK; clears the batch */
/* Like store_query; returns after the answer. */
void kit_ask(struct store *store, const struct store_query *question, store_answered done,
             void *ctx);
/* NULL: stores are opened without a loop, and must answer at once. Else later answers come from the loop. */
extern struct loop *kit_loop;
/* Any outcome; asserts that there is one, at once or from the loop. Clears the batch. */
enum store_outcome kit_try(struct store *store, struct store_batch *batch, struct error *ret_err);
/* Makes a complete backup: 0, or <0 with the error. */
int kit_backup(struct store *store, const char *path, struct error *ret_err);

/* Rows whose fields all have distinct values, derived from a number. */
struct task_row kit_task(task_id id);
struct spec_row kit_spec(task_id id);
struct run_row kit_run(task_id task, uint32_t attempt);
struct event_row kit_event(uint64_t seq, task_id task);

/* The complete contents of a store as text: two stores with the same text are equal. */
void kit_dump(struct store *store, struct strbuf *out);
void kit_print_task(const struct task_row *row, struct strbuf *out);
void kit_print_spec(const struct spec_row *row, struct strbuf *out);
void kit_print_run(const struct run_row *row, struct strbuf *out);
void kit_print_event(const struct event_row *row, struct strbuf *out);
/* kit_dump queries the keys "key-1" to "key-N". */
#define KIT_KEYS 8

/* --- PostgreSQL: only where SLUICE_TEST_POSTGRES names a server ----------------------------------- */

const char *kit_postgres(void); /* its URL; NULL: no server */
/* The URL of a schema that only this process uses, the n-th; kit_postgres_finish drops all of them. */
void kit_postgres_url(size_t n, char ret_url[256]);
/* The same URL with another host ("HOST:PORT") before it, and a connect_timeout of 2 s. */
void kit_postgres_second(size_t n, const char *first, char ret_url[256]);
/* A host that accepts connections and never answers: its socket, which the caller closes. */
int kit_postgres_frozen(char ret_host[32]);
int kit_postgres_tried(int frozen); /* connections since the last call */
void kit_postgres_finish(void);
/* Runs SQL as the user of the URL, in the n-th schema; returns the first value of the last answer, or "". */
void kit_postgres_run(size_t n, const char *sql, char ret_value[256]);
