/* preflight.c: checks files, variables and the configuration of one agent. */
#include "cli/preflight.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "agent/agent.h"
#include "base/alloc.h"
#include "cli/daemon.h"
#include "cli/mcp_install.h"
#include "cli/program.h"
#include "cli/request.h"
#include "os/files.h"

#define SETTINGS_MAX    ((size_t)4 * 1024 * 1024)
#define VERSION_TIMEOUT SECONDS(10)
#define VERSION_SHOWN   60

/* --- program --------------------------------------------------------------------------------- */

static void check_program_path(struct preflight *p, const struct config *config,
                               const json_t *listed) {
    const char *const *words = NULL;
    _cleanup_(strbuf_finish) struct strbuf command = STRBUF_INIT, path = STRBUF_INIT;
    const char *found = get_text(listed, "found", NULL);
    if (config_words(config, "agents.A.command", p->agent, &words) > 0)
        p->program = xstrdup(words[0]);
    else if (p->adapter && agent_command(p->adapter, &(struct agent_launch){ 0 }, &command) > 0)
        p->program = xstrdup(strbuf_text(&command)); /* its first word */
    if (listed)
        p->path = found ? xstrdup(found) : NULL;
    else if (p->program && daemon_find_in_path(p->program, &path) == 0)
        p->path = strbuf_take(&path); /* in our PATH: without a daemon there is nothing better */
}

/* --- login ----------------------------------------------------------------------------------- */

static const char *own_variable(void *ctx, const char *name) {
    (void)ctx;
    return getenv(name);
}

/* Resolves a path of the table for this user. */
static void resolve(const struct preflight *p, const char *path_in_home, struct strbuf *out) {
    const char *home = getenv("HOME");
    const struct agent_path path = { path_in_home, AGENT_PATH_READ };
    const struct agent_path_context place = { .home = home ? home : "",
                                              .cwd = "/",
                                              .variable = own_variable };
    agent_path_resolve(p->adapter, &path, &place, out);
}

/* The first file with one of its words; true: found, in `out`. */
static bool find_words(const struct preflight *p, const struct agent_login_words *list,
                       struct strbuf *out) {
    for (; list && list->file; list++) {
        _cleanup_(strbuf_finish) struct strbuf text = STRBUF_INIT;
        strbuf_clear(out);
        resolve(p, list->file, out);
        if (file_read(strbuf_text(out), SETTINGS_MAX, &text, NULL) < 0)
            continue;
        for (const char *const *word = list->words; *word; word++)
            if (strstr(strbuf_text(&text), *word))
                return true;
    }
    return false;
}

/* Does a list of NAME or NAME=VALUE have the name? */
static bool has_name(const char *const *list, size_t count, const char *name) {
    size_t length = strlen(name);
    for (size_t i = 0; i < count; i++)
        if (strncmp(list[i], name, length) == 0 && (!list[i][length] || list[i][length] == '='))
            return true;
    return false;
}

static bool file_has_name(const char *path, const char *name) {
    _cleanup_(strbuf_finish) struct strbuf text = STRBUF_INIT;
    if (!*path || file_read(path, SETTINGS_MAX, &text, NULL) < 0)
        return false;
    _cleanup_(freep) char *start = xasprintf("%s=", name);
    return strstr(strbuf_text(&text), start) != NULL;
}

static void set_login(struct preflight *p, enum preflight_login login, const char *by) {
    p->login = login;
    (void)snprintf(p->login_by, sizeof(p->login_by), "%s", by);
}

/* A variable that runs get. One that only the shell has is worth a hint. */
static bool check_login_variables(struct preflight *p, const struct config *config,
                                  const struct agent_preflight *row, const char **ret_shell_only) {
    const char *const *pairs = NULL, *const *passed = NULL, *const *unused = NULL;
    size_t count = config_words(config, "agents.A.env", p->agent, &pairs);
    size_t passed_count = config_words(config, "tasks.env", NULL, &passed);
    const char *file = config_text(config, "agents.A.env_file", p->agent);
    if (config_words(config, "agents.A.env_command", p->agent, &unused) > 0
        || config_words(config, "agents.A.env_credential", p->agent, &unused) > 0) {
        set_login(p, PREFLIGHT_LOGIN_YES, "secrets of the configuration");
        return true;
    }
    for (const char *const *name = row->login_variables; *name; name++) {
        const char *value = getenv(*name);
        bool set = value && *value;
        if (has_name(pairs, count, *name) || file_has_name(file, *name)
            || (set && has_name(passed, passed_count, *name))) {
            set_login(p, PREFLIGHT_LOGIN_YES, *name);
            return true;
        }
        if (set && !*ret_shell_only)
            *ret_shell_only = *name;
    }
    return false;
}

