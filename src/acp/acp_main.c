/* acp_main.c: the program sluice-acp, which runs instead of an agent with the adapter `acp`.
 *
 * One thread. It reads the agent's output unless too many answers are unsent; requests are answered
 * at once, unless a person is asked. TERM and INT cancel the agent's turn, and end the agent if it does not answer. Shutdown
 * closes its input, then sends TERM, then KILL, with pauses between: some agents do not exit on end
 * of input. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include "acp/acp.h"
#include "base/alloc.h"
#include "base/macros.h"
#include "base/number.h"
#include "base/time_ms.h"
#include "os/clock.h"
#include "os/fd.h"

#define MESSAGE_MAX (16u << 20) /* bytes of one message from the agent */
#define QUEUE_MAX   (1u << 20)  /* unsent bytes; above this, stop reading the agent */
#define PROMPT_MAX  (64u << 20)
#define CANCEL_MS   5000 /* for the answer to session/cancel */
#define LEAVE_MS    1000 /* after its input was closed */
#define TERM_MS     3000 /* after TERM */
#define PIECE       (64u << 10)
#define ALIVE_MS    10000    /* a run that waits for a person must not look idle (idle_timeout_s) */
#define SPAN_MAX    31536000 /* seconds; the daemon accepts no more */

static const char usage[] =
    "usage: sluice-acp [OPTION...] -- COMMAND...\n"
    "\n"
    "Starts an agent that speaks the Agent Client Protocol (version 1), gives it the prompt that "
    "is on the\n"
    "standard input, answers its requests for permission, and prints what it says, one JSON object "
    "per line.\n"
    "The daemon starts it for agents with the adapter acp.\n"
    "\n"
    "  --permissions=allow|edits|deny|ask\n"
    "                                  what the agent may do when it asks; default: deny. ask: as "
    "edits,\n"
    "                                  and a person decides about the rest\n"
    "  --ask-wait=SECONDS              how long the agent waits for the person; default: 600\n"
    "  --ask-deadline=SECONDS          when the answer is no; default: 86400\n"
    "  --resume=ID                     goes on with this session\n"
    "  --mode=ID                       sets the mode of the session\n"
    "  --model=ID                      sets the model of the session\n"
    "  --auth-method=ID                calls `authenticate` with this method first\n"
    "  --version, --help\n"
    "\n"
    "Exit codes: 0 the agent ended its turn, 1 it failed or was canceled, 2 usage error, 127 it "
    "could not be\n"
    "started; otherwise that of an agent which exited too early, 128 + N for signal N.\n";

extern char **environ;

struct agent {
    pid_t pid;   /* also its process group; 0: reaped */
    int in, out; /* our pipe ends; -1: closed */
    int code;    /* valid when reaped; 128 + N: signal N */
};

struct client {
    struct acp_session session;
    struct agent agent;
    struct strbuf line; /* incomplete line from the agent */
    struct acp_question question;
    time_ms alive_at; /* when the log gets the next sign of life while a person is asked */
    int signals;
    time_ms deadline; /* of the next step; TIME_NEVER: none */
    enum { RUNNING, CANCELLING, LEAVING, TERMINATED, KILLED } step;
};

static int complain(int code, const char *what, const char *subject, const char *why) {
    _cleanup_(strbuf_finish) struct strbuf text = STRBUF_INIT;
    strbuf_printf(&text, "sluice-acp: %s%s%s%s\n", what, subject, *why ? ": " : "", why);
    (void)fd_write_all(STDERR_FILENO, strbuf_text(&text), text.length);
    return code;
}

/* --- the command line ------------------------------------------------------------------------- */

static const char *value_of(const char *word, const char *option) {
    size_t size = strlen(option);
    return strncmp(word, option, size) == 0 && word[size] == '=' ? word + size + 1 : NULL;
}

/* Seconds, at least one. */
static bool take_span(const char *text, time_ms *ret) {
    int64_t seconds;
    if (number_parse_int(text, &seconds, NULL) < 0 || seconds < 1 || seconds > SPAN_MAX)
        return false;
    *ret = SECONDS(seconds);
    return true;
}

