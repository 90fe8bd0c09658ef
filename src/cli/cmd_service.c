/* cmd_service.c: installs, removes and describes the systemd user unit that runs the daemon.
 *
 * A daemon that runs without the service is stopped first. Every step can be repeated. */
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
#include "cli/request.h"
#include "cli/service.h"
#include "config/config.h"
#include "os/files.h"

#define TIMEOUT   SECONDS(90) /* a stop waits for the daemon, at most TimeoutStopSec */
#define WORDS_MAX 6

/* Without a login session (cron, sudo) a process does not know where the manager listens. */
static bool lend_runtime_folder(void) {
    char path[64];
    struct stat st;
    (void)snprintf(path, sizeof(path), "/run/user/%lu", (unsigned long)geteuid());
    if (cmd_env("XDG_RUNTIME_DIR") || stat(path, &st) < 0 || st.st_uid != geteuid())
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
    if (lent) /* Sluice's home depends on it */
        (void)unsetenv("XDG_RUNTIME_DIR");
    strbuf_add(out, job.out.text, job.out.length);
    strbuf_finish(&job.out);
    if (job.status == -ETIMEDOUT)
        return error_set(err, -ETIMEDOUT, "'%s' did not answer within %d s", tool,
                         (int)(TIMEOUT / 1000));
    return job.status;
}

/* `words` follow "systemctl --user". */
static int run_systemctl(const char *const *words, struct strbuf *out, struct error *err) {
    const char *argv[WORDS_MAX + 3] = { "systemctl", "--user" };
    for (size_t i = 0; i < WORDS_MAX && words[i]; i++)
        argv[i + 2] = words[i];
    return run_tool("systemctl", argv, out, err);
}

/* With the first line of the output; hints follow. */
static int fail_with_output(struct error *err, int code, const char *what,
                            const struct strbuf *out) {
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
        return fail_with_output(err, -ENOTSUP, "the systemd manager of this user does not answer",
                                &out);
    *ret_version = (int)strtol(strbuf_text(&out), NULL, 10) /* "252.38-1": its first number */;
    return 0;
}

static void put_command(const char *const *words, struct strbuf *out) {
    strbuf_puts(out, "systemctl --user");
    for (; *words; words++)
        strbuf_printf(out, " %s", *words);
}

int service_manager_call(const char *const *words, struct error *err) {
    _cleanup_(strbuf_finish) struct strbuf out = STRBUF_INIT, what = STRBUF_INIT;
    int r = run_systemctl(words, &out, err);
    if (r <= 0)
        return r;
    put_command(words, &what);
    return fail_with_output(err, -EIO, strbuf_text(&what), &out);
}

/* "NAME=VALUE" */
static void take_property(const char *line, size_t length, struct service_state *state) {
    char name[128];
    (void)snprintf(name, sizeof(name), "%.*s", (int)length, line);
    char *value = strchr(name, '=');
    if (!value)
        return;
    *value++ = '\0';
    long number = strtol(value, NULL, 10);
    if (strcmp(name, "UnitFileState") == 0)
        state->enabled = strncmp(value, "enabled", 7) == 0;
    else if (strcmp(name, "ActiveState") == 0)
        (void)snprintf(state->active, sizeof(state->active), "%.31s", value);
    else if (strcmp(name, "SubState") == 0)
        (void)snprintf(state->sub, sizeof(state->sub), "%.31s", value);
    else if (strcmp(name, "MainPID") == 0)
        state->pid = (pid_t)number;
    else if (strcmp(name, "ExecMainStatus") == 0)
        state->exit_code = (int)number;
    else if (strcmp(name, "NRestarts") == 0)
        state->restarts = number;
}

int service_manager_read_state(const char *unit, struct service_state *ret_state,
                               struct error *err) {
    const char *const words[] = { "show",
                                  "--property=UnitFileState,ActiveState,SubState,MainPID,"
                                  "ExecMainStatus,NRestarts",
                                  unit, NULL };
    _cleanup_(strbuf_finish) struct strbuf out = STRBUF_INIT;
    *ret_state = (struct service_state){ 0 };
    int r = run_systemctl(words, &out, err);
    if (r != 0)
        return r < 0 ? r : fail_with_output(err, -EIO, "systemctl --user show", &out);
    for (const char *line = strbuf_text(&out); *line;) {
        size_t length = strcspn(line, "\n");
        take_property(line, length, ret_state);
        line += length + (line[length] == '\n');
    }
    return 0;
}

