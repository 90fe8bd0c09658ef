/* cmd_init.c: writes a first configuration, after a look at what is installed.
 *
 * The file has the preset, and common settings as comments with their defaults, generated from the
 * table of settings. On a terminal it asks up to four questions; the answers are settings, which
 * are edited into the file as `sluice config set` does. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "agent/agent.h"
#include "base/alloc.h"
#include "cli/daemon.h"
#include "cli/preflight.h"
#include "cli/request.h"
#include "config/config.h"
#include "config/config_edit.h"
#include "config/presets.h"
#include "config/settings.h"
#include "os/files.h"
#include "os/home.h"

DEFINE_FREEP(struct config, config_free);

#define TEXT_WIDTH 88

/* Grouped by section. */
static const char *const common_settings[] = {
    "limits.runs",       "limits.roots",         "pace.batch",
    "pace.tick_s",       "pace.spawn_delay_s",   "breaker.max",
    "breaker.reset_s",   "retry.failed.max",     "retry.failed.delay_s",
    "tasks.timeout_s",   "tasks.idle_timeout_s", "fair.window_h",
    "max_wait_s",        "queue.soft",           "queue.hard",
    "host.disk_free_gb", "retention.days",       "lost",
};

static const char example_text[] = "#  claude:\n"
                                   "#    model: sonnet\n"
                                   "#    slots: 4\n";

static const char names_text[] =
    "#  mine:\n"
    "#    command: [./agent.sh, --, \"{prompt}\"]\n"
    "#    prompt: argument\n"
    "\n"
    "# A limiter is a provider account. When the provider reports a rate limit, everything that\n"
    "# uses the account waits.\n"
    "#limiters:\n"
    "#  claude:\n"
    "#    max_running: 4\n"
    "#  codex:\n"
    "#    max_running: 4\n"
    "\n"
    "# A project has a share of the tokens, limits of its own, and a folder for its tasks.\n"
    "#projects:\n"
    "#  web:\n"
    "#    path: /home/me/web\n"
    "#    weight: 2\n"
    "#    max_running: 3\n"
    "#    budget: 5000000\n"
    "\n"
    "# A kind is a type of task, with its own order and its own limit.\n"
    "#kinds:\n"
    "#  review:\n"
    "#    base: 80\n"
    "#    max_running: 2\n";

#define ANSWERS_MAX 4

struct setup {
    const struct cmd_call *call;
    const struct preset *preset;
    struct config *config; /* of the preset */
    struct home home;
    struct strbuf lines; /* of the agents in the file */
    struct strbuf found; /* what is installed, for people */
    struct strbuf hints; /* how to repair what cannot work */
    char ready[64];      /* an agent that can work; "": none */
    bool has_agent, has_box, has_systemd, wants_service;
    struct config_change answers[ANSWERS_MAX];
    char values[ANSWERS_MAX][64];
    size_t answer_count;
};

static void setup_finish(struct setup *setup) {
    config_free(setup->config);
    home_finish(&setup->home);
    strbuf_finish(&setup->lines);
    strbuf_finish(&setup->found);
    strbuf_finish(&setup->hints);
}

/* --- what is installed ------------------------------------------------------------------------ */

static bool find_program(struct setup *setup, const char *title, const char *name,
                         const char *without) {
    _cleanup_(strbuf_finish) struct strbuf path = STRBUF_INIT;
    bool found = daemon_find_in_path(name, &path) == 0;
    cmd_put_line(&setup->found, "  %-12s %s", title, found ? strbuf_text(&path) : without);
    return found;
}

/* Does the systemd manager of this user run? */
static bool has_user_manager(void) {
    const char *folder = cmd_env("XDG_RUNTIME_DIR");
    _cleanup_(freep) char *path = folder ? xasprintf("%s/systemd/private", folder) : NULL;
    return path && access(path, W_OK) == 0;
}

