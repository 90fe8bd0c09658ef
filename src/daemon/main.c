/* main.c: the program sluiced: which of its tasks is asked for, and a process that leaks nothing into its runs. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "daemon/arguments.h"
#include "daemon/daemon.h"
#include "ops/op.h"
#include "os/outside.h"

/* Descriptors that somebody left open are not ours to hold; a run would keep them for hours. */
static void close_others(int keep) {
    const unsigned last = ~0u;
    if (keep < 3) {
        (void)close_range(3, last, 0);
        return;
    }
    if (keep > 3)
        (void)close_range(3, (unsigned)keep - 1, 0);
    (void)close_range((unsigned)keep + 1, last, 0);
    (void)fcntl(keep, F_SETFD, FD_CLOEXEC);
}

/* How many files we were allowed to have open: what runs gets no more than it would have without us. */
static int64_t raise_open_files(void) {
    struct rlimit files;
    if (getrlimit(RLIMIT_NOFILE, &files) < 0 || files.rlim_cur == files.rlim_max)
        return 0;
    int64_t before = (int64_t)files.rlim_cur;
    files.rlim_cur = files.rlim_max;
    return setrlimit(RLIMIT_NOFILE, &files) < 0 ? 0 : before;
}

static void prepare_process(int ready_fd) {
    umask(077);
    prctl(PR_SET_DUMPABLE, 0);
    (void)signal(SIGPIPE, SIG_IGN); /* a reader of our log or of the line `ready` may go away */
    close_others(ready_fd);
}

/* Tests have every answer compared with its shape; the file exists. */
static void check_answers(void) {
    const char *path = getenv("SLUICE_TEST_ANSWERS");
    struct error err = { 0 };
    if (path)
        op_check_answers(
            outside_open(AT_FDCWD, path, O_WRONLY | O_APPEND | OUTSIDE_PARENT_LINKS, NULL, &err));
}

int main(int argc, char **argv) {
    struct arguments a;
    int wrong = arguments_read(argc, argv, &a);
    if (wrong > 0) {
        fprintf(stderr, "sluiced: '%s' is no option, or lacks its value; see sluiced --help\n",
                argv[wrong]);
        return DAEMON_USAGE;
    }
    if (a.help || a.version) {
        fputs(a.help ? arguments_usage : "sluiced " SLUICE_VERSION "\n", stdout);
        return DAEMON_OK;
    }
    if (a.api)
        return daemon_print_api(a.api);
    struct error err = { 0 };
    _cleanup_(home_finish) struct home home = { 0 };
    if (home_find(&home, &err) < 0) {
        fprintf(stderr, "sluiced: %s\n", err.text);
        daemon_tell_starter(a.ready_fd, err.text);
        return DAEMON_FAILED;
    }
    if (a.check || a.doctor)
        return a.check ? daemon_check(&home) : daemon_doctor(&home);
    if (a.restore)
        return daemon_restore(&home, a.restore);
    if (a.migrate) {
        umask(077);
        return daemon_store_migrate(a.migrate);
    }
    if (a.copy_from || a.show) {
        umask(077);
        return a.show ? daemon_store_show(&home, a.show)
                      : daemon_store_copy(&home, a.copy_from, a.copy_to);
    }
    prepare_process(a.ready_fd);
    check_answers();
    struct daemon_options options = { .home = &home,
                                      .ready_fd = a.ready_fd,
                                      .web_dir = a.web_dir,
                                      .open_files = raise_open_files() };
    return daemon_run(&options);
}
