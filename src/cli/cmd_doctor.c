/* cmd_doctor.c: checks that Sluice has what it needs, and shows fallbacks in use.
 *
 * Folders, configuration and programs are checked here, so it works even if the daemon does not
 * start. The rest comes from the daemon, or from `sluiced --doctor` if none runs.
 *
 * The exit code is 1 if something must be fixed. A warning or a missing kernel feature need not be:
 * a fallback is used, and the output shows how to enable the feature. */
#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "cli/daemon.h"
#include "cli/preflight.h"
#include "cli/print_task.h"
#include "cli/request.h"
#include "config/config.h"
#include "config/config_edit.h"
#include "os/home.h"

DEFINE_FREEP(struct config, config_free);

#define OK      "ok"
#define WARNING "warning" /* no action is required */
#define BAD     "bad"

#define NAME_WIDTH 15
#define TEXT_AT    (2 + 5 + 1 + NAME_WIDTH + 1)
#define LINES_MAX  20

struct doctor {
    json_t *checks, *features;
    json_t *agents; /* as preflight.h has them */
    json_t *listed; /* the items of /v1/agents; NULL: no daemon */
    bool auto_box;  /* `sandbox: auto` means a sandbox */
    struct home home;
    bool running;
};

static void doctor_finish(struct doctor *d) {
    json_decref(d->checks);
    json_decref(d->features);
    json_decref(d->agents);
    json_decref(d->listed);
    home_finish(&d->home);
}

/* `fix`: NULL, or a line for a shell: a command, or a comment where no command helps. */
static void add_level(struct doctor *d, const char *name, const char *level, const char *text,
                      const char *fix) {
    json_array_append_new(d->checks,
                          json_pack("{s:o, s:b, s:s, s:o, s:o}", "name", json_text(name), "ok",
                                    strcmp(level, BAD) != 0, "level", level, "text",
                                    json_text(text), "fix", fix ? json_text(fix) : json_null()));
}

static void add_check(struct doctor *d, const char *name, bool ok, const char *text,
                      const char *fix) {
    add_level(d, name, ok ? OK : BAD, text, fix);
}

static void check_home(struct doctor *d) {
    struct stat st;
    _cleanup_(freep) char *fix = NULL;
    if (stat(d->home.data, &st) < 0) {
        bool ok = errno == ENOENT; /* the daemon creates it */
        _cleanup_(freep) char *text =
            xasprintf("%s: %s", d->home.data, ok ? "does not exist yet" : strerror(errno));
        add_check(d, "home", ok, text,
                  ok ? NULL : "# make the folders above it accessible to this user");
        return;
    }
    if (!S_ISDIR(st.st_mode) || access(d->home.data, R_OK | W_OK | X_OK) < 0)
        fix = xasprintf("# '%s' must be a directory that you can write", d->home.data);
    else if (st.st_uid != geteuid())
        fix = xasprintf("sudo chown -R \"$USER\" '%s' # other users can read prompts and logs",
                        d->home.data);
    else if (st.st_mode & 077)
        fix = xasprintf("chmod 700 '%s' # other users can read prompts and logs", d->home.data);
    add_check(d, "home", !fix, d->home.data, fix);
}

/* Do the permissions of its folder let other users reach the file? */
static bool is_reachable(const char *path) {
    struct stat st;
    const char *slash = strrchr(path, '/');
    _cleanup_(freep) char *folder = xstrndup(path, slash ? (size_t)(slash - path) : 0);
    return !slash || stat(folder, &st) < 0 || (st.st_mode & 011);
}

static void check_secrets(struct doctor *d, const struct config *config) {
    char key[CONFIG_SECRET_KEY_MAX];
    struct stat st;
    if (!config_has_secret(config, key) || stat(d->home.config_file, &st) < 0
        || (st.st_mode & 077) == 0)
        return;
    _cleanup_(freep) char *text =
        xasprintf("%s has mode %03o, and '%s' may hold a secret", d->home.config_file,
                  (unsigned)(st.st_mode & 0777), key);
    _cleanup_(freep) char *fix =
        xasprintf("chmod 600 '%s' # other users can read it", d->home.config_file);
    add_level(d, "secrets", is_reachable(d->home.config_file) ? BAD : WARNING, text, fix);
}

/* Reads it; false: it is invalid. */
static bool check_config(struct doctor *d, struct config *config) {
    struct error err = { 0 };
    int r = config_read_file(config, d->home.config_file, &err);
    if (r < 0 && r != -ENOENT && r != -ENOTDIR) {
        _cleanup_(freep) char *fix = xasprintf(
            "${EDITOR:-vi} '%s' # 'sluice config keys' lists the settings", d->home.config_file);
        add_check(d, "configuration", false, err.text, fix);
        return false;
    }
    _cleanup_(freep) char *text =
        xasprintf("%s%s, preset %s", d->home.config_file, r < 0 ? " (does not exist)" : "",
                  config_preset(config));
    add_check(d, "configuration", true, text, NULL);
    check_secrets(d, config);
    return true;
}

