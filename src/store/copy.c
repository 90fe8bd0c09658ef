/* copy.c: copies the complete history into another store, exactly once.
 *
 * It uses the same batches as normal writes, so backends need no other path. Backends recompute
 * derived values; counters are set once (write_totals). The result is not assumed to be equal: both
 * stores are read again and compared. */
#include "store/copy.h"

#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/strbuf.h"
#include "store/store_internal.h"

#define ROWS_AT_ONCE  2000u
#define ROWS_PER_TICK 65536u

DEFINE_FREEP(struct store, store_close);
DEFINE_FREEP(struct store_batch, store_batch_free);

/* --- progress -------------------------------------------------------------------------------- */

/* A note in TO, committed with the rows it counts. It counts them in the order of store_scan, which
 * is stable while FROM is not in use; so a resumed copy reads the written rows again and skips
 * them. */
struct copy_mark {
    /* Identifies FROM when the copy began. Opening it for work raises its epoch. */
    uint64_t epoch, last_event;
    task_id last_task;
    /* Written so far: all tables before this one, and this many rows of it. */
    enum store_table table;
    uint64_t rows;
    char place[512]; /* of FROM */
};

static int parse_mark(const char *text, struct copy_mark *ret_mark, struct error *err) {
    struct copy_mark mark = { 0 };
    char table[32];
    int end = 0;
    int found = sscanf(text, "1 %" SCNu64 " %" SCNu64 " %" SCNu64 " %31s %" SCNu64 "%n",
                       &mark.epoch, &mark.last_event, &mark.last_task, table, &mark.rows, &end);
    while (found == 5 && mark.table < STORE_TABLE_MAX
           && strcmp(store_table_name(mark.table), table) != 0)
        mark.table++;
    if (found < 5 || text[end] != ' ' || mark.table == STORE_TABLE_MAX
        || strlen(text + end + 1) >= sizeof(mark.place))
        return error_set(err, -EUCLEAN,
                         "the note of an unfinished copy cannot be read: remove what was copied, "
                         "and begin again");
    (void)snprintf(mark.place, sizeof(mark.place), "%s", text + end + 1);
    *ret_mark = mark;
    return 0;
}

struct copy {
    const struct store_copy_options *options;
    struct store *from, *to;
    struct store_batch *batch;
    size_t in_batch;             /* rows */
    struct copy_mark mark;       /* including the current batch */
    enum store_table skip_to;    /* already in TO: all tables before this one, */
    uint64_t skip_rows;          /* and this many rows of it */
    enum store_copy_step step;   /* current step */
    struct store_digest *digest; /* of the rows read */
    uint64_t written;
};

static int report(const struct copy *copy, enum store_table table, uint64_t rows,
                  struct error *err) {
    const struct store_copy_options *options = copy->options;
    int r = options->progress ? options->progress(options->ctx, copy->step, table, rows) : 0;
    return r < 0 ? error_set(err, r, "the copy was interrupted: the same command goes on with it")
                 : 0;
}

/* --- writing --------------------------------------------------------------------------------- */

struct committed {
    bool came;
    enum store_outcome outcome;
    struct error err;
};

static void keep_outcome(void *ctx, enum store_outcome outcome, const struct error *err) {
    struct committed *committed = ctx;
    committed->came = true;
    committed->outcome = outcome;
    if (err)
        committed->err = *err;
}

/* `noted`: commits the progress note with the batch; otherwise removes it. */
static int commit(struct copy *copy, bool noted, struct error *err) {
    _cleanup_(strbuf_finish) struct strbuf text = STRBUF_INIT;
    const struct copy_mark *mark = &copy->mark;
    strbuf_printf(&text, "1 %" PRIu64 " %" PRIu64 " %" PRIu64 " %s %" PRIu64 " %s", mark->epoch,
                  mark->last_event, mark->last_task, store_table_name(mark->table), mark->rows,
                  mark->place);
    struct note_row note = { .name = STORE_COPY_NOTE, .text = noted ? strbuf_text(&text) : NULL };
    store_put_note(copy->batch, &note);
    struct committed committed = { 0 };
    store_commit(copy->to, copy->batch, keep_outcome, &committed);
    assert(committed.came); /* it was opened without a loop */
    store_batch_clear(copy->batch);
    copy->written += copy->in_batch;
    copy->in_batch = 0;
    if (committed.outcome != STORE_OK)
        return error_set(err, committed.err.code, "%s", committed.err.text);
    return 0;
}

