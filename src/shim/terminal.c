/* terminal.c: the terminal of a run that a person has taken over.
 *
 * The command gets a new terminal, whose other end the shim holds, and the shim relays between that
 * and `sluice take` (os/terminal_wire.h). So the command never has the person's own terminal: it
 * cannot type there (TIOCSTI), and a sandbox has nothing to break out of. It is also a run like any
 * other: the daemon starts its shim, and may die while it runs.
 *
 * Everything is bounded: while one side does not read, the other is not read either. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "os/clock.h"
#include "os/fd.h"
#include "os/terminal_wire.h"
#include "shim/shim.h"

#ifndef TIOCGPTPEER
#define TIOCGPTPEER _IO('T', 0x41)
#endif

#define SIZE_WAIT  5000 /* ms for the first size */
#define FLUSH_WAIT 2000 /* ms for the last output */

static struct {
    int connection, master; /* -1: none, or closed */
    int log;                /* what the command prints is kept, too */
    unsigned char in[TERMINAL_HEAD + TERMINAL_FRAME_MAX];
    size_t in_size;             /* bytes of the current frame */
    size_t typed_at, typed_end; /* bytes of `in` that go to the command */
    char out[8192];             /* to the person */
    size_t out_at, out_end;
    bool is_hung_up;
} terminal = { .connection = -1, .master = -1, .log = -1 };

bool terminal_is_wanted(const struct shim *s) {
    return s->spec.terminal != NULL;
}

/* --- opening ---------------------------------------------------------------------------------- */

static int fail(struct command_failure *ret, const char *what, const char *subject,
                const char *words) {
    *ret = (struct command_failure){ what, subject, errno, words, LAUNCH_HOST };
    return -1;
}

static int connect_person(const char *path) {
    struct sockaddr_un address = { .sun_family = AF_UNIX };
    struct ucred who = { 0 };
    socklen_t size = sizeof(who);
    if (strlen(path) >= sizeof(address.sun_path)) {
        errno = ENAMETOOLONG;
        return -1;
    }
    memcpy(address.sun_path, path, strlen(path) + 1);
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd < 0)
        return -1;
    if (connect(fd, (const struct sockaddr *)&address, sizeof(address)) == 0
        && getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &who, &size) == 0 && who.uid != geteuid())
        errno = EPERM;
    else if (who.pid != 0)
        return fd;
    int error = errno;
    close(fd);
    if (error == ECONNREFUSED) /* its listener was killed, and could not remove it */
        (void)unlink(path);
    errno = error;
    return -1;
}

static void set_size(const unsigned char *at) {
    const struct winsize size = { .ws_row = terminal_number(at),
                                  .ws_col = terminal_number(at + 2) };
    (void)ioctl(terminal.master, TIOCSWINSZ, &size); /* SIGWINCH for the command */
}

/* Handles a complete frame. */
static void take_frame(void) {
    size_t size = terminal.in_size - TERMINAL_HEAD;
    terminal.in_size = 0;
    if (terminal.in[0] == TERMINAL_SIZE && size == 4)
        set_size(terminal.in + TERMINAL_HEAD);
    if (terminal.in[0] == TERMINAL_DATA) {
        terminal.typed_at = TERMINAL_HEAD;
        terminal.typed_end = TERMINAL_HEAD + size;
    }
}

/* Reads a part of a frame, and never more: what was typed is in the same buffer. False: there is
 * nothing to read now. */
static bool read_frame(void) {
    size_t wanted = TERMINAL_HEAD;
    if (terminal.in_size >= TERMINAL_HEAD)
        wanted += terminal_number(terminal.in + 1);
    if (wanted > sizeof(terminal.in)) { /* not our protocol */
        terminal.is_hung_up = true;
        return false;
    }
    ssize_t got = recv(terminal.connection, terminal.in + terminal.in_size,
                       wanted - terminal.in_size, MSG_DONTWAIT);
    if (got < 0 && (errno == EAGAIN || errno == EINTR))
        return false;
    if (got <= 0) {
        terminal.is_hung_up = true;
        return false;
    }
    terminal.in_size += (size_t)got;
    if (terminal.in_size >= TERMINAL_HEAD
        && terminal.in_size == TERMINAL_HEAD + (size_t)terminal_number(terminal.in + 1))
        take_frame();
    return true;
}

/* The command must know the size before it draws. */
static void await_size(void) {
    time_ms until = clock_read_steady() + SIZE_WAIT;
    struct winsize size = { 0 };
    for (time_ms now; (now = clock_read_steady()) < until && !terminal.is_hung_up;) {
        struct pollfd ready = { .fd = terminal.connection, .events = POLLIN };
        if (poll(&ready, 1, (int)(until - now)) <= 0)
            return;
        (void)read_frame();
        if (terminal.typed_end > 0
            || (ioctl(terminal.master, TIOCGWINSZ, &size) == 0 && size.ws_col > 0))
            return;
    }
}

