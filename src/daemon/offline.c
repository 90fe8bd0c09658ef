/* offline.c: modes of sluiced without a daemon: check, restore, copy and count stores, print the
 * API.
 *
 * --store-copy and --store-show print JSON on stdout, for `sluice store`; progress goes to stderr
 * if that is a terminal. */
#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/json_write.h"
#include "config/config.h"
#include "config/run_settings.h"
#include "daemon/daemon.h"
#include "executor/slurm.h"
#include "ops/op.h"
#include "os/clock.h"
#include "os/terminal.h"
#include "store/await.h"
#include "store/copy.h"
#include "store/store.h"

#define PROGRESS_EVERY_US 100000

#define GO_ON "repeat 'sluice store copy' with the same FROM and TO to continue"

static int fail(const struct error *err) {
    fprintf(stderr, "sluiced: %s%s\n", err->text, err->code == -EINPROGRESS ? ": " GO_ON : "");
    return err->code == -EBUSY ? DAEMON_BUSY : DAEMON_FAILED;
}

/* Describes the store in one line, without changing it, whatever its version. */
static int describe_store(const char *url, struct strbuf *out, struct error *err) {
    struct store_summary found = { 0 };
    int r = store_summary(url, &found, err);
    if (r < 0)
        return r;
    if (!found.there) {
        strbuf_puts(out, "nothing stored yet");
        return 0;
    }
    char shown[STORE_SHOWN_MAX];
    store_show_url(url, shown);
    if (found.unfinished)
        return error_set(err, -EINPROGRESS, "%s: a copy into it is not finished", shown);
    strbuf_printf(out, "%s: sound; %" PRIu64 " tasks, last event %" PRIu64, shown, found.tasks,
                  found.last_event);
    if (found.version < STORE_VERSION)
        strbuf_printf(out, "; version %" PRIu32 ", which the next start makes %u", found.version,
                      STORE_VERSION);
    return 0;
}

int daemon_check(const struct home *home) {
    struct error err = { 0 };
    _cleanup_(strbuf_finish) struct strbuf text = STRBUF_INIT;
    _cleanup_(freep) char *url = NULL;
    if (daemon_store_url(home, &url, &err) < 0 || describe_store(url, &text, &err) < 0)
        return fail(&err);
    printf("%s\n", strbuf_text(&text));
    return DAEMON_OK;
}

static void print_check(struct json_writer *w, const char *name, const char *level,
                        const char *text, const char *fix) {
    json_write_object_begin(w);
    json_put_bool(w, "ok", strcmp(level, "bad") != 0);
    json_put_string(w, "name", name);
    json_put_string(w, "level", level);
    json_put_string(w, "text", text);
    json_put_string(w, "fix", fix);
    json_write_object_end(w);
}

/* NULL: the message is enough. */
static const char *fix_of(const char *url, int code) {
    if (code == -EINPROGRESS)
        return "# " GO_ON;
    if (!strstr(url, "://"))
        return "# copy the folder, then: sluice restore --yes BACKUP";
    return code == -ECONNREFUSED ? "# start the PostgreSQL server, or correct store.url; running "
                                   "tasks continue meanwhile"
                                 : NULL;
}

static void print_store(struct json_writer *w, const struct home *home) {
    struct error err = { 0 };
    _cleanup_(strbuf_finish) struct strbuf text = STRBUF_INIT;
    _cleanup_(freep) char *url = NULL;
    bool known = daemon_store_url(home, &url, &err) == 0;
    bool ok = known && describe_store(url, &text, &err) == 0;
    /* An unreadable configuration, or a store in use, is not a problem of the store. */
    bool mild = !known || err.code == -EBUSY;
    print_check(w, "store",
                ok     ? "ok"
                : mild ? "warning"
                       : "bad",
                ok      ? strbuf_text(&text)
                : known ? err.text
                        : "not checked: its location is unknown",
                ok || mild ? NULL : fix_of(url, err.code));
}

/* A daemon queries the controller; this only finds missing programs. */
static void print_slurm(struct json_writer *w, const struct config *config) {
    const char *folder = config_text(config, "slurm.programs", NULL);
    const struct executor_feature *features = NULL;
    const struct executor_slurm_options options = { .programs = *folder ? folder : NULL };
    size_t count = config_uses_slurm(config) ? executor_slurm_probe(&options, &features) : 0;
    for (size_t i = 0; i < count; i++)
        if (strcmp(features[i].name, "sbatch") == 0) {
            bool ok = features[i].there;
            print_check(w, "slurm", ok ? "ok" : "bad",
                        ok ? "sbatch is there" : "'sbatch' is not there: no run can be handed over",
                        ok ? NULL : features[i].fix);
        }
}

int daemon_doctor(const struct home *home) {
    _cleanup_(strbuf_finish) struct strbuf out = STRBUF_INIT, list = STRBUF_INIT;
    struct json_writer w;
    json_write_init(&w, &out, false);
    json_write_array_begin(&w);
    print_store(&w, home);
    struct config *config = config_new(); /* defaults if it cannot be read */
    (void)config_read_file(config, home->config_file, NULL);
    print_slurm(&w, config);
    json_write_array_end(&w);
    _cleanup_(freep) char *data = config_data_folder(config, home->data);
    config_free(config);
    op_print_kernel(data, &list);
    printf("{\"features\":%s,\"checks\":%s}\n", strbuf_text(&list), strbuf_text(&out));
    return fflush(stdout) == 0 ? DAEMON_OK : DAEMON_FAILED;
}

