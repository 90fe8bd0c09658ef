/* trial.c: would a command run like this? For the daemon, which tries its sandbox before it relies on it.
 *
 * sluice-shim --trial FILE reads a spec from the file and runs its command as a run would be started. It has
 * no folder, no lock and no log: the output of the command goes where its own goes. It ends with 0 if the command
 * was seen to run and ended with 0; else with 1, and says why. */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "os/clock.h"
#include "shim/shim.h"

static int complain(const char *why) {
    (void)!write(STDOUT_FILENO, why, strlen(why));
    (void)!write(STDOUT_FILENO, "\n", 1);
    return 1;
}

static int read_spec(struct shim *s, const char *path, char *text, size_t size, struct error *err) {
    size_t used = 0;
    ssize_t got = -1;
    int fd = open(path, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
    while (fd >= 0 && used < size && (got = read(fd, text + used, size - used)) > 0)
        used += (size_t)got;
    if (fd >= 0)
        close(fd);
    if (got < 0)
        return error_set(err, -errno, "cannot read '%.120s': %s", path, strerror(errno));
    return run_spec_parse(text, used, NULL, &s->words, &s->spec, err);
}

int trial_run(struct shim *s, const char *path, char *text, size_t size) {
    struct error err = { 0 };
    struct command_failure failure;
    const struct command_files files = { .out = STDOUT_FILENO, .err = STDERR_FILENO };
    sigset_t all;
    sigfillset(&all);
    (void)sigprocmask(SIG_SETMASK, &all, NULL);
    (void)prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0);
    (void)prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
    s->command_umask = umask(077);
    s->self = getpid();
    s->cgroup = -1;
    s->hurry_at = TIME_NEVER;
    if (read_spec(s, path, text, size, &err) < 0)
        return complain(err.text);
    s->deadline = s->spec.command.timeout > 0
                      ? time_add(clock_read_steady(), s->spec.command.timeout)
                      : TIME_NEVER;
    if (command_start(s, s->spec.command.argv, &files, &failure) < 0) {
        run_refuse_command(s, &failure);
        return complain(s->end.message);
    }
    const struct watch watch = { 0 };
    enum verdict verdict = watch_leader(s, &watch);
    tree_end(s);
    if (verdict != VERDICT_NONE)
        return complain("it took longer than its time-out");
    return WIFEXITED(s->status) && WEXITSTATUS(s->status) == 0 ? 0 : 1;
}