int terminal_open(struct shim *s, int log, struct command_failure *ret_failure) {
    terminal.log = log;
    terminal.connection = connect_person(s->spec.terminal);
    if (terminal.connection < 0)
        return fail(ret_failure, "reach", "the terminal of the person who takes it over", NULL);
    terminal.master = posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC | O_NONBLOCK);
    if (terminal.master < 0 || grantpt(terminal.master) < 0 || unlockpt(terminal.master) < 0)
        return fail(ret_failure, "make", "a terminal", NULL);
    int slave = ioctl(terminal.master, TIOCGPTPEER, O_RDWR | O_NOCTTY | O_CLOEXEC);
    if (slave < 0)
        return fail(ret_failure, "make", "a terminal", NULL);
    await_size();
    errno = ECONNRESET;
    if (terminal.is_hung_up) {
        close(slave);
        return fail(ret_failure, "reach", "the terminal of the person who takes it over", NULL);
    }
    return slave;
}

/* --- relaying --------------------------------------------------------------------------------- */

static void write_typed(void) {
    while (terminal.typed_at < terminal.typed_end && terminal.master >= 0) {
        ssize_t done = write(terminal.master, terminal.in + terminal.typed_at,
                             terminal.typed_end - terminal.typed_at);
        if (done < 0 && errno == EAGAIN)
            return;
        if (done <= 0)
            break; /* no process of the command has it open */
        terminal.typed_at += (size_t)done;
    }
    terminal.typed_at = terminal.typed_end = 0;
}

static void read_printed(void) {
    ssize_t got = read(terminal.master, terminal.out, sizeof(terminal.out));
    if (got < 0 && (errno == EAGAIN || errno == EINTR))
        return;
    if (got <= 0) { /* EIO: the command has closed it */
        fd_closep(&terminal.master);
        return;
    }
    terminal.out_at = 0;
    terminal.out_end = (size_t)got;
    (void)!write(terminal.log, terminal.out, (size_t)got);
}

static void send_printed(void) {
    while (terminal.out_at < terminal.out_end && !terminal.is_hung_up) {
        ssize_t done = send(terminal.connection, terminal.out + terminal.out_at,
                            terminal.out_end - terminal.out_at, MSG_NOSIGNAL | MSG_DONTWAIT);
        if (done < 0 && (errno == EAGAIN || errno == EINTR))
            return;
        if (done < 0)
            terminal.is_hung_up = true;
        else
            terminal.out_at += (size_t)done;
    }
    terminal.out_at = terminal.out_end = 0;
}

void terminal_poll(struct pollfd *fds) {
    bool has_typed = terminal.typed_at < terminal.typed_end;
    bool has_printed = terminal.out_at < terminal.out_end;
    fds[0] = (struct pollfd){ .fd = terminal.is_hung_up ? -1 : terminal.connection };
    fds[1] = (struct pollfd){ .fd = terminal.master };
    if (!has_typed)
        fds[0].events |= POLLIN;
    if (has_printed)
        fds[0].events |= POLLOUT;
    if (has_typed)
        fds[1].events |= POLLOUT;
    if (!has_printed)
        fds[1].events |= POLLIN;
    else /* a hangup would wake us again and again */
        fds[1].fd = has_typed ? terminal.master : -1;
}

void terminal_relay(struct shim *s) {
    if (terminal.connection < 0)
        return;
    write_typed();
    while (terminal.typed_end == 0 && !terminal.is_hung_up && read_frame())
        write_typed();
    send_printed();
    for (unsigned i = 0; i < 16 && terminal.out_end == 0 && terminal.master >= 0; i++) {
        read_printed();
        if (terminal.out_end == 0)
            break;
        send_printed();
    }
    /* Nothing else would wake it: no shell manages the jobs of this terminal. */
    siginfo_t stopped = { 0 };
    if (s->leader > 0 && waitid(P_PID, (id_t)s->leader, &stopped, WSTOPPED | WNOHANG) == 0
        && stopped.si_pid != 0)
        tree_signal_group(s, SIGCONT);
}

bool terminal_is_hung_up(void) {
    return terminal.is_hung_up;
}

void terminal_close(void) {
    time_ms until = clock_read_steady() + FLUSH_WAIT;
    while (terminal.connection >= 0 && !terminal.is_hung_up) {
        if (terminal.out_end == 0 && terminal.master >= 0)
            read_printed();
        if (terminal.out_end == 0)
            break;
        send_printed();
        time_ms now = clock_read_steady();
        struct pollfd ready = { .fd = terminal.connection, .events = POLLOUT };
        if (now >= until || (terminal.out_end > 0 && poll(&ready, 1, (int)(until - now)) <= 0))
            break;
    }
    fd_closep(&terminal.master);
}

void terminal_disconnect(void) {
    fd_closep(&terminal.connection);
}
