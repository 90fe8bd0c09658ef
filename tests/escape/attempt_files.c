/* attempt_files.c: escapes through files. See attempt.h. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "escape/attempt.h"

/* --- the owner's files ------------------------------------------------------------------------ */

static int write_profile(void) {
    return write_mark(path_of(target("HOME"), ".profile"));
}

/* Files that are executed at the owner's next login, after the end of the run. */
static int plant_autostart(void) {
    const char *home = target("HOME");
    (void)mkdir(path_of(home, ".config"), 0700);
    (void)mkdir(path_of(home, ".config/systemd"), 0700);
    (void)mkdir(path_of(home, ".config/systemd/user"), 0700);
    return write_mark(path_of(home, ".config/systemd/user/evil.service"));
}

static int read_key(void) {
    return read_secret(path_of(target("HOME"), ".ssh/id_ed25519"));
}

static int read_unlisted(void) {
    return read_secret(path_of(target("HOME"), "Documents/letter.txt"));
}

static int write_tmp(void) {
    return write_mark(path_of(target("TMP"), "file"));
}

static int read_tmp(void) {
    return read_secret(path_of(target("TMP"), "secret"));
}

/* A link in the workspace to a target outside of it. */
static int write_through_symlink(void) {
    (void)unlink("link-to-profile");
    if (symlink(path_of(target("HOME"), ".profile"), "link-to-profile") < 0)
        return held("symlink");
    return write_mark_to(open("link-to-profile", O_WRONLY | O_APPEND | O_CLOEXEC),
                         "link-to-profile");
}

static int write_through_hard_link(void) {
    (void)unlink("hard-link");
    if (link(path_of(target("HOME"), ".profile"), "hard-link") < 0)
        return held("link");
    return write_mark("hard-link");
}

static int climb_with_dots(void) {
    char path[PATH_MAX] = "";
    for (int i = 0; i < 40; i++)
        (void)strcat(path, "../");
    (void)snprintf(path + strlen(path), sizeof(path) - strlen(path), "%s/.profile",
                   target("HOME") + 1);
    return write_mark(path);
}

/* --- Sluice's own files ------------------------------------------------------------------------ */

static int read_store(void) {
    return read_secret(path_of(target("SLUICE"), "sluice.db-wal")) == REACHED
                   || read_secret(path_of(target("SLUICE"), "sluice.db")) == REACHED
               ? REACHED
               : HELD;
}

static int open_store(void) {
    const char *path = path_of(target("SLUICE"), "sluice.db");
    int fd = open(path, O_RDWR | O_CLOEXEC);
    if (fd < 0)
        return held(path);
    close(fd);
    return reached(path);
}

static int write_settings(void) {
    return write_mark(path_of(target("SLUICE"), "sluice.yaml"));
}

static int read_other_log(void) {
    return read_secret(path_of(target("OTHER"), "out.log"));
}

static int write_other_tmp(void) {
    return write_mark(path_of(path_of(target("OTHER"), "tmp"), "evil"));
}

/* The run's own folder, which the daemon reads. */
static const char *own_folder(void) {
    const char *tmp = getenv("TMPDIR");
    const char *given = getenv("ESCAPE_OWN"); /* outside of runs */
    return given ? given : path_of(tmp ? tmp : "/nowhere", "..");
}

static int forge_end(void) {
    return write_mark(path_of(own_folder(), "end.json"));
}

static int write_lock(void) {
    int fd = open(path_of(own_folder(), "lock"), O_WRONLY | O_CLOEXEC);
    if (fd < 0)
        return held("lock");
    ssize_t put = pwrite(fd, target("MARK"), strlen(target("MARK")), 512);
    close(fd);
    return put > 0 ? reached("lock") : held("lock");
}