static void take_agent(void *ctx, const struct preflight *p) {
    struct setup *setup = ctx;
    _cleanup_(strbuf_finish) struct strbuf problem = STRBUF_INIT, fix = STRBUF_INIT;
    static const char *const logins[] = { [PREFLIGHT_LOGIN_UNKNOWN] = "login unknown",
                                          [PREFLIGHT_LOGIN_YES] = "logged in",
                                          [PREFLIGHT_LOGIN_NO] = "not logged in" };
    if (!p->path)
        return;
    bool bad = preflight_problem(p, &problem, &fix);
    setup->has_agent = true;
    cmd_put_line(&setup->found, "  %-12s %s, %s", p->agent, p->path, logins[p->login]);
    strbuf_printf(&setup->lines, "#  %s: # %s\n#    slots: 4\n", p->agent,
                  bad ? strbuf_text(&problem) : "found here");
    if (bad)
        strbuf_printf(&setup->hints, "agent '%s' was found, but %s:\n  %s\n", p->agent,
                      strbuf_text(&problem), strbuf_text(&fix));
    else if (!*setup->ready)
        (void)snprintf(setup->ready, sizeof(setup->ready), "%.63s", p->agent);
}

static void look_around(struct setup *setup) {
    (void)find_program(setup, "git", "git", "missing, needed for worktrees: sudo apt install git");
    setup->has_box = find_program(setup, "bubblewrap", "bwrap",
                                  "missing, needed for sandboxes: sudo apt install bubblewrap");
    setup->has_systemd = has_user_manager();
    cmd_put_line(&setup->found, "  %-12s %s", "systemd",
                 setup->has_systemd ? "the manager of this user is running"
                                    : "no manager of this user is running");
    preflight_all(setup->config, NULL, setup->has_box, false, take_agent, setup);
    if (!setup->has_agent)
        strbuf_puts(&setup->found, "  agents       none found in PATH\n");
}

/* --- questions -------------------------------------------------------------------------------- */

/* False: end of input. The answer is trimmed. */
static bool read_answer(const char *question, const char *standard, char *answer, size_t size) {
    (void)printf("%s [%s] ", question, standard);
    (void)fflush(stdout);
    if (!fgets(answer, (int)size, stdin)) {
        (void)putchar('\n');
        return false;
    }
    size_t length = strcspn(answer, "\n");
    while (length > 0 && answer[length - 1] == ' ')
        length--;
    answer[length] = '\0';
    memmove(answer, answer + strspn(answer, " "), strlen(answer + strspn(answer, " ")) + 1);
    return true;
}

static void set_answer(struct setup *setup, const char *key, const char *value) {
    size_t i = setup->answer_count++;
    (void)snprintf(setup->values[i], sizeof(setup->values[i]), "%s", value);
    setup->answers[i] = (struct config_change){ key, setup->values[i] };
}

/* Until the answer is empty or a valid value. */
static void ask_setting(struct setup *setup, const char *question, const char *standard,
                        const char *key) {
    char answer[64];
    struct error err = { 0 };
    while (read_answer(question, standard, answer, sizeof(answer)) && *answer) {
        if (config_set(setup->config, key, answer, "init", &err) >= 0) {
            set_answer(setup, key, answer);
            return;
        }
        cmd_warn("%s", err.text);
    }
}

static bool ask_yes(const char *question, bool standard) {
    char answer[64];
    while (read_answer(question, standard ? "Y/n" : "y/N", answer, sizeof(answer)) && *answer) {
        if (strchr("yYnN", *answer))
            return *answer == 'y' || *answer == 'Y';
        (void)puts("Please answer y or n.");
    }
    return standard;
}

static bool may_ask(const struct cmd_call *call) {
    return !call->json && !cmd_has(call, "yes") && isatty(STDIN_FILENO) && isatty(STDOUT_FILENO);
}

static void ask(struct setup *setup) {
    _cleanup_(strbuf_finish) struct strbuf runs = STRBUF_INIT;
    const struct setting *limit = settings_row("limits.runs");
    (void)printf("Installed:\n%s\nPress Enter to accept a default.\n", strbuf_text(&setup->found));
    setting_print(limit, config_number(setup->config, limit->key, NULL), &runs);
    ask_setting(setup, "How many tasks may run at the same time?", strbuf_text(&runs),
                "limits.runs");
    if (setup->has_agent)
        ask_setting(setup, "How many dollars may agents spend per day?", "unlimited", "budget_usd");
    if (setup->has_agent && !setup->has_box
        && !ask_yes("bubblewrap is not installed. Run agents without a sandbox?", true))
        set_answer(setup, "tasks.sandbox", "bubblewrap");
    if (setup->has_systemd && !setup->wants_service)
        setup->wants_service =
            ask_yes("Start the daemon at boot and after a crash (systemd user service)?", false);
}