int daemon_restore(const struct home *home, const char *backup) {
    struct error err = { 0 };
    _cleanup_(freep) char *url = NULL;
    char kept[512] = "";
    int r = daemon_store_url(home, &url, &err);
    if (r == 0)
        r = home_make(home, &err);
    if (r == 0)
        r = store_restore(url, backup, kept, &err);
    if (r < 0)
        return fail(&err);
    printf("%s: restored from %s\n", url, backup);
    if (kept[0])
        printf("what was there before: %s\n", kept);
    return DAEMON_OK;
}

int daemon_store_migrate(const char *url) {
    struct error err = { 0 };
    struct store_options options = { .url = url };
    struct store *store = NULL;
    struct store_report report = { 0 };
    if (store_open(&options, &store, &report, &err) < 0)
        return fail(&err);
    struct store_info info;
    store_info(store, &info);
    printf("%s: version %u, %s\n", info.place, STORE_VERSION,
           report.created         ? "made"
           : report.migrated_from ? "migrated"
                                  : "as it was");
    if (report.backup[0])
        printf("what was there before: %s\n", report.backup);
    store_close(store);
    return DAEMON_OK;
}

static void print_openapi(struct strbuf *out) {
    op_print_openapi(out, SLUICE_VERSION);
}

int daemon_print_api(const char *format) {
    static const struct {
        const char *format;
        void (*print)(struct strbuf *out);
    } formats[] = {
        { "openapi", print_openapi },    { "markdown", op_print_markdown },
        { "members", op_print_members }, { "typescript", op_print_typescript },
        { "css", op_print_css },         { "form", op_print_form },
        { "events", op_print_events },
    };
    _cleanup_(strbuf_finish) struct strbuf out = STRBUF_INIT;
    for (size_t i = 0; i < ARRAY_SIZE(formats); i++)
        if (strcmp(format, formats[i].format) == 0) {
            formats[i].print(&out);
            fputs(strbuf_text(&out), stdout);
            return fflush(stdout) == 0 ? DAEMON_OK : DAEMON_FAILED;
        }
    fprintf(stderr,
            "sluiced: unknown format '%s': use markdown, openapi, members, typescript, css, form "
            "or events\n",
            format);
    return DAEMON_USAGE;
}

/* --- copies ----------------------------------------------------------------------------------- */

static int fail_store(const struct error *err) {
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

/* --- sluiced --store-copy --------------------------------------------------------------------- */

struct progress {
    bool terminal;
    int64_t shown_us;
};

static int show_progress(void *ctx, enum store_copy_step step, enum store_table table,
                         uint64_t rows) {
    static const char *const words[] = {
        [STORE_COPY_WRITING] = "copying",
        [STORE_COPY_READING_FROM] = "reading the original again",
        [STORE_COPY_READING_TO] = "reading the copy",
    };
    struct progress *progress = ctx;
    int64_t now = clock_read_steady_us();
    if (!progress->terminal || now - progress->shown_us < PROGRESS_EVERY_US)
        return 0;
    progress->shown_us = now;
    fprintf(stderr, "\r\033[K%s: %s %llu", words[step], store_table_name(table),
            (unsigned long long)rows);
    return 0;
}

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
    struct progress progress = { .terminal = terminal_is(stderr) };
    struct store_copy_report report;
    int64_t began = clock_read_steady_us();
    int r = find_store(home, from, &from_url, &err);
    if (r >= 0)
        r = find_store(home, to, &to_url, &err);
    if (r >= 0) {
        char host[HOST_NAME_MAX + 1] = "", who[STORE_WHO_MAX];
        (void)gethostname(host, sizeof(host) - 1);
        /* Shown to other daemons that find the store in use. */
        (void)snprintf(who, sizeof(who), "%s/%ld", host, (long)getpid());
        struct store_copy_options options = {
            .from = from_url, .to = to_url, .who = who, .progress = show_progress, .ctx = &progress
        };
        r = store_copy(&options, &report, &err);
        if (progress.shown_us > 0)
            fputs("\r\033[K", stderr);
    }
    if (r < 0)
        return fail_store(&err);
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

/* --- sluiced --store-show --------------------------------------------------------------------- */

struct shown {
    struct store_summary look;
    struct store_report report;
    struct store_digest digest;
    struct store_info info;
    char place[STORE_SHOWN_MAX], backend[32];
    bool unfinished; /* a copy into it is unfinished */
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
        r = store_summary(url, &shown.look, &err);
    }
    /* An older version is not migrated for this. */
    if (r >= 0 && shown.look.there && shown.look.version == STORE_VERSION)
        r = count_rows(url, &shown, &err);
    if (r < 0)
        return fail_store(&err);
    _cleanup_(strbuf_finish) struct strbuf out = STRBUF_INIT;
    struct json_writer w;
    json_write_init(&w, &out, false);
    print_shown(&w, &shown);
    return print_out(&out);
}