static void check_login(struct preflight *p, const struct config *config,
                        const struct agent_preflight *row) {
    _cleanup_(strbuf_finish) struct strbuf path = STRBUF_INIT;
    const char *shell_only = NULL;
    if (check_login_variables(p, config, row, &shell_only))
        return;
    for (const char *const *file = row->login_files; *file; file++) {
        strbuf_clear(&path);
        resolve(p, *file, &path);
        if (access(strbuf_text(&path), R_OK) == 0) {
            set_login(p, PREFLIGHT_LOGIN_YES, strbuf_text(&path));
            return;
        }
    }
    if (find_words(p, row->settings, &path)) {
        set_login(p, PREFLIGHT_LOGIN_YES, strbuf_text(&path));
        return;
    }
    strbuf_clear(&path);
    if (shell_only)
        strbuf_printf(&path, "%s is set in this shell, but runs do not get it", shell_only);
    set_login(p, row->login_elsewhere ? PREFLIGHT_LOGIN_UNKNOWN : PREFLIGHT_LOGIN_NO,
              strbuf_text(&path));
}

/* --- one agent ------------------------------------------------------------------------------- */

void preflight_check(struct preflight *p, const char *agent, const struct config *config,
                     const json_t *listed, bool auto_box) {
    const char *const *args = NULL;
    _cleanup_(strbuf_finish) struct strbuf path = STRBUF_INIT;
    *p = (struct preflight){ .agent = agent, .mcp = -1, .may = AGENT_MAY_AS_SET };
    p->adapter = agent_adapter_find(config_text(config, "agents.A.adapter", agent));
    const char *sandbox = config_text(config, "agents.A.sandbox", agent);
    p->is_sandboxed = strcmp(sandbox, "auto") == 0 ? auto_box : strcmp(sandbox, "none") != 0;
    const char *client = p->adapter ? p->adapter->client : NULL;
    if (client && daemon_find_program(client, &path, NULL) < 0)
        p->client_missing = client;
    strbuf_clear(&path);
    check_program_path(p, config, listed);
    const struct agent_preflight *row = agent_preflight(p->adapter);
    if (!row)
        return;
    check_login(p, config, row);
    if (config_words(config, "agents.A.command", agent, &args)
        == 0) { /* otherwise its options are configured */
        (void)config_words(config, "agents.A.args", agent, &args);
        p->may = agent_permission(p->adapter, args, p->is_sandboxed);
    }
    if (p->may == AGENT_MAY_EDIT && find_words(p, row->allowed, &path))
        p->may = AGENT_MAY_WORK;
    p->mcp = mcp_install_is_done(p->adapter->name);
}

void preflight_finish(struct preflight *p) {
    free(p->program);
    free(p->path);
}

/* The first line with a digit. */
static void take_line(const char *text, struct strbuf *out) {
    while (*text) {
        size_t length = strcspn(text, "\r\n"), digit = strcspn(text, "0123456789\r\n");
        if (digit < length) {
            strbuf_add(out, text, length < VERSION_SHOWN ? length : VERSION_SHOWN);
            return;
        }
        text += length + (text[length] != '\0');
    }
}

/* Asks all of them for their version, in parallel. */
static void preflight_versions(struct preflight *all, size_t count) {
    struct program_job *jobs = xcalloc(count ? count : 1, sizeof(*jobs));
    const char *(*argv)[3] = xcalloc(count ? count : 1, sizeof(*argv));
    for (size_t i = 0; i < count; i++) {
        argv[i][0] = all[i].program;
        argv[i][1] = "--version";
        jobs[i] =
            (struct program_job){ .path = agent_preflight(all[i].adapter) ? all[i].path : NULL,
                                  .argv = argv[i],
                                  .drop_errors = true };
    }
    program_run_all(jobs, count, VERSION_TIMEOUT);
    for (size_t i = 0; i < count; i++) {
        _cleanup_(strbuf_finish) struct strbuf line = STRBUF_INIT, safe = STRBUF_INIT;
        take_line(strbuf_text(&jobs[i].out), &line);
        sanitize_line(strbuf_text(&line), &safe);
        if (jobs[i].status == 0 || jobs[i].status == -ETIMEDOUT) /* printed, then did not exit */
            (void)snprintf(all[i].version, sizeof(all[i].version), "%s", strbuf_text(&safe));
        strbuf_finish(&jobs[i].out);
    }
    free(argv);
    free(jobs);
}

/* --- reporting ------------------------------------------------------------------------------- */

