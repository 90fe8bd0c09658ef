/* service.c: the systemd user unit of this home; systemctl and loginctl, each with a deadline. */
#include "cli/service.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/hash.h"
#include "base/macros.h"
#include "cli/daemon.h"
#include "cli/program.h"

#define TIMEOUT   SECONDS(90) /* a stop waits for the daemon, at most TimeoutStopSec */
#define WORDS_MAX 6

/* Without a login of its own (cron, sudo) a process does not know where the manager listens. */
static bool lend_runtime_folder(void) {
    char path[64];
    struct stat st;
    const char *known = getenv("XDG_RUNTIME_DIR");
    (void)snprintf(path, sizeof(path), "/run/user/%lu", (unsigned long)geteuid());
    if ((known && *known) || stat(path, &st) < 0 || st.st_uid != geteuid())
        return false;
    return setenv("XDG_RUNTIME_DIR", path, 1) == 0;
}

static int run_tool(const char *tool, const char *const *argv, struct strbuf *out,
                    struct error *err) {
    _cleanup_(strbuf_finish) struct strbuf path = STRBUF_INIT;
    if (daemon_find_program(tool, &path, err) < 0)
        return error_set(err, -ENOTSUP, "there is no program '%s'", tool);
    bool lent = lend_runtime_folder();
    struct program_job job = { .path = strbuf_text(&path), .argv = argv };
    program_run_all(&job, 1, TIMEOUT);
    if (lent) /* the home of Sluice depends on it */
        (void)unsetenv("XDG_RUNTIME_DIR");
    strbuf_add(out, job.out.text, job.out.length);
    strbuf_finish(&job.out);
    if (job.status == -ETIMEDOUT)
        return error_set(err, -ETIMEDOUT, "'%s' did not answer within %d s", tool,
                         (int)(TIMEOUT / 1000));
    return job.status;
}

/* `words` behind "systemctl --user". */
static int run_systemctl(const char *const *words, struct strbuf *out, struct error *err) {
    const char *argv[WORDS_MAX + 3] = { "systemctl", "--user" };
    for (size_t i = 0; words[i] && i < WORDS_MAX; i++)
        argv[i + 2] = words[i];
    return run_tool("systemctl", argv, out, err);
}

/* The first line; what systemctl says of hints behind it is not ours. */
static int say(struct error *err, int code, const char *what, const struct strbuf *out) {
    const char *text = strbuf_text(out);
    return error_set(err, code, "%s: %.*s", what, (int)strcspn(text, "\n"),
                     *text ? text : "it failed without a message");
}

int service_manager_find(int *ret_version, struct error *err) {
    static const char *const words[] = { "show", "--property=Version", "--value", NULL };
    _cleanup_(strbuf_finish) struct strbuf out = STRBUF_INIT;
    int r = run_systemctl(words, &out, err);
    if (r < 0)
        return r;
    if (r != 0)
        return say(err, -ENOTSUP, "the systemd manager of this user does not answer", &out);
    *ret_version = (int)strtol(strbuf_text(&out), NULL, 10) /* "252.38-1": its first number */;
    return 0;
}

int service_manager_call(const char *const *words, struct error *err) {
    _cleanup_(strbuf_finish) struct strbuf out = STRBUF_INIT, what = STRBUF_INIT;
    int r = run_systemctl(words, &out, err);
    if (r <= 0)
        return r;
    strbuf_puts(&what, "systemctl --user");
    for (; *words; words++)
        strbuf_printf(&what, " %s", *words);
    return say(err, -EIO, strbuf_text(&what), &out);
}

static void take_line(const char *line, size_t length, struct service_state *state) {
    char text[128];
    (void)snprintf(text, sizeof(text), "%.*s", (int)length, line);
    char *value = strchr(text, '=');
    if (!value)
        return;
    *value++ = '\0';
    if (strcmp(text, "UnitFileState") == 0)
        state->enabled = strncmp(value, "enabled", 7) == 0;
    else if (strcmp(text, "ActiveState") == 0)
        (void)snprintf(state->active, sizeof(state->active), "%.31s", value);
    else if (strcmp(text, "SubState") == 0)
        (void)snprintf(state->sub, sizeof(state->sub), "%.31s", value);
    else if (strcmp(text, "MainPID") == 0)
        state->pid = (pid_t)strtol(value, NULL, 10);
    else if (strcmp(text, "ExecMainStatus") == 0)
        state->exit_code = (int)strtol(value, NULL, 10);
    else if (strcmp(text, "NRestarts") == 0)
        state->restarts = strtol(value, NULL, 10);
}

