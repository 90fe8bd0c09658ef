/* offline.c: what sluiced does without being a daemon: looks at the store, restores it, describes itself. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/json_write.h"
#include "config/config.h"
#include "config/place.h"
#include "daemon/daemon.h"
#include "executor/slurm.h"
#include "ops/op.h"
#include "store/store.h"

#define GO_ON "'sluice store copy' with the same FROM and TO goes on with it"

static int fail(const struct error *err) {
    fprintf(stderr, "sluiced: %s%s\n", err->text, err->code == -EINPROGRESS ? ": " GO_ON : "");
    return err->code == -EBUSY ? DAEMON_BUSY : DAEMON_FAILED;
}

/* What is in the store, as a sentence; it is left as it is, whatever its version. */
static int look(const char *url, struct strbuf *out, struct error *err) {
    struct store_look found = { 0 };
    int r = store_look(url, &found, err);
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
    if (daemon_store_url(home, &url, &err) < 0 || look(url, &text, &err) < 0)
        return fail(&err);
    printf("%s\n", strbuf_text(&text));
    return DAEMON_OK;
}

static void print_check(struct json_writer *w, const char *name, const char *level,
                        const char *text, const char *fix) {
    const char *const members[][2] = {
        { "name", name }, { "level", level }, { "text", text }, { "fix", fix }
    };
    json_write_object_begin(w);
    json_put_bool(w, "ok", strcmp(level, "bad") != 0);
    for (size_t i = 0; i < ARRAY_SIZE(members); i++)
        json_put_string(w, members[i][0], members[i][1]);
    json_write_object_end(w);
}

/* NULL: the sentence itself says it. */
static const char *fix_of(const char *url, int code) {
    if (code == -EINPROGRESS)
        return GO_ON;
    if (!strstr(url, "://"))
        return "keep a copy of the folder, then 'sluice restore' a backup";
    return code == -ECONNREFUSED
               ? "start the server, or set store.url to where it is; what runs goes on meanwhile"
               : NULL;
}

static void print_store(struct json_writer *w, const struct home *home) {
    struct error err = { 0 };
    _cleanup_(strbuf_finish) struct strbuf text = STRBUF_INIT;
    _cleanup_(freep) char *url = NULL;
    bool known = daemon_store_url(home, &url, &err) == 0;
    bool ok = known && look(url, &text, &err) == 0;
    /* A configuration that cannot be read, and a daemon that cannot be reached, are other matters. */
    bool mild = !known || err.code == -EBUSY;
    print_check(w, "store",
                ok     ? "ok"
                : mild ? "warning"
                       : "bad",
                ok      ? strbuf_text(&text)
                : known ? err.text
                        : "not looked at: where it is, is not known",
                ok || mild ? NULL : fix_of(url, err.code));
}

/* Whether the controller answers is asked by a daemon; what is not even installed is seen from here. */
static void print_slurm(struct json_writer *w, const struct config *config) {
    const char *folder = config_text(config, "slurm.programs", NULL);
    const struct executor_feature *features = NULL;
    struct executor_slurm_options options = { 0 };
    _cleanup_(strbuf_finish) struct strbuf sbatch = STRBUF_INIT;
    strbuf_printf(&sbatch, "%s/sbatch", folder);
    options.sbatch = *folder ? strbuf_text(&sbatch) : NULL;
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
    struct config *config = config_new(); /* one that cannot be read: the usual one */
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

int daemon_print_api(const char *format) {
    struct strbuf out = STRBUF_INIT;
    if (strcmp(format, "openapi") == 0)
        op_print_openapi(&out, SLUICE_VERSION);
    else if (strcmp(format, "markdown") == 0)
        op_print_markdown(&out);
    else if (strcmp(format, "members") == 0)
        op_print_members(&out);
    else if (strcmp(format, "typescript") == 0)
        op_print_typescript(&out);
    else if (strcmp(format, "form") == 0)
        op_print_form(&out);
    else {
        fprintf(
            stderr,
            "sluiced: unknown format '%s': use markdown, openapi, members, typescript or form\n",
            format);
        return DAEMON_USAGE;
    }
    fputs(strbuf_text(&out), stdout);
    strbuf_finish(&out);
    return fflush(stdout) == 0 ? DAEMON_OK : DAEMON_FAILED;
}