bool preflight_problem(const struct preflight *p, struct strbuf *problem, struct strbuf *fix) {
    const struct agent_preflight *row = agent_preflight(p->adapter);
    /* A relative path depends on the task's folder, which is unknown here. */
    bool is_relative = p->program && *p->program != '/' && strchr(p->program, '/');
    if (p->client_missing) {
        strbuf_printf(problem, "'%s', which is part of Sluice, was not found", p->client_missing);
        strbuf_puts(fix, "# install the package of Sluice again: this program is missing");
    } else if (p->program && !p->path && (row || !is_relative)) {
        strbuf_printf(problem, "its program '%s' was not found", p->program);
        strbuf_printf(fix, "sluice config set agents.%s.command=PROGRAM # or install it", p->agent);
    } else if (row && p->login == PREFLIGHT_LOGIN_NO) {
        strbuf_printf(problem, "it seems not to be logged in%s%s", *p->login_by ? ": " : "",
                      p->login_by);
        (void)agent_print_login(p->adapter, p->agent, fix);
    } else if (row && p->may == AGENT_MAY_EDIT) {
        strbuf_puts(problem, p->is_sandboxed ? "it may edit files, but commands will be denied"
                                             : "without a sandbox it may edit files, but commands "
                                               "will be denied");
        strbuf_printf(fix, "sluice config set %s", row->allow);
    } else {
        return false;
    }
    return true;
}

void preflight_describe(const struct preflight *p, struct strbuf *out) {
    static const char *const mays[] = { [AGENT_MAY_WORK] = "may edit and run commands",
                                        [AGENT_MAY_EDIT] = "may edit, not run commands",
                                        [AGENT_MAY_AS_SET] = "may do what its settings say" };
    if (!p->path) {
        strbuf_printf(out, "'%s' was not found", p->program ? p->program : "?");
        return;
    }
    strbuf_puts(out, p->path);
    if (p->client_missing)
        strbuf_printf(out, ", but '%s' was not found", p->client_missing);
    if (!agent_preflight(p->adapter))
        return;
    strbuf_printf(out, ", %s", *p->version ? p->version : "version unknown");
    strbuf_puts(out, p->login == PREFLIGHT_LOGIN_YES  ? ", logged in"
                     : p->login == PREFLIGHT_LOGIN_NO ? ", not logged in"
                                                      : ", login unknown");
    if (p->login == PREFLIGHT_LOGIN_NO && *p->login_by)
        strbuf_printf(out, " (%s)", p->login_by);
    strbuf_printf(out, ", %s%s", mays[p->may], p->is_sandboxed ? " in its sandbox" : "");
    if (p->mcp >= 0)
        strbuf_puts(out, p->mcp > 0 ? ", MCP server installed" : ", MCP server not installed");
}

json_t *preflight_json(const struct preflight *p) {
    static const char *const logins[] = { "unknown", "yes", "no" };
    static const char *const mays[] = {
        [AGENT_MAY_WORK] = "work", [AGENT_MAY_EDIT] = "edit", [AGENT_MAY_AS_SET] = "as-set"
    };
    _cleanup_(strbuf_finish) struct strbuf problem = STRBUF_INIT, fix = STRBUF_INIT;
    bool bad = preflight_problem(p, &problem, &fix);
    return json_pack(
        "{s:o, s:o, s:o, s:o, s:s, s:o, s:b, s:s, s:o, s:o, s:o}", "name", json_text(p->agent),
        "program", p->program ? json_text(p->program) : json_null(), "path",
        p->path ? json_text(p->path) : json_null(), "version",
        *p->version ? json_text(p->version) : json_null(), "login", logins[p->login], "login_by",
        *p->login_by ? json_text(p->login_by) : json_null(), "sandboxed", p->is_sandboxed, "may",
        mays[p->may], "mcp", p->mcp < 0 ? json_null() : json_boolean(p->mcp), "problem",
        bad ? json_text(strbuf_text(&problem)) : json_null(), "fix",
        bad ? json_text(strbuf_text(&fix)) : json_null());
}

/* --- all agents ------------------------------------------------------------------------------ */

#define AGENTS_MAX 64

const json_t *preflight_find_listed(const json_t *listed, const char *agent) {
    EACH_ITEM(item, listed) {
        if (strcmp(get_text(item, "name", ""), agent) == 0)
            return item;
    }
    return NULL;
}

bool preflight_guess_box(void) {
    _cleanup_(strbuf_finish) struct strbuf path = STRBUF_INIT;
    return daemon_find_in_path("bwrap", &path) == 0;
}

void preflight_all(const struct config *config, const json_t *listed, bool auto_box,
                   bool with_versions, preflight_each each, void *ctx) {
    struct preflight all[AGENTS_MAX] = { 0 };
    size_t count = 0, named = config_agent_count(config);
    for (size_t i = 0; count < AGENTS_MAX; i++) {
        const char *name = i < named ? config_agent_name(config, i) : agent_builtin(i - named);
        if (!name)
            break;
        bool known = false;
        for (size_t k = 0; k < count; k++)
            known |= strcmp(all[k].agent, name) == 0;
        if (known)
            continue;
        preflight_check(&all[count], name, config, preflight_find_listed(listed, name), auto_box);
        if (i < named || all[count].path)
            count++;
        else
            preflight_finish(&all[count]);
    }
    if (with_versions)
        preflight_versions(all, count);
    for (size_t i = 0; i < count; i++) {
        each(ctx, &all[i]);
        preflight_finish(&all[i]);
    }
}
