/* service_unit.c: the systemd user unit of this home. */
#include "cli/service_unit.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/hash.h"
#include "cli/daemon.h"

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
