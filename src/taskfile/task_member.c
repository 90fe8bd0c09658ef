/* task_member.c: the table of members and the parser of their values. See task_member.h.
 *
 * Unknown members are refused: ignoring a misspelled `depends_on` would start a task too early.
 * Values are checked in place, so a request with plain numbers costs no copy. */
#include "taskfile/task_member.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/foreign_names.h"
#include "base/macros.h"
#include "base/money.h"
#include "base/nearest.h"
#include "base/number.h"
#include "base/utf8.h"
#include "os/moment.h"

#define PATH_BYTES  4096
#define SPAN_MOST   DAYS(3650)
#define MOMENT_MOST INT64_C(253402300799999) /* the end of the year 9999 */
#define TOKENS_MOST INT64_C(100000000000000)
#define WORDS_MOST  128
#define CHECKS_MOST 32
#define ENV_BYTES   (32 * 1024)
#define EVERY_LEAST SECONDS(1)

#define NO_COMMAND  "a run may only name a configured agent, not a command (capability.commands)"
#define NOT_WHERE   "a run cannot choose where its children work"
#define NOT_RUN     "a run cannot choose where its children are executed"
#define NOT_KEPT    "a run cannot choose the sandbox of its children"
#define NOT_OF_HOST "a run cannot choose the limits of its children"

#define CHOICES(...)                                                                               \
    .choices = (const char *const[]) {                                                             \
        __VA_ARGS__, NULL                                                                          \
    }

/* clang-format off */
const struct task_member task_members[] = {
#define MEMBER(name_, kind_, ...) { .name = #name_, .kind = MEMBER_##kind_, __VA_ARGS__ },
#include "taskfile/task_members.inc"
};
/* clang-format on */
const size_t task_member_count = ARRAY_SIZE(task_members);

/* clang-format off */
const struct task_kind task_kinds[] = {
    [MEMBER_NAME]     = { NULL, "name" },
    [MEMBER_LINE]     = { NULL, "text" },
    [MEMBER_BODY]     = { "a text that is not empty", "text" },
    [MEMBER_CHOICE]   = { NULL, NULL },
    [MEMBER_PATH]     = { "an absolute path", "path" },
    [MEMBER_PLACE]    = { "a path without '..'", "path" },
    [MEMBER_ARTIFACT] = { "a path without '..'", "path" },
    [MEMBER_WHOLE]    = { NULL, "number" },
    [MEMBER_SPAN]     = { "a time span like 90s, 30m, 2h or 1d", "time span", "seconds, or a text like 30m", "30m" },
    [MEMBER_SIZE]     = { "a size like 512MB or 1.5GB", "size", "MB, or a text like 1.5GB", "1.5GB" },
    [MEMBER_MONEY]    = { "dollars like 2.50 or $2.50", "dollars", "dollars, or a text like $2.50", "$2.50" },
    [MEMBER_MOMENT]   = { "a time like 30m, 18:30 or 2027-01-31T18:30", "time",
                          "ms since the epoch, or a text like 30m, 18:30 or 2027-01-31T18:30", "18:30" },
    [MEMBER_SWITCH]   = { "true or false", "true, false" },
    [MEMBER_NAMES]    = { "a list of names, or one text with commas", "list, or `\"a, b\"`", NULL, "web-17, web-18" },
    [MEMBER_WORDS]    = { "a list of words, the program first", "list of words" },
    [MEMBER_CHECKS]   = { "a list of commands", "list of commands" },
    [MEMBER_GATE]     = { "a command: a text for the shell, a list of words, or 'argv' or 'run' with 'every' and 'timeout'",
                          "command" },
    [MEMBER_ENV]      = { "names and texts", "name → text" },
    [MEMBER_PAIRS]    = { "names and texts", "name → text" },
    [MEMBER_OBJECT]   = { "an object", "object" },
};
/* clang-format on */

/* --- names ----------------------------------------------------------------------------------- */

/* First letters in an array of their own: every member of a large batch is looked up, and a scan of
 * the large rows would be slow. */
static const char first_letters[] = {
#define MEMBER(name, ...) (#name)[0],
#include "taskfile/task_members.inc"
};

