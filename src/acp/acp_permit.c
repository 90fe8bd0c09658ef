/* acp_permit.c: may the agent do what it asks for?
 *
 * acp_permit is the only decision. What an agent says about a tool call is its own claim: a policy keeps an honest agent to
 * its task, and the sandbox of the run keeps every agent. */
#include <stdio.h>
#include <string.h>

#include "acp/acp.h"
#include "base/macros.h"

static const char *const policy_names[] = {
    [ACP_POLICY_ALLOW] = "allow",
    [ACP_POLICY_EDITS] = "edits",
    [ACP_POLICY_DENY] = "deny",
};
_Static_assert(ARRAY_SIZE(policy_names) == ACP_POLICY_MAX, "a policy has no name");

bool acp_policy_find(const char *name, enum acp_policy *ret) {
    for (unsigned i = 0; i < ACP_POLICY_MAX; i++)
        if (strcmp(policy_names[i], name) == 0) {
            *ret = (enum acp_policy)i;
            return true;
        }
    return false;
}

static bool is_one_of(const char *word, const char *const *words) {
    for (; *words; words++)
        if (strcmp(*words, word) == 0)
            return true;
    return false;
}

bool acp_permit(enum acp_policy policy, const struct acp_wish *wish) {
    static const char *const reading[] = { "read", "search", "think", NULL };
    static const char *const changing[] = { "edit", "delete", "move", NULL };
    if (policy != ACP_POLICY_EDITS)
        return policy == ACP_POLICY_ALLOW;
    if (is_one_of(wish->kind, reading))
        return true;
    return is_one_of(wish->kind, changing) && wish->has_path && wish->is_inside;
}

struct json_span acp_permit_option(struct json_span options, bool allow) {
    /* Once first: an agent may remember the other answer beyond this run. */
    static const char *const kinds[2][2] = { { "reject_once", "reject_always" },
                                             { "allow_once", "allow_always" } };
    for (unsigned i = 0; i < 2; i++) {
        struct json_span option = { NULL, 0 };
        while (json_span_item(options, &option))
            if (json_span_is(json_span_get(option, "kind"), kinds[allow][i]))
                return json_span_get(option, "optionId");
    }
    return (struct json_span){ NULL, 0 };
}

/* --- what it is about ------------------------------------------------------------------------- */

/* A string into a fixed buffer; one that is missing or empty leaves it as it was. */
static void copy_text(char *to, size_t size, struct json_span value) {
    _cleanup_(strbuf_finish) struct strbuf text = STRBUF_INIT;
    if (json_span_text(value, size - 1, &text) && text.length > 0)
        snprintf(to, size, "%s", strbuf_text(&text));
}

static bool is_below(const char *path, const char *folder) {
    size_t size = strlen(folder);
    if (*path != '/' || strncmp(path, folder, size) != 0
        || (path[size] != '/' && path[size] != '\0' && strcmp(folder, "/") != 0))
        return false;
    for (const char *at = path; (at = strstr(at, "/..")); at += 3)
        if (at[3] == '/' || at[3] == '\0')
            return false;
    return true;
}

static void add_path(struct acp_wish *wish, struct json_span value, const char *cwd) {
    _cleanup_(strbuf_finish) struct strbuf path = STRBUF_INIT;
    if (!json_span_text(value, 4096, &path))
        return;
    bool inside = is_below(strbuf_text(&path), cwd);
    wish->is_inside = inside && (wish->is_inside || !wish->has_path);
    wish->has_path = true;
    snprintf(wish->argument, sizeof(wish->argument), "%s", strbuf_text(&path));
}

/* A command is a string, or a list of words of which a shell gets the last. */
static void add_command(struct acp_wish *wish, struct json_span command) {
    struct json_span word = { NULL, 0 };
    copy_text(wish->argument, sizeof(wish->argument), command);
    while (json_span_item(command, &word))
        copy_text(wish->argument, sizeof(wish->argument), word);
}

void acp_wish_add(struct acp_wish *wish, struct json_span call, const char *cwd) {
    struct json_span input = json_span_get(call, "rawInput");
    struct json_span part = { NULL, 0 };
    copy_text(wish->kind, sizeof(wish->kind), json_span_get(call, "kind"));
    copy_text(wish->title, sizeof(wish->title), json_span_get(call, "title"));
    struct json_span places = json_span_get(call, "locations");
    while (json_span_item(places, &part))
        add_path(wish, json_span_get(part, "path"), cwd);
    struct json_span content = json_span_get(call, "content");
    part = (struct json_span){ NULL, 0 };
    while (json_span_item(content, &part)) /* a diff */
        add_path(wish, json_span_get(part, "path"), cwd);
    copy_text(wish->argument, sizeof(wish->argument), json_span_get(input, "url"));
    add_command(wish, json_span_get(input, "command"));
}
