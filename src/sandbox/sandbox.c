/* sandbox.c: the rules of a plan, and which of them change something. */
#include "sandbox/sandbox.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/macros.h"
#include "sandbox/plan_internal.h"

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

/* --- rules ---------------------------------------------------------------------------------------- */

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

/* Below a folder comes directly behind it: '/' before every other byte. */
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

/* The rule that holds around this path: of those so far that contain it the last is the innermost. */
static const struct sandbox_rule *around(const struct plan_step *steps, size_t count,
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
    /* Another source is another content. */
    return rule->source == rule->path && (!outer || outer->source == outer->path)
           && rule->access == access && access != SANDBOX_EMPTY;
}

size_t plan_steps(struct sandbox_plan *plan, struct plan_step **ret_steps) {
    struct plan_step *steps = arena_alloc(&plan->arena, (plan->rule_count + 1) * sizeof(*steps));
    size_t count = 0;
    if (plan->rule_count > 0)
        qsort(plan->rules, plan->rule_count, sizeof(*plan->rules), compare_rules);
    for (size_t i = 0; i < plan->rule_count; i++) {
        const struct sandbox_rule *rule = &plan->rules[i];
        if (i + 1 < plan->rule_count && strcmp(rule->path, rule[1].path) == 0)
            continue; /* a later one for the same path */
        const struct sandbox_rule *outer = around(steps, count, rule->path);
        if (changes_nothing(rule, outer))
            continue;
        steps[count++] = (struct plan_step){ rule, outer ? outer->access : SANDBOX_READ };
    }
    *ret_steps = steps;
    return count;
}

/* --- words ---------------------------------------------------------------------------------------- */

void plan_put(struct plan_words *words, const char *word) {
    strbuf_add(words->out, word, strlen(word) + 1);
    words->count++;
}

int sandbox_build(struct sandbox_plan *plan, struct strbuf *out, size_t *ret_count,
                  const char **ret_enter, struct error *err) {
    struct plan_words words = { out, 0 };
    int r = -EINVAL;
    *ret_enter = NULL;
    if (plan->kind == SANDBOX_BUBBLEWRAP) {
        r = bubblewrap_words(plan, &words, err);
        *ret_enter = "/proc/self/fd/4"; /* the shim passes itself (shim/wrap.c) */
    } else if (plan->kind == SANDBOX_PODMAN) {
        r = podman_words(plan, &words, err);
        *ret_enter = "/run/sluice-shim";
    } else if (plan->kind == SANDBOX_WRAP) {
        r = wrap_command_words(plan, &words, err);
    } else {
        (void)error_set(err, r, "no sandbox is wanted");
    }
    *ret_count = words.count;
    return r;
}