const struct task_member *task_member_find(const char *name) {
    for (size_t i = 0; i < task_member_count; i++)
        if (first_letters[i] == name[0] && strcmp(task_members[i].name, name) == 0)
            return &task_members[i];
    for (size_t i = 0; i < task_member_count; i++)
        for (const char *const *alias = task_members[i].aliases; *alias; alias++)
            if (strcmp(*alias, name) == 0)
                return &task_members[i];
    return NULL;
}

int task_member_unknown(const char *name, struct error *err) {
    struct utf8_quoted quoted = utf8_quote(name);
    const char *foreign = foreign_name(FOREIGN_MEMBER, name);
    struct nearest nearest = nearest_to(name);
    for (size_t i = 0; i < task_member_count; i++) {
        nearest_offer(&nearest, task_members[i].name);
        for (const char *const *alias = task_members[i].aliases; *alias; alias++)
            nearest_offer(&nearest, *alias);
    }
    if (foreign || nearest.best)
        return error_set(err, -EINVAL, "a task has no '%s'; did you mean '%s'?", quoted.text,
                         foreign ? foreign : nearest.best);
    return error_set(err, -EINVAL, "a task has no '%s'; your own data belongs under 'meta'",
                     quoted.text);
}

/* --- expected and actual values -------------------------------------------------------------- */

static void put_choices(struct strbuf *out, const struct task_member *m, const char *quote) {
    for (const char *const *c = m->choices; *c; c++)
        strbuf_printf(out, "%s%s%s%s", c == m->choices ? "" : ", ", quote, *c, quote);
}

static int64_t most_of(const struct task_member *m) {
    return m->max                     ? m->max
           : m->kind == MEMBER_SPAN   ? SPAN_MOST
           : m->kind == MEMBER_MOMENT ? MOMENT_MOST
           : m->kind == MEMBER_MONEY  ? MONEY_MAX
                                      : INT64_MAX;
}

static void put_expected(struct strbuf *out, const struct task_member *m) {
    if (task_kinds[m->kind].expected)
        strbuf_puts(out, task_kinds[m->kind].expected);
    else if (m->kind == MEMBER_NAME)
        strbuf_printf(out, "a name of 1 to %d bytes without control characters", NAME_BYTES_MAX);
    else if (m->kind == MEMBER_LINE)
        strbuf_printf(out, "one line of at most %" PRId64 " bytes without control characters",
                      m->max);
    else if (m->kind == MEMBER_WHOLE)
        strbuf_printf(out, "a whole number from %" PRId64 " to %" PRId64, m->min, most_of(m));
    else
        put_choices((strbuf_puts(out, "one of "), out), m, "");
}

static void put_noun(struct strbuf *out, const json_t *value) {
    if (json_is_string(value))
        strbuf_printf(out, "'%s'", utf8_quote(json_string_value(value)).text);
    else if (json_is_integer(value))
        strbuf_printf(out, "%" JSON_INTEGER_FORMAT, json_integer_value(value));
    else if (json_is_real(value))
        strbuf_printf(out, "%g", json_real_value(value));
    else
        strbuf_puts(out, json_is_array(value)    ? "a list"
                         : json_is_object(value) ? "an object"
                         : json_is_true(value)   ? "true"
                         : json_is_false(value)  ? "false"
                                                 : "nothing");
}

static int refuse_as(int code, const char *expected, const json_t *value, struct error *err) {
    _cleanup_(strbuf_finish) struct strbuf got = STRBUF_INIT;
    put_noun(&got, value);
    return error_set(err, code, "expected %s, got %s", expected, strbuf_text(&got));
}

static int refuse_entry(const char *what, size_t index, const json_t *value, struct error *err) {
    char expected[64];
    (void)snprintf(expected, sizeof(expected), "a text as %s %zu", what, index + 1);
    return refuse_as(-EINVAL, expected, value, err);
}

static int refuse_key(const char *expected, const char *key, struct error *err) {
    return error_set(err, -EINVAL, "expected %s, got '%s'", expected, utf8_quote(key).text);
}