static bool take_option(const char *word, struct acp_options *options) {
    const struct {
        const char *name;
        const char **value;
    } texts[] = { { "--resume", &options->resume },
                  { "--mode", &options->mode },
                  { "--model", &options->model },
                  { "--auth-method", &options->auth_method } };
    const char *policy = value_of(word, "--permissions");
    const char *wait = value_of(word, "--ask-wait");
    const char *deadline = value_of(word, "--ask-deadline");
    if (policy)
        return acp_policy_find(policy, &options->policy);
    if (wait || deadline)
        return take_span(wait ? wait : deadline,
                         wait ? &options->ask_wait : &options->ask_deadline);
    for (size_t i = 0; i < ARRAY_SIZE(texts); i++) {
        const char *value = value_of(word, texts[i].name);
        if (value && *value) {
            *texts[i].value = value;
            return true;
        }
    }
    return false;
}

/* Returns the index of the agent's command; -1: missing, or an invalid option. */
static int take_options(int argc, char **argv, struct acp_options *options) {
    int i = 1;
    for (; i < argc && strcmp(argv[i], "--") != 0; i++)
        if (!take_option(argv[i], options)) {
            (void)complain(2, "unknown option: ", argv[i], "");
            return -1;
        }
    if (i + 1 >= argc) {
        (void)complain(2, "no command: give it behind --", "", "");
        return -1;
    }
    return i + 1;
}

static int read_prompt(struct strbuf *prompt) {
    static char piece[PIECE];
    ssize_t size;
    while ((size = read(STDIN_FILENO, piece, sizeof(piece))) != 0) {
        if (size < 0 && errno == EINTR)
            continue;
        if (size < 0)
            return complain(1, "cannot read the prompt", "", strerror(errno));
        if (prompt->length + (size_t)size > PROMPT_MAX)
            return complain(1, "the prompt is too long: maximum is 64 MiB", "", "");
        strbuf_add(prompt, piece, (size_t)size);
    }
    return 0;
}

/* --- the agent as a child process ------------------------------------------------------------- */

/* The agent has its own process group: the signal that stops a run goes to ours, and the agent gets
 * session/cancel. If this program is killed, the shim kills the agent with the rest of the run. */
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

