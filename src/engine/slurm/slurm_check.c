/* slurm_check.c: see executors.h. What only a node knows (whether it sees the runs folder and the
 * shim) cannot be checked from here. What makes it likely can: the type of file system, and whether
 * its clock is right. */
#include "engine/executors.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "base/alloc.h"
#include "config/run_settings.h"
#include "engine/slurm/slurm_internal.h"
#include "executor/slurm.h"
#include "os/clock.h"
#include "os/files.h"

#define PATIENCE     SECONDS(8)
#define KEPT_FOR     SECONDS(10)
#define FINDINGS_MAX 8
#define SKEW_MAX     SECONDS(2)

enum { QUERY_PING, QUERY_PARTITIONS, QUERY_CONFIG, QUERY_COUNT };

struct slurm_query {
    struct slurm_check *check;
    struct helper_process *helper;
    char *answer; /* NULL: none */
};

struct waiter {
    engine_slurm_checked checked;
    void *ctx;
};

struct slurm_check {
    struct engine *e;
    struct slurm_query queries[QUERY_COUNT];
    size_t open; /* commands still running */
    struct slurm_finding items[FINDINGS_MAX];
    size_t count;
    time_ms checked_at; /* monotonic; 0: never */
    LIST(struct waiter) waiters;
};

/* Whether any task, project, agent or setting names Slurm. */
static bool engine_uses_slurm(const struct engine *e) {
    return executors_of(e)->slurm || config_uses_slurm(e->config);
}

/* --- findings -------------------------------------------------------------------------------- */

static struct slurm_finding *add_finding(struct slurm_check *check, const char *name, bool ok,
                                         const char *fix) {
    struct slurm_finding *f = &check->items[check->count++];
    *f = (struct slurm_finding){ .name = name, .ok = ok, .fix = ok ? NULL : fix };
    return f;
}

/* Only the first line. */
static void set_text(struct slurm_finding *f, const char *text) {
    (void)snprintf(f->text, sizeof(f->text), "%.*s", (int)strcspn(text, "\n"), text);
}

static void check_programs(struct slurm_check *check) {
    static const char *const needed[] = { "sbatch", "squeue", "scancel" };
    const struct executor_feature *features = NULL;
    const struct executor_slurm_options options = { .programs = slurm_programs(check->e) };
    _cleanup_(strbuf_finish) struct strbuf missing = STRBUF_INIT;
    bool ok = true;
    size_t count = executor_slurm_probe(&options, &features);
    for (size_t i = 0; i < count; i++) {
        if (features[i].there)
            continue;
        strbuf_printf(&missing, "%s'%s'", missing.length ? ", " : "", features[i].name);
        for (size_t k = 0; k < ARRAY_SIZE(needed); k++)
            ok = ok && strcmp(features[i].name, needed[k]) != 0;
    }
    struct slurm_finding *f = add_finding(
        check, "slurm", ok && missing.length == 0,
        "sudo apt install slurm-client # or set slurm.programs to the folder of the commands");
    f->mild = ok;
    (void)snprintf(f->text, sizeof(f->text), "%s%s",
                   missing.length ? "missing: " : "its commands are installed",
                   strbuf_text(&missing));
}

static void check_controller(struct slurm_check *check) {
    const char *answer = check->queries[QUERY_PING].answer;
    bool up = answer && strstr(answer, " is UP");
    struct slurm_finding *f = add_finding(
        check, "slurmctld", up,
        "sudo systemctl start slurmctld # or give the daemon the SLURM_CONF of the cluster; "
        "until it answers, runs wait, and none is lost");
    set_text(f, answer ? answer : "it does not answer");
}

/* "gpu*|up|…" begins with this name. */
static bool has_partition(const char *list, const char *name) {
    size_t length = strlen(name);
    for (const char *line = list; line && *line; line = strchr(line, '\n')) {
        line += *line == '\n';
        size_t here = strcspn(line, "|*\n");
        if (here == length && strncmp(line, name, length) == 0)
            return true;
    }
    return false;
}

/* The first configured partition that does not exist. */
static const char *missing_partition(const struct config *config, const char *list) {
    size_t projects = config_project_count(config), agents = config_agent_count(config);
    for (size_t i = 0; i < 1 + projects + agents; i++) { /* of `tasks`, then of each of these */
        bool is_project = i > 0 && i <= projects;
        const char *project = is_project ? config_project_name(config, i - 1) : NULL;
        const char *agent = i > projects ? config_agent_name(config, i - 1 - projects) : NULL;
        const char *name = config_slurm_value(config, "partition", project, agent);
        if (name && !has_partition(list, name))
            return name;
    }
    return NULL;
}

