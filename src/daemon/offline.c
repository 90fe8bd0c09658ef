/* offline.c: what sluiced does without being a daemon: looks at the store, restores it, describes itself. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/json_write.h"
#include "config/config.h"
#include "daemon/daemon.h"
#include "engine/runs_folder.h"
#include "ops/op.h"
#include "store/store.h"

static int fail(const struct error *err) {
    fprintf(stderr, "sluiced: %s\n", err->text);
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
    strbuf_printf(out, "%s: sound; %" PRIu64 " tasks, last event %" PRIu64, url, found.tasks,
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

static void print_store(struct json_writer *w, const struct home *home) {
    struct error err = { 0 };
    _cleanup_(strbuf_finish) struct strbuf text = STRBUF_INIT;
    _cleanup_(freep) char *url = NULL;
    bool known = daemon_store_url(home, &url, &err) == 0;
    bool ok = known && look(url, &text, &err) == 0;
    /* A configuration that cannot be read, and a daemon that cannot be reached, are other matters. */
    bool mild = !known || err.code == -EBUSY;
    json_write_object_begin(w);
    json_write_key(w, "name");
    json_write_string(w, "store");
    json_write_key(w, "ok");
    json_write_bool(w, ok || mild);
    json_write_key(w, "level");
    json_write_string(w, ok ? "ok" : mild ? "warning" : "bad");
    json_write_key(w, "text");
    json_write_string(w, ok      ? strbuf_text(&text)
                         : known ? err.text
                                 : "not looked at: where it is, is not known");
    json_write_key(w, "fix");
    json_write_string(w, ok || mild ? NULL
                                    : "keep a copy of the folder, then 'sluice restore' a backup");
    json_write_object_end(w);
}

/* With a configuration that cannot be read, the usual one. */
static char *runs_folder(const struct home *home) {
    struct config *config = config_new();
    (void)config_read_file(config, home->config_file, NULL);
    char *folder = runs_folder_find(config, home->data);
    config_free(config);
    return folder;
}

int daemon_doctor(const struct home *home) {
    _cleanup_(strbuf_finish) struct strbuf out = STRBUF_INIT, list = STRBUF_INIT;
    struct json_writer w;
    json_write_init(&w, &out, false);
    json_write_array_begin(&w);
    print_store(&w, home);
    json_write_array_end(&w);
    _cleanup_(freep) char *runs = runs_folder(home);
    op_print_kernel(runs, &list);
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

int daemon_print_api(const char *format) {
    struct strbuf out = STRBUF_INIT;
    if (strcmp(format, "openapi") == 0)
        op_print_openapi(&out, SLUICE_VERSION);
    else if (strcmp(format, "markdown") == 0)
        op_print_markdown(&out);
    else {
        fprintf(stderr, "sluiced: '%s' is no format: markdown or openapi\n", format);
        return DAEMON_USAGE;
    }
    fputs(strbuf_text(&out), stdout);
    strbuf_finish(&out);
    return fflush(stdout) == 0 ? DAEMON_OK : DAEMON_FAILED;
}
