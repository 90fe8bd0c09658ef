/* attempt_process.c: escapes through other processes and through namespaces. See attempt.h. */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mount.h>
#include <sys/ptrace.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "escape/attempt.h"

#define VICTIM_ADDRESS_MAX 64

/* --- signals ----------------------------------------------------------------------------------- */

/* Signal 0 has no effect, but needs the same permission as KILL. */
static int may_signal(const char *name) {
    int pid = target_number(name);
    return kill(pid, 0) == 0 ? reached(name) : held(name);
}

static int signal_daemon(void) {
    return may_signal("DAEMON");
}

static int signal_shim(void) {
    return may_signal("SHIM");
}

/* The victim records the signal. */
static int signal_victim(void) {
    return kill(target_number("VICTIM"), SIGUSR2) == 0 ? reached("VICTIM") : held("VICTIM");
}

static int signal_one(int pid) {
    char path[64], name[32] = "";
    (void)snprintf(path, sizeof(path), "/proc/%d/comm", pid);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd >= 0) {
        (void)!read(fd, name, sizeof(name) - 1);
        close(fd);
    }
    return strncmp(name, "sluice", 6) == 0 && kill(pid, 0) == 0 ? reached(path) : HELD;
}

/* Also in a separate PID namespace, where its pid may differ. */
static int find_and_signal(void) {
    int code = each_visible_process(signal_one);
    return code == REACHED ? code : held("no process of Sluice can be seen");
}

static int stop_all(void) {
    /* Only tests the permission for every process; sends no signal. */
    return kill(-1, 0) == 0 && each_visible_process(signal_one) == REACHED ? REACHED
                                                                           : held("kill -1");
}

/* --- memory ------------------------------------------------------------------------------------ */

static int trace_victim(void) {
    int pid = target_number("VICTIM");
    if (ptrace(PTRACE_SEIZE, pid, NULL, NULL) < 0)
        return held("ptrace");
    (void)ptrace(PTRACE_DETACH, pid, NULL, NULL);
    return reached("ptrace");
}

static int read_memory(void) {
    char bytes[VICTIM_ADDRESS_MAX] = "";
    struct iovec here = { bytes, sizeof(bytes) - 1 };
    struct iovec there = { (void *)(uintptr_t)strtoull(target("ADDRESS"), NULL, 16),
                           sizeof(bytes) - 1 };
    if (process_vm_readv(target_number("VICTIM"), &here, 1, &there, 1, 0) <= 0)
        return held("process_vm_readv");
    printf("%s\n", bytes);
    return strncmp(bytes, SECRET, strlen(SECRET)) == 0 ? reached("process_vm_readv") : HELD;
}

static const char *proc_path(int pid, const char *name) {
    static char path[PATH_MAX];
    (void)snprintf(path, sizeof(path), "/proc/%d/%s", pid, name);
    return path;
}

static int environment_of(int pid) {
    return read_secret(proc_path(pid, "environ"));
}

static int read_environments(void) {
    return each_process(environment_of);
}

static int words_of(int pid) {
    return read_secret(proc_path(pid, "cmdline"));
}

static int read_command_lines(void) {
    return each_process(words_of);
}

/* Through the root directory of another process, which has the hidden files. */
static int profile_through(int pid) {
    static char path[PATH_MAX];
    (void)snprintf(path, sizeof(path), "/proc/%d/root%s/.profile", pid, target("HOME"));
    int fd = open(path, O_WRONLY | O_APPEND | O_CLOEXEC);
    return fd >= 0 ? write_mark_to(fd, path) : HELD;
}

static int through_root(void) {
    return each_process(profile_through) == REACHED ? REACHED : held("no root leads there");
}

static int store_through(int pid) {
    static char path[PATH_MAX];
    (void)snprintf(path, sizeof(path), "/proc/%d/cwd/.profile", pid);
    int fd = open(path, O_WRONLY | O_APPEND | O_CLOEXEC);
    return fd >= 0 ? write_mark_to(fd, path) : HELD;
}

static int through_cwd(void) {
    return each_process(store_through) == REACHED ? REACHED : held("no cwd leads there");
}

static int descriptors_of(int pid) {
    for (int fd = 3; fd < 16; fd++) {
        char name[32];
        (void)snprintf(name, sizeof(name), "fd/%d", fd);
        struct stat st;
        if (stat(proc_path(pid, name), &st) < 0 || !S_ISREG(st.st_mode))
            continue;
        int mine = open(proc_path(pid, name), O_RDONLY | O_NONBLOCK | O_CLOEXEC);
        if (mine >= 0 && read_secret_from(mine, name) == REACHED)
            return REACHED;
    }
    return HELD;
}

static int through_descriptors(void) {
    return each_process(descriptors_of) == REACHED ? REACHED : held("no descriptor leads there");
}

/* --- outliving the run ------------------------------------------------------------------------- */

