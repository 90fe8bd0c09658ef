/* store_copy.c: what sluiced does with whole stores, without being a daemon: copies one, counts what is in one.
 *
 * The result is JSON on stdout, for `sluice store`. How far a copy has got is told on stderr when somebody
 * looks at it.
 */
#include "store/copy.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/json_write.h"
#include "daemon/daemon.h"
#include "os/clock.h"
#include "os/terminal.h"
#include "store/await.h"

#define TELL_EVERY_US 100000

static int fail(const struct error *err) {
    fprintf(stderr, "sluiced: %s%s\n", err->text,
            err->code == -EBUSY ? " ('sluice down' ends that of this home, its runs go on)" : "");
    switch (err->code) {
    case -EBUSY:
    case -ENOTEMPTY:
    case -ESTALE:
    case -EINPROGRESS:
        return DAEMON_BUSY;
    case -EINVAL:
    case -ENOENT:
        return DAEMON_USAGE;
    default:
        return DAEMON_FAILED;
    }
}

/* The caller frees. */
static int find_store(const struct home *home, const char *word, char **ret_url,
                      struct error *err) {
    if (strcmp(word, "current") == 0)
        return daemon_store_url(home, ret_url, err);
    bool server = strncmp(word, "postgresql://", strlen("postgresql://")) == 0
                  || strncmp(word, "postgres://", strlen("postgres://")) == 0;
    if (!*word || strncmp(word, "memory:", strlen("memory:")) == 0
        || (!server && strstr(word, "://")))
        return error_set(err, -EINVAL,
                         "'%s' is no store that is kept: give the path of a file, postgresql://…, "
                         "or 'current'",
                         word);
    *ret_url = xstrdup(word);
    return 0;
}

/* For whoever finds a store in use by this process: it listens nowhere. */
static void print_who(char ret_who[STORE_WHO_MAX]) {
    char host[HOST_NAME_MAX + 1] = "";
    (void)gethostname(host, sizeof(host) - 1);
    (void)snprintf(ret_who, STORE_WHO_MAX, "%s/%ld", host, (long)getpid());
}

/* --- progress ------------------------------------------------------------------------------------- */

struct telling {
    bool terminal;
    int64_t told_us;
};

static int tell(void *ctx, enum store_copy_step step, enum store_table table, uint64_t rows) {
    static const char *const words[] = {
        [STORE_COPY_WRITING] = "copying",
        [STORE_COPY_READING_FROM] = "reading the original again",
        [STORE_COPY_READING_TO] = "reading the copy",
    };
    struct telling *telling = ctx;
    int64_t now = clock_read_steady_us();
    if (!telling->terminal || now - telling->told_us < TELL_EVERY_US)
        return 0;
    telling->told_us = now;
    fprintf(stderr, "\r\033[K%s: %s %llu", words[step], store_table_name(table),
            (unsigned long long)rows);
    return 0;
}

static void end_telling(const struct telling *telling) {
    if (telling->told_us > 0)
        fputs("\r\033[K", stderr);
}

/* --- results -------------------------------------------------------------------------------------- */

static void print_rows(struct json_writer *w, const struct store_digest *digest) {
    json_put_object(w, "rows");
    for (enum store_table table = 0; table < STORE_TABLE_MAX; table++)
        if (table != STORE_TOTALS)
            json_put_int(w, store_table_name(table), digest->rows[table]);
    json_write_object_end(w);
}

static int print_out(struct strbuf *out) {
    strbuf_putc(out, '\n');
    fputs(strbuf_text(out), stdout);
    return fflush(stdout) == 0 ? DAEMON_OK : DAEMON_FAILED;
}