static int refuse(const struct task_member *m, const json_t *value, struct error *err) {
    _cleanup_(strbuf_finish) struct strbuf expected = STRBUF_INIT, got = STRBUF_INIT;
    put_expected(&expected, m);
    put_noun(&got, value);
    const char *text = m->kind == MEMBER_CHOICE ? json_string_value(value) : NULL;
    struct nearest nearest = nearest_to(text ? text : "");
    for (const char *const *c = m->choices; text && *c; c++)
        nearest_offer(&nearest, *c);
    return error_set(err, -EINVAL, "expected %s, got %s%s%s%s", strbuf_text(&expected),
                     strbuf_text(&got), nearest.best ? "; did you mean '" : "",
                     nearest.best ? nearest.best : "", nearest.best ? "'?" : "");
}

static void put_number(struct strbuf *out, const struct task_member *m, int64_t number) {
    if (m->kind == MEMBER_SPAN)
        number_print_span(out, number);
    else if (m->kind == MEMBER_MONEY)
        money_put(out, number);
    else
        strbuf_printf(out, "%" PRId64 "%s", number, m->kind == MEMBER_SIZE ? " MB" : "");
}

static int refuse_range(const struct task_member *m, const json_t *value, struct error *err) {
    _cleanup_(strbuf_finish) struct strbuf expected = STRBUF_INIT;
    put_expected(&expected, m);
    if (m->kind != MEMBER_WHOLE) {
        put_number((strbuf_puts(&expected, " from "), &expected), m, m->min);
        put_number((strbuf_puts(&expected, " to "), &expected), m, most_of(m));
    }
    return refuse_as(-ERANGE, strbuf_text(&expected), value, err);
}

/* --- numbers --------------------------------------------------------------------------------- */

static double scale_of(const struct task_member *m) {
    return m->kind == MEMBER_SPAN ? 1000.0 : m->kind == MEMBER_MONEY ? (double)MONEY_DOLLAR : 1.0;
}

int64_t task_member_number(const struct task_member *m, const json_t *value) {
    if (json_is_boolean(value))
        return json_is_true(value);
    if (m->kind == MEMBER_MONEY)
        return (int64_t)(json_number_value(value) * scale_of(m) + 0.5);
    return m->kind == MEMBER_SPAN ? (int64_t)(json_number_value(value) * scale_of(m))
                                  : json_integer_value(value);
}

static int parse_number(const struct task_member *m, const char *text, time_ms now,
                        int64_t *ret_number) {
    if (m->kind == MEMBER_SPAN)
        return number_parse_span(text, ret_number, NULL);
    if (m->kind == MEMBER_SIZE)
        return number_parse_size(text, ret_number, NULL);
    if (m->kind == MEMBER_MONEY)
        return money_parse(text, ret_number, NULL);
    if (m->kind == MEMBER_MOMENT && moment_parse(text, now, ret_number, NULL) == 0)
        return 0;
    return number_parse_int(text, ret_number, NULL);
}

/* An integer if possible. */
static json_t *number_json(const struct task_member *m, int64_t number) {
    int64_t scale = (int64_t)scale_of(m);
    return m->kind != MEMBER_MONEY && number % scale == 0
               ? json_integer(number / scale)
               : json_real((double)number / (double)scale);
}

static int check_number(const struct task_member *m, const json_t *value, time_ms now,
                        json_t **ret_other, struct error *err) {
    bool fractions = m->kind == MEMBER_SPAN || m->kind == MEMBER_MONEY;
    int64_t number = 0;
    if (json_is_string(value)) {
        int r = parse_number(m, json_string_value(value), now, &number);
        if (r < 0)
            return r == -ERANGE ? refuse_range(m, value, err) : refuse(m, value, err);
    } else if (!json_is_integer(value) && !(fractions && json_is_real(value))) {
        return refuse(m, value, err);
    }
    double kept = json_is_string(value) ? (double)number : json_number_value(value) * scale_of(m);
    if (!(kept >= (double)m->min && kept <= (double)most_of(m)))
        return refuse_range(m, value, err);
    if (json_is_string(value))
        *ret_other = number_json(m, number);
    return 0;
}

/* --- texts ----------------------------------------------------------------------------------- */

static bool leads_up(const char *path) {
    for (;;) {
        size_t length = strcspn(path, "/");
        if (length == 2 && path[0] == '.' && path[1] == '.')
            return true;
        if (path[length] == '\0')
            return false;
        path += length + 1;
    }
}