/* A grandchild in its own session holds a lock until it exits. */
static int survive(void) {
    int ready[2];
    char byte = 0;
    if (pipe2(ready, O_CLOEXEC) < 0)
        return held("pipe");
    if (fork() == 0) {
        (void)setsid();
        if (fork() > 0)
            _exit(0);
        int fd = open("survivor", O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
        (void)flock(fd, LOCK_EX);
        (void)dprintf(fd, "%d\n", (int)getpid());
        for (int i = 0; i < 3; i++)
            close(i);
        (void)!write(ready[1], &byte, 1);
        for (;;)
            (void)pause();
    }
    return read(ready[0], &byte, 1) == 1 ? reached("survivor") : held("survivor");
}

/* --- namespaces -------------------------------------------------------------------------------- */

static void write_text(const char *path, const char *text) {
    int fd = open(path, O_WRONLY | O_CLOEXEC);
    (void)!write(fd, text, strlen(text));
    close(fd);
}

/* Becomes root of a new user namespace; false if the kernel does not allow it. */
static int become_root_inside(void) {
    char map[64];
    uid_t uid = getuid();
    gid_t gid = getgid();
    if (unshare(CLONE_NEWUSER | CLONE_NEWNS) < 0)
        return -1;
    write_text("/proc/self/setgroups", "deny");
    (void)snprintf(map, sizeof(map), "0 %u 1", uid);
    write_text("/proc/self/uid_map", map);
    (void)snprintf(map, sizeof(map), "0 %u 1", gid);
    write_text("/proc/self/gid_map", map);
    return 0;
}

static int remount_writable(void) {
    (void)become_root_inside();
    (void)mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL);
    (void)mount(NULL, "/", NULL, MS_REMOUNT | MS_BIND, NULL);
    (void)mount(NULL, target("HOME"), NULL, MS_REMOUNT | MS_BIND, NULL);
    return write_mark(path_of(target("HOME"), ".profile"));
}

/* Files below a mount that hides them. */
static int unmount_cover(void) {
    (void)become_root_inside();
    const char *covers[] = { target("SLUICE"), target("HOME"), target("TMP"), "/tmp" };
    for (unsigned i = 0; i < sizeof(covers) / sizeof(covers[0]); i++)
        (void)umount2(covers[i], MNT_DETACH);
    return read_secret(path_of(target("HOME"), ".ssh/id_ed25519"));
}

static int break_chroot(void) {
    (void)become_root_inside();
    (void)mkdir("jail", 0700);
    int outside = open(".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (chroot("jail") == 0 && fchdir(outside) == 0) {
        for (int i = 0; i < 100; i++)
            (void)!chdir("..");
        (void)!chroot(".");
    }
    close(outside);
    return read_secret(path_of(target("HOME"), ".ssh/id_ed25519"));
}

static int namespace_of(int pid) {
    int fd = open(proc_path(pid, "ns/mnt"), O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return HELD;
    int r = setns(fd, CLONE_NEWNS);
    close(fd);
    return r < 0 ? HELD : read_secret(path_of(target("HOME"), ".ssh/id_ed25519"));
}

static int join_namespace(void) {
    return namespace_of(target_number("VICTIM")) == REACHED || each_process(namespace_of) == REACHED
               ? REACHED
               : held("setns");
}

/* Opens a file by its handle, which bypasses mounts over its path. */
static int open_by_handle(void) {
    union {
        struct file_handle handle;
        char room[sizeof(struct file_handle) + 128];
    } file = { .handle = { .handle_bytes = 0 } };
    /* For ext4 and tmpfs: the test has looked up the handle and passes its bytes as text. */
    const char *text = target("HANDLE");
    char *end;
    file.handle.handle_type = (int)strtol(text, &end, 10);
    for (unsigned char *byte = file.handle.f_handle; *end == ' ';
         byte++, file.handle.handle_bytes++)
        *byte = (unsigned char)strtol(end + 1, &end, 10);
    int mount = open(".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    int fd = open_by_handle_at(mount, &file.handle, O_RDONLY | O_CLOEXEC);
    close(mount);
    return read_secret_from(fd, "open_by_handle_at");
}

const struct attempt process_attempts[] = {
    { "signal-daemon", signal_daemon },
    { "signal-shim", signal_shim },
    { "signal-victim", signal_victim },
    { "find-and-signal", find_and_signal },
    { "signal-all", stop_all },
    { "trace-victim", trace_victim },
    { "read-memory", read_memory },
    { "read-environments", read_environments },
    { "read-command-lines", read_command_lines },
    { "through-root", through_root },
    { "through-cwd", through_cwd },
    { "through-descriptors", through_descriptors },
    { "survive", survive },
    { "remount-writable", remount_writable },
    { "unmount-cover", unmount_cover },
    { "break-chroot", break_chroot },
    { "join-namespace", join_namespace },
    { "open-by-handle", open_by_handle },
    { NULL, NULL },
};