/* Does this user's manager start at boot and stay after logout? */
static bool linger_is_on(const char *user) {
    const char *const argv[] = {
        "loginctl", "show-user", user, "--property=Linger", "--value", NULL
    };
    _cleanup_(strbuf_finish) struct strbuf out = STRBUF_INIT;
    struct error err = { 0 };
    _cleanup_(freep) char *path = xasprintf("/var/lib/systemd/linger/%s", user);
    return access(path, F_OK) == 0
           || (run_tool("loginctl", argv, &out, &err) == 0
               && strncmp(strbuf_text(&out), "yes", 3) == 0);
}

#define STEPS_SINCE 254 /* RestartSteps= */

/* Variables that the unit takes from the environment, and those that the manager sets. */
static const char *const unit_variables[] = { "PATH",          "LANG",
                                              "LC_ALL",        "TZ",
                                              "SHELL",         "XDG_CONFIG_HOME",
                                              "XDG_DATA_HOME", "CLAUDE_CONFIG_DIR",
                                              "CODEX_HOME",    NULL };
static const char manager_variables[] = "HOME USER LOGNAME TERM XDG_RUNTIME_DIR";

int service_unit_find(const struct home *home, struct service_unit *ret_unit, struct error *err) {
    const char *folder = getenv("XDG_CONFIG_HOME"), *user = getenv("HOME");
    struct strbuf name = STRBUF_INIT;
    _cleanup_(strbuf_finish) struct strbuf units = STRBUF_INIT;
    if (folder && *folder == '/')
        strbuf_printf(&units, "%s/systemd/user", folder);
    else if (user && *user == '/')
        strbuf_printf(&units, "%s/.config/systemd/user", user);
    else
        return error_set(err, -ENOENT, "HOME is not set, so the folder of user units is not known");
    const char *slash = strrchr(home->config_file, '/');
    strbuf_puts(&name, "sluice");
    if (cmd_env("SLUICE_HOME"))
        strbuf_printf(&name, "-%08x", (unsigned)hash_bytes(home->data, strlen(home->data)));
    strbuf_puts(&name, ".service");
    ret_unit->name = strbuf_take(&name);
    ret_unit->file = xasprintf("%s/%s", strbuf_text(&units), ret_unit->name);
    ret_unit->link = xasprintf("%s/default.target.wants/%s", strbuf_text(&units), ret_unit->name);
    ret_unit->environment_file =
        xasprintf("%.*s/service.env", (int)(slash - home->config_file), home->config_file);
    return 0;
}

void service_unit_finish(struct service_unit *unit) {
    free(unit->name);
    free(unit->file);
    free(unit->link);
    free(unit->environment_file);
    *unit = (struct service_unit){ 0 };
}

/* systemd syntax: % starts specifiers; inside quotes \ and " are escaped. */
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
    if (cmd_env("SLUICE_HOME"))
        put_variable(out, "SLUICE_HOME", home->data);
    for (const char *const *name = unit_variables; *name; name++)
        put_variable(out, *name, getenv(*name));
    strbuf_puts(out, "# More variables, NAME=VALUE; the file is yours and need not exist.\n"
                     "EnvironmentFile=-");
    put_escaped(out, unit->environment_file, false);
    strbuf_putc(out, '\n');
}

static const char restart_text[] =
    "# Restart the daemon after a crash, without a limit.\n"
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