static json_t *absolute_path(const char *folder, const char *path) {
    _cleanup_(strbuf_finish) struct strbuf full = STRBUF_INIT;
    while (strncmp(path, "./", 2) == 0)
        path += 2 + strspn(path + 2, "/");
    bool is_here = *path == '\0' || strcmp(path, ".") == 0;
    strbuf_puts(&full, folder);
    if (!is_here)
        strbuf_printf(&full, "%s%s", strcmp(folder, "/") == 0 ? "" : "/", path);
    return json_string(strbuf_text(&full));
}

static int check_path(const struct task_member *m, const json_t *value, const char *folder,
                      json_t **ret_other, struct error *err) {
    const char *path = json_string_value(value);
    bool parents = m->kind == MEMBER_ARTIFACT && strncmp(path, "iterations/", 11) == 0;
    if (*path == '~')
        return refuse_as(-EINVAL, "a path without ~, which is not expanded here", value, err);
    json_t *full = folder && *path && *path != '/' && !parents && m->kind != MEMBER_PLACE
                       ? absolute_path(folder, path)
                       : NULL;
    if (full)
        path = json_string_value(full);
    size_t size = strlen(path);
    bool fits = size > 0 && size <= PATH_BYTES && utf8_is_line(path, size)
                && (m->kind == MEMBER_PATH ? *path == '/' : !leads_up(path));
    *ret_other = full;
    return fits ? 0 : refuse(m, value, err);
}

static bool is_choice(const struct task_member *m, const char *text) {
    const char *const *c = m->choices;
    while (*c && strcmp(*c, text) != 0)
        c++;
    return *c;
}

static int check_text(const struct task_member *m, const json_t *value, const char *folder,
                      json_t **ret_other, struct error *err) {
    const char *text = json_string_value(value);
    size_t size = json_string_length(value);
    if (!text || (strlen(text) != size && m->kind != MEMBER_BODY))
        return refuse(m, value, err);
    if (m->kind == MEMBER_LINE && (int64_t)size > m->max)
        return error_set(err, -E2BIG, "expected at most %" PRId64 " bytes, got %zu", m->max, size);
    if (m->kind == MEMBER_PATH || m->kind == MEMBER_PLACE || m->kind == MEMBER_ARTIFACT)
        return check_path(m, value, folder, ret_other, err);
    bool fits = m->kind == MEMBER_NAME     ? utf8_is_name(text, size)
                : m->kind == MEMBER_LINE   ? utf8_is_line(text, size)
                : m->kind == MEMBER_CHOICE ? is_choice(m, text)
                                           : size > 0;
    return fits ? 0 : refuse(m, value, err);
}

static int check_switch(const struct task_member *m, const json_t *value, json_t **ret_other,
                        struct error *err) {
    const char *text = json_string_value(value);
    bool yes = text && strcmp(text, "true") == 0;
    if (json_is_boolean(value))
        return 0;
    if (!yes && !(text && strcmp(text, "false") == 0))
        return refuse(m, value, err);
    *ret_other = json_boolean(yes);
    return 0;
}

/* --- lists ----------------------------------------------------------------------------------- */

static bool has_name(const json_t *names, const char *name, size_t size, size_t before) {
    for (size_t i = 0; i < before; i++) {
        const json_t *known = json_array_get(names, i);
        if (json_string_length(known) == size && memcmp(json_string_value(known), name, size) == 0)
            return true;
    }
    return false;
}

/* Adds the names in a comma-separated text, trimmed. */
static int add_names(const struct task_member *m, const char *text, json_t *names,
                     struct error *err) {
    for (;;) {
        text += strspn(text, " \t");
        size_t all = strcspn(text, ","), size = all;
        while (size > 0 && (text[size - 1] == ' ' || text[size - 1] == '\t'))
            size--;
        if (size > 0 && !utf8_is_name(text, size))
            return refuse_key("names of 1 to 128 bytes without control characters", text, err);
        if (size > 0 && !has_name(names, text, size, json_array_size(names)))
            json_array_append_new(names, json_stringn(text, size));
        if ((int64_t)json_array_size(names) > m->max)
            return error_set(err, -E2BIG, "expected at most %" PRId64 " names, got more", m->max);
        if (text[all] == '\0')
            return 0;
        text += all + 1;
    }
}

