/* victim.c: a process of the owner, as the target of escape attempts.
 *
 *   victim SECRET NAME
 *
 * It keeps the secret in its command line, its environment, its memory and an open file, in shared memory, a queue and the owner's
 * keyring, and sends it to every process that connects to one of its sockets. It prints the address of each as a line NAME=VALUE for
 * the environment of the attempts, then "ready". On USR2 it creates the file `signaled` in its directory. On TERM it removes
 * everything that it has created. */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <mqueue.h>
#include <netinet/in.h>
#include <poll.h>
#include <signal.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/shm.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <unistd.h>

#define OWNERS_RING   (-5) /* of all sessions of the user */
#define KEYCTL_UNLINK 9

static char secret[64];

static void must(int result, const char *what) {
    if (result >= 0)
        return;
    (void)fprintf(stderr, "victim: %s: %s\n", what, strerror(errno));
    exit(1);
}

/* An '@' in front makes it abstract. */
static int listen_at(const char *path) {
    struct sockaddr_un address = { .sun_family = AF_UNIX };
    (void)snprintf(address.sun_path, sizeof(address.sun_path), "%s", path);
    if (*path == '@')
        address.sun_path[0] = '\0';
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    socklen_t size = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + strlen(path));
    must(bind(fd, (struct sockaddr *)&address, size), path);
    must(listen(fd, 64), path);
    return fd;
}

static int listen_on_port(int *ret_port) {
    struct sockaddr_in address = { .sin_family = AF_INET,
                                   .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
    socklen_t size = sizeof(address);
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    must(bind(fd, (struct sockaddr *)&address, size), "bind");
    must(listen(fd, 64), "listen");
    must(getsockname(fd, (struct sockaddr *)&address, &size), "getsockname");
    *ret_port = ntohs(address.sin_port);
    return fd;
}

static void print_handle(const char *path) {
    union {
        struct file_handle handle;
        char room[sizeof(struct file_handle) + 128];
    } file = { .handle = { .handle_bytes = 128 } };
    int mount;
    printf("ESCAPE_HANDLE=");
    if (name_to_handle_at(AT_FDCWD, path, &file.handle, &mount, 0) == 0) {
        printf("%d", file.handle.handle_type);
        for (unsigned i = 0; i < file.handle.handle_bytes; i++)
            printf(" %u", file.handle.f_handle[i]);
    }
    (void)putchar('\n');
}

static void serve(int listener) {
    int fd = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
    (void)!write(fd, secret, strlen(secret));
    close(fd);
}

int main(int argc, char **argv) {
    const char *home = getenv("ESCAPE_HOME"), *tmp = getenv("ESCAPE_TMP");
    char path[256], queue_name[64];
    int port = 0;
    if (argc != 3 || !home || !tmp)
        return 2;
    (void)snprintf(secret, sizeof(secret), "%s", argv[1]);
    const char *name = argv[2];
    (void)prctl(PR_SET_PTRACER, PR_SET_PTRACER_ANY, 0, 0, 0);

    sigset_t signals;
    (void)sigemptyset(&signals);
    (void)sigaddset(&signals, SIGTERM);
    (void)sigaddset(&signals, SIGUSR2);
    (void)sigprocmask(SIG_BLOCK, &signals, NULL);

    struct pollfd fds[5];
    (void)snprintf(path, sizeof(path), "@%s", name);
    fds[0].fd = listen_at(path);
    printf("ESCAPE_ABSTRACT=%s\n", path);
    (void)snprintf(path, sizeof(path), "%s/agent.sock", tmp);
    fds[1].fd = listen_at(path);
    (void)snprintf(path, sizeof(path), "%s/s", home);
    fds[2].fd = listen_at(path);
    fds[3].fd = listen_on_port(&port);
    printf("ESCAPE_PORT=%d\n", port);
    fds[4].fd = signalfd(-1, &signals, SFD_CLOEXEC);

    int shared = shmget(IPC_PRIVATE, 4096, 0600);
    must(shared, "shmget");
    char *memory = shmat(shared, NULL, 0);
    memcpy(memory, secret, sizeof(secret));
    printf("ESCAPE_SHM=%d\nESCAPE_SHARED=%s\n", shared, name);
    (void)snprintf(path, sizeof(path), "/dev/shm/%s", name);
    int file = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    must(file, path);
    (void)!write(file, secret, strlen(secret));
    (void)snprintf(queue_name, sizeof(queue_name), "/%s", name);
    mqd_t queue = mq_open(queue_name, O_RDWR | O_CREAT | O_CLOEXEC, 0600, NULL);
    long key = syscall(SYS_add_key, "user", name, secret, strlen(secret), OWNERS_RING);

    (void)snprintf(path, sizeof(path), "%s/.ssh/id_ed25519", home);
    must(open(path, O_RDONLY | O_CLOEXEC), path); /* kept open for attempts on descriptors */
    print_handle(path);
    printf("ESCAPE_ADDRESS=%llx\nESCAPE_VICTIM=%d\nready\n", (unsigned long long)(uintptr_t)secret,
           (int)getpid());
    (void)fflush(stdout);

    for (;;) {
        for (int i = 0; i < 5; i++)
            fds[i].events = POLLIN;
        (void)poll(fds, 5, -1);
        for (int i = 0; i < 4; i++)
            if (fds[i].revents)
                serve(fds[i].fd);
        struct signalfd_siginfo info;
        if (!fds[4].revents || read(fds[4].fd, &info, sizeof(info)) != sizeof(info))
            continue;
        if (info.ssi_signo == SIGTERM)
            break;
        int note = open("signaled", O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
        close(note);
    }
    (void)shmctl(shared, IPC_RMID, NULL);
    (void)snprintf(path, sizeof(path), "/dev/shm/%s", name);
    (void)unlink(path);
    if (queue != (mqd_t)-1)
        (void)mq_unlink(queue_name);
    if (key >= 0)
        (void)syscall(SYS_keyctl, KEYCTL_UNLINK, key, OWNERS_RING);
    return 0;
}