/* --- the file --------------------------------------------------------------------------------- */

/* Wraps a text into comment lines of at most TEXT_WIDTH. */
static void put_comment(struct strbuf *out, const char *before, const char *text) {
    while (*text) {
        size_t length = strlen(text);
        if (length > TEXT_WIDTH) {
            length = TEXT_WIDTH;
            while (length > 0 && text[length] != ' ')
                length--;
        }
        strbuf_printf(out, "%s%.*s\n", before, (int)length, text);
        text += length + (text[length] == ' ');
    }
}

/* Opens the sections of `key` that `last` does not share; returns the depth of the last part. */
static unsigned open_parts(struct strbuf *out, const char *key, const char *last) {
    unsigned depth = 0;
    bool same = true;
    for (size_t at = 0;; depth++) {
        size_t length = strcspn(key + at, ".");
        if (!key[at + length])
            return depth;
        same = same && strncmp(last, key, at + length + 1) == 0;
        if (!same)
            strbuf_printf(out, "%s#%*s%.*s:\n", depth == 0 ? "\n" : "", (int)(2 * depth), "",
                          (int)length, key + at);
        at += length + 1;
    }
}

static void put_setting(struct strbuf *out, const struct config *config, const char *key,
                        const char *last) {
    const struct setting *setting = settings_row(key);
    const char *dot = strrchr(key, '.');
    unsigned depth = open_parts(out, key, last);
    char indent[32] = "# ";
    if (depth > 0)
        (void)snprintf(indent, sizeof(indent), "#%*s# ", (int)(2 * depth), "");
    strbuf_puts(out, depth == 0 ? "\n" : "");
    put_comment(out, indent, setting->text);
    strbuf_printf(out, "#%*s%s: ", (int)(2 * depth), "", dot ? dot + 1 : key);
    setting_print(setting, config_number(config, setting->key, NULL), out);
    strbuf_putc(out, '\n');
}

static void put_file(struct strbuf *out, const struct setup *setup) {
    strbuf_puts(out,
                "# The configuration of Sluice. Remove the # in front of a setting to change it;\n"
                "# `sluice config show` prints the values in force and their origin, `sluice "
                "config explain KEY`\n"
                "# describes one setting.\n"
                "\n");
    put_comment(out, "# ", setup->preset->text);
    strbuf_printf(out, "preset: %s\n", setup->preset->name);
    const char *last = "";
    for (size_t i = 0; i < ARRAY_SIZE(common_settings); i++) {
        put_setting(out, setup->config, common_settings[i], last);
        last = common_settings[i];
    }
    _cleanup_(strbuf_finish) struct strbuf known = STRBUF_INIT;
    strbuf_printf(
        out,
        "\n"
        "# An agent is a program that works on a prompt: sluice add --agent claude \"...\".\n"
        "# %s need no entry here; other agents need a command.\n"
        "#agents:\n",
        agent_print_names(AGENT_LIST_BUILTIN, " and ", &known));
    strbuf_puts(out, setup->lines.length > 0 ? strbuf_text(&setup->lines) : example_text);
    strbuf_puts(out, names_text);
}

/* The suggested commands must terminate under every preset; `add` follows the preset's loop. */
static void put_hints(struct strbuf *out, const struct setup *setup) {
    const char *until = preset_value(setup->preset, "tasks.until");
    bool loops = until && strcmp(until, "exit") != 0;
    strbuf_printf(out,
                  "\nuseful commands:\n"
                  "  sluice run -- echo hello         run something now, and wait for it\n"
                  "  sluice add %s  add a task; the daemon starts by itself\n"
                  "  sluice status                    show what runs and what waits\n"
                  "  sluice config explain limits     show what can be set\n"
                  "  sluice service install           start the daemon at boot and after a crash\n"
                  "  sluice doctor                    show what is missing, also for agents\n",
                  loops ? "-u exit -- make test" : "-- make test        ");
    if (setup->hints.length > 0)
        strbuf_printf(out, "\n%s", strbuf_text(&setup->hints));
}

