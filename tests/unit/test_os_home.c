/* test_os_home.c: every program with the same home finds the same files, and refuses those of other users.
 *
 * Each test has its own folder and its own environment. */
#include <errno.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/fsuid.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/macros.h"
#include "base/strbuf.h"
#include "harness/scratch.h"
#include "harness/test.h"
#include "os/home.h"

#define OTHER_USER 54321 /* any user id except ours */

static char folder[SCRATCH_PATH];
static struct home home;
static struct error err;

static int set_up(void **state) {
    (void)state;
    scratch_make(folder, "home");
    home_short_base = "/nowhere";
    static const char *const variables[] = { "SLUICE_HOME", "XDG_CONFIG_HOME", "XDG_DATA_HOME",
                                             "XDG_RUNTIME_DIR" };
    for (size_t i = 0; i < ARRAY_SIZE(variables); i++)
        unsetenv(variables[i]);
    setenv("HOME", folder, 1);
    err = (struct error){ 0 };
    return 0;
}

static int tear_down(void **state) {
    (void)state;
    home_finish(&home);
    scratch_remove(folder);
    return 0;
}

/* A path in the folder of the test; valid for the next three calls. */
static const char *in(const char *path) {
    static char texts[4][PATH_MAX + 64];
    static unsigned next;
    char *text = texts[next++ % 4];
    (void)snprintf(text, sizeof(texts[0]), "%s%s%s", folder, *path ? "/" : "", path);
    return text;
}

static void find(void) {
    home_finish(&home);
    if (home_find(&home, &err) < 0)
        fail_msg("%s", err.text);
}

static mode_t mode_of(const char *path) {
    struct stat st;
    if (stat(path, &st) < 0 || !S_ISDIR(st.st_mode))
        fail_msg("'%s' is not a directory", path);
    return st.st_mode & 07777;
}

/* --- finding --------------------------------------------------------------------------------- */

#define FIXTURE_TEST(name_) TEST_WITH(name_, set_up, tear_down)

FIXTURE_TEST(a_home_of_its_own_holds_everything) {
    setenv("SLUICE_HOME", in("h"), 1);
    setenv("XDG_RUNTIME_DIR", in("run"), 1);
    setenv("XDG_CONFIG_HOME", in("config"), 1);
    find();
    assert_string_equal(home.data, in("h"));
    assert_string_equal(home.config_file, in("h/sluice.yaml"));
    assert_string_equal(home.socket, in("h/sluice.sock"));
    assert_string_equal(home.runs, in("h/runs"));
    assert_string_equal(home.database, in("h/sluice.db"));
    assert_string_equal(home.log, in("h/sluice.log"));
    assert_string_equal(home.pid_lock, in("h/sluice.lock"));
}

FIXTURE_TEST(without_one_the_files_are_where_the_desktop_wants_them) {
    setenv("XDG_RUNTIME_DIR", in("run"), 1);
    find();
    assert_string_equal(home.config_file, in(".config/sluice/sluice.yaml"));
    assert_string_equal(home.data, in(".local/share/sluice"));
    assert_string_equal(home.database, in(".local/share/sluice/sluice.db"));
    assert_string_equal(home.socket, in("run/sluice/sluice.sock"));
    setenv("XDG_CONFIG_HOME", in("c"), 1);
    setenv("XDG_DATA_HOME", in("d"), 1);
    find();
    assert_string_equal(home.config_file, in("c/sluice/sluice.yaml"));
    assert_string_equal(home.runs, in("d/sluice/runs"));
}

FIXTURE_TEST(without_a_runtime_folder_the_socket_is_with_the_data) {
    find();
    assert_string_equal(home.socket, in(".local/share/sluice/sluice.sock"));
}

FIXTURE_TEST(empty_and_relative_xdg_variables_are_ignored) {
    setenv("SLUICE_HOME", "", 1);
    setenv("XDG_CONFIG_HOME", "", 1);
    setenv("XDG_DATA_HOME", "data", 1);
    setenv("XDG_RUNTIME_DIR", "run", 1);
    find();
    assert_string_equal(home.config_file, in(".config/sluice/sluice.yaml"));
    assert_string_equal(home.data, in(".local/share/sluice"));
    assert_string_equal(home.socket, in(".local/share/sluice/sluice.sock"));
}