static void check_program(struct doctor *d, const char *name, const char *program) {
    _cleanup_(strbuf_finish) struct strbuf path = STRBUF_INIT;
    struct error err = { 0 };
    if (daemon_find_program(program, &path, &err) < 0)
        add_check(d, name, false, err.text,
                  "# install the package of Sluice again: this program is missing");
    else
        add_check(d, name, true, strbuf_text(&path), NULL);
}

/* Without checks that were made here. */
static void take_answer(struct doctor *d, const json_t *answer) {
    EACH_ITEM(check, json_object_get(answer, "checks")) {
        bool known = false;
        EACH_ITEM(own, d->checks) {
            known |= strcmp(get_text(own, "name", ""), get_text(check, "name", "")) == 0;
        }
        if (!known)
            json_array_append(d->checks, check);
    }
    json_array_extend(d->features, json_object_get(answer, "features"));
}

static void check_version(struct doctor *d, struct request *req) {
    if (request_try_get(req, "/healthz") != 0) {
        add_check(d, "daemon", false, req->err.text, "sluice down; sluice up");
        return;
    }
    const char *version = get_text(req->answer, "version", "?");
    _cleanup_(strbuf_finish) struct strbuf text = STRBUF_INIT;
    strbuf_printf(&text, "running, version %s, process %lld", version,
                  (long long)get_int(req->answer, "pid", 0));
    if (member_is(req->answer, "role", "standby"))
        strbuf_puts(&text, ", a standby");
    bool same = strcmp(version, SLUICE_VERSION) == 0;
    add_level(d, "daemon", same ? OK : WARNING, strbuf_text(&text),
              same ? NULL : "sluice down; sluice up # restarts it with version " SLUICE_VERSION);
}

/* Without a daemon: sluiced checks, and changes nothing. */
static void check_without(struct doctor *d) {
    static const char *const argv[] = { "sluiced", "--doctor", NULL };
    _cleanup_(strbuf_finish) struct strbuf text = STRBUF_INIT;
    struct error err = { 0 };
    int status, r = daemon_run_program(argv, PROGRAM_TAKE_BOTH, &text, &status, &err);
    if (r < 0) {
        if (r != -ENOENT) /* otherwise check_program has reported it */
            add_check(d, "store", false, err.text, NULL);
        return;
    }
    json_auto_t *answer = status == 0 ? json_loadb(strbuf_text(&text), text.length, 0, NULL) : NULL;
    if (answer)
        take_answer(d, answer);
    else
        add_check(d, "store", false, strbuf_text(&text), "sluiced --check");
}

/* Another daemon answered, because this home's is a standby or absent. */
static bool is_elsewhere(const struct doctor *d, const struct client *client) {
    const char *place = client_address_text(client);
    return strncmp(place, "unix:", 5) != 0 || strcmp(place + 5, d->home.socket) != 0;
}

/* The daemon knows the PATH of runs, and whether its sandbox works. */
static void read_agents(struct doctor *d, struct request *req) {
    d->auto_box = preflight_guess_box();
    if (!d->running || is_elsewhere(d, req->client))
        return;
    if (request_try_get(req, "/v1/agents") == 0)
        d->listed = json_incref((json_t *)(uintptr_t)request_items(req));
    if (request_try_get(req, "/v1/status") == 0) {
        const json_t *box = json_object_get(req->answer, "sandbox");
        d->auto_box = strcmp(get_text(box, "auto", "none"), "none") != 0;
    }
}

static void check_daemon(struct doctor *d) {
    _cleanup_(request_finish) struct request req = { 0 };
    int code = request_open(&req, REQUEST_TRY);
    if (code != CMD_OK) {
        add_check(d, "daemon", code == CMD_NO_DAEMON, "not running",
                  code == CMD_NO_DAEMON ? NULL : req.err.text);
        check_without(d);
        read_agents(d, &req);
        return;
    }
    d->running = true;
    check_version(d, &req);
    if (request_try_get(&req, "/v1/doctor") == 0) {
        if (is_elsewhere(d, req.client)) { /* the rest describes that daemon */
            _cleanup_(freep) char *text =
                xasprintf("%s; the following checks are its own", client_address_text(req.client));
            add_check(d, "active daemon", true, text, NULL);
        }
        take_answer(d, req.answer);
    } else {
        add_check(d, "daemon", false, req.err.text, NULL);
    }
    read_agents(d, &req);
}