/* The unit file. `version`: of systemd; newer ones support increasing restart delays. */
static int print_unit(const struct service_unit *unit, const struct home *home, int version,
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

#define UNIT_MAX 65536

DEFINE_FREEP(struct config, config_free);

struct service {
    const struct cmd_call *call;
    struct home home;
    struct service_unit unit;
    struct service_state state;
    char *user;
    int version;
    bool installed; /* its file exists */
    bool current;   /* its text is up to date */
    bool linger;
    struct strbuf text; /* of the unit */
    json_t *actions;    /* done, or planned with --dry-run */
};

static void service_finish(struct service *s) {
    home_finish(&s->home);
    service_unit_finish(&s->unit);
    strbuf_finish(&s->text);
    json_decref(s->actions);
    free(s->user);
}

static int find_unit(struct service *s, struct error *err) {
    s->actions = json_array();
    s->user = home_user_name(geteuid());
    int r = home_find(&s->home, err);
    if (r >= 0)
        r = service_unit_find(&s->home, &s->unit, err);
    if (r < 0)
        return r;
    s->installed = access(s->unit.file, F_OK) == 0;
    return 0;
}

static int read_state(struct service *s, struct error *err) {
    _cleanup_(strbuf_finish) struct strbuf before = STRBUF_INIT;
    int r = service_manager_read_state(s->unit.name, &s->state, err);
    if (r >= 0)
        r = print_unit(&s->unit, &s->home, s->version, &s->text, err);
    if (r >= 0 && s->installed)
        r = file_read(s->unit.file, UNIT_MAX, &before, err);
    s->current = s->installed && strcmp(strbuf_text(&before), strbuf_text(&s->text)) == 0;
    s->linger = linger_is_on(s->user);
    return r;
}

static pid_t pid_of_daemon(void) {
    _cleanup_(request_finish) struct request req = { 0 };
    if (request_open(&req, REQUEST_HOME) != CMD_OK || request_try_get(&req, "/healthz") != 0)
        return 0;
    return (pid_t)get_int(req.answer, "pid", 0);
}

static bool is_dry(const struct service *s) {
    return cmd_has(s->call, "dry-run");
}

_printf_(2, 3) static void add_action(struct service *s, const char *format, ...) {
    CMD_PRINT_ARGS(text, format);
    json_array_append_new(s->actions, json_text(strbuf_text(&text)));
}

/* `option`, `unit`: or NULL. */
static int systemctl(struct service *s, const char *verb, const char *option, const char *unit,
                     struct error *err) {
    const char *const words[] = { verb, option ? option : unit, option ? unit : NULL, NULL };
    _cleanup_(strbuf_finish) struct strbuf command = STRBUF_INIT;
    put_command(words, &command);
    add_action(s, "%s", strbuf_text(&command));
    return is_dry(s) ? 0 : service_manager_call(words, err);
}

/* Stops the daemon that answers, with 'sluice down', which waits for its exit. Runs continue. */
static int stop_daemon_outside(struct service *s, struct error *err) {
    _cleanup_(strbuf_finish) struct strbuf out = STRBUF_INIT;
    static const char *const argv[] = { "sluice", "down", NULL };
    int status;
    add_action(s, "sluice down");
    if (is_dry(s))
        return 0;
    int r = daemon_run_program(argv, PROGRAM_TAKE_BOTH, &out, &status, err);
    if (r < 0 || status == 0)
        return r;
    return error_set(err, -EIO, "the running daemon does not stop: %.*s",
                     (int)strcspn(strbuf_text(&out), "\n"), strbuf_text(&out));
}

/* Makes the service run the daemon, with the current unit. */
static int start_in_service(struct service *s, struct error *err) {
    pid_t pid = pid_of_daemon();
    struct daemon_found found;
    if (pid > 0 && pid == s->state.pid && s->current)
        return 0;
    int r = 0;
    if (pid > 0 && pid == s->state.pid) {
        r = systemctl(s, "restart", NULL, s->unit.name, err);
    } else {
        if (pid > 0)
            r = stop_daemon_outside(s, err);
        add_action(s, "systemctl --user start %s", s->unit.name);
    }
    if (r < 0 || is_dry(s))
        return r;
    return daemon_start(&found, err); /* through the service; waits until it answers */
}

static void enable_linger(struct service *s) {
    struct error err = { 0 };
    if (s->linger || cmd_has(s->call, "no-linger"))
        return;
    add_action(s, "loginctl enable-linger %s", s->user);
    if (is_dry(s))
        return;
    const char *const argv[] = { "loginctl", "--no-ask-password", "enable-linger", s->user, NULL };
    _cleanup_(strbuf_finish) struct strbuf out = STRBUF_INIT;
    int r = run_tool("loginctl", argv, &out, &err);
    if (r > 0)
        r = fail_with_output(&err, -EPERM, "loginctl enable-linger", &out);
    s->linger = r >= 0;
    if (!s->linger)
        cmd_warn("lingering is off (%s): the daemon stops when you log out, and does not start at "
                 "boot; run 'sudo loginctl enable-linger %s'",
                 err.text, s->user);
}

/* Runs get the variables in tasks.env from the daemon; the service has fewer than this shell. */
static void warn_of_variables(const struct service *s) {
    _cleanup_(config_freep) struct config *config = config_new();
    const char *const *names = NULL;
    (void)config_read_file(config, s->home.config_file, NULL);
    size_t count = config_words(config, "tasks.env", NULL, &names);
    for (size_t i = 0; i < count; i++) {
        bool known = !getenv(names[i]) || word_in(names[i], manager_variables);
        for (const char *const *name = unit_variables; *name; name++)
            known |= strcmp(*name, names[i]) == 0;
        if (!known && access(s->unit.environment_file, F_OK) < 0)
            cmd_warn("tasks.env names %s, which the service does not have: write it as %s=VALUE "
                     "into '%s' (mode 600), or use agents.A.env_file",
                     names[i], names[i], s->unit.environment_file);
    }
}

static void print_json(const struct service *s, bool with_text) {
    pid_t pid = pid_of_daemon();
    json_t *answer = json_pack(
        "{s:o, s:o, s:b, s:b, s:b, s:o, s:o, s:I, s:b, s:b}", "unit", json_text(s->unit.name),
        "file", json_text(s->unit.file), "installed", s->installed, "current", s->current,
        "enabled", s->state.enabled, "active", json_text(s->state.active), "pid",
        pid > 0 ? json_integer(pid) : json_null(), "restarts", (json_int_t)s->state.restarts,
        "has_daemon", pid > 0 && pid == s->state.pid, "linger", s->linger);
    json_object_set(answer, "actions", s->actions);
    if (with_text)
        json_object_set_new(answer, "text", json_text(strbuf_text(&s->text)));
    (void)output_json(answer);
}

static void print_actions(const struct service *s, struct strbuf *out) {
    if (json_array_size(s->actions) == 0)
        strbuf_puts(out, "nothing to do\n");
    EACH_ITEM(action, s->actions) {
        strbuf_printf(out, "%s\n", json_string_value(action));
    }
}

static int fail(const struct error *err) {
    cmd_warn("%s", err->text);
    return err->code == -ENOTSUP ? CMD_REFUSED : CMD_FAILED;
}

static int install(struct service *s, struct error *err) {
    int r = read_state(s, err);
    if (r < 0)
        return r;
    if (!s->current) {
        add_action(s, "write %s", s->unit.file);
        if (!is_dry(s))
            r = cmd_make_parent(s->unit.file, err);
        if (r >= 0 && !is_dry(s))
            r = file_write(s->unit.file, s->text.text, s->text.length, err);
        if (r >= 0)
            r = systemctl(s, "daemon-reload", NULL, NULL, err);
    }
    if (r >= 0 && (!s->current || !s->state.enabled))
        r = systemctl(s, "enable", NULL, s->unit.name, err);
    if (r >= 0)
        r = start_in_service(s, err);
    if (r >= 0)
        enable_linger(s);
    return r;
}

static void print_installed(const struct service *s) {
    _cleanup_(output_finish) struct strbuf out = STRBUF_INIT;
    if (is_dry(s)) {
        strbuf_printf(&out, "# %s\n%s\n# then:\n", s->unit.file, strbuf_text(&s->text));
        print_actions(s, &out);
    } else if (json_array_size(s->actions) == 0) {
        strbuf_printf(&out, "the service '%s' is installed and runs (pid %d)\n", s->unit.name,
                      (int)pid_of_daemon());
    } else {
        print_actions(s, &out);
        strbuf_printf(&out, "the daemon runs (pid %d) and starts again after a crash%s\n",
                      (int)pid_of_daemon(), s->linger ? ", and at boot" : "");
    }
}

static int service_install_run(const struct cmd_call *call) {
    _cleanup_(service_finish) struct service s = { .call = call };
    struct error err = { 0 };
    if (find_unit(&s, &err) < 0)
        return fail(&err);
    if (service_manager_find(&s.version, &err) < 0) {
        cmd_warn("%s; without 'systemd --user', add '@reboot sluice up' to your crontab, or run "
                 "'sluice up --foreground' under another supervisor (docs/guide/daemon.md)",
                 err.text);
        return CMD_REFUSED;
    }
    /* The default home's socket is in XDG_RUNTIME_DIR, which the manager always knows. */
    const char *runtime = cmd_env("XDG_RUNTIME_DIR");
    if (!cmd_env("SLUICE_HOME") && !(runtime && *runtime == '/')) {
        cmd_warn("XDG_RUNTIME_DIR is not set: log in as this user, or run 'export "
                 "XDG_RUNTIME_DIR=/run/user/%lu' here and wherever you use sluice",
                 (unsigned long)geteuid());
        return CMD_REFUSED;
    }
    if (install(&s, &err) < 0)
        return fail(&err);
    if (!is_dry(&s)) {
        s.installed = s.current = true;
        (void)service_manager_read_state(s.unit.name, &s.state, &err);
    }
    warn_of_variables(&s);
    if (call->json)
        print_json(&s, is_dry(&s));
    else
        print_installed(&s);
    return CMD_OK;
}

static int remove_unit(struct service *s, bool has_manager, struct error *err) {
    int r = has_manager ? systemctl(s, "disable", "--now", s->unit.name, err) : 0;
    if (r < 0)
        return r;
    add_action(s, "remove %s", s->unit.file);
    if (!is_dry(s) && unlink(s->unit.file) < 0 && errno != ENOENT)
        return error_set_errno(err, "remove", s->unit.file);
    if (!is_dry(s) && unlink(s->unit.link) < 0 && errno != ENOENT)
        return error_set_errno(err, "remove", s->unit.link);
    return has_manager ? systemctl(s, "daemon-reload", NULL, NULL, err) : 0;
}

static int service_remove_run(const struct cmd_call *call) {
    _cleanup_(service_finish) struct service s = { .call = call };
    _cleanup_(output_finish) struct strbuf out = STRBUF_INIT;
    struct error err = { 0 };
    int r = find_unit(&s, &err);
    bool was_installed = s.installed;
    if (r >= 0 && was_installed)
        r = remove_unit(&s, service_manager_find(&s.version, &err) >= 0, &err);
    if (r < 0)
        return fail(&err);
    s.installed = was_installed && is_dry(&s);
    s.linger = linger_is_on(s.user);
    if (call->json) {
        print_json(&s, false);
        return CMD_OK;
    }
    if (!was_installed)
        strbuf_printf(&out, "the service '%s' is not installed\n", s.unit.name);
    else
        print_actions(&s, &out);
    if (was_installed && !is_dry(&s))
        strbuf_puts(&out, "the daemon has stopped; runs continue, and 'sluice up' adopts them\n");
    return CMD_OK;
}

static void print_status(const struct service *s, const char *problem) {
    _cleanup_(output_finish) struct strbuf out = STRBUF_INIT;
    pid_t pid = pid_of_daemon();
    strbuf_printf(&out, "unit     %s, %s\n", s->unit.name,
                  !s->installed ? "not installed: 'sluice service install'"
                  : s->current
                      ? "installed"
                      : "installed, not up to date: 'sluice service install' writes it again");
    if (s->installed)
        strbuf_printf(&out, "file     %s\n", s->unit.file);
    if (problem)
        strbuf_printf(&out, "systemd  %s\n", problem);
    else if (s->installed)
        strbuf_printf(&out, "systemd  %s, %s, %ld restart%s\n", s->state.active,
                      s->state.enabled ? "enabled" : "not enabled", s->state.restarts,
                      s->state.restarts == 1 ? "" : "s");
    if (pid == 0)
        strbuf_puts(&out, "daemon   not running\n");
    else
        strbuf_printf(&out, "daemon   pid %d, %s\n", (int)pid,
                      pid == s->state.pid ? "of the service"
                                          : "started without the service: a crash ends it");
    strbuf_printf(&out, "linger   %s\n",
                  s->linger ? "on: the service starts at boot and stays after logout"
                            : "off: 'loginctl enable-linger' lets it start at boot and stay "
                              "after logout");
}

static int service_status_run(const struct cmd_call *call) {
    _cleanup_(service_finish) struct service s = { .call = call };
    struct error err = { 0 };
    if (find_unit(&s, &err) < 0)
        return fail(&err);
    int r = service_manager_find(&s.version, &err);
    if (r >= 0)
        r = read_state(&s, &err);
    else
        s.linger = linger_is_on(s.user);
    if (call->json)
        print_json(&s, false);
    else
        print_status(&s, r < 0 ? err.text : NULL);
    return s.installed && s.state.pid > 0 && s.state.pid == pid_of_daemon() ? CMD_OK : CMD_FAILED;
}

static const struct cmd service_install = {
    "service install", service_install_run, 0, 0,
    CMD_OPTIONS(
        { "dry-run", 'n', NULL, "print the unit and the commands without changing anything" },
        { "no-linger", 0, NULL, "do not enable lingering" })
};

static const struct cmd service_remove = {
    "service remove", service_remove_run, 0, 0,
    CMD_OPTIONS({ "dry-run", 'n', NULL, "print what would be done without changing anything" })
};
static const struct cmd service_status = { "service status", service_status_run };
const struct cmd cmd_service = { "service", .subs = CMD_LIST(&service_install, &service_remove,
                                                             &service_status) };