/* Counters are set by assigning the last number. Its event is deleted before the real ones are
 * copied. */
static void write_totals(struct store_batch *batch, const struct store_totals *totals) {
    store_put_pause(batch, &totals->pause);
    if (totals->last_task > 0)
        store_assign_numbers(batch, totals->last_task);
    if (totals->last_event == 0)
        return;
    store_add_event(batch,
                    &(struct event_row){ .seq = totals->last_event, .kind = "store.copied" });
    store_prune_events(batch, totals->last_event + 1);
}

static int write_row(void *ctx, enum store_table table, const void *row, struct error *err) {
    struct copy *copy = ctx;
    if (table < copy->skip_to)
        return 0;
    if (table == copy->skip_to && copy->skip_rows > 0) {
        copy->skip_rows--;
        return 0;
    }
    if (copy->mark.table != table) {
        copy->mark.table = table;
        copy->mark.rows = 0;
    }
    if (table == STORE_TOTALS)
        write_totals(copy->batch, row);
    else
        store_write_row(copy->batch, store_table_kind(table), row);
    copy->mark.rows++;
    copy->in_batch++;
    size_t most = copy->options->rows_at_once ? copy->options->rows_at_once : ROWS_AT_ONCE;
    /* Numbers are assigned sequentially: the events that follow get the same ones. */
    if (copy->in_batch < most && table != STORE_TOTALS)
        return 0;
    int r = commit(copy, true, err);
    return r < 0 ? r : report(copy, table, copy->mark.rows, err);
}

static int write_all(struct copy *copy, struct error *err) {
    copy->step = STORE_COPY_WRITING;
    copy->skip_to = copy->mark.table;
    copy->skip_rows = copy->mark.rows;
    int r = store_scan(copy->from, write_row, copy, err);
    if (r < 0 || copy->in_batch == 0)
        return r;
    r = commit(copy, true, err);
    return r < 0 ? r : report(copy, copy->mark.table, copy->mark.rows, err);
}

/* --- comparing ------------------------------------------------------------------------------- */

static int digest_row(void *ctx, enum store_table table, const void *row, struct error *err) {
    struct copy *copy = ctx;
    store_digest_add(copy->digest, table, row);
    uint64_t rows = copy->digest->rows[table];
    return rows % ROWS_PER_TICK == 0 ? report(copy, table, rows, err) : 0;
}

static int digest_of(struct copy *copy, struct store *store, enum store_copy_step step,
                     struct store_digest *ret_digest, struct error *err) {
    copy->step = step;
    copy->digest = ret_digest;
    return store_scan(store, digest_row, copy, err);
}

static int compare(const struct store_digest *from, const struct store_digest *to,
                   struct error *err) {
    for (enum store_table table = 0; table < STORE_TABLE_MAX; table++) {
        if (from->rows[table] != to->rows[table])
            return error_set(err, -EUCLEAN,
                             "the copy is not whole: of %" PRIu64 " %s it has %" PRIu64
                             "; it stays unfinished: remove it, and copy again",
                             from->rows[table], store_table_name(table), to->rows[table]);
        if (from->sums[table] != to->sums[table])
            return error_set(err, -EUCLEAN,
                             "the copy differs in its %s; it stays unfinished: remove it, and copy "
                             "again",
                             store_table_name(table));
    }
    return 0;
}

static int verify(struct copy *copy, struct store_digest *ret_digest, struct error *err) {
    struct store_digest from = { 0 }, to = { 0 };
    int r = digest_of(copy, copy->from, STORE_COPY_READING_FROM, &from, err);
    if (r >= 0)
        r = digest_of(copy, copy->to, STORE_COPY_READING_TO, &to, err);
    if (r >= 0)
        r = compare(&from, &to, err);
    if (r >= 0)
        *ret_digest = from;
    return r;
}

/* --- beginning ------------------------------------------------------------------------------- */

static void copy_place(const struct store *store, char ret_place[512]) {
    struct store_info info;
    store_info(store, &info);
    (void)snprintf(ret_place, 512, "%s", info.place);
}

