/* home.c: paths of this user's Sluice files.
 *
 * Command line, daemon and runs must derive the same paths from the same environment, so all of
 * them use this. */
#include "os/home.h"

#include <errno.h>
#include <pwd.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/hash.h"
#include "base/strbuf.h"
#include "os/files.h"

#define SOCKET_NAME "sluice.sock"
#define SOCKET_MAX  (sizeof(((struct sockaddr_un *)NULL)->sun_path) - 1)

/* --- finding ---------------------------------------------------------------------------------- */

static char *join(const char *folder, const char *name) {
    return xasprintf("%s/%s", strcmp(folder, "/") == 0 ? "" : folder, name);
}

/* Makes it absolute, without trailing slashes. */
static char *absolute(const char *path, struct error *err) {
    struct strbuf full = STRBUF_INIT;
    if (*path != '/') {
        _cleanup_(freep) char *here = getcwd(NULL, 0);
        if (!here) {
            (void)error_set_errno(err, "find the folder of", path);
            return NULL;
        }
        strbuf_printf(&full, "%s/", strcmp(here, "/") == 0 ? "" : here);
    }
    strbuf_puts(&full, path);
    while (full.length > 1 && full.text[full.length - 1] == '/')
        full.text[--full.length] = '\0';
    return strbuf_take(&full);
}

/* The value of the variable; NULL: not set, empty, or relative. */
static const char *xdg(const char *variable) {
    const char *value = getenv(variable);
    return value && *value == '/' ? value : NULL;
}

char *home_user_name(uid_t user) {
    char names[16384];
    struct passwd entry, *found = NULL;
    (void)getpwuid_r(user, &entry, names, sizeof(names), &found);
    return found && found->pw_name && *found->pw_name ? xstrdup(found->pw_name)
                                                      : xasprintf("uid %lu", (unsigned long)user);
}

/* The user's home; without the variable (a service, cron) from the password database. */
static char *user_folder(struct error *err) {
    const char *home = xdg("HOME");
    if (home)
        return absolute(home, err);
    char names[16384];
    struct passwd user, *found = NULL;
    (void)getpwuid_r(geteuid(), &user, names, sizeof(names), &found);
    if (found && found->pw_dir && *found->pw_dir == '/')
        return absolute(found->pw_dir, err);
    (void)error_set(err, -ENOENT, "there is no home folder; set SLUICE_HOME to the folder to use");
    return NULL;
}

/* `variable`, or `subfolder` in the user's home; then our subdirectory. */
static int find_xdg(const char *variable, const char *subfolder, char **ret_path,
                    struct error *err) {
    const char *value = xdg(variable);
    _cleanup_(freep) char *folder = NULL;
    if (value) {
        folder = absolute(value, err);
    } else {
        _cleanup_(freep) char *user = user_folder(err);
        folder = user ? join(user, subfolder) : NULL;
    }
    if (!folder)
        return -ENOENT;
    *ret_path = join(folder, "sluice");
    return 0;
}

/* Is it a directory that only we can access? 0: it does not exist. */
static int check_private(const char *folder, struct error *err) {
    struct stat st;
    if (lstat(folder, &st) < 0)
        return errno == ENOENT ? 0 : error_set_errno(err, "look at", folder);
    if (S_ISDIR(st.st_mode) && st.st_uid == geteuid() && (st.st_mode & 077) == 0)
        return 1;
    return error_set(
        err, -EPERM,
        "'%s' is not a folder of yours alone (mode 0700), so the socket of a home with "
        "a long path cannot be there; remove it, or set SLUICE_HOME to a shorter path",
        folder);
}

const char *home_short_base = "/tmp";

static char *short_folder(void) {
    return xasprintf("%s/sluice-%lu", home_short_base, (unsigned long)geteuid());
}

/* Keeps the path if it fits into a socket address. */
static int shorten(char **socket, struct error *err) {
    if (strlen(*socket) <= SOCKET_MAX)
        return 0;
    _cleanup_(freep) char *folder = short_folder();
    int r = check_private(folder, err);
    char *path = xasprintf("%s/%016llx.sock", folder,
                           (unsigned long long)hash_bytes(*socket, strlen(*socket)));
    free(*socket);
    *socket = path;
    return r < 0 ? r : 0;
}

/* Beside the owner's socket; never longer, except in the short directory. */
static char *run_socket_of(const char *socket) {
    const char *name = strrchr(socket, '/') + 1;
    bool is_usual = strcmp(name, SOCKET_NAME) == 0;
    return xasprintf("%.*srun%s%s", (int)(name - socket), socket, is_usual ? "" : "-",
                     is_usual ? ".sock" : name);
}

void home_shared_socket(const char *run_socket, struct strbuf *out) {
    static const char ending[] = ".sock";
    size_t length = strlen(run_socket), tail = strlen(ending);
    bool usual = length > tail && strcmp(run_socket + length - tail, ending) == 0;
    strbuf_add(out, run_socket, usual ? length - tail : length);
    strbuf_puts(out, usual ? "/sock" : ".d/sock");
}

