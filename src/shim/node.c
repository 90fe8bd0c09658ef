/* node.c: begins a run on a host that the daemon cannot reach.
 *
 * Slurm starts the shim with a name instead of descriptors, and perhaps twice: a job can be
 * requeued, and an sbatch whose answer was lost may be repeated. Nothing is touched before the
 * run's directory shows that this shim begins the run (rundir_begin_at). */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "base/env_text.h"
#include "rundir/record.h"
#include "shim/shim.h"

#define KILL_WAIT_MAX HOURS(24)

extern char **environ;

/* Slurm's descriptors must not collide with ours, and must not reach the command. */
static void close_all(void) {
    if (syscall(SYS_close_range, FD_FOLDER, ~0u, 0) == 0)
        return;
    for (int fd = FD_FOLDER; fd < 1024; fd++)
        (void)close(fd);
}

static void move_fd(int from, int to) {
    if (from != to) {
        (void)dup2(from, to);
        (void)close(from);
    }
}

static const char *env_or(const char *name, const char *otherwise) {
    const char *value = env_find((const char *const *)environ, name);
    return value && *value ? value : otherwise;
}

/* "job 17 n3 4711 0": number, host, pid, number of earlier starts by Slurm. */
static void name_self(char *out, size_t size) {
    struct utsname host = { .nodename = "?" };
    struct record_out text = { .text = out, .size = size - 1 };
    (void)uname(&host);
    record_puts(&text, "job ");
    record_puts(&text, env_or("SLURM_JOB_ID", "0"));
    record_puts(&text, " ");
    record_puts(&text, env_or("SLURMD_NODENAME", host.nodename));
    record_puts(&text, " ");
    record_put_number(&text, getpid());
    record_puts(&text, " ");
    record_puts(&text, env_or("SLURM_RESTART_COUNT", "0"));
    out[text.length] = '\0';
}

int node_enter(struct shim *s, const char *folder, const char *kill_wait) {
    char who[RUN_BEGIN_MAX];
    int64_t wait = 0;
    if (!record_number(kill_wait, 1, KILL_WAIT_MAX, &wait))
        return RUN_NODE_NO_FOLDER;
    /* A signal that our parent ignores would be ignored by the command, too. */
    for (int signal = 1; signal < 32; signal++)
        (void)sigaction(signal, &(struct sigaction){ .sa_handler = SIG_DFL }, NULL);
    close_all();
    int dir = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (dir < 0)
        return RUN_NODE_NO_FOLDER;
    move_fd(dir, FD_FOLDER);
    int lock = openat(FD_FOLDER, "lock", O_RDWR | O_NOFOLLOW | O_CLOEXEC);
    if (lock < 0)
        return RUN_NODE_NO_WRITE;
    move_fd(lock, FD_LOCK);
    name_self(who, sizeof(who));
    int r = rundir_begin_at(FD_FOLDER, who);
    if (r < 0)
        return r == -EEXIST ? RUN_NODE_BEGUN : RUN_NODE_NO_WRITE;
    s->kill_wait = wait;
    limits_note(s, "slurm");
    return 0;
}

/* Variables that describe the job and its devices. */
static bool is_of_slurm(const char *variable, size_t name) {
    static const char ending[] = "_VISIBLE_DEVICES";
    size_t length = sizeof(ending) - 1;
    return strncmp(variable, "SLURM", 5) == 0
           || (name > length && memcmp(variable + name - length, ending, length) == 0)
           || strncmp(variable, "GPU_DEVICE_ORDINAL=", name + 1) == 0
           || strncmp(variable, "ZE_AFFINITY_MASK=", name + 1) == 0;
}

static bool has_variable(const struct shim *s, const char *variable, size_t name) {
    for (const char *const *at = s->spec.env; *at; at++)
        if (strncmp(*at, variable, name + 1) == 0)
            return true;
    return false;
}

void node_add_env(struct shim *s) {
    size_t count = 0;
    if (!s->spec.env)
        return; /* it could not be read */
    while (s->words.env[count])
        count++;
    for (char **at = environ; *at && count < RUN_ENV_MAX; at++) {
        size_t name = strcspn(*at, "=");
        if ((*at)[name] != '=' || !is_of_slurm(*at, name) || has_variable(s, *at, name))
            continue;
        s->words.env[count++] = *at;
        s->words.env[count] = NULL;
    }
}