int daemon_store_copy(const struct home *home, const char *from, const char *to) {
    struct error err = { 0 };
    _cleanup_(freep) char *from_url = NULL, *to_url = NULL, *current = NULL;
    struct telling telling = { .terminal = terminal_is(stderr) };
    struct store_copy_report report;
    int64_t began = clock_read_steady_us();
    int r = find_store(home, from, &from_url, &err);
    if (r >= 0)
        r = find_store(home, to, &to_url, &err);
    if (r >= 0) {
        char who[STORE_WHO_MAX];
        print_who(who);
        struct store_copy_options options = {
            .from = from_url, .to = to_url, .who = who, .progress = tell, .ctx = &telling
        };
        r = store_copy(&options, &report, &err);
        end_telling(&telling);
    }
    if (r < 0)
        return fail(&err);
    bool configured =
        to_url && daemon_store_url(home, &current, &err) >= 0 && strcmp(current, to_url) == 0;
    _cleanup_(strbuf_finish) struct strbuf out = STRBUF_INIT;
    struct json_writer w;
    json_write_init(&w, &out, false);
    json_write_object_begin(&w);
    json_put_string(&w, "from", report.from);
    json_put_string(&w, "to", report.to);
    json_put_bool(&w, "resumed", report.resumed);
    json_put_int(&w, "written", report.written);
    print_rows(&w, &report.digest);
    json_put_bool(&w, "is_current", configured);
    json_put_int(&w, "took_ms", (uint64_t)(clock_read_steady_us() - began) / 1000);
    json_write_object_end(&w);
    return print_out(&out);
}

/* --- what is in one ------------------------------------------------------------------------------- */

struct shown {
    struct store_look look;
    struct store_report report;
    struct store_digest digest;
    struct store_info info;
    char place[STORE_SHOWN_MAX], backend[32];
    bool unfinished; /* a copy goes into it */
    bool counted;
    uint64_t live; /* runs */
};

static int count_row(void *ctx, enum store_table table, const void *row, struct error *err) {
    (void)err;
    struct shown *shown = ctx;
    shown->digest.rows[table]++;
    if (table == STORE_RUNS)
        shown->live += !((const struct run_row *)row)->ended;
    return 0;
}

static int count_rows(const char *url, struct shown *shown, struct error *err) {
    struct store_options options = { .url = url, .use = STORE_USE_READ };
    struct store *store = NULL;
    int r = store_open(&options, &store, &shown->report, err);
    if (r < 0)
        return r;
    store_info(store, &shown->info);
    (void)snprintf(shown->backend, sizeof(shown->backend), "%s", shown->info.backend);
    r = store_scan(store, count_row, shown, err);
    shown->unfinished = r == -EINPROGRESS;
    shown->counted = r >= 0;
    store_close(store);
    return shown->unfinished ? 0 : r;
}

static void print_shown(struct json_writer *w, const struct shown *shown) {
    bool there = shown->look.there;
    json_write_object_begin(w);
    json_put_bool(w, "there", there);
    json_put_string(w, "store", shown->place);
    if (there) {
        json_put_int(w, "version", (int64_t)shown->look.version);
        json_put_bool(w, "was_unclean", shown->look.was_unclean);
        json_put_int(w, "tasks", (int64_t)shown->look.tasks);
        json_put_int(w, "last_event", (int64_t)shown->look.last_event);
        json_put_bool(w, "unfinished_copy", shown->unfinished);
    }
    if (shown->backend[0]) {
        json_put_string(w, "backend", shown->backend);
        json_put_int(w, "epoch", (int64_t)shown->report.epoch);
        json_put_int(w, "bytes", shown->info.bytes);
    }
    if (shown->counted) {
        json_put_int(w, "live_runs", (int64_t)shown->live);
        print_rows(w, &shown->digest);
    }
    json_write_object_end(w);
}

int daemon_store_show(const struct home *home, const char *word) {
    struct error err = { 0 };
    _cleanup_(freep) char *url = NULL;
    struct shown shown = { 0 };
    int r = find_store(home, word, &url, &err);
    if (r >= 0) {
        store_show_url(url, shown.place);
        r = store_look(url, &shown.look, &err);
    }
    /* An older one is looked at, and not made newer for that. */
    if (r >= 0 && shown.look.there && shown.look.version == STORE_VERSION)
        r = count_rows(url, &shown, &err);
    if (r < 0)
        return fail(&err);
    _cleanup_(strbuf_finish) struct strbuf out = STRBUF_INIT;
    struct json_writer w;
    json_write_init(&w, &out, false);
    print_shown(&w, &shown);
    return print_out(&out);
}
