/* main.c: the program sluiced: its arguments, and a clean process environment for its runs. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include "base/macros.h"
#include "base/number.h"
#include "daemon/daemon.h"
#include "ops/op.h"
#include "os/outside.h"

struct arguments {
    const char *restore, *api, *web_dir, *copy_from, *copy_to, *show, *migrate;
    int ready_fd;
    bool check, doctor, version, help;
};

/* --- arguments -------------------------------------------------------------------------------- */

static const char arguments_usage[] =
    "usage: sluiced [--home DIR] [--ready-fd N] [--web-dir DIR]\n"
    "       sluiced [--home DIR] --check | --doctor | --restore FILE\n"
    "       sluiced [--home DIR] --store-copy FROM TO | --store-show STORE | --store-migrate URL\n"
    "       sluiced --api markdown|openapi|members|typescript|css|form|events | --version\n"
    "\n"
    "The daemon of Sluice; `sluice up` starts it. Runs in the foreground until SIGTERM or SIGINT; "
    "what it\n"
    "started goes on, and the next daemon finds it again. SIGHUP reads the configuration again.\n"
    "\n"
    "  --home DIR       as SLUICE_HOME=DIR: configuration, store, runs and socket are there\n"
    "  --ready-fd N     writes `ready`, or why not, to this descriptor\n"
    "  --web-dir DIR    serves the dashboard's files from there, and not those built in\n"
    "  --check          looks at the store, says what is in it, and ends; changes nothing\n"
    "  --doctor         the same and what the kernel can do, as JSON\n"
    "  --restore FILE   puts a backup in the place of the store, and ends\n"
    "  --store-copy FROM TO\n"
    "                   copies a whole store into an empty one, as `sluice store copy` tells\n"
    "  --store-show STORE\n"
    "                   counts what is in a store, as JSON; changes nothing\n"
    "  --store-migrate URL\n"
    "                   makes the tables of a store, or those of an older version new, and ends\n"
    "  --api FORMAT     prints the description of the HTTP interface\n"
    "  --version\n"
    "\n"
    "Exit codes: 0 stopped when asked, 1 failed, 2 usage error, 4 another daemon has this home or "
    "its\n"
    "store, 75 start it again (the store did not say whether the last commit is on disk).\n";

/* Returns the number of words consumed; <0: unknown. */
static int take_argument(int argc, char **argv, int i, struct arguments *a) {
    bool foreground = false; /* always in effect */
    const char *home = NULL, *ready_fd = NULL;
    const struct {
        const char *word;
        bool *flag;
        const char **text;
    } options[] = { { "--help", .flag = &a->help },
                    { "-h", .flag = &a->help },
                    { "--version", .flag = &a->version },
                    { "--check", .flag = &a->check },
                    { "--doctor", .flag = &a->doctor },
                    { "--foreground", .flag = &foreground },
                    { "--home", .text = &home },
                    { "--ready-fd", .text = &ready_fd },
                    { "--restore", .text = &a->restore },
                    { "--api", .text = &a->api },
                    { "--web-dir", .text = &a->web_dir },
                    { "--store-show", .text = &a->show },
                    { "--store-migrate", .text = &a->migrate } };
    int64_t number = -1;
    if (strcmp(argv[i], "--store-copy") == 0 && i + 2 < argc) {
        a->copy_from = argv[i + 1];
        a->copy_to = argv[i + 2];
        return 3;
    }
    size_t at = 0;
    while (at < ARRAY_SIZE(options) && strcmp(argv[i], options[at].word) != 0)
        at++;
    if (at < ARRAY_SIZE(options) && options[at].flag) {
        *options[at].flag = true;
        return 1;
    }
    if (at == ARRAY_SIZE(options) || i + 1 == argc)
        return -EINVAL;
    *options[at].text = argv[i + 1];
    if (home && setenv("SLUICE_HOME", home, 1) < 0)
        return -EINVAL;
    if (ready_fd && (number_parse_int(ready_fd, &number, NULL) < 0 || number < 0 || number >= 1024))
        return -EINVAL;
    a->ready_fd = ready_fd ? (int)number : a->ready_fd;
    return 2;
}

/* 0, or the index of the invalid argument. --home takes effect at once, as SLUICE_HOME. */
static int arguments_read(int argc, char **argv, struct arguments *ret_arguments) {
    struct arguments a = { .ready_fd = -1 };
    for (int i = 1, taken; i < argc; i += taken) {
        taken = take_argument(argc, argv, i, &a);
        if (taken < 0)
            return i;
    }
    *ret_arguments = a;
    return 0;
}

/* Closes inherited descriptors: a run would keep them open for hours. */
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

/* Returns the previous limit, which the runs get. */
static int64_t raise_open_files(void) {
    struct rlimit files;
    if (getrlimit(RLIMIT_NOFILE, &files) < 0 || files.rlim_cur == files.rlim_max)
        return 0;
    int64_t before = (int64_t)files.rlim_cur;
    files.rlim_cur = files.rlim_max;
    return setrlimit(RLIMIT_NOFILE, &files) < 0 ? 0 : before;
}

/* For tests: every answer is compared with its schema. The file exists. */
static void check_answers(void) {
    const char *path = getenv("SLUICE_TEST_ANSWERS");
    struct error err = { 0 };
    if (path)
        op_check_answers(
            outside_open(AT_FDCWD, path, O_WRONLY | O_APPEND | OUTSIDE_PARENT_LINKS, NULL, &err));
}

int main(int argc, char **argv) {
    struct arguments a = { 0 };
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
        daemon_report_start(a.ready_fd, err.text);
        return DAEMON_FAILED;
    }
    if (a.check || a.doctor)
        return a.check ? daemon_check(&home) : daemon_doctor(&home);
    if (a.restore)
        return daemon_restore(&home, a.restore);
    umask(077);
    if (a.migrate)
        return daemon_store_migrate(a.migrate);
    if (a.copy_from || a.show)
        return a.show ? daemon_store_show(&home, a.show)
                      : daemon_store_copy(&home, a.copy_from, a.copy_to);
    prctl(PR_SET_DUMPABLE, 0);
    /* A reader of our log, of the line `ready` or of events (sendfile) may exit. */
    (void)signal(SIGPIPE, SIG_IGN);
    close_others(a.ready_fd);
    check_answers();
    struct daemon_options options = { .home = &home,
                                      .ready_fd = a.ready_fd,
                                      .web_dir = a.web_dir,
                                      .open_files = raise_open_files() };
    return daemon_run(&options);
}
