/* sandbox.c: the rules of a plan, and the command lines of sandbox programs. */
#include "sandbox/sandbox.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/macros.h"

/* A rule that has an effect, and the access without it. */
struct plan_step {
    const struct sandbox_rule *rule;
    enum sandbox_access around;
};

struct plan_words {
    struct strbuf *out;
    size_t count;
};

static const char *const kind_names[] = {
    [SANDBOX_NONE] = "none",
    [SANDBOX_BUBBLEWRAP] = "bubblewrap",
    [SANDBOX_PODMAN] = "podman",
    [SANDBOX_WRAP] = "wrap",
};
_Static_assert(ARRAY_SIZE(kind_names) == SANDBOX_KIND_MAX, "a kind has no name");

const char *sandbox_kind_name(enum sandbox_kind kind) {
    return kind_names[kind];
}

enum sandbox_kind sandbox_kind_find(const char *name) {
    int kind = 0;
    while (kind < SANDBOX_KIND_MAX && strcmp(kind_names[kind], name) != 0)
        kind++;
    return (enum sandbox_kind)kind;
}

/* --- default paths ---------------------------------------------------------------------------- */

/* /dev/shm is private with /dev. */
const char *const sandbox_private_folders[] = { "/tmp", "/var/tmp", "/run", NULL };

const char *const sandbox_shown_in_run[] = { "/run/systemd/resolve", "/run/current-system",
                                             "/run/opengl-driver", NULL };

/* Programs, not settings: nothing that contains a key. */
const char *const sandbox_tools_at_home[] = {
    /* git and general */
    "bin", ".gitconfig", ".gitignore", ".config/git", ".local/bin", ".local/lib",
    /* version managers */
    ".asdf", ".mise", ".local/share/mise",
    /* agents */
    ".local/share/claude", ".opencode/bin",
    /* JavaScript */
    ".bun", ".deno", ".npm-global", ".nodenv", ".nvm", ".volta", ".local/share/fnm",
    ".local/share/pnpm",
    /* Python */
    ".pyenv", ".local/pipx", ".local/share/pipx", ".local/share/uv", ".local/share/virtualenvs",
    /* other languages */
    "go", ".cargo/bin", ".cargo/config.toml", ".jbang", ".opam", ".rbenv", ".rustup", ".rvm",
    ".sdkman", NULL
};

/* A cache shared with the user would let runs bring files into the user's builds. */
const char *const sandbox_caches_at_home[] = { ".cache",          ".npm",   ".cargo/git",
                                               ".cargo/registry", "go/pkg", NULL };

/* --- rules ------------------------------------------------------------------------------------ */

void sandbox_plan_init(struct sandbox_plan *plan, enum sandbox_kind kind) {
    *plan = (struct sandbox_plan){ .kind = kind, .network = true };
}

void sandbox_plan_finish(struct sandbox_plan *plan) {
    arena_finish(&plan->arena);
    free(plan->rules);
    *plan = (struct sandbox_plan){ 0 };
}

void sandbox_add(struct sandbox_plan *plan, enum sandbox_access access, const char *path,
                 const char *source) {
    plan->rules =
        xgrow(plan->rules, &plan->rule_capacity, plan->rule_count + 1, sizeof(*plan->rules));
    const char *copy = arena_strdup(&plan->arena, path);
    plan->rules[plan->rule_count] = (struct sandbox_rule){
        .path = copy,
        .source = source && strcmp(source, path) != 0 ? arena_strdup(&plan->arena, source) : copy,
        .access = access,
        .order = plan->rule_count,
    };
    plan->rule_count++;
}

void sandbox_add_optional(struct sandbox_plan *plan, enum sandbox_access access, const char *path,
                          const char *source) {
    sandbox_add(plan, access, path, source);
    plan->rules[plan->rule_count - 1].is_optional = true;
}

bool sandbox_is_inside(const char *folder, const char *path) {
    size_t length = strlen(folder);
    if (length == 1) /* "/" */
        return true;
    return strncmp(folder, path, length) == 0 && (path[length] == '/' || path[length] == '\0');
}

enum sandbox_access sandbox_access_of(const struct sandbox_plan *plan, const char *path) {
    const struct sandbox_rule *best = NULL;
    for (size_t i = 0; i < plan->rule_count; i++) {
        const struct sandbox_rule *rule = &plan->rules[i];
        if (sandbox_is_inside(rule->path, path)
            && (!best || strlen(rule->path) >= strlen(best->path)))
            best = rule;
    }
    return best ? best->access : SANDBOX_READ;
}

