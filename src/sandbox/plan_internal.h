/* plan_internal.h: rules in the order in which they are carried out, and words. Private to sandbox/. */
#pragma once

#include "sandbox/sandbox.h"

/* One step: a rule that changes something, and what is there without it. */
struct plan_step {
    const struct sandbox_rule *rule;
    enum sandbox_access around;
};
/* Sorts the rules, outer ones first, and leaves out those without effect. In the arena of the plan. */
size_t plan_steps(struct sandbox_plan *plan, struct plan_step **ret_steps);

struct plan_words {
    struct strbuf *out;
    size_t count;
};
void plan_put(struct plan_words *words, const char *word);

int bubblewrap_words(struct sandbox_plan *plan, struct plan_words *words, struct error *err);
int podman_words(struct sandbox_plan *plan, struct plan_words *words, struct error *err);
int wrap_command_words(struct sandbox_plan *plan, struct plan_words *words, struct error *err);