/* True if normalizing the list would not change it. */
static bool names_are_clean(const struct task_member *m, const json_t *list) {
    for (size_t i = 0; i < json_array_size(list); i++) {
        const char *name = json_string_value(json_array_get(list, i));
        size_t size = json_string_length(json_array_get(list, i));
        if ((int64_t)i >= m->max || !name || strchr(name, ',') || !utf8_is_name(name, size)
            || has_name(list, name, size, i))
            return false;
    }
    return json_is_array(list);
}

static int check_names(const struct task_member *m, const json_t *value, json_t **ret_other,
                       struct error *err) {
    if (names_are_clean(m, value))
        return 0;
    if (!json_is_array(value) && !json_is_string(value))
        return refuse(m, value, err);
    json_t *names = *ret_other = json_array();
    int r = json_is_string(value) ? add_names(m, json_string_value(value), names, err) : 0;
    for (size_t i = 0; r == 0 && i < json_array_size(value); i++) {
        const json_t *entry = json_array_get(value, i);
        r = json_is_string(entry) ? add_names(m, json_string_value(entry), names, err)
                                  : refuse_entry("name", i, entry, err);
    }
    return r;
}

/* --- commands -------------------------------------------------------------------------------- */

static int check_shell(const json_t *text, json_t **ret_words, struct error *err) {
    if (!json_is_string(text) || json_string_length(text) == 0)
        return refuse_as(-EINVAL, "a command for the shell", text, err);
    *ret_words = json_pack("[s, s, O]", "sh", "-c", text);
    return 0;
}

static int check_words(const json_t *value, struct error *err) {
    size_t count = json_array_size(value);
    if (!json_is_array(value) || count == 0)
        return refuse_as(-EINVAL, task_kinds[MEMBER_WORDS].expected, value, err);
    if (count > WORDS_MOST)
        return error_set(err, -E2BIG, "expected at most %d words, got %zu", WORDS_MOST, count);
    for (size_t i = 0; i < count; i++)
        if (!json_is_string(json_array_get(value, i)))
            return refuse_entry("word", i, json_array_get(value, i), err);
    if (json_string_length(json_array_get(value, 0)) == 0)
        return refuse_as(-EINVAL, "a program as the first word", json_array_get(value, 0), err);
    return 0;
}

/* Members of a command that a task does not have. In a check `timeout_s` limits one call. */
static const struct task_member command_members[] = {
    { .name = "every_s", .kind = MEMBER_SPAN, .min = EVERY_LEAST, .aliases = { "every" } },
    { .name = "pending_timeout_s",
      .kind = MEMBER_SPAN,
      .min = EVERY_LEAST,
      .aliases = { "pending_timeout" } },
};

static const struct task_member *find_command_member(const char *key, bool is_gate) {
    const struct task_member *m = task_member_find(key);
    if (m && (strcmp(m->name, "argv") == 0 || strcmp(m->name, "timeout_s") == 0))
        return m;
    for (size_t i = 0; i < ARRAY_SIZE(command_members) - is_gate; i++)
        if (strcmp(key, command_members[i].name) == 0
            || strcmp(key, command_members[i].aliases[0]) == 0)
            return &command_members[i];
    return NULL;
}

/* A command with its times: a check or a gate. */
static int check_object(const json_t *check, bool is_gate, const struct task_source *source,
                        json_t **ret_other, struct error *err) {
    const char *key;
    json_t *value, *kept = *ret_other = json_object();
    json_object_foreach((json_t *)check, key, value) {
        const struct task_member *m = find_command_member(key, is_gate);
        json_t *other = NULL;
        if (!m)
            return refuse_key(is_gate ? "'argv' or 'run', 'every_s' and 'timeout_s' in a gate"
                                      : "'argv' or 'run', 'timeout_s', 'every_s' and "
                                        "'pending_timeout_s' in a check",
                              key, err);
        int r = task_member_check(m, key, value, source, &other, err);
        if (r < 0 && m->kind == MEMBER_SPAN)
            r = error_prefix(err, "'%s'", m->name);
        if (r == 0 && json_object_get(kept, m->name))
            r = strcmp(m->name, "argv") == 0
                    ? error_set(err, -EINVAL, "expected one command in a %s, got two",
                                is_gate ? "gate" : "check")
                    : error_set(err, -EINVAL, "'%s' is given twice", m->name);
        json_object_set(kept, m->name, other ? other : value);
        json_decref(other);
        if (r < 0)
            return r;
    }
    return check_words(json_object_get(kept, "argv"), err);
}

