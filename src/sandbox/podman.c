/* podman.c: a plan as a command line of podman.
 *
 * The system is that of an image, so rules that only read it are left to the image unless they say otherwise. Not tried
 * with a real podman yet; tests compare the words, and run them with a fake one.
 *
 * Without a cgroup of its own, so that the processes stay where the shim finds and limits them. */
#include <errno.h>
#include <string.h>

#include "sandbox/plan_internal.h"

static int put_volume(struct plan_words *words, const struct sandbox_rule *rule,
                      struct error *err) {
    _cleanup_(strbuf_finish) struct strbuf text = STRBUF_INIT;
    const char *source = rule->access == SANDBOX_BLANK ? "/dev/null" : rule->source;
    if (strchr(source, ':') || strchr(rule->path, ':'))
        return error_set(err, -EINVAL, "podman cannot show '%.120s': its path has a ':'",
                         rule->path);
    strbuf_printf(&text, "--volume=%s:%s:%s", source, rule->path,
                  rule->access == SANDBOX_WRITE ? "rw" : "ro");
    plan_put(words, strbuf_text(&text));
    return 0;
}

static int put_step(struct plan_words *words, const struct plan_step *step, struct error *err) {
    _cleanup_(strbuf_finish) struct strbuf text = STRBUF_INIT;
    if (step->rule->access == SANDBOX_LINK)
        return 0; /* it has no word for that */
    if (step->rule->access != SANDBOX_EMPTY && step->rule->access != SANDBOX_CLOSED)
        return put_volume(words, step->rule, err);
    strbuf_printf(&text, "--tmpfs=%s%s", step->rule->path,
                  step->rule->access == SANDBOX_CLOSED ? ":ro" : "");
    plan_put(words, strbuf_text(&text));
    return 0;
}

int podman_words(struct sandbox_plan *plan, struct plan_words *words, struct error *err) {
    static const char *const fixed[] = {
        "run",
        "--rm",
        "--interactive",
        "--pull=never",
        "--log-driver=none",
        "--cgroups=disabled",
        "--userns=keep-id",
        "--cap-drop=all",
        "--security-opt=no-new-privileges",
        "--security-opt=label=disable",
        "--read-only",
        "--preserve-fds=3",
        NULL,
    };
    struct plan_step *steps;
    size_t count = plan_steps(plan, &steps);
    _cleanup_(strbuf_finish) struct strbuf text = STRBUF_INIT;
    if (!plan->image || !*plan->image)
        return error_set(err, -EINVAL, "podman needs an image: set sandbox_image");
    plan_put(words, plan->program);
    for (size_t i = 0; fixed[i]; i++)
        plan_put(words, fixed[i]);
    plan_put(words, plan->network ? "--network=host" : "--network=none");
    for (size_t i = 0; i < count; i++) {
        int r = put_step(words, &steps[i], err);
        if (r < 0)
            return r;
    }
    const struct sandbox_rule shim = { .path = "/run/sluice-shim",
                                       .source = plan->shim,
                                       .access = SANDBOX_READ };
    int r = put_volume(words, &shim, err);
    strbuf_printf(&text, "--workdir=%s", plan->cwd);
    plan_put(words, strbuf_text(&text));
    plan_put(words, plan->image);
    return r;
}