static void check_partitions(struct slurm_check *check) {
    const char *list = check->queries[QUERY_PARTITIONS].answer;
    const char *missing = list ? missing_partition(check->e->config, list) : NULL;
    struct slurm_finding *f = add_finding(
        check, "partitions", list && !missing,
        list ? "# correct the 'partition=' in tasks.slurm, projects.P.slurm or agents.A.slurm"
             : NULL);
    f->mild = !list; /* the controller is the problem */
    if (!list) {
        set_text(f, "not known: sinfo does not answer");
        return;
    }
    _cleanup_(strbuf_finish) struct strbuf names = STRBUF_INIT;
    for (const char *line = list; *line; line += strcspn(line, "\n"), line += *line == '\n') {
        strbuf_puts(&names, names.length ? " " : "");
        strbuf_add(&names, line, strcspn(line, "|\n"));
    }
    if (missing)
        (void)snprintf(f->text, sizeof(f->text), "'%.60s' is none of: %.300s", missing,
                       strbuf_text(&names));
    else
        (void)snprintf(f->text, sizeof(f->text), "%.390s", strbuf_text(&names));
}

static void check_accounting(struct slurm_check *check) {
    static const char key[] = "AccountingStorageType";
    const char *answer = check->queries[QUERY_CONFIG].answer;
    const char *at = answer ? strstr(answer, key) : NULL;
    if (!at)
        return; /* the controller is the problem */
    at += strlen(key);
    at += strspn(at, " =");
    bool there = strncmp(at, "accounting_storage/none", strlen("accounting_storage/none")) != 0
                 && strncmp(at, "(null)", strlen("(null)")) != 0;
    struct slurm_finding *f = add_finding(
        check, "accounting", there,
        "# optional: with slurmdbd, sacct knows jobs that the controller has forgotten");
    f->mild = true;
    (void)snprintf(f->text, sizeof(f->text), "%.*s", (int)strcspn(at, "\n"), at);
}

/* --- files ----------------------------------------------------------------------------------- */

/* Whether nodes of a cluster usually share this type of file system. */
static const char *shared_by(const char *path, bool *ret_shared) {
    static const struct {
        uint32_t magic;
        const char *name;
    } kinds[] = {
        { 0x6969, "NFS" },        { 0x0bd00bd0, "Lustre" }, { 0x47504653, "GPFS" },
        { 0x19830326, "BeeGFS" }, { 0x00c36400, "Ceph" },   { 0xff534d42, "CIFS" },
        { 0xfe534d42, "SMB" },    { 0x01161970, "GFS2" },   { 0x7461636f, "OCFS2" },
        { 0x01021997, "9P" },     { 0x5346414f, "AFS" },    { 0x65735546, "FUSE" },
    };
    struct statfs fs;
    *ret_shared = false;
    if (statfs(path, &fs) < 0)
        return "not there";
    for (size_t i = 0; i < ARRAY_SIZE(kinds); i++)
        if (kinds[i].magic == (uint32_t)fs.f_type) {
            *ret_shared = true;
            return kinds[i].name;
        }
    return "of this machine alone";
}

/* How far the clock that stamps files there is ahead of ours; 0: unknown. */
static time_ms skew_of(const char *folder) {
    _cleanup_(strbuf_finish) struct strbuf path = STRBUF_INIT;
    struct stat st;
    strbuf_printf(&path, "%s/.clock-XXXXXX", folder);
    _cleanup_(fd_closep) int fd = mkstemp(path.text);
    if (fd < 0)
        return 0;
    time_ms skew = 0, before = clock_read();
    bool written = write(fd, "x", 1) == 1 && fsync(fd) == 0 && fstat(fd, &st) == 0;
    if (written)
        skew = (time_ms)st.st_mtim.tv_sec * 1000 + st.st_mtim.tv_nsec / 1000000 - before;
    (void)unlink(strbuf_text(&path));
    return skew;
}

static void check_folder(struct slurm_check *check) {
    const char *folder = check->e->runs_folder;
    bool shared = false;
    const char *kind = shared_by(folder, &shared);
    time_ms skew = skew_of(folder);
    bool right = skew < SKEW_MAX && skew > -SKEW_MAX;
    struct slurm_finding *f = add_finding(
        check, "slurm-runs", shared && right,
        !shared ? "# set data.folder to one that all nodes see under the same path; on one machine "
                  "this is fine"
                : "# let this machine, the nodes and the file server keep the same time (NTP)");
    f->mild = true;
    char clock[64] = "";
    if (!right)
        (void)snprintf(clock, sizeof(clock), "; its clock differs (%+" PRId64 " s)", skew / 1000);
    (void)snprintf(f->text, sizeof(f->text), "'%.200s' is %s %s%s", folder,
                   shared ? "shared by" : "on a file system that is", kind, clock);
}