/* Stored as an object. */
static int check_gate(const struct task_member *m, const json_t *value,
                      const struct task_source *source, json_t **ret_other, struct error *err) {
    json_t *words = NULL;
    int r;
    if (json_is_object(value)) {
        r = check_object(value, true, source, ret_other, err);
        if (r == 0 && json_equal(*ret_other, (json_t *)value)) {
            json_decref(*ret_other);
            *ret_other = NULL;
        }
        return r;
    }
    if (json_is_array(value))
        r = check_words(value, err);
    else if (json_is_string(value))
        r = check_shell(value, &words, err);
    else
        return refuse(m, value, err);
    if (r == 0)
        *ret_other = json_pack("{s:O}", "argv", words ? words : value);
    json_decref(words);
    return r;
}

static int check_checks(const struct task_member *m, const json_t *value,
                        const struct task_source *source, json_t **ret_other, struct error *err) {
    if (json_is_string(value))
        *ret_other = json_pack("[O]", value);
    else if (!json_is_array(value))
        return refuse(m, value, err);
    const json_t *list = *ret_other ? *ret_other : value;
    size_t count = json_array_size(list);
    if (count > CHECKS_MOST)
        return error_set(err, -E2BIG, "expected at most %d commands, got %zu", CHECKS_MOST, count);
    for (size_t i = 0; i < count; i++) {
        const json_t *check = json_array_get(list, i);
        json_t *other = NULL;
        int r = json_is_object(check)  ? check_object(check, false, source, &other, err)
                : json_is_array(check) ? check_words(check, err)
                                       : check_shell(check, &other, err);
        if (other && json_equal(other, check)) {
            json_decref(other);
            other = NULL;
        }
        if (other && !*ret_other)
            list = *ret_other = json_copy((json_t *)value);
        if (other)
            (void)json_array_set_new(*ret_other, i, other);
        if (r < 0)
            return r;
    }
    return 0;
}

/* --- objects --------------------------------------------------------------------------------- */

static bool is_variable(const char *name) {
    bool good = isalpha((unsigned char)*name) || *name == '_';
    for (; *name; name++)
        good = good && (isalnum((unsigned char)*name) || *name == '_');
    return good;
}

static int check_pairs(const struct task_member *m, const json_t *value, struct error *err) {
    bool is_env = m->kind == MEMBER_ENV;
    size_t bytes = 0;
    const char *key;
    json_t *text;
    if (!json_is_object(value))
        return refuse(m, value, err);
    json_object_foreach((json_t *)value, key, text) {
        if (is_env && !is_variable(key))
            return refuse_key("names of letters, digits and _", key, err);
        if (is_env && strncmp(key, "SLUICE_", strlen("SLUICE_")) == 0)
            return refuse_key("no names that begin with SLUICE_, which Sluice sets itself", key,
                              err);
        if (!json_is_string(text) && (is_env || !(json_is_integer(text) || json_is_null(text)))) {
            char expected[80];
            (void)snprintf(expected, sizeof(expected), "a text for '%s'", utf8_quote(key).text);
            return refuse_as(-EINVAL, expected, text, err);
        }
        bytes += strlen(key) + json_string_length(text) + 2;
    }
    return bytes <= ENV_BYTES
               ? 0
               : error_set(err, -E2BIG, "expected at most %d bytes, got %zu", ENV_BYTES, bytes);
}

/* --- reading members ------------------------------------------------------------------------- */

