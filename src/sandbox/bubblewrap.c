/* bubblewrap.c: a plan as a command line of bwrap, version 0.8 (Debian 12) and later.
 *
 * Always with a user namespace and without capabilities: started by root, bwrap would use neither, and its command
 * could undo every mount. Processes, System V memory, host name and cgroup are namespaces of their own. */
#include <string.h>

#include "sandbox/plan_internal.h"

/* Files of the kernel that user 0 may write without any capability. bwrap covers some of them, but asks for the
 * folder /proc/sys, which nobody may write, and leaves its files as they are. */
static const char *const kernel_files[] = {
    "/proc/sys", "/proc/sysrq-trigger", "/proc/irq", "/proc/bus", "/proc/fs", "/proc/acpi", NULL,
};

static void put_list(struct plan_words *words, const char *const *list) {
    for (; *list; list++)
        plan_put(words, *list);
}

static bool is_device(const char *path) {
    return strncmp(path, "/dev/", strlen("/dev/")) == 0;
}

/* Others may use /tmp, too: processes of another user that the command becomes, say, in its own namespace. */
static bool is_for_all(const char *path) {
    return strcmp(path, "/tmp") == 0 || strcmp(path, "/var/tmp") == 0;
}

static void put_empty(struct plan_words *words, const struct plan_step *step) {
    if (step->rule->access == SANDBOX_EMPTY && step->around == SANDBOX_EMPTY) {
        plan_put(words, "--dir");
    } else {
        plan_put(words, "--perms");
        plan_put(words, is_for_all(step->rule->path) ? "1777" : "0755");
        plan_put(words, "--tmpfs");
    }
    plan_put(words, step->rule->path);
}

static void put_step(struct plan_words *words, const struct plan_step *step) {
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
    const char *bind = is_device(rule->path) ? "--dev-bind"
                       : writes              ? (tries ? "--bind-try" : "--bind")
                                             : (tries ? "--ro-bind-try" : "--ro-bind");
    plan_put(words, bind);
    plan_put(words, rule->access == SANDBOX_BLANK ? "/dev/null" : rule->source);
    plan_put(words, rule->path);
}

int bubblewrap_words(struct sandbox_plan *plan, struct plan_words *words, struct error *err) {
    static const char *const apart[] = {
        "--unshare-user",
        "--unshare-pid",
        "--unshare-ipc",
        "--unshare-uts",
        "--unshare-cgroup-try",
        "--cap-drop",
        "ALL",
        "--die-with-parent",
        NULL,
    };
    static const char *const root[] = { "--ro-bind", "/",      "/",     "--dev",
                                        "/dev",      "--proc", "/proc", NULL };
    struct plan_step *steps;
    size_t count = plan_steps(plan, &steps);
    (void)err;
    plan_put(words, plan->program);
    put_list(words, apart);
    if (!plan->network)
        plan_put(words, "--unshare-net");
    put_list(words, root);
    for (size_t i = 0; plan->is_root && kernel_files[i]; i++) {
        plan_put(words, "--ro-bind-try");
        plan_put(words, kernel_files[i]);
        plan_put(words, kernel_files[i]);
    }
    for (size_t i = 0; i < count; i++)
        put_step(words, &steps[i]);
    for (size_t i = 0; i < count; i++) /* when all that is shown in it has its place */
        if (steps[i].rule->access == SANDBOX_CLOSED) {
            plan_put(words, "--remount-ro");
            plan_put(words, steps[i].rule->path);
        }
    plan_put(words, "--chdir");
    plan_put(words, plan->cwd);
    plan_put(words, "--");
    return 0;
}