static bool hides(enum sandbox_access access) {
    return access == SANDBOX_EMPTY || access == SANDBOX_CLOSED;
}

bool sandbox_is_hidden(const struct sandbox_plan *plan, const char *path) {
    return hides(sandbox_access_of(plan, path));
}

/* A path sorts directly after its parent: '/' before every other byte. */
static int compare_paths(const char *a, const char *b) {
    while (*a && *a == *b)
        a++, b++;
    int x = *a == '/' ? 1 : *a == '\0' ? 0 : 1 + (unsigned char)*a;
    int y = *b == '/' ? 1 : *b == '\0' ? 0 : 1 + (unsigned char)*b;
    return x - y;
}

static int compare_rules(const void *a, const void *b) {
    const struct sandbox_rule *x = a, *y = b;
    int order = compare_paths(x->path, y->path);
    return order != 0 ? order : (x->order < y->order ? -1 : 1);
}

/* The innermost rule around this path: the last one so far that contains it. */
static const struct sandbox_rule *outer_rule(const struct plan_step *steps, size_t count,
                                             const char *path) {
    while (count > 0 && !sandbox_is_inside(steps[count - 1].rule->path, path))
        count--;
    return count > 0 ? steps[count - 1].rule : NULL;
}

static bool changes_nothing(const struct sandbox_rule *rule, const struct sandbox_rule *outer) {
    enum sandbox_access access = outer ? outer->access : SANDBOX_READ;
    if (rule->access == SANDBOX_BLANK)
        return hides(access);
    if (rule->access == SANDBOX_LINK)
        return !hides(access);
    /* Another source has other content. */
    return rule->source == rule->path && (!outer || outer->source == outer->path)
           && rule->access == access && access != SANDBOX_EMPTY;
}

/* Sorts the rules, outer ones first, and drops those without effect. Allocated in the plan's
 * arena. */
static size_t plan_steps(struct sandbox_plan *plan, struct plan_step **ret_steps) {
    struct plan_step *steps = arena_alloc(&plan->arena, (plan->rule_count + 1) * sizeof(*steps));
    size_t count = 0;
    if (plan->rule_count > 0)
        qsort(plan->rules, plan->rule_count, sizeof(*plan->rules), compare_rules);
    for (size_t i = 0; i < plan->rule_count; i++) {
        const struct sandbox_rule *rule = &plan->rules[i];
        if (i + 1 < plan->rule_count && strcmp(rule->path, rule[1].path) == 0)
            continue; /* overridden by a later one for the same path */
        const struct sandbox_rule *outer = outer_rule(steps, count, rule->path);
        if (changes_nothing(rule, outer))
            continue;
        steps[count++] = (struct plan_step){ rule, outer ? outer->access : SANDBOX_READ };
    }
    *ret_steps = steps;
    return count;
}

static void plan_put(struct plan_words *words, const char *word) {
    strbuf_add(words->out, word, strlen(word) + 1);
    words->count++;
}

/* Words separated by blanks. */
static void put_words(struct plan_words *words, const char *text) {
    for (size_t length; *text; text += length + (text[length] == ' ')) {
        length = strcspn(text, " ");
        strbuf_add(words->out, text, length);
        plan_put(words, "");
    }
}

/* --- bubblewrap ------------------------------------------------------------------------------- */

/* A plan as a command line of bwrap, version 0.8 (Debian 12) and later.
 *
 * Always with a user namespace and without capabilities: started by root, bwrap would use neither,
 * and its command could undo every mount. Pids, System V IPC, host name and cgroup get new
 * namespaces. */

/* Kernel files that uid 0 may write without any capability. bwrap covers some of them, but checks
 * the directory /proc/sys, which is not writable, and leaves its files unprotected. */
static const char *const kernel_files[] = {
    "/proc/sys", "/proc/sysrq-trigger", "/proc/irq", "/proc/bus", "/proc/fs", "/proc/acpi", NULL,
};