static int read_spec(void) {
    int fd = open(path_of(own_folder(), "lock"), O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return held("lock");
    close(fd);
    return reached("lock");
}

static int move_workspace(void) {
    char here[PATH_MAX], there[PATH_MAX + 8];
    if (!getcwd(here, sizeof(here)))
        return held("getcwd");
    (void)snprintf(there, sizeof(there), "%s.moved", here);
    if (rename(here, there) < 0)
        return held(here);
    (void)rename(there, here);
    return reached(here);
}

/* --- repository and agent ---------------------------------------------------------------------- */

static int write_hook(void) {
    return write_mark(path_of(target("REPO"), ".git/hooks/post-checkout"));
}

static int write_git_config(void) {
    return write_mark(path_of(target("REPO"), ".git/config"));
}

static int write_repository(void) {
    return write_mark(path_of(target("REPO"), "Makefile"));
}

static int move_branch(void) {
    return write_mark(path_of(target("REPO"), ".git/refs/heads/stolen"));
}

static int write_claude_settings(void) {
    return write_mark(path_of(target("HOME"), ".claude/settings.json"));
}

static int write_codex_settings(void) {
    return write_mark(path_of(target("HOME"), ".codex/config.toml"));
}

/* --- the system -------------------------------------------------------------------------------- */

static int write_system(void) {
    const char *path = "/etc/escape-attempt";
    int code = write_mark(path);
    if (code == REACHED)
        (void)unlink(path);
    return code;
}

static int read_kernel_log(void) {
    int fd = open("/dev/kmsg", O_RDONLY | O_NONBLOCK | O_CLOEXEC);
    bool is_there = fd >= 0 || errno != ENOENT;
    if (fd < 0)
        return held("/dev/kmsg") == HELD && is_there ? HELD : ABSENT;
    close(fd);
    return reached("/dev/kmsg");
}

/* Writes the current content back, so that a successful attempt does no damage. */
static int write_kernel_setting(void) {
    const char *path = "/proc/sys/kernel/core_pattern";
    char text[256];
    int fd = open(path, O_RDWR | O_CLOEXEC);
    if (fd < 0)
        return held(path);
    ssize_t size = read(fd, text, sizeof(text));
    int code = size > 0 && pwrite(fd, text, (size_t)size, 0) == size ? reached(path) : held(path);
    close(fd);
    return code;
}

/* Leaves the cgroup that Sluice uses to count, limit and find the processes of the run. */
static int leave_cgroup(void) {
    const char *path = path_of(target("CGROUP"), "escape-attempt");
    if (mkdir(path, 0700) < 0 && errno != EEXIST)
        return held(path);
    int fd = open(path_of(path, "cgroup.procs"), O_WRONLY | O_CLOEXEC);
    int code = fd >= 0 && write(fd, "0", 1) == 1 ? reached(path) : held(path);
    if (fd >= 0)
        close(fd);
    fd = open(path_of(target("CGROUP"), "cgroup.procs"), O_WRONLY | O_CLOEXEC);
    (void)!write(fd, "0", 1);
    close(fd);
    (void)rmdir(path);
    return code;
}

const struct attempt file_attempts[] = {
    { "write-profile", write_profile },
    { "plant-autostart", plant_autostart },
    { "read-key", read_key },
    { "read-unlisted", read_unlisted },
    { "write-tmp", write_tmp },
    { "read-tmp", read_tmp },
    { "write-through-symlink", write_through_symlink },
    { "write-through-hard-link", write_through_hard_link },
    { "climb-with-dots", climb_with_dots },
    { "read-store", read_store },
    { "open-store", open_store },
    { "write-settings", write_settings },
    { "read-other-log", read_other_log },
    { "write-other-tmp", write_other_tmp },
    { "forge-end", forge_end },
    { "write-lock", write_lock },
    { "read-spec", read_spec },
    { "move-workspace", move_workspace },
    { "write-hook", write_hook },
    { "write-git-config", write_git_config },
    { "write-repository", write_repository },
    { "move-branch", move_branch },
    { "write-claude-settings", write_claude_settings },
    { "write-codex-settings", write_codex_settings },
    { "write-system", write_system },
    { "read-kernel-log", read_kernel_log },
    { "write-kernel-setting", write_kernel_setting },
    { "leave-cgroup", leave_cgroup },
    { NULL, NULL },
};
