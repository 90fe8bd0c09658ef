/* spawn.c: a shim with nothing of the daemon's but five descriptors and the key of its run.
 *
 * posix_spawn, never fork: the daemon may be large, and copying its page tables would stop the loop.
 * All signals are blocked in the shim from its first instruction on, so a stop that comes early is
 * kept until the shim asks for it. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "executor/local.h"

#define FIRST_FREE    8 /* the shim's own are below */
#define KEY_PAIR_SIZE (sizeof(TAG_VARIABLE "=") + SHA256_HEX_SIZE)

/* A descriptor that no dup2 of the list below overwrites. */
static int above(int fd, int *ret_made) {
    *ret_made = -1;
    if (fd >= FIRST_FREE)
        return fd;
    return *ret_made = fcntl(fd, F_DUPFD_CLOEXEC, FIRST_FREE);
}

static int add_files(posix_spawn_file_actions_t *actions, const struct local *ex,
                     const int fds[SPAWN_FDS]) {
    const int wanted[] = { ex->null_in, ex->null_out, ex->null_out, fds[0],
                           fds[1],      ex->pipe_out, fds[2],       fds[3] };
    int error = 0;
    for (int i = 0; error == 0 && i < (int)ARRAY_SIZE(wanted); i++)
        error = posix_spawn_file_actions_adddup2(actions, wanted[i], i);
    return error ? error : posix_spawn_file_actions_addclosefrom_np(actions, FIRST_FREE);
}

static int set_attributes(posix_spawnattr_t *attributes) {
    sigset_t all;
    sigfillset(&all);
    int error = posix_spawnattr_setflags(attributes, POSIX_SPAWN_SETSID | POSIX_SPAWN_SETSIGMASK
                                                         | POSIX_SPAWN_SETSIGDEF);
    error = error ? error : posix_spawnattr_setsigmask(attributes, &all);
    return error ? error : posix_spawnattr_setsigdefault(attributes, &all);
}

/* Never an argument, which every user can list, nor a file. */
static void print_key(const struct tag_key *key, char ret_pair[KEY_PAIR_SIZE]) {
    char hex[SHA256_HEX_SIZE];
    sha256_hex(key->bytes, hex);
    (void)snprintf(ret_pair, KEY_PAIR_SIZE, TAG_VARIABLE "=%s", hex);
    explicit_bzero(hex, sizeof(hex));
}

int spawn_shim(struct local *ex, const struct spawn *spawn, pid_t *ret_pid, struct error *err) {
    const char *const argv[] = { "sluice-shim", spawn->run, spawn->handle, NULL };
    const int *fds = spawn->fds;
    char pair[KEY_PAIR_SIZE] = "";
    char *const environment[] = { spawn->key ? pair : NULL, NULL };
    posix_spawn_file_actions_t actions;
    posix_spawnattr_t attributes;
    int made[SPAWN_FDS], own[SPAWN_FDS], error = 0;
    for (int i = 0; i < SPAWN_FDS; i++) {
        made[i] = -1;
        own[i] = fds[i] < 0 ? ex->null_in : above(fds[i], &made[i]);
        error = own[i] < 0 ? errno : error;
    }
    pid_t pid = 0;
    error = error ? error : posix_spawn_file_actions_init(&actions);
    if (spawn->key)
        print_key(spawn->key, pair);
    if (error == 0) {
        (void)posix_spawnattr_init(&attributes);
        error = add_files(&actions, ex, own);
        error = error ? error : set_attributes(&attributes);
        error = error ? error
                      : posix_spawn(&pid, ex->shim_path, &actions, &attributes,
                                    (char *const *)(uintptr_t)argv, environment);
        (void)posix_spawnattr_destroy(&attributes);
        (void)posix_spawn_file_actions_destroy(&actions);
    }
    explicit_bzero(pair, sizeof(pair));
    for (int i = 0; i < SPAWN_FDS; i++)
        if (made[i] >= 0)
            close(made[i]);
    if (error != 0)
        return error_set(err, -error, "cannot start the shim '%s': %s", ex->shim_path,
                         strerror(error));
    *ret_pid = pid;
    return 0;
}