int service_manager_look(const char *unit, struct service_state *ret_state, struct error *err) {
    const char *const words[] = { "show",
                                  "--property=UnitFileState,ActiveState,SubState,MainPID,"
                                  "ExecMainStatus,NRestarts",
                                  unit, NULL };
    _cleanup_(strbuf_finish) struct strbuf out = STRBUF_INIT;
    *ret_state = (struct service_state){ 0 };
    int r = run_systemctl(words, &out, err);
    if (r != 0)
        return r < 0 ? r : say(err, -EIO, "systemctl --user show", &out);
    for (const char *line = strbuf_text(&out); *line;) {
        size_t length = strcspn(line, "\n");
        take_line(line, length, ret_state);
        line += length + (line[length] == '\n');
    }
    return 0;
}

/* --- linger ---------------------------------------------------------------------------------- */

bool service_linger_is_on(const char *user) {
    const char *const argv[] = {
        "loginctl", "show-user", user, "--property=Linger", "--value", NULL
    };
    _cleanup_(strbuf_finish) struct strbuf path = STRBUF_INIT, out = STRBUF_INIT;
    struct error err = { 0 };
    strbuf_printf(&path, "/var/lib/systemd/linger/%s", user);
    return access(strbuf_text(&path), F_OK) == 0
           || (run_tool("loginctl", argv, &out, &err) == 0
               && strncmp(strbuf_text(&out), "yes", 3) == 0);
}

int service_linger_enable(const char *user, struct error *err) {
    const char *const argv[] = { "loginctl", "--no-ask-password", "enable-linger", user, NULL };
    _cleanup_(strbuf_finish) struct strbuf out = STRBUF_INIT;
    int r = run_tool("loginctl", argv, &out, err);
    return r <= 0 ? r : say(err, -EPERM, "loginctl enable-linger", &out);
}

#define STEPS_SINCE 254 /* RestartSteps= */

const char *const service_unit_variables[] = {
    "PATH",          "LANG",
    "LC_ALL",        "TZ",
    "SHELL",         "XDG_CONFIG_HOME",
    "XDG_DATA_HOME", "CLAUDE_CONFIG_DIR",
    "CODEX_HOME",    NULL,
};

/* --- where ----------------------------------------------------------------------------------- */

static bool has_own_home(void) {
    const char *own = getenv("SLUICE_HOME");
    return own && *own;
}

static char *print_name(const struct home *home) {
    struct strbuf name = STRBUF_INIT;
    strbuf_puts(&name, "sluice");
    if (has_own_home())
        strbuf_printf(&name, "-%08x", (unsigned)hash_bytes(home->data, strlen(home->data)));
    strbuf_puts(&name, ".service");
    return strbuf_take(&name);
}

int service_unit_find(const struct home *home, struct service_unit *ret_unit, struct error *err) {
    const char *folder = getenv("XDG_CONFIG_HOME"), *user = getenv("HOME");
    struct strbuf file = STRBUF_INIT, link = STRBUF_INIT, more = STRBUF_INIT;
    _cleanup_(strbuf_finish) struct strbuf units = STRBUF_INIT;
    if (folder && *folder == '/')
        strbuf_printf(&units, "%s/systemd/user", folder);
    else if (user && *user == '/')
        strbuf_printf(&units, "%s/.config/systemd/user", user);
    else
        return error_set(err, -ENOENT, "HOME is not set, so the folder of user units is not known");
    const char *slash = strrchr(home->config_file, '/');
    ret_unit->name = print_name(home);
    strbuf_printf(&file, "%s/%s", strbuf_text(&units), ret_unit->name);
    strbuf_printf(&link, "%s/default.target.wants/%s", strbuf_text(&units), ret_unit->name);
    strbuf_printf(&more, "%.*s/service.env", (int)(slash - home->config_file), home->config_file);
    ret_unit->file = strbuf_take(&file);
    ret_unit->link = strbuf_take(&link);
    ret_unit->environment_file = strbuf_take(&more);
    return 0;
}

