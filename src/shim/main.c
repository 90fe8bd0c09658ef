/* main.c: the life of one shim, in order.
 *
 * The daemon may die at any point: nothing here queries it, waits for it, or fails without it. The
 * status is on disk before the shim exits, and until then its lock shows that the run is alive. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "os/fd.h"
#include "rundir/remove.h"
#include "shim/shim.h"

static struct shim shim;
static char spec_text[RUN_SPEC_MAX];

/* Reads the key from the environment and clears it. */
static void take_key(struct shim *s) {
    static const char name[] = TAG_VARIABLE "=";
    for (char **at = environ; *at; at++) {
        if (strncmp(*at, name, sizeof(name) - 1) != 0)
            continue;
        if (sha256_from_hex(*at + sizeof(name) - 1, s->key_bytes.bytes))
            s->key = &s->key_bytes;
        explicit_bzero(*at, strlen(*at));
    }
}

void shim_init(struct shim *s) {
    sigset_t all;
    (void)prctl(PR_SET_DUMPABLE, 0, 0, 0, 0); /* early: our environment may have the key */
    sigfillset(&all);
    (void)sigprocmask(SIG_SETMASK, &all, NULL);
    (void)prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0);
    (void)setrlimit(RLIMIT_CORE, &(struct rlimit){ 0, 0 });
    s->command_umask = umask(077);
    s->self = getpid();
    s->cgroup = -1;
    s->hurry_at = s->deadline = TIME_NEVER;
}

int shim_read_spec(struct shim *s, int fd, off_t offset, struct error *err) {
    ssize_t size = fd_pread_all(fd, spec_text, sizeof(spec_text), offset);
    if (size < 0)
        return error_set(err, (int)size, "cannot read the spec: %s", strerror(errno));
    return run_spec_parse(spec_text, (size_t)size, s->key, &s->words, &s->spec, err);
}

/* 0, or the exit status of a shim that has nothing to run. */
static int prepare(struct shim *s, int argc, char **argv) {
    shim_init(s);
    take_key(s);
    if (argc == 4 && strcmp(argv[1], "--in") == 0) {
        int code = node_enter(s, argv[2], argv[3]);
        if (code != 0)
            return code;
    }
    (void)setsid();           /* already done by the daemon, unless started manually */
    (void)!fchdir(FD_FOLDER); /* short names for its files, and no mount is kept busy */
    (void)prctl(PR_SET_NAME,
                "sluice-shim"); /* whatever the file is called, for executor_process_origin */
    s->handle = argc > 2 && s->kill_wait == 0 ? argv[2] : NULL;
    s->offers_end = s->handle && argc > 3 && strcmp(argv[3], RUN_OFFERS_END) == 0;
    s->end.code = -1;
    return 0;
}

int main(int argc, char **argv) {
    struct error err = { 0 };
    if (argc == 2 && strcmp(argv[1], "--enter") == 0)
        enter_sandbox();
    limits_oom_open(&shim);
    if (argc >= 3 && strcmp(argv[1], "--guard") == 0)
        return guard_main(&shim, argv[2]);
    int code = prepare(&shim, argc, argv);
    if (code != 0)
        return code;
    int r = shim_read_spec(&shim, FD_LOCK, RUN_LOCK_SPEC, &err);
    if (r == 0)
        r = secrets_take(&shim, &err);
    if (shim.kill_wait > 0)
        node_add_env(&shim);
    report_self(&shim);
    if (r < 0)
        run_refuse(&shim, -r, err.text);
    else
        run_all(&shim);
    bool is_offered = report_offer(&shim);
    if (!is_offered)
        report_end(&shim);
    terminal_disconnect(); /* `sluice take` may ask what follows: the end is on disk */
    /* The daemon reuses the empty directory for another run, so one that cannot be emptied is
     * renamed. */
    if (remove_inside_at(FD_FOLDER, "tmp") < 0)
        (void)renameat(FD_FOLDER, "tmp", FD_FOLDER, "tmp.left");
    else if (shim.kill_wait > 0) /* no daemon sees our exit, so none can take it */
        (void)unlinkat(FD_FOLDER, "tmp", AT_REMOVEDIR);
    if (is_offered && !report_is_stored())
        report_end(&shim);
    limits_close(&shim);
    return 0;
}
