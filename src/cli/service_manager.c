/* service_manager.c: systemctl and loginctl, each with a deadline. */
#include "cli/service_manager.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

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