/* Under a temporary name first: a run that connects finds the old one or the new one. */
int home_share_socket(const char *run_socket, struct error *err) {
    _cleanup_(strbuf_finish) struct strbuf path = STRBUF_INIT, other = STRBUF_INIT;
    home_shared_socket(run_socket, &path);
    strbuf_add(&other, path.text, path.length - strlen("/sock"));
    if (mkdir(strbuf_text(&other), 0700) < 0 && errno != EEXIST)
        return error_set_errno(err, "make the folder", strbuf_text(&other));
    int r = check_private(strbuf_text(&other), err);
    if (r <= 0)
        return r;
    strbuf_puts(&other, "/.new");
    (void)unlink(strbuf_text(&other));
    if (link(run_socket, strbuf_text(&other)) < 0
        || rename(strbuf_text(&other), strbuf_text(&path)) < 0)
        return error_set_errno(err, "make", strbuf_text(&path));
    return 0;
}

static int find_in_one_folder(const char *value, struct home *home, struct error *err) {
    home->data = absolute(value, err);
    if (!home->data)
        return -ENOENT;
    home->config_file = join(home->data, "sluice.yaml");
    home->socket = join(home->data, SOCKET_NAME);
    return 0;
}

static int find_in_xdg_folders(struct home *home, struct error *err) {
    _cleanup_(freep) char *folder = NULL;
    int r = find_xdg("XDG_CONFIG_HOME", ".config", &folder, err);
    if (r < 0)
        return r;
    home->config_file = join(folder, "sluice.yaml");
    r = find_xdg("XDG_DATA_HOME", ".local/share", &home->data, err);
    if (r < 0)
        return r;
    const char *runtime = xdg("XDG_RUNTIME_DIR");
    home->socket = runtime ? join(runtime, "sluice/" SOCKET_NAME) : join(home->data, SOCKET_NAME);
    return 0;
}

int home_find(struct home *ret_home, struct error *err) {
    _cleanup_(home_finish) struct home home = { 0 };
    const char *own = getenv("SLUICE_HOME");
    int r = own && *own ? find_in_one_folder(own, &home, err) : find_in_xdg_folders(&home, err);
    if (r >= 0)
        r = shorten(&home.socket, err);
    if (r < 0)
        return r;
    home.run_socket = run_socket_of(home.socket);
    home.runs = join(home.data, "runs");
    home.database = join(home.data, "sluice.db");
    home.log = join(home.data, "sluice.log");
    home.pid_lock = join(home.data, "sluice.lock");
    *ret_home = home;
    home = (struct home){ 0 };
    return 0;
}

void home_finish(struct home *home) {
    char *const paths[] = { home->config_file, home->data,     home->socket, home->run_socket,
                            home->runs,        home->database, home->log,    home->pid_lock };
    for (size_t i = 0; i < ARRAY_SIZE(paths); i++)
        free(paths[i]);
    *home = (struct home){ 0 };
}

/* --- creating --------------------------------------------------------------------------------- */

static int check_folder(const char *folder, struct error *err) {
    struct stat st;
    if (stat(folder, &st) < 0)
        return error_set_errno(err, "look at", folder);
    if (!S_ISDIR(st.st_mode))
        return error_set(err, -ENOTDIR, "'%s' is not a folder", folder);
    if (st.st_uid != geteuid() && st.st_uid != 0 && geteuid() != 0)
        return error_set(err, -EPERM,
                         "the folder '%s' belongs to another user; set SLUICE_HOME to one of yours",
                         folder);
    if (st.st_mode & S_IWOTH)
        return error_set(err, -EPERM, "everybody may write into '%s'; run: chmod o-w '%s'", folder,
                         folder);
    return 0;
}

static int make_folder(const char *folder, struct error *err) {
    int r = folders_make(folder, 0, err);
    return r < 0 ? r : check_folder(folder, err);
}

static int make_folder_of(const char *file, struct error *err) {
    _cleanup_(freep) char *folder = xstrndup(file, (size_t)(strrchr(file, '/') - file));
    return *folder ? make_folder(folder, err) : 0;
}

/* The short directory is in a world-writable directory: refused unless only we can access it. */
static int make_socket_folder(const struct home *home, struct error *err) {
    _cleanup_(freep) char *folder = short_folder();
    size_t length = strlen(folder);
    if (strncmp(home->socket, folder, length) != 0 || home->socket[length] != '/')
        return make_folder_of(home->socket, err);
    if (mkdir(folder, 0700) < 0 && errno != EEXIST)
        return error_set_errno(err, "make the folder", folder);
    int r = check_private(folder, err);
    return r == 0 ? error_set(err, -ENOENT, "'%s' has disappeared", folder) : (r < 0 ? r : 0);
}

int home_make(const struct home *home, struct error *err) {
    int r = make_folder(home->data, err);
    if (r >= 0)
        r = make_folder(home->runs, err);
    if (r >= 0)
        r = make_folder_of(home->config_file, err);
    return r < 0 ? r : make_socket_folder(home, err);
}