static void put_next(struct strbuf *out, const struct setup *setup) {
    strbuf_puts(out, "\nnext, type:\n");
    if (*setup->ready)
        strbuf_printf(out, "  sluice run --agent %s \"explain what is in this folder\"\n",
                      setup->ready);
    else
        strbuf_puts(out, "  sluice run -- echo hello\n");
}

static int check_absent(const struct setup *setup, struct error *err) {
    struct stat st;
    if (lstat(setup->home.config_file, &st) == 0 && !cmd_has(setup->call, "force"))
        return error_set(err, -EEXIST, "'%s' already exists; use --force to overwrite it",
                         setup->home.config_file);
    return 0;
}

static int write_file(const struct setup *setup, struct error *err) {
    _cleanup_(strbuf_finish) struct strbuf text = STRBUF_INIT;
    _cleanup_(config_freep) struct config *config = config_new();
    int r = config_set(config, "preset", setup->preset->name, "--preset", err);
    if (r >= 0)
        r = home_make(&setup->home, err);
    if (r < 0)
        return r;
    put_file(&text, setup);
    r = config_write_file(setup->home.config_file, &text, config, err);
    return r < 0 || setup->answer_count == 0
               ? r
               : config_edit(setup->home.config_file, setup->answers, setup->answer_count, err);
}

/* 'sluice service install', with its own exit code. */
static int install_service(const struct cmd_call *call) {
    static const char *const argv[] = { "sluice", "service", "install", NULL };
    _cleanup_(strbuf_finish) struct strbuf out = STRBUF_INIT;
    struct error err = { 0 };
    int status;
    /* --json has printed its one value */
    enum program_take take = call->json ? PROGRAM_TAKE_OUTPUT : PROGRAM_TAKE_NOTHING;
    return daemon_run_program(argv, take, &out, &status, &err) < 0 ? cmd_error(&err) : status;
}

static int cmd_init_run(const struct cmd_call *call) {
    const char *name = cmd_value(call, "preset");
    const struct preset *preset = preset_find(name ? name : "sluice");
    _cleanup_(strbuf_finish) struct strbuf known = STRBUF_INIT;
    for (const char *const *p = preset_names; !preset && *p; p++)
        strbuf_printf(&known, "%s%s", p > preset_names ? ", " : "", *p);
    if (!preset)
        return cmd_usage_error(call->cmd, "unknown preset '%s'; expected one of %s", name,
                               strbuf_text(&known));
    struct error err = { 0 };
    _cleanup_(setup_finish) struct setup setup = {
        .call = call,
        .preset = preset,
        .config = config_new(),
        .wants_service = cmd_has(call, "service"),
    };
    int r = home_find(&setup.home, &err);
    if (r >= 0)
        r = check_absent(&setup, &err);
    if (r >= 0)
        r = config_set(setup.config, "preset", preset->name, "--preset", &err);
    if (r >= 0) {
        look_around(&setup);
        if (may_ask(call))
            ask(&setup);
        r = write_file(&setup, &err);
    }
    if (r < 0) {
        cmd_warn("%s", err.text);
        return err.code == -EEXIST ? CMD_REFUSED : CMD_FAILED;
    }
    _cleanup_(output_finish) struct strbuf out = STRBUF_INIT;
    if (call->json) {
        (void)output_json(
            json_pack("{s:s, s:s}", "file", setup.home.config_file, "preset", preset->name));
        return setup.wants_service ? install_service(call) : CMD_OK;
    }
    if (!may_ask(call))
        strbuf_printf(&out, "installed:\n%s\n", strbuf_text(&setup.found));
    strbuf_printf(&out, "wrote %s (preset %s)\n", setup.home.config_file, preset->name);
    put_hints(&out, &setup);
    output_rest(&out);
    (void)output_flush();
    int code = setup.wants_service ? install_service(call) : CMD_OK;
    put_next(&out, &setup);
    return code;
}

const struct cmd cmd_init = {
    "init", cmd_init_run, 0, 0,
    CMD_OPTIONS({ "preset", 'p', "NAME", "start from this preset; default sluice" },
                { "yes", 'y', NULL, "ask no questions, and use the defaults" },
                { "force", 0, NULL, "overwrite an existing file" },
                { "service", 0, NULL, "also install the service, like 'sluice service install'" })
};
