/* cmd_init.c: writes a first configuration: one setting in force, the preset, and the others that people
 * change most as comments with the values they have now.
 *
 * The comments are made from the settings table, so they tell what this version does. A line becomes
 * a setting when its # is taken away. */
#include <errno.h>
#include <jansson.h>
#include <string.h>
#include <sys/stat.h>

#include "agent/agent.h"
#include "cli/ask.h"
#include "cli/daemon.h"
#include "cli/preflight.h"
#include "cli/program.h"
#include "config/config.h"
#include "config/config_secret.h"
#include "config/presets.h"
#include "config/settings.h"
#include "os/files.h"
#include "os/home.h"

#define TEXT_WIDTH 88

DEFINE_FREEP(struct config, config_free);

/* What people change first, those of one part together. */
static const char *const shown[] = {
    "limits.runs",       "limits.roots",         "pace.batch",
    "pace.tick_s",       "pace.spawn_delay_s",   "breaker.max",
    "breaker.reset_s",   "retry.failed.max",     "retry.failed.delay_s",
    "tasks.timeout_s",   "tasks.idle_timeout_s", "fair.window_h",
    "max_wait_s",        "queue.soft",           "queue.hard",
    "host.disk_free_gb", "retention.days",       "lost",
};

static void put_agents(struct strbuf *out) {
    _cleanup_(strbuf_finish) struct strbuf known = STRBUF_INIT;
    strbuf_printf(
        out,
        "# An agent is a program that works on a prompt: sluice add --agent claude \"...\".\n"
        "# %s need no entry here; others have a command.\n#agents:\n",
        agent_names(AGENT_LIST_BUILTIN, " and ", &known));
}

/* If none of them was found. */
static const char example_text[] = "#  claude:\n"
                                   "#    model: sonnet\n"
                                   "#    slots: 4\n";

static const char names_text[] =
    "#  mine:\n"
    "#    command: [./agent.sh, --, \"{prompt}\"]\n"
    "#    prompt: argument\n"
    "\n"
    "# A limiter is an account at a provider. When it says that it is too much, all who use it\n"
    "# wait.\n"
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
    "# A kind is a sort of task: which goes first, and how many of it at once.\n"
    "#kinds:\n"
    "#  review:\n"
    "#    base: 80\n"
    "#    max_running: 2\n";

/* --- agents ---------------------------------------------------------------------------------- */

struct found_agents {
    struct strbuf lines; /* of the file */
    struct strbuf hints;
    char ready[64]; /* one that can work; "" : none */
};

static void found_agents_finish(struct found_agents *found) {
    strbuf_finish(&found->lines);
    strbuf_finish(&found->hints);
}

static void take_agent(void *ctx, const struct preflight *p) {
    struct found_agents *found = ctx;
    _cleanup_(strbuf_finish) struct strbuf problem = STRBUF_INIT, fix = STRBUF_INIT;
    if (!p->path)
        return;
    bool bad = preflight_problem(p, &problem, &fix);
    strbuf_printf(&found->lines, "#  %s: # %s\n#    slots: 4\n", p->agent,
                  bad ? strbuf_text(&problem) : "found here");
    if (bad)
        strbuf_printf(&found->hints, "agent '%s' was found, but %s: %s\n", p->agent,
                      strbuf_text(&problem), strbuf_text(&fix));
    else if (!*found->ready)
        (void)snprintf(found->ready, sizeof(found->ready), "%.63s", p->agent);
}

/* --- the file -------------------------------------------------------------------------------- */

/* A sentence as comment lines that are not too long. */
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

/* The parts of `key` that `last` does not begin with are opened; returns the last part's depth. */
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
    char indent[32];
    if (depth > 0)
        (void)snprintf(indent, sizeof(indent), "#%*s# ", (int)(2 * depth), "");
    else
        (void)snprintf(indent, sizeof(indent), "# ");
    strbuf_puts(out, depth == 0 ? "\n" : "");
    put_comment(out, indent, setting->text);
    strbuf_printf(out, "#%*s%s: ", (int)(2 * depth), "", dot ? dot + 1 : key);
    setting_print(setting, config_number(config, setting->key, NULL), out);
    strbuf_putc(out, '\n');
}

static void put_file(struct strbuf *out, const struct config *config, const struct preset *preset,
                     const struct found_agents *agents) {
    strbuf_puts(
        out, "# The configuration of Sluice. Take the # away from what you want to change;\n"
             "# `sluice config show` prints what is in force and why, `sluice config explain KEY`\n"
             "# tells everything about one key.\n\n");
    put_comment(out, "# ", preset->text);
    strbuf_printf(out, "preset: %s\n", preset->name);
    const char *last = "";
    for (size_t i = 0; i < ARRAY_SIZE(shown); i++) {
        put_setting(out, config, shown[i], last);
        last = shown[i];
    }
    strbuf_putc(out, '\n');
    put_agents(out);
    strbuf_puts(out, agents->lines.length > 0 ? strbuf_text(&agents->lines) : example_text);
    strbuf_puts(out, names_text);
}