/* An agent that cannot work is not a problem of Sluice. */
static void add_agent(void *ctx, const struct preflight *p) {
    struct doctor *d = ctx;
    _cleanup_(strbuf_finish) struct strbuf text = STRBUF_INIT;
    _cleanup_(strbuf_finish) struct strbuf problem = STRBUF_INIT, fix = STRBUF_INIT;
    _cleanup_(freep) char *name = xasprintf("agent %s", p->agent);
    preflight_describe(p, &text);
    bool bad = preflight_problem(p, &problem, &fix);
    add_level(d, name, bad ? WARNING : OK, strbuf_text(&text), bad ? strbuf_text(&fix) : NULL);
    json_array_append_new(d->agents, preflight_json(p));
}

static void print_item(const char *mark, const char *name, const char *text, const char *fix,
                       struct strbuf *out) {
    strbuf_printf(out, "  %-5s ", mark);
    _cleanup_(strbuf_finish) struct strbuf safe = STRBUF_INIT;
    sanitize_line(name, &safe);
    strbuf_printf(out, "%-*s ", NAME_WIDTH, strbuf_text(&safe));
    print_wrapped(out, text, TEXT_AT, LINES_MAX);
    while (out->length > 0 && out->text[out->length - 1] == ' ')
        out->text[--out->length] = '\0';
    strbuf_putc(out, '\n');
    if (!fix)
        return;
    /* Not wrapped, so that it can be pasted. */
    _cleanup_(strbuf_finish) struct strbuf command = STRBUF_INIT;
    sanitize_line(fix, &command);
    strbuf_printf(out, "%*s-> %s\n", TEXT_AT, "", strbuf_text(&command));
}

/* Old daemons have no levels. */
static const char *level_of(const json_t *check) {
    return get_text(check, "level", get_true(check, "ok") ? OK : BAD);
}

static size_t print_features(const struct doctor *d, struct strbuf *out) {
    size_t missing = 0;
    strbuf_puts(out, "\nkernel\n");
    if (json_array_size(d->features) == 0)
        strbuf_puts(out, "  unknown: see above\n");
    EACH_ITEM(item, d->features) {
        bool there = get_true(item, "there");
        missing += !there;
        _cleanup_(strbuf_finish) struct strbuf text = STRBUF_INIT;
        if (!there)
            strbuf_printf(&text, "instead: %s", get_text(item, "instead", "nothing"));
        print_item(there ? "ok" : "less", get_text(item, "name", "?"),
                   there ? "" : strbuf_text(&text), there ? NULL : get_text(item, "fix", NULL),
                   out);
    }
    return missing;
}

static size_t count(const struct doctor *d, const char *level) {
    size_t found = 0;
    EACH_ITEM(item, d->checks) {
        found += strcmp(level_of(item), level) == 0;
    }
    return found;
}

static void print_all(const struct doctor *d, struct strbuf *out) {
    strbuf_puts(out, "checks\n");
    EACH_ITEM(item, d->checks) {
        const char *level = level_of(item);
        print_item(strcmp(level, OK) == 0        ? "ok"
                   : strcmp(level, WARNING) == 0 ? "warn"
                                                 : "BAD",
                   get_text(item, "name", "?"), get_text(item, "text", ""),
                   get_text(item, "fix", NULL), out);
    }
    size_t missing = print_features(d, out), bad = count(d, BAD), warnings = count(d, WARNING);
    if (bad > 0) {
        strbuf_printf(out, "\n%zu problem%s must be fixed\n", bad, bad == 1 ? "" : "s");
        return;
    }
    strbuf_puts(out, "\nno problems");
    if (warnings > 0)
        strbuf_printf(out, "; %zu warning%s", warnings, warnings == 1 ? "" : "s");
    if (missing > 0)
        strbuf_printf(out, "; %zu kernel feature%s replaced by something weaker", missing,
                      missing == 1 ? " is" : "s are");
    strbuf_putc(out, '\n');
}

static int cmd_doctor_run(const struct cmd_call *call) {
    _cleanup_(doctor_finish) struct doctor d = { .checks = json_array(),
                                                 .features = json_array(),
                                                 .agents = json_array() };
    struct error err = { 0 };
    if (home_find(&d.home, &err) < 0) {
        add_check(&d, "home", false, err.text, "export SLUICE_HOME=\"$HOME/.sluice\"");
    } else {
        _cleanup_(config_freep) struct config *config = config_new();
        check_home(&d);
        bool is_valid = check_config(&d, config);
        check_program(&d, "sluiced", "sluiced");
        check_program(&d, "shim", "sluice-shim");
        check_daemon(&d);
        if (is_valid)
            preflight_all(config, d.listed, d.auto_box, true, add_agent, &d);
    }
    _cleanup_(output_finish) struct strbuf out = STRBUF_INIT;
    if (call->json)
        (void)output_json(json_pack("{s:b, s:O, s:O, s:O}", "running", d.running, "checks",
                                    d.checks, "features", d.features, "agents", d.agents));
    else
        print_all(&d, &out);
    return count(&d, BAD) == 0 ? CMD_OK : CMD_FAILED;
}

const struct cmd cmd_doctor = { "doctor", .run = cmd_doctor_run };