FIXTURE_TEST(a_relative_home_counts_from_the_current_folder) {
    char before[PATH_MAX];
    assert_non_null(getcwd(before, sizeof(before)));
    assert_int_equal(chdir(folder), 0);
    setenv("SLUICE_HOME", "here//", 1);
    find();
    assert_string_equal(home.data, in("here"));
    setenv("SLUICE_HOME", "/", 1);
    find();
    assert_string_equal(home.database, "/sluice.db");
    assert_int_equal(chdir(before), 0);
}

FIXTURE_TEST(without_a_variable_the_system_knows_the_home) {
    unsetenv("HOME");
    int r = home_find(&home, &err);
    if (r < 0) { /* a user without a passwd entry */
        assert_int_equal(r, -ENOENT);
        assert_string_equal(err.text,
                            "there is no home folder; set SLUICE_HOME to the folder to use");
    } else {
        assert_int_equal(home.data[0], '/');
        assert_non_null(strstr(home.data, "/.local/share/sluice"));
    }
}

/* --- sockets of long paths ------------------------------------------------------------------- */

static void set_long_home(char last) {
    struct strbuf path = STRBUF_INIT;
    strbuf_printf(&path, "%s/", folder);
    strbuf_repeat(&path, "long", 30);
    strbuf_putc(&path, last);
    setenv("SLUICE_HOME", strbuf_text(&path), 1);
    strbuf_finish(&path);
}

FIXTURE_TEST(the_longest_path_that_fits_is_used_as_it_is) {
    struct sockaddr_un address;
    struct strbuf path = STRBUF_INIT;
    strbuf_printf(&path, "%s/", folder);
    strbuf_repeat(&path, "x", sizeof(address.sun_path) - 1 - path.length - strlen("/sluice.sock"));
    setenv("SLUICE_HOME", strbuf_text(&path), 1);
    find();
    assert_int_equal(strlen(home.socket), sizeof(address.sun_path) - 1);
    assert_memory_equal(home.socket, path.text, path.length);
    strbuf_putc(&path, 'x');
    setenv("SLUICE_HOME", strbuf_text(&path), 1);
    find();
    assert_true(strlen(home.socket) < 50);
    strbuf_finish(&path);
}

/* The folder for sockets with a short path, in the folder of the test. */
static const char *short_folder(void) {
    static char name[64];
    home_short_base = folder;
    (void)snprintf(name, sizeof(name), "sluice-%lu", (unsigned long)geteuid());
    return in(name);
}

FIXTURE_TEST(a_long_path_gets_a_short_socket_of_its_own) {
    _cleanup_(freep) char *sockets = xstrdup(short_folder());
    set_long_home('a');
    find();
    _cleanup_(freep) char *first = xstrdup(home.socket);
    assert_memory_equal(first, sockets, strlen(sockets));
    find();
    assert_string_equal(home.socket, first); /* every time the same */
    set_long_home('b');
    find();
    assert_string_not_equal(home.socket, first);
    int r = home_make(&home, &err);
    assert_int_equal(r, 0);
    assert_int_equal(mode_of(sockets), 0700);
    find(); /* now it exists, and is ours */
}

FIXTURE_TEST(a_short_folder_that_others_may_enter_is_refused) {
    _cleanup_(freep) char *sockets = xstrdup(short_folder());
    set_long_home('a');
    find();
    assert_int_equal(mkdir(sockets, 0700), 0);
    assert_int_equal(chmod(sockets, 0755), 0);
    assert_int_equal(home_make(&home, &err), -EPERM);
    home_finish(&home);
    assert_int_equal(home_find(&home, &err), -EPERM);
    assert_non_null(strstr(err.text, "is not a folder of yours alone"));
    assert_int_equal(rmdir(sockets), 0);
    assert_int_equal(symlink(folder, sockets), 0);
    assert_int_equal(home_find(&home, &err), -EPERM);
}

/* --- making ---------------------------------------------------------------------------------- */

FIXTURE_TEST(folders_are_made_for_their_owner_alone) {
    mode_t mask = umask(0);
    setenv("XDG_RUNTIME_DIR", in("run"), 1);
    find();
    assert_int_equal(home_make(&home, &err), 0);
    assert_int_equal(home_make(&home, &err), 0); /* again: no change */
    umask(mask);
    assert_int_equal(mode_of(in(".local/share/sluice")), 0700);
    assert_int_equal(mode_of(in(".local/share/sluice/runs")), 0700);
    assert_int_equal(mode_of(in(".config/sluice")), 0700);
    assert_int_equal(mode_of(in("run/sluice")), 0700);
}

