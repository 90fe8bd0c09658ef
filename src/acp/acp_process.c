/* acp_process.c: the agent as a child process.
 *
 * It has a process group of its own: the signal that asks a run to stop goes to ours, and the agent is asked by
 * session/cancel. When this program is killed, the shim kills the agent with everything else that is left. */
#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "acp/acp.h"

extern char **environ;

static int spawn(pid_t *ret_pid, char *const *words, int in, int out) {
    posix_spawn_file_actions_t files;
    posix_spawnattr_t attributes;
    sigset_t none, usual;
    sigemptyset(&none);
    sigemptyset(&usual);
    sigaddset(&usual, SIGPIPE);
    posix_spawn_file_actions_init(&files);
    posix_spawnattr_init(&attributes);
    posix_spawn_file_actions_adddup2(&files, in, STDIN_FILENO);
    posix_spawn_file_actions_adddup2(&files, out, STDOUT_FILENO);
    posix_spawnattr_setpgroup(&attributes, 0);
    posix_spawnattr_setsigmask(&attributes, &none);
    posix_spawnattr_setsigdefault(&attributes, &usual);
    posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGMASK
                                              | POSIX_SPAWN_SETSIGDEF);
    int error = posix_spawnp(ret_pid, words[0], &files, &attributes, words, environ);
    posix_spawnattr_destroy(&attributes);
    posix_spawn_file_actions_destroy(&files);
    return error;
}

int acp_agent_start(struct acp_agent *agent, char *const *words) {
    int to[2], from[2];
    *agent = (struct acp_agent){ .in = -1, .out = -1 };
    if (pipe2(to, O_CLOEXEC) < 0)
        return -1;
    if (pipe2(from, O_CLOEXEC) < 0) {
        close(to[0]);
        close(to[1]);
        return -1;
    }
    int error = spawn(&agent->pid, words, to[0], from[1]);
    close(to[0]);
    close(from[1]);
    if (error != 0) {
        close(to[1]);
        close(from[0]);
        agent->pid = 0;
        errno = error;
        return -1;
    }
    (void)fcntl(to[1], F_SETFL, O_NONBLOCK);
    (void)fcntl(from[0], F_SETFL, O_NONBLOCK);
    agent->in = to[1];
    agent->out = from[0];
    return 0;
}

void acp_agent_close_input(struct acp_agent *agent) {
    if (agent->in >= 0)
        close(agent->in);
    agent->in = -1;
}

void acp_agent_send(struct acp_agent *agent, struct strbuf *queue) {
    ssize_t sent = agent->in < 0 ? (ssize_t)queue->length
                                 : write(agent->in, strbuf_text(queue), queue->length);
    if (sent < 0 && errno != EAGAIN && errno != EINTR) {
        acp_agent_close_input(agent); /* it does not read any more; its exit says the rest */
        sent = (ssize_t)queue->length;
    }
    if (sent <= 0)
        return;
    queue->length -= (size_t)sent;
    memmove(queue->text, queue->text + sent, queue->length + 1);
}

bool acp_agent_reap(struct acp_agent *agent) {
    int status;
    if (agent->pid == 0 || waitpid(agent->pid, &status, WNOHANG) != agent->pid)
        return agent->pid == 0;
    agent->pid = 0;
    agent->code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
    return true;
}

void acp_agent_signal(const struct acp_agent *agent, int signal) {
    if (agent->pid > 0)
        (void)kill(-agent->pid, signal);
}