/* --- the command ----------------------------------------------------------------------------- */

static int unknown_preset(const struct cmd_call *call, const char *name) {
    _cleanup_(strbuf_finish) struct strbuf known = STRBUF_INIT;
    for (const char *const *p = preset_names; *p; p++)
        strbuf_printf(&known, "%s%s", p > preset_names ? ", " : "", *p);
    return cmd_usage_error(call->cmd, "there is no preset '%s'; there are %s", name,
                           strbuf_text(&known));
}

/* The hints end by themselves under every preset: `run` does anyway, `add` follows the preset's loop. */
static void print_hints(struct strbuf *out, const struct preset *preset,
                        const struct found_agents *agents) {
    const char *until = preset_value(preset, "tasks.until");
    bool loops = until && strcmp(until, "exit") != 0;
    strbuf_printf(out,
                  "  sluice run -- echo hello         run something now, and wait for it\n"
                  "  sluice add %s  add a task; the daemon starts by itself\n"
                  "  sluice status                    what runs, and what waits for what\n"
                  "  sluice config explain limits     what can be set\n"
                  "  sluice service install           start the daemon at boot and after a crash\n"
                  "  sluice doctor                    what is missing, also for agents\n",
                  loops ? "-u exit -- make test" : "-- make test        ");
    if (*agents->ready)
        strbuf_printf(out, "  sluice add --agent %s \"...\"   give it a prompt\n", agents->ready);
    strbuf_puts(out, strbuf_text(&agents->hints));
}

static void tell(const struct cmd_call *call, const char *path, const struct preset *preset,
                 const struct found_agents *agents) {
    _cleanup_(strbuf_finish) struct strbuf out = STRBUF_INIT;
    if (call->json) {
        (void)ask_print_json(json_pack("{s:s, s:s}", "file", path, "preset", preset->name));
        return;
    }
    strbuf_printf(&out, "wrote %s (preset %s)\n\nnext:\n", path, preset->name);
    print_hints(&out, preset, agents);
    output_rest(&out);
}

static int write_file(const struct cmd_call *call, const struct home *home,
                      const struct preset *preset, struct found_agents *agents, struct error *err) {
    struct stat st;
    if (lstat(home->config_file, &st) == 0 && !cmd_has(call, "force"))
        return error_set(err, -EEXIST, "'%s' is there already; --force writes it anew",
                         home->config_file);
    _cleanup_(config_freep) struct config *config = config_new();
    _cleanup_(strbuf_finish) struct strbuf text = STRBUF_INIT;
    int r = config_set(config, "preset", preset->name, "--preset", err);
    if (r >= 0)
        r = home_make(home, err);
    if (r < 0)
        return r;
    preflight_all(config, NULL, preflight_guess_box(), false, take_agent, agents);
    put_file(&text, config, preset, agents);
    return config_write_file(home->config_file, &text, config, err);
}

/* 'sluice service install', with its own exit code. */
static int install_service(const struct cmd_call *call) {
    static const char *const argv[] = { "sluice", "service", "install", NULL };
    _cleanup_(strbuf_finish) struct strbuf program = STRBUF_INIT, out = STRBUF_INIT;
    struct error err = { 0 };
    int status, r = daemon_find_program("sluice", &program, &err);
    if (r >= 0) /* with --json there is one value already */
        r = program_run(strbuf_text(&program), argv,
                        call->json ? PROGRAM_TAKE_OUTPUT : PROGRAM_TAKE_NOTHING, &out, &status,
                        &err);
    return r < 0 ? cmd_error(&err) : status;
}

static int cmd_init_run(const struct cmd_call *call) {
    const char *name = cmd_value(call, "preset");
    const struct preset *preset = preset_find(name ? name : "sluice");
    if (!preset)
        return unknown_preset(call, name);
    struct error err = { 0 };
    _cleanup_(home_finish) struct home home = { 0 };
    _cleanup_(found_agents_finish) struct found_agents agents = { 0 };
    if (home_find(&home, &err) < 0 || write_file(call, &home, preset, &agents, &err) < 0) {
        cmd_warn("%s", err.text);
        return err.code == -EEXIST ? CMD_REFUSED : CMD_FAILED;
    }
    tell(call, home.config_file, preset, &agents);
    return cmd_has(call, "service") ? install_service(call) : CMD_OK;
}

static const struct cmd_option init_options[] = {
    { "preset", 'p', "NAME", "begin with this preset; sluice if not given" },
    { "force", 0, NULL, "write over a file that is there" },
    { "service", 0, NULL, "then install the service, as 'sluice service install' does" },
    { NULL },
};

const struct cmd cmd_init = { "init", .options = init_options, .run = cmd_init_run };
