/* host.c: disk, memory and load, measured only when a decision may depend on them.
 *
 * The disk is measured in every turn: that costs a microsecond, and a disk can fill up in a second.
 * Memory and load are read from files and change slowly.
 *
 * There are two floors: the host gate blocks starts (host.disk_free_gb); the store's own floor
 * refuses new work (store.min_free_mb), so that existing work can always be finished. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/statvfs.h>

#include "base/strbuf.h"
#include "engine/engine_internal.h"
#include "os/files.h"

#define READ_AGAIN_AFTER  SECONDS(1)  /* younger values of memory and load are good enough */
#define READ_WHILE_CLOSED SECONDS(10) /* nothing else would wake us when the gate may open */

static int64_t disk_free_mb(const char *path) {
    struct statvfs fs;
    if (statvfs(path, &fs) < 0)
        return -1;
    return (int64_t)((uint64_t)fs.f_bavail * fs.f_frsize >> 20);
}

static int64_t memory_free_mb(void) {
    _cleanup_(strbuf_finish) struct strbuf text = STRBUF_INIT;
    if (file_read("/proc/meminfo", 65536, &text, NULL) < 0)
        return -1;
    const char *line = strstr(strbuf_text(&text), "MemAvailable:");
    return line ? strtoll(line + strlen("MemAvailable:"), NULL, 10) >> 10 : -1;
}

static int64_t load_milli(void) {
    double load = 0;
    return getloadavg(&load, 1) == 1 ? (int64_t)(load * 1000.0) : -1;
}

static bool host_matters(const struct policy *policy) {
    return policy->host.disk_min_mb || policy->host.memory_min_mb || policy->host.load_max_milli;
}

/* The store's reserve does not count as free, even while it is in use. */
static bool is_full(const struct engine *e, int64_t disk) {
    int64_t least = config_number(e->config, "store.min_free_mb", NULL);
    int64_t reserve = STORE_RESERVE >> 20;
    struct store_info info;
    if (least == 0 || disk >= least + reserve)
        return false;
    store_info(e->store, &info);
    return disk < least + (info.reserve_used ? reserve : 0);
}

static void host_measure(struct engine *e) {
    struct host *h = host_of(e);
    const struct policy *policy = config_policy(e->config);
    int64_t disk = disk_free_mb(e->data);
    bool was_low = h->disk_low;
    h->disk_read_at = e->now;
    h->disk_free_mb = disk;
    h->full = disk >= 0 && is_full(e, disk);
    h->disk_low = disk >= 0 && disk < policy->host.disk_min_mb;
    if (h->disk_low && !was_low)
        prune_now(e); /* free space by deleting old data first */
    if (!h->read_at || e->now - h->read_at >= READ_AGAIN_AFTER) {
        h->read_at = e->now;
        h->memory_free_mb = policy->host.memory_min_mb ? memory_free_mb() : -1;
        h->load_milli = policy->host.load_max_milli ? load_milli() : -1;
    }
    struct fact fact = { .kind = FACT_HOST, .host = { disk, h->memory_free_mb, h->load_milli } };
    if (host_matters(policy))
        (void)core_apply(e->core, &fact, NULL);
}

/* While the gate is closed and tasks wait behind it. */
static time_ms host_next_wakeup(const struct engine *e) {
    struct core_counts counts;
    if (core_host_is_open(e->core) || !host_matters(config_policy(e->config)))
        return TIME_NEVER;
    core_count(e->core, &counts); /* iterates over the classes */
    if (counts.by_state[TASK_READY] == 0)
        return TIME_NEVER;
    return time_add(host_of(e)->read_at, READ_WHILE_CLOSED);
}

void engine_host(const struct engine *e, struct engine_host_values *ret) {
    *ret = (struct engine_host_values){
        .disk_free_mb = disk_free_mb(e->data),
        .memory_free_mb = memory_free_mb(),
        .load_milli = load_milli(),
    };
}

bool engine_is_full(const struct engine *e) {
    return host_of(e)->full;
}

static void host_configured(struct engine *e) {
    host_of(e)->read_at = 0;
    if (host_of(e)->disk_low)
        prune_now(e);
}

const struct engine_part host_part = {
    .state_size = sizeof(struct host),
    .at = { [STEP_BEGIN] = host_measure, [STEP_CONFIGURED] = host_configured },
    .next_wakeup = host_next_wakeup,
};