FIXTURE_TEST(a_folder_that_everybody_may_write_is_refused) {
    setenv("SLUICE_HOME", in("h"), 1);
    assert_int_equal(mkdir(in("h"), 0755), 0);
    find();
    assert_int_equal(home_make(&home, &err), 0); /* read access is the owner's choice */
    assert_int_equal(chmod(in("h"), 0777), 0);
    assert_int_equal(home_make(&home, &err), -EPERM);
    assert_non_null(strstr(err.text, "everybody may write into"));
}

FIXTURE_TEST(a_folder_of_another_user_is_refused) {
    if (geteuid() != 0)
        return; /* only root can chown a folder */
    setenv("SLUICE_HOME", in("h"), 1);
    assert_int_equal(mkdir(in("h"), 0755), 0);
    if (chown(in("h"), OTHER_USER + 1, OTHER_USER) < 0 || seteuid(OTHER_USER) < 0) {
        print_message("this root has no other users; not tested\n");
        return;
    }
    (void)setfsuid(0); /* keeps file access as root: parent folders may be closed */
    find();
    int r = home_make(&home, &err);
    assert_int_equal(seteuid(0), 0);
    assert_int_equal(r, -EPERM);
    assert_non_null(strstr(err.text, "belongs to another user"));
}

FIXTURE_TEST(what_is_in_the_way_is_named) {
    FILE *file = fopen(in("h"), "we");
    assert_non_null(file);
    (void)fclose(file);
    setenv("SLUICE_HOME", in("h"), 1);
    find();
    assert_int_equal(home_make(&home, &err), -ENOTDIR);
    assert_non_null(strstr(err.text, in("h")));
    setenv("SLUICE_HOME", in("h/below"), 1);
    find();
    assert_int_equal(home_make(&home, &err), -ENOTDIR);
}

FIXTURE_TEST(finishing_twice_is_harmless) {
    find();
    home_finish(&home);
    assert_null(home.data);
    home_finish(&home);
}

/* A regular file represents the socket: a hard link has the same inode. */
static void put(const char *path, const char *text) {
    (void)unlink(path);
    FILE *stream = fopen(path, "we");
    assert_true(stream && fputs(text, stream) >= 0 && fclose(stream) == 0);
}

static void expect_shared(const char *path) {
    struct stat own, shared;
    _cleanup_(strbuf_finish) struct strbuf name = STRBUF_INIT;
    home_shared_socket(path, &name);
    assert_int_equal(stat(path, &own), 0);
    assert_int_equal(stat(strbuf_text(&name), &shared), 0);
    assert_int_equal(own.st_ino, shared.st_ino);
}

FIXTURE_TEST(the_socket_of_the_runs_has_a_folder_of_its_own) {
    struct sockaddr_un address;
    _cleanup_(strbuf_finish) struct strbuf name = STRBUF_INIT, path = STRBUF_INIT;
    strbuf_printf(&path, "%s/", folder);
    strbuf_repeat(&path, "x", sizeof(address.sun_path) - 1 - path.length - strlen("/sluice.sock"));
    setenv("SLUICE_HOME", strbuf_text(&path), 1);
    find();
    home_shared_socket(home.run_socket, &name);
    assert_true(name.length < sizeof(address.sun_path)); /* no longer than sluice.sock */
    assert_int_equal(home_make(&home, &err), 0);
    put(home.run_socket, "one");
    assert_int_equal(home_share_socket(home.run_socket, &err), 0);
    expect_shared(home.run_socket);
    put(home.run_socket, "two"); /* a restarted daemon creates a new one */
    assert_int_equal(home_share_socket(home.run_socket, &err), 0);
    expect_shared(home.run_socket);
    *strrchr(name.text, '/') = '\0';
    assert_int_equal(mode_of(strbuf_text(&name)), 0700);
    assert_int_equal(chmod(strbuf_text(&name), 0777), 0);
    assert_true(home_share_socket(home.run_socket, &err) < 0); /* others could replace it */
}