void service_unit_finish(struct service_unit *unit) {
    free(unit->name);
    free(unit->file);
    free(unit->link);
    free(unit->environment_file);
    *unit = (struct service_unit){ 0 };
}

/* --- text ------------------------------------------------------------------------------------ */

/* As systemd reads it: specifiers begin with %, inside quotes \ and " are escaped. */
static void put_escaped(struct strbuf *out, const char *text, bool quoted) {
    for (; *text; text++) {
        if (*text == '%')
            strbuf_puts(out, "%%");
        else if (*text == '\n')
            strbuf_puts(out, "\\n");
        else if (quoted && (*text == '\\' || *text == '"'))
            strbuf_printf(out, "\\%c", *text);
        else
            strbuf_putc(out, *text);
    }
}

static void put_variable(struct strbuf *out, const char *name, const char *value) {
    if (!value || !*value)
        return;
    strbuf_printf(out, "Environment=\"%s=", name);
    put_escaped(out, value, true);
    strbuf_puts(out, "\"\n");
}

static void put_environment(const struct service_unit *unit, const struct home *home,
                            struct strbuf *out) {
    strbuf_puts(
        out, "# Where things are, as it was when the unit was written. Runs get those of them "
             "that\n# tasks.env names. Secrets belong into agents.A.env_file, not into a unit.\n");
    if (has_own_home())
        put_variable(out, "SLUICE_HOME", home->data);
    for (const char *const *name = service_unit_variables; *name; name++)
        put_variable(out, *name, getenv(*name));
    strbuf_puts(out, "# More variables, NAME=VALUE; the file is yours and need not exist.\n"
                     "EnvironmentFile=-");
    put_escaped(out, unit->environment_file, false);
    strbuf_putc(out, '\n');
}

static const char restart_text[] =
    "# The daemon starts again after a crash, for as long as it takes: nobody is there at night.\n"
    "# Not after 'sluice down' (exit code 0) and not when its arguments are wrong (2).\n"
    "Restart=on-failure\n"
    "RestartSec=5s\n"
    "RestartPreventExitStatus=2\n";

static const char rest_text[] =
    "# Runs outlive the daemon: only its own process is stopped, and the next one finds them.\n"
    "KillMode=process\n"
    "# Each run gets a cgroup of its own below that of the service.\n"
    "Delegate=yes\n"
    "TimeoutStopSec=30s\n"
    "# When memory is short, agents go first.\n"
    "OOMPolicy=continue\n"
    "LimitNOFILE=65536\n"
    "\n"
    "[Install]\n"
    "WantedBy=default.target\n";

int service_unit_print(const struct service_unit *unit, const struct home *home, int version,
                       struct strbuf *out, struct error *err) {
    _cleanup_(strbuf_finish) struct strbuf program = STRBUF_INIT;
    int r = daemon_find_program("sluiced", &program, err);
    if (r < 0)
        return r;
    strbuf_puts(out,
                "# Written by 'sluice service install', which writes it again; put changes into\n"
                "# a drop-in: systemctl --user edit ");
    strbuf_printf(out, "%s\n\n[Unit]\n", unit->name);
    strbuf_puts(out, "Description=Sluice, a durable scheduler for coding agents\n"
                     "Documentation=man:sluiced(8) man:sluice(1)\n"
                     "StartLimitIntervalSec=0\n\n"
                     "[Service]\nType=exec\nExecStart=\"");
    put_escaped(out, strbuf_text(&program), true);
    strbuf_puts(out, "\"\nExecReload=/bin/kill -HUP $MAINPID\n");
    put_environment(unit, home, out);
    strbuf_puts(out, restart_text);
    if (version >= STEPS_SINCE)
        strbuf_puts(out, "RestartSteps=6\nRestartMaxDelaySec=5min\n");
    strbuf_puts(out, rest_text);
    return 0;
}