static int check_kind(const struct task_member *m, const char *key, const json_t *value,
                      const struct task_source *source, json_t **ret_other, struct error *err) {
    if (m->kind <= MEMBER_ARTIFACT)
        return check_text(m, value, source->folder, ret_other, err);
    if (m->kind <= MEMBER_MOMENT)
        return check_number(m, value, source->now, ret_other, err);
    if (m->kind == MEMBER_SWITCH)
        return check_switch(m, value, ret_other, err);
    if (m->kind == MEMBER_NAMES)
        return check_names(m, value, ret_other, err);
    if (m->kind == MEMBER_WORDS)
        return strcmp(key, m->name) != 0 ? check_shell(value, ret_other, err)
                                         : check_words(value, err);
    if (m->kind == MEMBER_CHECKS)
        return check_checks(m, value, source, ret_other, err);
    if (m->kind == MEMBER_GATE)
        return check_gate(m, value, source, ret_other, err);
    if (m->kind == MEMBER_ENV || m->kind == MEMBER_PAIRS)
        return check_pairs(m, value, err);
    return json_is_object(value) ? 0 : refuse(m, value, err);
}

int task_member_check(const struct task_member *m, const char *key, const json_t *value,
                      const struct task_source *source, json_t **ret_other, struct error *err) {
    *ret_other = NULL;
    int r = check_kind(m, key, value, source, ret_other, err);
    if (r < 0) {
        json_decref(*ret_other);
        *ret_other = NULL;
    }
    return r;
}

int task_member_parse(const struct task_member *m, const char *key, const char *text,
                      const struct task_source *source, json_t **ret_value, struct error *err) {
    json_t *value = json_string(text), *other = NULL;
    if (!value)
        return error_set(err, -EINVAL, "'%.200s' is not UTF-8, which tasks must be", text);
    int r = task_member_check(m, key, value, source, &other, err);
    if (r == 0)
        *ret_value = json_incref(other ? other : value);
    json_decref(value);
    json_decref(other);
    return r;
}

/* `changed` collects values that replace the originals, under canonical names. */
static int read_one(json_t *task, const struct task_read_options *reading, const char *key,
                    json_t *value, json_t **changed, struct error *err) {
    const struct task_member *m = task_member_find(key);
    json_t *other = NULL;
    if (!m)
        return reading->take ? task_member_unknown(key, err) : 0;
    bool alias = strcmp(m->name, key) != 0;
    if (alias && (json_object_get(task, m->name) || json_object_get(*changed, m->name)))
        return error_set(err, -EINVAL, "'%s' and '%s' are the same; remove one", key, m->name);
    int r =
        json_is_null(value) ? 0 : task_member_check(m, key, value, &reading->source, &other, err);
    if (r < 0)
        return error_prefix(err, "'%s'", key);
    if (alias || other) {
        *changed = *changed ? *changed : json_object();
        (void)json_object_set(*changed, m->name, other ? other : value);
    }
    if (reading->take && !json_is_null(value))
        reading->take(reading->ctx, m, other ? other : value);
    json_decref(other);
    return 0;
}

int task_members_read(json_t *task, const struct task_read_options *reading, bool *ret_changed,
                      struct error *err) {
    const char *key;
    json_t *value, *changed = NULL;
    void *next;
    int r = 0;
    *ret_changed = false;
    json_object_foreach(task, key, value) {
        r = read_one(task, reading, key, value, &changed, err);
        if (r < 0)
            break;
    }
    if (r == 0 && changed) {
        json_object_foreach_safe(task, next, key, value) {
            const struct task_member *m = task_member_find(key);
            if (m && strcmp(m->name, key) != 0)
                (void)json_object_del(task, key);
        }
        (void)json_object_update(task, changed);
        *ret_changed = true;
    }
    json_decref(changed);
    return r;
}

/* --- documentation --------------------------------------------------------------------------- */

void task_member_value(const struct task_member *m, struct strbuf *out) {
    if (m->value)
        strbuf_puts(out, m->value);
    else if (m->kind == MEMBER_CHOICE)
        put_choices(out, m, "`");
    else if (m->kind == MEMBER_WHOLE && m->max < 1000)
        strbuf_printf(out, "%" PRId64 " to %" PRId64, m->min, m->max);
    else
        strbuf_puts(out, task_kinds[m->kind].value);
}

void task_member_text(const struct task_member *m, struct strbuf *out) {
    for (const char *at = m->text; *at; at++) {
        const char *close = *at == ']' && at[1] == '(' ? strchr(at, ')') : NULL;
        if (close)
            at = close;
        else if (*at != '[')
            strbuf_putc(out, *at);
    }
}