static void check_shim(struct slurm_check *check) {
    const char *set = config_text(check->e->config, "slurm.shim", NULL);
    const char *path = *set ? set : check->e->shim_path;
    bool shared = false, there = access(path, X_OK) == 0;
    (void)shared_by(path, &shared);
    /* A configured one may exist on the nodes only. */
    struct slurm_finding *f =
        add_finding(check, "slurm-shim", there || *set,
                    "# install sluice-shim beside sluiced, or set slurm.shim");
    (void)snprintf(f->text, sizeof(f->text), "'%.200s' %s", path,
                   !there   ? *set
                                  ? "is not here; whether it is on the nodes is seen by the first run"
                                  : "cannot be executed: no task can run"
                   : shared ? "is there, on a shared file system"
                            : "is there; it must be on the nodes under the same path");
}

/* With only a Unix socket, a run on another machine cannot report, post or add anything. */
static void check_address(struct slurm_check *check) {
    const struct config *config = check->e->config;
    const char *const *words = NULL;
    bool set = config_words(config, "slurm.address", NULL, &words) > 0;
    bool open = *config_text(config, "http.listen", NULL) != '\0';
    struct slurm_finding *f = add_finding(
        check, "slurm-address", set && open,
        set ? "# set http.listen, with http.tls_cert where nodes are other machines"
            : "# set http.listen and slurm.address if runs there report, post or add tasks");
    f->mild = !set;
    (void)snprintf(f->text, sizeof(f->text), "%.300s",
                   !set ? "none: runs reach the daemon through its socket, so only on this machine"
                   : open ? words[0]
                          : "slurm.address is set, but there is no TCP listener");
}

/* --- queries ---------------------------------------------------------------------------------- */

static void check_all(struct slurm_check *check) {
    check->count = 0;
    check_programs(check);
    check_controller(check);
    check_partitions(check);
    check_accounting(check);
    check_folder(check);
    check_shim(check);
    check_address(check);
    check->checked_at = loop_now_steady(check->e->loop);
}

static void notify_waiters(struct slurm_check *check) {
    size_t count = check->waiters.count;
    struct waiter *waiters = check->waiters.items;
    memset(&check->waiters, 0, sizeof(check->waiters));
    for (size_t i = 0; i < count; i++)
        waiters[i].checked(waiters[i].ctx);
    free(waiters);
}

static void query_ended(void *ctx, const struct helper_end *end) {
    struct slurm_query *q = ctx;
    struct slurm_check *check = q->check;
    q->helper = NULL;
    free(q->answer);
    q->answer = end->output[0] && (end->code == 0 || q == &check->queries[QUERY_PING])
                    ? xstrdup(end->output)
                    : NULL;
    if (--check->open > 0)
        return;
    check_all(check);
    notify_waiters(check);
}

static void query_slurm(struct slurm_check *check) {
    static const char *const words[QUERY_COUNT][4] = {
        [QUERY_PING] = { "scontrol", "ping" },
        [QUERY_PARTITIONS] = { "sinfo", "--noheader", "--format=%P|%a" },
        [QUERY_CONFIG] = { "scontrol", "show", "config" },
    };
    const struct helper_spec spec = { .timeout = PATIENCE };
    for (size_t i = 0; i < QUERY_COUNT; i++) {
        struct slurm_query *q = &check->queries[i];
        free(q->answer);
        q->answer = NULL;
        q->check = check;
        if (slurm_query(check->e, words[i], spec, query_ended, q, &q->helper) == 0)
            check->open++;
        else
            q->helper = NULL;
    }
}

bool engine_check_slurm(struct engine *e, engine_slurm_checked checked, void *ctx) {
    struct slurm_check *check = executors_of(e)->check;
    if (!engine_uses_slurm(e))
        return true;
    if (!check) {
        check = executors_of(e)->check = xcalloc(1, sizeof(*check));
        check->e = e;
    }
    if (check->checked_at && loop_now_steady(e->loop) - check->checked_at < KEPT_FOR)
        return true;
    if (check->open == 0)
        query_slurm(check);
    if (check->open == 0) { /* no command could be started */
        check_all(check);
        return true;
    }
    *LIST_ADD(&check->waiters) = (struct waiter){ checked, ctx };
    return false;
}

const struct slurm_finding *engine_slurm_finding(const struct engine *e, size_t index) {
    const struct slurm_check *check = engine_uses_slurm(e) ? executors_of(e)->check : NULL;
    return check && index < check->count ? &check->items[index] : NULL;
}

void slurm_check_free(struct engine *e) {
    struct slurm_check *check = executors_of(e)->check;
    if (!check)
        return;
    for (size_t i = 0; i < QUERY_COUNT; i++) {
        helper_kill(check->queries[i].helper);
        free(check->queries[i].answer);
    }
    notify_waiters(check); /* no client is left to read it, but their memory is */
    free(check);
    executors_of(e)->check = NULL;
}
