/* enter.c: the last process inside a sandbox before the command. See wrap.c for the other end.
 *
 * It is this program again, started by the sandbox program with three descriptors. It says that it is inside, waits
 * until the shim has noted it, and becomes the command. What the sandbox program cannot do is done here: a process
 * group of its own, which signals go to; a keyring of its own; and a Landlock domain, which keeps the command from
 * abstract sockets even with the network of the host. */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "rundir/record.h"
#include "shim/child.h"

#define LANDLOCK_VERSION       1u /* LANDLOCK_CREATE_RULESET_VERSION */
#define LANDLOCK_SCOPES_SINCE  6  /* ABI */
#define SCOPE_ABSTRACT_SOCKETS 1u
#define SCOPE_SIGNALS          2u
#define KEYRING_JOIN_NEW       1 /* KEYCTL_JOIN_SESSION_KEYRING */

#ifndef SYS_landlock_create_ruleset
#define SYS_landlock_create_ruleset 444
#define SYS_landlock_restrict_self  446
#endif

/* As the kernel takes it; not every libc has a header for it. */
struct landlock_attributes {
    uint64_t files, net, scopes;
};

static struct run_spec_words words;
static const char *cwd, *stdin_path; /* or NULL */

/* Pages of a private mapping: the texts stay in it until exec. */
static void read_words(void) {
    struct stat st;
    if (fstat(FD_INSIDE_WORDS, &st) < 0)
        child_give_up(FD_INSIDE_REPORT, STEP_EXEC);
    const char *text = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, FD_INSIDE_WORDS, 0);
    if (text == MAP_FAILED)
        child_give_up(FD_INSIDE_REPORT, STEP_EXEC);
    struct record_in in = { .at = text, .end = text + st.st_size };
    const char *name, *value;
    size_t args = 0, envs = 0;
    while (record_next(&in, &name, &value)) {
        if (strcmp(name, "arg") == 0 && args < RUN_ARGS_MAX)
            words.argv[args++] = value;
        else if (strcmp(name, "env") == 0 && envs < RUN_ENV_MAX)
            words.env[envs++] = value;
        else if (strcmp(name, "cwd") == 0)
            cwd = value;
        else if (strcmp(name, "stdin") == 0)
            stdin_path = value;
    }
    errno = EPROTO;
    if (args == 0)
        child_give_up(FD_INSIDE_REPORT, STEP_EXEC);
}

static bool apply_scopes(void) {
    const struct landlock_attributes wanted = { .scopes = SCOPE_ABSTRACT_SOCKETS | SCOPE_SIGNALS };
    long version = syscall(SYS_landlock_create_ruleset, NULL, 0, LANDLOCK_VERSION);
    if (version < LANDLOCK_SCOPES_SINCE)
        return false;
    int rules = (int)syscall(SYS_landlock_create_ruleset, &wanted, sizeof(wanted), 0);
    bool applied = rules >= 0 && prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0
                   && syscall(SYS_landlock_restrict_self, rules, 0) == 0;
    if (rules >= 0)
        close(rules);
    return applied;
}

/* The shim has gone when nothing comes: then nothing must run. */
static void say_entered(bool scoped) {
    struct child_news news = { .step = STEP_ENTERED, .error = scoped ? ENTERED_SCOPED : 0 };
    char answer;
    if (write(FD_INSIDE_REPORT, &news, sizeof(news)) != (ssize_t)sizeof(news)
        || recv(FD_INSIDE_REPORT, &answer, 1, 0) != 1)
        child_give_up(FD_INSIDE_REPORT, STEP_EXEC);
}

static void open_stdin(const char *path) {
    int fd = open(path, O_RDONLY | O_NOCTTY | O_CLOEXEC);
    if (fd < 0 || (fd != STDIN_FILENO && dup2(fd, STDIN_FILENO) < 0))
        child_give_up(FD_INSIDE_REPORT, STEP_STDIN);
}

_Noreturn void enter_sandbox(void) {
    (void)setpgid(0, 0);
    read_words();
    (void)syscall(SYS_keyctl, KEYRING_JOIN_NEW, NULL);
    say_entered(apply_scopes());
    if (cwd && chdir(cwd) < 0)
        child_give_up(FD_INSIDE_REPORT, STEP_CWD);
    if (stdin_path)
        open_stdin(stdin_path);
    child_close_others(FD_INSIDE_REPORT);
    errno = child_exec(words.argv, words.env);
    child_give_up(FD_INSIDE_REPORT, STEP_EXEC);
}