static int read_from(struct copy *copy, struct copy_mark *ret_mark, struct error *err) {
    struct store_options options = { .url = copy->options->from,
                                     .use = STORE_USE_READ,
                                     .who = copy->options->who };
    struct store_report report;
    struct store_totals totals;
    int r = store_open(&options, &copy->from, &report, err);
    if (r >= 0)
        r = store_load(copy->from, &(struct store_reader){ 0 }, &totals, err);
    if (r < 0)
        return r;
    *ret_mark = (struct copy_mark){ .epoch = report.epoch,
                                    .last_event = totals.last_event,
                                    .last_task = totals.last_task };
    copy_place(copy->from, ret_mark->place);
    return 0;
}

struct found {
    struct copy_mark mark;
    bool marked;
};

static int find_mark(void *ctx, const struct note_row *row, struct error *err) {
    struct found *found = ctx;
    if (strcmp(row->name, STORE_COPY_NOTE) != 0)
        return 0;
    found->marked = true;
    return parse_mark(row->text, &found->mark, err);
}

/* Everything but the totals, of which there is always one. */
static int refuse_row(void *ctx, enum store_table table, const void *row, struct error *err) {
    const struct store_totals *totals = row;
    if (table == STORE_TOTALS && totals->last_task == 0 && totals->last_event == 0
        && !totals->pause.paused)
        return 0;
    struct store_info info;
    store_info(ctx, &info);
    return error_set(err, -ENOTEMPTY,
                     "store '%s' is not empty: give another place, or move away what is there",
                     info.place);
}

/* TO is empty, or an unfinished copy of the same FROM, whose note has the progress. */
static int check_to(struct copy *copy, const struct copy_mark *from, bool *ret_resumed,
                    struct error *err) {
    struct found found = { 0 };
    struct store_totals totals;
    const struct store_reader reader = { .note = find_mark, .ctx = &found };
    int r = store_load(copy->to, &reader, &totals, err);
    if (r < 0)
        return r;
    *ret_resumed = found.marked;
    copy->mark = found.marked ? found.mark : *from;
    if (!found.marked)
        return store_scan(copy->to, refuse_row, copy->to, err);
    const struct copy_mark *mark = &found.mark; /* of the same store, unmodified since? */
    if (mark->epoch != from->epoch || mark->last_event != from->last_event
        || mark->last_task != from->last_task || strcmp(mark->place, from->place) != 0)
        return error_set(err, -ESTALE,
                         "the copy was begun from '%s' as it was then, and that has changed or is "
                         "another store: remove what was copied, and copy again",
                         found.mark.place);
    return 0;
}

/* A file has many names; for other stores, the names are compared. */
static bool is_one_store(const char *a, const char *b) {
    _cleanup_(freep) char *left = realpath(a, NULL);
    _cleanup_(freep) char *right = realpath(b, NULL);
    return strcmp(left ? left : a, right ? right : b) == 0;
}

int store_copy(const struct store_copy_options *options, struct store_copy_report *ret_report,
               struct error *err) {
    assert(options && options->from && options->to && ret_report);
    if (is_one_store(options->from, options->to))
        return error_set(err, -EINVAL, "a store cannot be copied into itself: give another place");
    _cleanup_(store_closep) struct store *from = NULL;
    _cleanup_(store_closep) struct store *to = NULL;
    _cleanup_(store_batch_freep) struct store_batch *batch = store_batch_new();
    struct copy copy = { .options = options, .batch = batch };
    struct store_copy_report report = { 0 };
    struct copy_mark mark;
    int r = read_from(&copy, &mark, err);
    from = copy.from;
    if (r >= 0) {
        struct store_options to_options = { .url = options->to,
                                            .use = STORE_USE_COPY,
                                            .epoch_above = mark.epoch,
                                            .reserve_bytes = -1 }; /* no run ends here */
        r = store_open(&to_options, &copy.to, NULL, err);
    }
    to = copy.to;
    if (r >= 0)
        r = check_to(&copy, &mark, &report.resumed, err);
    if (r >= 0 && !report.resumed)
        r = commit(&copy, true, err); /* from now on TO cannot be opened for work */
    if (r >= 0)
        r = write_all(&copy, err);
    if (r >= 0)
        r = verify(&copy, &report.digest, err);
    if (r >= 0 && (r = commit(&copy, false, err)) < 0)
        error_prefix(err,
                     "the copy is whole, but perhaps not noted as finished ('sluice store show'"
                     " tells, the same command goes on)");
    if (r < 0)
        return r;
    report.written = copy.written;
    copy_place(from, report.from);
    copy_place(to, report.to);
    *ret_report = report;
    return 0;
}
