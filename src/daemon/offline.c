/* offline.c: what is done to a store while no daemon has it. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/alloc.h"
#include "daemon/daemon.h"
#include "store/store.h"

static int fail(const struct error *err) {
    fprintf(stderr, "sluiced: %s\n", err->text);
    return err->code == -EBUSY ? DAEMON_BUSY : DAEMON_FAILED;
}

int daemon_check(const struct home *home) {
    struct error err = { 0 };
    _cleanup_(freep) char *url = NULL;
    struct store *store = NULL;
    struct store_report report;
    struct store_totals totals = { 0 };
    struct store_reader nothing = { 0 };
    int r = daemon_store_url(home, &url, &err);
    if (r == 0) {
        struct store_options options = { .url = url };
        r = store_open(&options, &store, &report, &err);
    }
    if (r == 0)
        r = store_load(store, &nothing, &totals, &err);
    store_close(store);
    if (r < 0)
        return fail(&err);
    printf("%s: sound; %" PRIu64 " tasks, last event %" PRIu64 "\n", url, totals.tasks,
           totals.last_event);
    return DAEMON_OK;
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
