/* faulty.c: a shim on a kernel that refuses some system calls.
 *
 * Given to the executor in place of the shim. It reads which calls fail, and how, from the file `fault`
 * beside the run folders (lines of name and errno), sets a seccomp filter and becomes the real shim. */
#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <linux/filter.h>
#include <linux/seccomp.h>

#define FAULTS_MAX 16

static const struct {
    const char *name;
    unsigned number;
} calls[] = {
    { "fsync", SYS_fsync },
    { "renameat", SYS_renameat },
    { "renameat2", SYS_renameat2 },
    { "pwrite64", SYS_pwrite64 },
    { "fallocate", SYS_fallocate },
    { "clone3", SYS_clone3 },
    { "close_range", SYS_close_range },
    { "inotify_init1", SYS_inotify_init1 },
    { "pidfd_open", SYS_pidfd_open },
    { "signalfd4", SYS_signalfd4 },
    { "timerfd_create", SYS_timerfd_create },
    { "clone", SYS_clone },
#ifdef SYS_fork /* not on every machine */
    { "fork", SYS_fork },
#endif
};

static unsigned call_number(const char *name) {
    for (size_t i = 0; i < sizeof(calls) / sizeof(calls[0]); i++)
        if (strcmp(calls[i].name, name) == 0)
            return calls[i].number;
    return ~0u; /* this machine has no such call */
}

static struct sock_filter refuse(unsigned error) {
    return (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | error);
}

int main(int argc, char **argv) {
    struct sock_filter filter[2 * FAULTS_MAX + 2];
    unsigned short length = 0;
    char text[1024] = "";
    int fd = openat(3, "../../fault", O_RDONLY | O_CLOEXEC);
    if (argc < 1 || fd < 0 || read(fd, text, sizeof(text) - 1) < 0)
        return 91;
    close(fd);
    filter[length++] =
        (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr));
    char *rest = NULL;
    for (char *line = strtok_r(text, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest)) {
        char name[32];
        unsigned error;
        if (length > 2 * FAULTS_MAX - 2 || sscanf(line, "%31s %u", name, &error) != 2)
            return 92;
        filter[length++] =
            (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, call_number(name), 0, 1);
        filter[length++] = refuse(error);
    }
    filter[length++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
    struct sock_fprog program = { .len = length, .filter = filter };
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0
        || prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) < 0)
        return 93;
    (void)execv(SHIM_PATH, argv);
    return 94;
}