static void put_empty(struct plan_words *words, const struct plan_step *step) {
    const char *path = step->rule->path;
    /* Other users may need /tmp, too: for instance other uids in the command's own namespace. */
    bool is_for_all = strcmp(path, "/tmp") == 0 || strcmp(path, "/var/tmp") == 0;
    if (step->rule->access == SANDBOX_EMPTY && step->around == SANDBOX_EMPTY) {
        plan_put(words, "--dir");
    } else {
        plan_put(words, "--perms");
        plan_put(words, is_for_all ? "1777" : "0755");
        plan_put(words, "--tmpfs");
    }
    plan_put(words, step->rule->path);
}

static void put_bubblewrap_step(struct plan_words *words, const struct plan_step *step) {
    const struct sandbox_rule *rule = step->rule;
    if (rule->access == SANDBOX_EMPTY || rule->access == SANDBOX_CLOSED) {
        put_empty(words, step);
        return;
    }
    if (rule->access == SANDBOX_LINK) {
        plan_put(words, "--symlink");
        plan_put(words, rule->source);
        plan_put(words, rule->path);
        return;
    }
    bool writes = rule->access == SANDBOX_WRITE, tries = rule->is_optional;
    const char *bind = strncmp(rule->path, "/dev/", strlen("/dev/")) == 0 ? "--dev-bind"
                       : writes ? (tries ? "--bind-try" : "--bind")
                                : (tries ? "--ro-bind-try" : "--ro-bind");
    plan_put(words, bind);
    plan_put(words, rule->access == SANDBOX_BLANK ? "/dev/null" : rule->source);
    plan_put(words, rule->path);
}

static void bubblewrap_words(struct sandbox_plan *plan, struct plan_words *words) {
    struct plan_step *steps;
    size_t count = plan_steps(plan, &steps);
    plan_put(words, plan->program);
    put_words(words, "--unshare-user --unshare-pid --unshare-ipc --unshare-uts "
                     "--unshare-cgroup-try --cap-drop ALL --die-with-parent");
    if (!plan->network)
        plan_put(words, "--unshare-net");
    put_words(words, "--ro-bind / / --dev /dev --proc /proc");
    for (size_t i = 0; plan->is_root && kernel_files[i]; i++) {
        plan_put(words, "--ro-bind-try");
        plan_put(words, kernel_files[i]);
        plan_put(words, kernel_files[i]);
    }
    for (size_t i = 0; i < count; i++)
        put_bubblewrap_step(words, &steps[i]);
    for (size_t i = 0; i < count; i++) /* after everything shown in it is mounted */
        if (steps[i].rule->access == SANDBOX_CLOSED) {
            plan_put(words, "--remount-ro");
            plan_put(words, steps[i].rule->path);
        }
    plan_put(words, "--chdir");
    plan_put(words, plan->cwd);
    plan_put(words, "--");
}

/* --- podman ----------------------------------------------------------------------------------- */

/* A plan as a command line of podman.
 *
 * The system comes from an image, so rules that only read it are left to the image unless they have
 * another source. Not tested with a real podman yet; tests compare the arguments and run a fake
 * podman.
 *
 * Without a cgroup of its own, so that the shim can find and limit the processes. */

static int put_volume(struct plan_words *words, const struct sandbox_rule *rule,
                      struct error *err) {
    const char *source = rule->access == SANDBOX_BLANK ? "/dev/null" : rule->source;
    if (strchr(source, ':') || strchr(rule->path, ':'))
        return error_set(err, -EINVAL, "podman cannot mount '%.120s': its path contains ':'",
                         rule->path);
    _cleanup_(freep) char *text = xasprintf("--volume=%s:%s:%s", source, rule->path,
                                            rule->access == SANDBOX_WRITE ? "rw" : "ro");
    plan_put(words, text);
    return 0;
}

static int put_podman_step(struct plan_words *words, const struct plan_step *step,
                           struct error *err) {
    if (step->rule->access == SANDBOX_LINK)
        return 0; /* podman has no option for that */
    if (step->rule->access != SANDBOX_EMPTY && step->rule->access != SANDBOX_CLOSED)
        return put_volume(words, step->rule, err);
    _cleanup_(freep) char *text = xasprintf("--tmpfs=%s%s", step->rule->path,
                                            step->rule->access == SANDBOX_CLOSED ? ":ro" : "");
    plan_put(words, text);
    return 0;
}

