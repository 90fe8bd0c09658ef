/* attempt_channels.c: escapes through sockets, shared memory and inherited resources. See attempt.h. */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <mqueue.h>
#include <netinet/in.h>
#include <sched.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/shm.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <unistd.h>

#include "escape/attempt.h"

extern char **environ;

/* --- sockets ----------------------------------------------------------------------------------- */

/* An '@' in front makes it abstract. */
static int dial(const char *path) {
    struct sockaddr_un address = { .sun_family = AF_UNIX };
    size_t length = strlen(path);
    if (length >= sizeof(address.sun_path)) {
        errno = ENAMETOOLONG;
        return -1;
    }
    memcpy(address.sun_path, path, length);
    if (*path == '@')
        address.sun_path[0] = '\0';
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    socklen_t size = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + length);
    if (fd >= 0 && connect(fd, (struct sockaddr *)&address, size) == 0)
        return fd;
    int error = errno;
    close(fd);
    errno = error;
    return -1;
}

/* Only the owner may read the settings. */
static int ask_as_owner(const char *path) {
    static const char question[] = "GET /v1/config HTTP/1.1\r\nHost: localhost\r\n\r\n";
    char answer[256] = "";
    int fd = dial(path);
    if (fd < 0)
        return held(path);
    ssize_t got = -1;
    if (write(fd, question, strlen(question)) > 0)
        got = read(fd, answer, sizeof(answer) - 1);
    close(fd);
    answer[strcspn(answer, "\r\n")] = '\0';
    printf("%s\n", answer);
    return got > 0 && strstr(answer, " 200") ? reached(path) : held(path);
}

static int ask_owner_socket(void) {
    return ask_as_owner(target("SOCKET"));
}

static int ask_through_link(void) {
    (void)unlink("s");
    if (symlink(target("SOCKET"), "s") < 0)
        return held("symlink");
    int code = ask_as_owner("s");
    (void)unlink("s");
    return code;
}

static int ask_through(int pid) {
    char path[PATH_MAX];
    (void)snprintf(path, sizeof(path), "/proc/%d/root%.80s", pid, target("SOCKET"));
    return ask_as_owner(path);
}

static int ask_through_root(void) {
    return each_process(ask_through) == REACHED ? REACHED : held("no root leads there");
}

/* A grandchild whose ancestors have exited. */
static int ask_as_orphan(void) {
    int ends[2];
    char code = HELD;
    if (pipe2(ends, O_CLOEXEC) < 0)
        return held("pipe");
    if (fork() == 0) {
        pid_t parent = getpid();
        (void)setsid();
        if (fork() > 0)
            _exit(0);
        while (getppid() == parent)
            (void)sched_yield();
        code = (char)ask_as_owner(target("SOCKET"));
        (void)fflush(stdout);
        (void)!write(ends[1], &code, 1);
        _exit(0);
    }
    close(ends[1]);
    if (read(ends[0], &code, 1) != 1)
        code = HELD;
    close(ends[0]);
    return code;
}

static int secret_of_socket(const char *path) {
    int fd = dial(path);
    return fd < 0 ? held(path) : read_secret_from(fd, path);
}

static int ask_abstract(void) {
    return secret_of_socket(target("ABSTRACT"));
}

/* Like the socket of ssh-agent, in the host's /tmp. */
static int ask_socket_in_tmp(void) {
    return secret_of_socket(path_of(target("TMP"), "agent.sock"));
}

static int ask_socket_in_home(void) {
    return secret_of_socket(path_of(target("HOME"), "s"));
}

static int ask_port(void) {
    struct sockaddr_in address = { .sin_family = AF_INET,
                                   .sin_port = htons((uint16_t)target_number("PORT")),
                                   .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd < 0 || connect(fd, (struct sockaddr *)&address, sizeof(address)) < 0) {
        int code = held("connect");
        close(fd);
        return code;
    }
    return read_secret_from(fd, "port");
}

/* --- shared memory and queues -------------------------------------------------------------------- */

static int attach_memory(void) {
    char *text = shmat(target_number("SHM"), NULL, SHM_RDONLY);
    if (text == (char *)-1)
        return held("shmat");
    printf("%.60s\n", text);
    int code = strncmp(text, SECRET, strlen(SECRET)) == 0 ? reached("shmat") : HELD;
    (void)shmdt(text);
    return code;
}

static int open_shared_file(void) {
    return read_secret(path_of("/dev/shm", target("SHARED")));
}

static int open_queue(void) {
    char name[128];
    (void)snprintf(name, sizeof(name), "/%s", target("SHARED"));
    mqd_t queue = mq_open(name, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
    if (queue == (mqd_t)-1)
        return errno == ENOSYS ? ABSENT : held("mq_open");
    (void)mq_close(queue);
    return reached("mq_open");
}

#define KEYCTL_SEARCH 10
#define KEYCTL_READ   11
#define OWNERS_RING   (-5) /* of all sessions of the user */

static int search_keyring(void) {
    char text[128] = "";
    long key = syscall(SYS_keyctl, KEYCTL_SEARCH, OWNERS_RING, "user", target("SHARED"), 0);
    if (key < 0)
        return errno == ENOSYS ? ABSENT : held("keyctl");
    if (syscall(SYS_keyctl, KEYCTL_READ, key, text, sizeof(text) - 1) <= 0)
        return held("keyctl");
    printf("%s\n", text);
    return reached("keyctl");
}

/* --- inherited resources -------------------------------------------------------------------------- */

static int use_inherited(void) {
    for (int fd = 3; fd < 256; fd++)
        if (fcntl(fd, F_GETFD) >= 0 && read_secret_from(fd, "inherited") == REACHED)
            return REACHED;
    errno = EBADF;
    return held("no descriptor is left open");
}

static int read_own_environment(void) {
    for (char **pair = environ; *pair; pair++)
        if (strncmp(*pair, "OWNER_SECRET=", 13) == 0) {
            puts(*pair + 13);
            return reached("OWNER_SECRET");
        }
    errno = ENOENT;
    return held("OWNER_SECRET");
}

const struct attempt channel_attempts[] = {
    { "ask-owner-socket", ask_owner_socket },
    { "ask-through-link", ask_through_link },
    { "ask-through-root", ask_through_root },
    { "ask-as-orphan", ask_as_orphan },
    { "ask-abstract", ask_abstract },
    { "ask-socket-in-tmp", ask_socket_in_tmp },
    { "ask-socket-in-home", ask_socket_in_home },
    { "ask-port", ask_port },
    { "attach-memory", attach_memory },
    { "open-shared-file", open_shared_file },
    { "open-queue", open_queue },
    { "search-keyring", search_keyring },
    { "use-inherited", use_inherited },
    { "read-own-environment", read_own_environment },
    { NULL, NULL },
};
