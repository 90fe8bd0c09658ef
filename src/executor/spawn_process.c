/* spawn_process.c: see spawn_process.h. */
#include "executor/spawn_process.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdint.h>
#include <unistd.h>

/* What the list of actions overwrites must not be needed later in it: a low descriptor is copied first. `ret_made` is to be
 * closed afterwards. */
static int add_file(posix_spawn_file_actions_t *actions, int fd, int place, int *ret_made) {
    *ret_made = -1;
    if (fd == SPAWN_NULL)
        return posix_spawn_file_actions_addopen(actions, place, "/dev/null", O_RDWR, 0);
    if (fd < SPAWN_FDS) {
        fd = *ret_made = fcntl(fd, F_DUPFD_CLOEXEC, SPAWN_FDS);
        if (fd < 0)
            return errno;
    }
    return posix_spawn_file_actions_adddup2(actions, fd, place);
}

/* /dev/null is opened once. */
static int add_files(posix_spawn_file_actions_t *actions, const struct spawn *spawn,
                     int ret_made[SPAWN_FDS], size_t *ret_count) {
    int null = -1, error = 0;
    for (size_t i = 0; error == 0 && i < spawn->fd_count; i++) {
        bool is_again = spawn->fds[i] == SPAWN_NULL && null >= 0;
        ret_made[i] = -1;
        error = is_again ? posix_spawn_file_actions_adddup2(actions, null, (int)i)
                         : add_file(actions, spawn->fds[i], (int)i, &ret_made[i]);
        if (spawn->fds[i] == SPAWN_NULL)
            null = (int)i;
        *ret_count = i + 1;
    }
    return error ? error : posix_spawn_file_actions_addclosefrom_np(actions, (int)spawn->fd_count);
}

static int set_attributes(posix_spawnattr_t *attributes, const struct spawn *spawn) {
    sigset_t all, blocked;
    sigfillset(&all);
    if (spawn->blocks)
        sigfillset(&blocked);
    else
        sigemptyset(&blocked);
    if (spawn->ignores_pipe)
        sigdelset(&all, SIGPIPE);
    int error = posix_spawnattr_setflags(
        attributes, (short)((spawn->is_session ? POSIX_SPAWN_SETSID : POSIX_SPAWN_SETPGROUP)
                            | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF));
    error = error ? error : posix_spawnattr_setpgroup(attributes, 0);
    error = error ? error : posix_spawnattr_setsigmask(attributes, &blocked);
    return error ? error : posix_spawnattr_setsigdefault(attributes, &all);
}

int spawn_process(const struct spawn *spawn, pid_t *ret_pid) {
    posix_spawn_file_actions_t actions;
    posix_spawnattr_t attributes;
    int made[SPAWN_FDS];
    size_t count = 0;
    int error = posix_spawn_file_actions_init(&actions);
    if (error != 0)
        return error;
    (void)posix_spawnattr_init(&attributes);
    error = add_files(&actions, spawn, made, &count);
    if (error == 0 && spawn->cwd)
        error = posix_spawn_file_actions_addchdir_np(&actions, spawn->cwd);
    error = error ? error : set_attributes(&attributes, spawn);
    error = error ? error
                  : posix_spawnp(ret_pid, spawn->program, &actions, &attributes,
                                 (char *const *)(uintptr_t)spawn->argv,
                                 (char *const *)(uintptr_t)spawn->env);
    (void)posix_spawnattr_destroy(&attributes);
    (void)posix_spawn_file_actions_destroy(&actions);
    while (count-- > 0)
        if (made[count] >= 0)
            close(made[count]);
    return error;
}