static int podman_words(struct sandbox_plan *plan, struct plan_words *words, struct error *err) {
    struct plan_step *steps;
    size_t count = plan_steps(plan, &steps);
    if (!plan->image || !*plan->image)
        return error_set(err, -EINVAL, "podman needs an image: set sandbox_image");
    plan_put(words, plan->program);
    put_words(words, "run --rm --interactive --pull=never --log-driver=none --cgroups=disabled "
                     "--userns=keep-id --cap-drop=all --security-opt=no-new-privileges "
                     "--security-opt=label=disable --read-only --preserve-fds=3");
    plan_put(words, plan->network ? "--network=host" : "--network=none");
    for (size_t i = 0; i < count; i++) {
        int r = put_podman_step(words, &steps[i], err);
        if (r < 0)
            return r;
    }
    const struct sandbox_rule shim = { .path = "/run/sluice-shim",
                                       .source = plan->shim,
                                       .access = SANDBOX_READ };
    int r = put_volume(words, &shim, err);
    _cleanup_(freep) char *text = xasprintf("--workdir=%s", plan->cwd);
    plan_put(words, text);
    plan_put(words, plan->image);
    return r;
}

/* --- a sandbox program from the configuration, with the run's paths in its arguments ---------- */

static void put_filled(const struct sandbox_plan *plan, const char *word,
                       struct plan_words *words) {
    const struct {
        const char *name, *value;
    } names[] = {
        { "{workspace}", plan->workspace },
        { "{home}", plan->home },
        { "{run}", plan->run },
    };
    _cleanup_(strbuf_finish) struct strbuf text = STRBUF_INIT;
    while (*word) {
        size_t i = 0;
        while (i < ARRAY_SIZE(names) && strncmp(word, names[i].name, strlen(names[i].name)) != 0)
            i++;
        if (i == ARRAY_SIZE(names)) {
            strbuf_putc(&text, *word++);
            continue;
        }
        strbuf_puts(&text, names[i].value ? names[i].value : "");
        word += strlen(names[i].name);
    }
    plan_put(words, strbuf_text(&text));
}

static int wrap_command_words(struct sandbox_plan *plan, struct plan_words *words,
                              struct error *err) {
    if (!plan->wrap || !plan->wrap[0])
        return error_set(err, -EINVAL, "'wrap' has no words");
    plan_put(words, plan->program); /* searched in the daemon's PATH, not in the task's */
    for (size_t i = 1; plan->wrap[i]; i++)
        put_filled(plan, plan->wrap[i], words);
    return 0;
}

/* Read by loaders and common interpreters before the first line of a program. */
bool sandbox_is_unsafe_variable(const char *pair) {
    static const char *const names[] = {
        /* loader and libraries */
        "LD_", "GCONV_PATH=", "GETCONF_DIR=", "GLIBC_TUNABLES=", "HOSTALIASES=", "LOCPATH=",
        "NLSPATH=", "RES_OPTIONS=",
        /* shells */
        "PATH=", "ENV=", "IFS=", "PS4=", "PROMPT_COMMAND=", "SHELLOPTS=", "BASHOPTS=", "BASH_ENV=",
        "BASH_FUNC_", "ZDOTDIR=",
        /* interpreters */
        "JAVA_TOOL_OPTIONS=", "NODE_OPTIONS=", "NODE_PATH=", "PERL5DB=", "PERL5LIB=", "PERL5OPT=",
        "PERLLIB=", "PYTHON", "RUBYLIB=", "RUBYOPT="
    };
    for (size_t i = 0; i < ARRAY_SIZE(names); i++)
        if (strncmp(pair, names[i], strlen(names[i])) == 0)
            return true;
    return false;
}

/* --- command line ----------------------------------------------------------------------------- */

int sandbox_build(struct sandbox_plan *plan, struct strbuf *out, size_t *ret_count,
                  const char **ret_enter, struct error *err) {
    struct plan_words words = { out, 0 };
    int r = -EINVAL;
    *ret_enter = NULL;
    if (plan->kind == SANDBOX_BUBBLEWRAP) {
        bubblewrap_words(plan, &words);
        r = 0;
        *ret_enter = "/proc/self/fd/4"; /* the shim passes itself (shim/command.c) */
    } else if (plan->kind == SANDBOX_PODMAN) {
        r = podman_words(plan, &words, err);
        *ret_enter = "/run/sluice-shim";
    } else if (plan->kind == SANDBOX_WRAP) {
        r = wrap_command_words(plan, &words, err);
    } else {
        (void)error_set(err, r, "no sandbox was requested");
    }
    *ret_count = words.count;
    return r;
}