/* -1 and errno: could not be started. */
static int agent_start(struct agent *agent, char *const *words) {
    int to[2] = { -1, -1 }, from[2] = { -1, -1 };
    *agent = (struct agent){ .in = -1, .out = -1 };
    int error = pipe2(to, O_CLOEXEC) < 0 || pipe2(from, O_CLOEXEC) < 0
                    ? errno
                    : spawn(&agent->pid, words, to[0], from[1]);
    const int unused[] = { to[0], from[1], error ? to[1] : -1, error ? from[0] : -1 };
    for (size_t i = 0; i < ARRAY_SIZE(unused); i++)
        if (unused[i] >= 0)
            close(unused[i]);
    if (error != 0) {
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

static void agent_close_input(struct agent *agent) {
    if (agent->in >= 0)
        close(agent->in);
    agent->in = -1;
}

/* Writes as much as fits and removes it from the queue. */
static void agent_send(struct agent *agent, struct strbuf *queue) {
    ssize_t sent = agent->in < 0 ? (ssize_t)queue->length
                                 : write(agent->in, strbuf_text(queue), queue->length);
    if (sent < 0 && errno != EAGAIN && errno != EINTR) {
        agent_close_input(agent); /* it stopped reading; its exit code explains why */
        sent = (ssize_t)queue->length;
    }
    if (sent <= 0)
        return;
    queue->length -= (size_t)sent;
    memmove(queue->text, queue->text + sent, queue->length + 1);
}

/* True if reaped. */
static bool agent_reap(struct agent *agent) {
    int status;
    if (agent->pid == 0 || waitpid(agent->pid, &status, WNOHANG) != agent->pid)
        return agent->pid == 0;
    agent->pid = 0;
    agent->code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
    return true;
}

static void agent_signal(const struct agent *agent, int signal) {
    if (agent->pid > 0)
        (void)kill(-agent->pid, signal);
}

/* --- shutdown --------------------------------------------------------------------------------- */

static void step_to(struct client *c, int step, time_ms span) {
    c->step = step;
    c->deadline = time_add(clock_read_steady(), span);
}

static void terminate(struct client *c) {
    agent_close_input(&c->agent);
    agent_signal(&c->agent, SIGTERM);
    step_to(c, TERMINATED, TERM_MS);
}

static void on_deadline(struct client *c) {
    if (c->step == TERMINATED) {
        agent_signal(&c->agent, SIGKILL);
        step_to(c, KILLED, TERM_MS);
    } else if (c->step == KILLED) {
        c->deadline = TIME_NEVER; /* nothing more to do but wait */
    } else {
        terminate(c);
    }
}

static void on_stop(struct client *c) {
    bool again = c->session.is_canceled;
    acp_session_cancel(&c->session);
    if (again && c->step < TERMINATED)
        terminate(c);
    else if (c->step == RUNNING)
        step_to(c, CANCELLING, CANCEL_MS);
}

/* --- permissions that a person decides about -------------------------------------------------- */

/* Asks the first question of the session, if there is one. */
static void ask_next(struct client *c) {
    struct acp_session *s = &c->session;
    if (c->question.ask && (c->question.ask != s->asks || s->phase == ACP_OVER))
        acp_question_end(&c->question); /* canceled */
    while (s->asks && s->phase != ACP_OVER && !c->question.ask) {
        if (!c->question.problem) {
            acp_question_begin(&c->question, s->asks, s->options);
            c->alive_at = time_add(clock_read_steady(), ALIVE_MS);
            return;
        }
        acp_permission_answer(s, NULL, NULL, c->question.problem);
    }
}

static void ask_step(struct client *c) {
    struct acp_session *s = &c->session;
    struct acp_question *q = &c->question;
    if (q->ask && clock_read_steady() >= c->alive_at) {
        acp_session_log_wait(s, NULL);
        c->alive_at = time_add(clock_read_steady(), ALIVE_MS);
    }
    switch (acp_question_step(q, s->options)) {
    case ACP_REPLY_NONE:
        return;
    case ACP_REPLY_ANSWERED:
        acp_permission_answer(s, strbuf_text(&q->answer), q->by.length ? strbuf_text(&q->by) : "?",
                              NULL);
        break;
    case ACP_REPLY_REFUSED:
        acp_permission_answer(s, NULL, NULL, strbuf_text(&q->message));
        break;
    case ACP_REPLY_OPEN:
        if (!acp_session_stop_waiting(s)) { /* it would begin again: better wait on */
            q->until = time_add(clock_read_steady(), s->options->ask_deadline);
            return;
        }
        step_to(c, CANCELLING, CANCEL_MS);
        break;
    }
    acp_question_end(&c->question);
}

/* --- the loop --------------------------------------------------------------------------------- */

static void flush_log(struct client *c) {
    /* If the disk is full or the pipe is closed, the end of the log is lost. */
    (void)fd_write_all(STDOUT_FILENO, strbuf_text(&c->session.log), c->session.log.length);
    strbuf_clear(&c->session.log);
}

static void take_bytes(struct client *c, const char *bytes, size_t size) {
    while (size > 0) {
        const char *end = memchr(bytes, '\n', size);
        size_t length = end ? (size_t)(end - bytes) : size;
        if (c->line.length + length > MESSAGE_MAX) {
            acp_session_fail(&c->session, "a message of the agent is longer than 16 MiB");
            strbuf_clear(&c->line);
            return;
        }
        strbuf_add(&c->line, bytes, length);
        if (!end)
            return;
        acp_session_take(&c->session, strbuf_text(&c->line), c->line.length);
        strbuf_clear(&c->line);
        flush_log(c);
        bytes += length + 1;
        size -= length + 1;
    }
}

static void close_output(struct client *c) {
    if (c->line.length > 0)
        acp_session_take(&c->session, strbuf_text(&c->line), c->line.length);
    strbuf_clear(&c->line);
    close(c->agent.out);
    c->agent.out = -1;
}

static void read_agent(struct client *c) {
    static char piece[PIECE];
    ssize_t size = read(c->agent.out, piece, sizeof(piece));
    if (size > 0)
        take_bytes(c, piece, (size_t)size);
    else if (size == 0 || (errno != EAGAIN && errno != EINTR))
        close_output(c);
}

static void read_signals(struct client *c) {
    struct signalfd_siginfo info;
    while (read(c->signals, &info, sizeof(info)) == (ssize_t)sizeof(info))
        if (info.ssi_signo != SIGCHLD)
            on_stop(c);
}

static void wait_once(struct client *c) {
    bool is_full = c->session.to_agent.length > QUEUE_MAX && c->session.phase != ACP_OVER;
    struct pollfd fds[] = {
        { .fd = c->signals, .events = POLLIN },
        { .fd = is_full ? -1 : c->agent.out, .events = POLLIN },
        { .fd = c->session.to_agent.length ? c->agent.in : -1, .events = POLLOUT },
        { .fd = c->question.fd, .events = acp_question_events(&c->question) },
    };
    time_ms next = time_min(c->deadline, c->question.wake), now = clock_read_steady();
    if (c->question.ask)
        next = time_min(next, c->alive_at);
    time_ms left = next == TIME_NEVER ? -1 : time_min(time_max(next - now, 0), HOURS(1));
    if (poll(fds, ARRAY_SIZE(fds), (int)left) < 0)
        return;
    if (fds[0].revents)
        read_signals(c);
    if (fds[1].revents)
        read_agent(c);
    if (fds[2].revents)
        agent_send(&c->agent, &c->session.to_agent);
    ask_next(c);
    ask_step(c);
    ask_next(c);
    if (c->deadline != TIME_NEVER && clock_read_steady() >= c->deadline)
        on_deadline(c);
}

/* Returns when the agent is reaped. */
static void run(struct client *c) {
    while (!agent_reap(&c->agent)) {
        if (c->agent.out < 0 && c->session.phase != ACP_OVER && c->step == RUNNING)
            step_to(c, LEAVING, LEAVE_MS); /* it usually exits now */
        if (c->session.phase == ACP_OVER && c->step < LEAVING) {
            agent_close_input(&c->agent);
            step_to(c, LEAVING, LEAVE_MS);
        }
        wait_once(c);
        flush_log(c);
    }
    /* Output from before its exit; a child of it may hold the pipe open. */
    while (c->agent.out >= 0) {
        struct pollfd fd = { .fd = c->agent.out, .events = POLLIN };
        if (poll(&fd, 1, 0) <= 0)
            break;
        read_agent(c);
    }
    acp_session_agent_exited(&c->session, c->agent.code);
    flush_log(c);
}

static int open_signals(void) {
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGTERM);
    sigaddset(&set, SIGINT);
    sigaddset(&set, SIGHUP);
    sigaddset(&set, SIGCHLD);
    (void)sigprocmask(SIG_BLOCK, &set, NULL);
    (void)signal(SIGPIPE, SIG_IGN);
    return signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
}

int main(int argc, char **argv) {
    static struct client c;
    struct acp_options options = { .policy = ACP_POLICY_DENY,
                                   .ask_wait = MINUTES(10),
                                   .ask_deadline = HOURS(24) };
    _cleanup_(strbuf_finish) struct strbuf prompt = STRBUF_INIT;
    if (argc == 2 && (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0)) {
        (void)fd_write_all(STDOUT_FILENO, usage, sizeof(usage) - 1);
        return 0;
    }
    if (argc == 2 && strcmp(argv[1], "--version") == 0) {
        (void)fd_write_all(STDOUT_FILENO, ACP_CLIENT_VERSION "\n", sizeof(ACP_CLIENT_VERSION));
        return 0;
    }
    int at = take_options(argc, argv, &options);
    if (at < 0)
        return 2;
    _cleanup_(freep) char *cwd = getcwd(NULL, 0);
    if (!cwd)
        return complain(1, "cannot find the working directory", "", strerror(errno));
    if (read_prompt(&prompt) != 0)
        return 1;
    options.cwd = cwd;
    options.prompt = strbuf_text(&prompt);
    c.signals = open_signals();
    c.deadline = TIME_NEVER;
    if (c.signals < 0)
        return complain(1, "cannot wait for signals", "", strerror(errno));
    if (agent_start(&c.agent, argv + at) < 0)
        return complain(127, "cannot run ", argv[at], strerror(errno));
    acp_question_init(&c.question, (const char *const *)environ);
    acp_session_init(&c.session, &options);
    run(&c);
    int code = c.session.exit_code;
    acp_question_finish(&c.question);
    acp_session_finish(&c.session);
    strbuf_finish(&c.line);
    return code;
}
