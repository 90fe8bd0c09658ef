/* acp_permission.c: decides about requests for permission.
 *
 * A policy answers at once. With ACP_POLICY_ASK a person decides: the request waits in a list, and
 * the first of the list is a question of the task. Its text has everything that the agent reported
 * about the call, and nothing else, so that the same call is the same question in the next attempt:
 * then the answer that was given meanwhile is used. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "acp/acp.h"
#include "base/alloc.h"
#include "base/macros.h"
#include "base/sha256.h"
#include "base/utf8.h"

#define CHOICE_MAX  200         /* bytes of a name; the daemon accepts no more */
#define DETAIL_MAX  (16u << 20) /* a message has no more */
#define BY_DEADLINE "deadline"  /* `by` of a default that was used */

/* --- permissions ------------------------------------------------------------------------------ */

static const char *const policy_names[] = {
    [ACP_POLICY_ALLOW] = "allow",
    [ACP_POLICY_EDITS] = "edits",
    [ACP_POLICY_DENY] = "deny",
    [ACP_POLICY_ASK] = "ask",
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

/* The only decision about permissions. An agent's report of a tool call is only a claim: a policy
 * keeps an honest agent to its task; the sandbox confines every agent. */
static bool acp_permit(enum acp_policy policy, const struct acp_wish *wish) {
    static const char *const reading[] = { "read", "search", "think", NULL };
    static const char *const changing[] = { "edit", "delete", "move", NULL };
    if (policy == ACP_POLICY_ALLOW || policy == ACP_POLICY_DENY)
        return policy == ACP_POLICY_ALLOW;
    if (is_one_of(wish->kind, reading))
        return true;
    return is_one_of(wish->kind, changing) && wish->has_path && wish->is_inside;
}

/* The option to answer with; missing if the agent offers none for this decision. */
static struct json_span permit_option(struct json_span options, bool allow) {
    /* "once" first: an agent may remember "always" beyond this run. */
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

/* Copies a string to a fixed buffer; leaves it unchanged if missing or empty. */
static void copy_text(char *to, size_t size, struct json_span value) {
    _cleanup_(strbuf_finish) struct strbuf text = STRBUF_INIT;
    if (json_span_text(value, size - 1, &text) && text.length > 0)
        snprintf(to, size, "%s", strbuf_text(&text));
}

static bool is_inside_folder(const char *path, const char *folder) {
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
    bool inside = is_inside_folder(strbuf_text(&path), cwd);
    wish->is_inside = inside && (wish->is_inside || !wish->has_path);
    wish->has_path = true;
    snprintf(wish->argument, sizeof(wish->argument), "%s", strbuf_text(&path));
}

/* A command is a string or a list of arguments; for a shell, the last argument. */
static void add_command(struct acp_wish *wish, struct json_span command) {
    struct json_span word = { NULL, 0 };
    copy_text(wish->argument, sizeof(wish->argument), command);
    while (json_span_item(command, &word))
        copy_text(wish->argument, sizeof(wish->argument), word);
}

/* --- the description of a call ---------------------------------------------------------------- */

/* A person must see what would be hidden on a terminal: controls are written as \\uXXXX. */
static void add_visible(const char *text, size_t size, bool lines, struct strbuf *out) {
    for (size_t i = 0, length; i < size; i += length) {
        length = utf8_length(text + i, size - i);
        length = length ? length : 1;
        bool is_layout = length == 1 && (text[i] == '\n' || text[i] == '\t');
        if (!utf8_is_control(text + i, length) || (lines && is_layout)) {
            strbuf_add(out, text + i, length);
            continue;
        }
        const unsigned char *at = (const unsigned char *)text + i;
        unsigned c = length == 1   ? at[0]
                     : length == 2 ? (at[0] & 0x1fu) << 6 | (at[1] & 0x3fu)
                                   : (at[0] & 0xfu) << 12 | (at[1] & 0x3fu) << 6 | (at[2] & 0x3fu);
        strbuf_printf(out, "\\u%04x", c);
    }
}

/* The bytes of the text that fit into `max`, without a part of a character. */
static size_t cut(const char *text, size_t size, size_t max) {
    size_t end = size < max ? size : max;
    while (end > 0 && end < size && ((unsigned char)text[end] & 0xc0) == 0x80)
        end--;
    return end;
}

static void set_detail(struct acp_wish *wish, const struct strbuf *detail) {
    const char *text = strbuf_text(detail);
    size_t size = cut(text, detail->length, ACP_DETAIL);
    memcpy(wish->detail, text, size);
    wish->detail[size] = '\0';
    if (size == detail->length)
        return;
    uint8_t hash[SHA256_SIZE];
    char hex[SHA256_HEX_SIZE];
    sha256_of(text, detail->length, hash);
    sha256_hex(hash, hex);
    (void)snprintf(wish->detail + size, sizeof(wish->detail) - size,
                   "\n... (only the first %zu of %zu bytes are shown; SHA-256 %.16s)", size,
                   detail->length, hex);
}

static bool has_line(const struct strbuf *detail, const struct strbuf *line) {
    const char *at = strbuf_text(detail);
    for (const char *end; *at; at = *end ? end + 1 : end) {
        end = at + strcspn(at, "\n");
        if ((size_t)(end - at) == line->length && memcmp(at, line->text, line->length) == 0)
            return true;
    }
    return false;
}

/* One more line. Lines repeat when paths are both locations and diffs. */
static void add_detail(struct strbuf *detail, struct json_span value) {
    _cleanup_(strbuf_finish) struct strbuf text = STRBUF_INIT, line = STRBUF_INIT;
    if (!json_span_text(value, DETAIL_MAX, &text) || text.length == 0)
        return;
    add_visible(strbuf_text(&text), text.length, true, &line);
    if (!has_line(detail, &line))
        strbuf_printf(detail, "%s%s", detail->length ? "\n" : "", strbuf_text(&line));
}

/* All words of a command: the name of the shell matters, too. */
static void add_words(struct strbuf *detail, struct json_span command) {
    _cleanup_(strbuf_finish) struct strbuf line = STRBUF_INIT;
    struct json_span word = { NULL, 0 };
    add_detail(detail, command);
    while (json_span_item(command, &word)) {
        _cleanup_(strbuf_finish) struct strbuf text = STRBUF_INIT;
        if (!json_span_text(word, DETAIL_MAX, &text))
            continue;
        if (line.length > 0)
            strbuf_putc(&line, ' ');
        add_visible(strbuf_text(&text), text.length, true, &line);
    }
    if (line.length > 0)
        strbuf_printf(detail, "%s%s", detail->length ? "\n" : "", strbuf_text(&line));
}

/* Command, address, paths, what the agent says about it; else its input as it is. Leaves the detail
 * as it is if this report has none of them. */
static void describe(struct acp_wish *wish, struct json_span call) {
    _cleanup_(strbuf_finish) struct strbuf detail = STRBUF_INIT;
    struct json_span input = json_span_get(call, "rawInput"), part = { NULL, 0 };
    add_words(&detail, json_span_get(input, "command"));
    add_detail(&detail, json_span_get(input, "url"));
    struct json_span locations = json_span_get(call, "locations");
    while (json_span_item(locations, &part))
        add_detail(&detail, json_span_get(part, "path"));
    struct json_span content = json_span_get(call, "content");
    part = (struct json_span){ NULL, 0 };
    while (json_span_item(content, &part)) {
        add_detail(&detail, json_span_get(part, "path"));
        add_detail(&detail, json_span_get(json_span_get(part, "content"), "text"));
    }
    if (detail.length == 0 && json_span_is_object(input) && input.size > strlen("{}"))
        add_visible(input.from, input.size < DETAIL_MAX ? input.size : DETAIL_MAX, true, &detail);
    if (detail.length > 0)
        set_detail(wish, &detail);
}

/* Adds what a tool call (from session/update or a request) reports about itself. */
static void wish_add(struct acp_wish *wish, struct json_span call, const char *cwd) {
    struct json_span input = json_span_get(call, "rawInput");
    struct json_span part = { NULL, 0 };
    copy_text(wish->kind, sizeof(wish->kind), json_span_get(call, "kind"));
    copy_text(wish->title, sizeof(wish->title), json_span_get(call, "title"));
    struct json_span locations = json_span_get(call, "locations");
    while (json_span_item(locations, &part))
        add_path(wish, json_span_get(part, "path"), cwd);
    struct json_span content = json_span_get(call, "content");
    part = (struct json_span){ NULL, 0 };
    while (json_span_item(content, &part)) /* a diff */
        add_path(wish, json_span_get(part, "path"), cwd);
    copy_text(wish->argument, sizeof(wish->argument), json_span_get(input, "url"));
    add_command(wish, json_span_get(input, "command"));
    describe(wish, call);
}

static struct acp_call *call_find(struct acp_session *s, struct json_span call) {
    _cleanup_(strbuf_finish) struct strbuf id = STRBUF_INIT;
    (void)json_span_text(json_span_get(call, "toolCallId"), sizeof(s->calls[0].id) - 1, &id);
    for (unsigned i = 0; i < ACP_CALLS; i++)
        if (s->calls[i].id[0] && strcmp(s->calls[i].id, strbuf_text(&id)) == 0)
            return &s->calls[i];
    struct acp_call *one = &s->calls[s->next_call++ % ACP_CALLS];
    *one = (struct acp_call){ .id = "" };
    snprintf(one->id, sizeof(one->id), "%s", strbuf_text(&id));
    return one;
}

void acp_permission_note(struct acp_session *s, struct json_span update) {
    wish_add(&call_find(s, update)->wish, update, s->options->cwd);
}

/* --- answers ---------------------------------------------------------------------------------- */

/* `option`: JSON; empty: none. */
static void send_outcome(struct acp_session *s, struct json_span id, struct json_span option) {
    acp_answer_begin(s, id);
    strbuf_puts(&s->to_agent, ",\"result\":{\"outcome\":{\"outcome\":");
    if (option.size > 0) {
        strbuf_puts(&s->to_agent, "\"selected\",\"optionId\":");
        strbuf_add(&s->to_agent, option.from, option.size);
    } else {
        strbuf_puts(&s->to_agent, "\"cancelled\"");
    }
    strbuf_puts(&s->to_agent, "}}}\n");
}

/* `by`, `why`: or NULL. */
static void log_decision(struct acp_session *s, const char *event, const struct acp_wish *wish,
                         const char *by, const char *why) {
    struct json_writer w;
    acp_log_begin(s, &w, event);
    acp_log_wish(&w, wish);
    if (by)
        json_put_string(&w, "by", by);
    if (why)
        json_put_string(&w, "message", why);
    acp_log_end(s, &w);
}

static void count_denial(struct acp_session *s, const struct acp_wish *wish) {
    s->denied++;
    s->last_denied = *wish;
}

static void decide(struct acp_session *s, struct json_span id, struct json_span options,
                   const struct acp_wish *wish) {
    bool allow = acp_permit(s->options->policy, wish);
    struct json_span option = permit_option(options, allow);
    bool allowed = allow && option.from;
    if (!s->is_canceled)
        log_decision(s, allowed ? "allowed" : "denied", wish, NULL, NULL);
    if (!s->is_canceled && !allowed)
        count_denial(s, wish);
    send_outcome(s, id, s->is_canceled ? (struct json_span){ NULL, 0 } : option);
}

/* --- questions -------------------------------------------------------------------------------- */

static void ask_free(struct acp_ask *ask) {
    for (size_t i = 0; i < ask->count; i++) {
        free(ask->choices[i].name);
        strbuf_finish(&ask->choices[i].option);
    }
    strbuf_finish(&ask->id);
    strbuf_finish(&ask->text);
    free(ask);
}

static bool has_choice(const struct acp_ask *ask, const char *name) {
    for (size_t i = 0; i < ask->count; i++)
        if (strcmp(ask->choices[i].name, name) == 0)
            return true;
    return false;
}

/* A name that no other choice has, on one line. */
static char *choice_name(const struct acp_ask *ask, const char *text) {
    _cleanup_(strbuf_finish) struct strbuf name = STRBUF_INIT;
    add_visible(text, strlen(text), false, &name);
    size_t from = strspn(strbuf_text(&name), " ");
    const char *begin = strbuf_text(&name) + from;
    size_t size = cut(begin, name.length - from, CHOICE_MAX - 8);
    while (size > 0 && begin[size - 1] == ' ')
        size--;
    char *own = xasprintf("%.*s", (int)size, size ? begin : "?");
    for (unsigned i = 2; has_choice(ask, own); i++) {
        free(own);
        own = xasprintf("%.*s (%u)", (int)size, size ? begin : "?", i);
    }
    return own;
}

static void add_choice(struct acp_ask *ask, const char *name, struct json_span option,
                       bool allows) {
    struct acp_choice *choice = &ask->choices[ask->count];
    *choice = (struct acp_choice){ .name = choice_name(ask, name), .allows = allows };
    if (option.from)
        strbuf_add(&choice->option, option.from, option.size);
    ask->count++;
}

/* The options of the agent in its order. Its denial is the default, with "once" preferred. */
static void take_choices(struct acp_ask *ask, struct json_span options) {
    struct json_span option = { NULL, 0 }, denial = permit_option(options, false);
    bool has_denial = false;
    while (ask->count + 1 < ACP_CHOICES && json_span_item(options, &option)) {
        _cleanup_(strbuf_finish) struct strbuf name = STRBUF_INIT, kind = STRBUF_INIT;
        struct json_span id = json_span_get(option, "optionId");
        (void)json_span_text(json_span_get(option, "kind"), 64, &kind);
        if (!id.from)
            continue;
        if (!json_span_text(json_span_get(option, "name"), CHOICE_MAX, &name) || name.length == 0)
            strbuf_puts(&name, kind.length ? strbuf_text(&kind) : "?");
        if (id.from == denial.from) {
            ask->fallback = ask->count;
            has_denial = true;
        }
        add_choice(ask, strbuf_text(&name), id,
                   strncmp(strbuf_text(&kind), "allow", strlen("allow")) == 0);
    }
    if (has_denial)
        return;
    ask->fallback = ask->count;
    add_choice(ask, "Deny", (struct json_span){ NULL, 0 }, false);
}

static void print_question(const struct acp_wish *wish, struct strbuf *out) {
    strbuf_puts(out, "May the agent do this? ");
    add_visible(wish->kind, strlen(wish->kind), false, out);
    if (!wish->kind[0])
        strbuf_puts(out, "other");
    if (wish->title[0] && strcmp(wish->title, wish->detail) != 0) {
        strbuf_puts(out, ": ");
        add_visible(wish->title, strlen(wish->title), false, out);
    }
    if (wish->detail[0])
        strbuf_printf(out, "\n%s", wish->detail);
}

static void add_ask(struct acp_session *s, struct json_span id, struct json_span options,
                    const struct acp_wish *wish) {
    struct acp_ask *ask = xcalloc(1, sizeof(*ask)), **last = &s->asks;
    ask->wish = *wish;
    strbuf_add(&ask->id, id.from, id.size);
    take_choices(ask, options);
    print_question(wish, &ask->text);
    while (*last)
        last = &(*last)->next;
    *last = ask;
    s->ask_count++;
    log_decision(s, "asked", wish, NULL, NULL);
}

static void remove_first(struct acp_session *s) {
    struct acp_ask *ask = s->asks;
    s->asks = ask->next;
    s->ask_count--;
    ask_free(ask);
}

void acp_permission_answer(struct acp_session *s, const char *choice, const char *by,
                           const char *why) {
    const struct acp_ask *ask = s->asks;
    const struct acp_choice *chosen = &ask->choices[ask->fallback];
    for (size_t i = 0; choice && i < ask->count; i++)
        if (strcmp(ask->choices[i].name, choice) == 0)
            chosen = &ask->choices[i];
    bool is_person = by && strcmp(by, BY_DEADLINE) != 0;
    /* What a person has rejected is decided: the task need not be permitted anything. */
    log_decision(s,
                 chosen->allows ? "allowed"
                 : is_person    ? "rejected"
                                : "denied",
                 &ask->wish, by, why);
    if (!chosen->allows && !is_person)
        count_denial(s, &ask->wish);
    send_outcome(s, (struct json_span){ strbuf_text(&ask->id), ask->id.length },
                 (struct json_span){ strbuf_text(&chosen->option), chosen->option.length });
    remove_first(s);
}

void acp_permission_cancel(struct acp_session *s) {
    while (s->asks) {
        send_outcome(s, (struct json_span){ strbuf_text(&s->asks->id), s->asks->id.length },
                     (struct json_span){ NULL, 0 });
        remove_first(s);
    }
}

void acp_permission_take(struct acp_session *s, struct json_span id, struct json_span params) {
    struct json_span call = json_span_get(params, "toolCall");
    struct json_span options = json_span_get(params, "options"), option = { NULL, 0 };
    struct acp_wish *wish = &call_find(s, call)->wish;
    wish_add(wish, call, s->options->cwd);
    bool asks = s->options->policy == ACP_POLICY_ASK && !s->is_canceled && s->phase == ACP_PROMPTED
                && s->ask_count < ACP_ASKS && !acp_permit(ACP_POLICY_ASK, wish)
                && json_span_item(options, &option);
    if (asks)
        add_ask(s, id, options, wish);
    else
        decide(s, id, options, wish);
}
