/* message.c: a message as lines. See message.h for the format; reader.c parses it. */
#include "bus/message.h"

#include <ctype.h>
#include <errno.h>
#include <jansson.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <time.h>

#include "base/utf8.h"

#define KEY(key_, json_, kind_, member_)                                                           \
    { key_, json_, kind_, offsetof(struct bus_message, member_) }
const struct bus_key bus_keys[] = {
    KEY("msg_id", "msg_id", BUS_TEXT, id),
    KEY("type", "type", BUS_TEXT, type),
    KEY("project_id", "project", BUS_TEXT, project),
    KEY("task_id", "task", BUS_TEXT, task),
    KEY("run_id", "run", BUS_TEXT, run),
    KEY("issue_id", "issue", BUS_TEXT, issue),
    KEY("parents", "parents", BUS_LIST, parents),
    KEY("links", "links", BUS_LIST, links),
    KEY("meta", "meta", BUS_OBJECT, meta),
    { NULL },
};

const char **bus_member(struct bus_message *message, const struct bus_key *key) {
    return (const char **)(void *)((char *)message + key->offset);
}

static const char *value_of(const struct bus_message *message, const struct bus_key *key) {
    return *bus_member((struct bus_message *)(uintptr_t)message, key);
}

/* --- checks ---------------------------------------------------------------------------------- */

bool bus_type_is_valid(const char *type) {
    size_t length = strlen(type);
    if (length == 0 || length > BUS_TYPE_MAX || !isalpha((unsigned char)type[0]))
        return false;
    for (size_t i = 0; i < length; i++)
        if (!isalnum((unsigned char)type[i]) && !strchr("_-.", type[i]))
            return false;
    return true;
}

static int check_json(const struct bus_key *key, const char *text, struct error *err) {
    bool list = key->kind == BUS_LIST;
    if (!text || key->kind == BUS_TEXT)
        return 0;
    if (strlen(text) > BUS_MEMBER_MAX)
        return error_set(err, -EFBIG, "'%s' has more than %u bytes", key->key, BUS_MEMBER_MAX);
    json_auto_t *value = json_loads(text, JSON_REJECT_DUPLICATES, NULL);
    if (!(list ? json_is_array(value) : json_is_object(value)))
        return error_set(err, -EINVAL, "'%s' is not a %s", key->key, list ? "list" : "object");
    return 0;
}

int bus_message_check(const struct bus_message *m, struct error *err) {
    if (!m->type || !bus_type_is_valid(m->type))
        return error_set(
            err, -EINVAL,
            "'%.40s' is not a message type: use a letter, then letters, digits, '_', '-' "
            "and '.', at most %u in all (example: FACT)",
            m->type ? m->type : "", BUS_TYPE_MAX);
    if (!m->body || !*m->body)
        return error_set(err, -EINVAL, "the message is empty");
    if (strlen(m->body) > BUS_BODY_MAX)
        return error_set(err, -EFBIG,
                         "the message has %zu bytes; the maximum is %u. Put the text in a file and "
                         "post its path",
                         strlen(m->body), BUS_BODY_MAX);
    if (!utf8_is_clean(m->body, strlen(m->body)))
        return error_set(err, -EINVAL, "the message is not UTF-8");
    int r = 0;
    for (const struct bus_key *key = bus_keys; r == 0 && key->key; key++)
        r = check_json(key, value_of(m, key), err);
    return r;
}

/* --- time ------------------------------------------------------------------------------------ */

/* In UTC, for a line of a file or as the beginning of an id. */
static void print_time(time_ms at, bool is_id, struct strbuf *out) {
    time_t seconds = (time_t)(at / 1000);
    struct tm tm;
    char text[32];
    gmtime_r(&seconds, &tm);
    if (is_id)
        (void)strftime(text, sizeof(text), "MSG-%Y%m%d-%H%M%S-", &tm);
    else
        (void)strftime(text, sizeof(text), "%Y-%m-%dT%H:%M:%S.", &tm);
    strbuf_printf(out, "%s%03d%s", text, (int)(at % 1000), is_id ? "000000-" : "Z\n");
}

time_ms bus_time_parse(const char *text) {
    struct tm tm = { 0 };
    int n = 0;
    if (sscanf(text, "%4d-%2d-%2dT%2d:%2d:%2d%n", &tm.tm_year, &tm.tm_mon, &tm.tm_mday, &tm.tm_hour,
               &tm.tm_min, &tm.tm_sec, &n)
            != 6
        || tm.tm_year < 1970 || tm.tm_mon < 1 || tm.tm_mon > 12 || tm.tm_mday < 1
        || tm.tm_mday > 31)
        return 0;
    tm.tm_year -= 1900;
    tm.tm_mon -= 1;
    time_ms at = (time_ms)timegm(&tm) * 1000;
    if (text[n] != '.')
        return at;
    int unit = 100;
    for (const char *digit = text + n + 1; isdigit((unsigned char)*digit); digit++, unit /= 10)
        at += (*digit - '0') * unit;
    return at;
}

void bus_id_begin(time_ms at, struct strbuf *out) {
    print_time(at, true, out);
}

/* --- lines ----------------------------------------------------------------------------------- */

enum bus_mark bus_line_mark(const char *line, size_t size) {
    if (size == 3 && memcmp(line, "---", 3) == 0)
        return BUS_MARK_HEAD;
    if (size == 3 && memcmp(line, "...", 3) == 0)
        return BUS_MARK_END;
    if (size == strlen(BUS_TORN_LINE) - 1 && memcmp(line, BUS_TORN_LINE, size) == 0)
        return BUS_MARK_TORN;
    return BUS_NO_MARK;
}

bool bus_line_is_like_mark(const char *line, size_t size) {
    size_t i = 0;
    while (i < size && line[i] == '\\')
        i++;
    if (size - i < 3 || (memcmp(line + i, "---", 3) != 0 && memcmp(line + i, "...", 3) != 0))
        return false;
    return size - i == 3 || isspace((unsigned char)line[i + 3]);
}

/* Words that YAML does not read as strings. */
static bool is_plain(const char *text) {
    static const char *const words[] = {
        "true", "false", "null", "yes", "no", "on", "off", "y", "n"
    };
    if (!isalpha((unsigned char)text[0]))
        return false;
    for (const char *c = text; *c; c++)
        if (!isalnum((unsigned char)*c) && !strchr("_-.", *c))
            return false;
    for (size_t i = 0; i < ARRAY_SIZE(words); i++)
        if (strcasecmp(words[i], text) == 0)
            return false;
    return true;
}

static void print_key(struct strbuf *out, const char *key, const char *text) {
    if (!text || !*text)
        return;
    strbuf_printf(out, "%s: ", key);
    if (is_plain(text)) {
        strbuf_puts(out, text);
    } else {
        struct json_writer w;
        json_write_init(&w, out, false);
        json_write_string(&w, text);
    }
    strbuf_putc(out, '\n');
}

/* Folds it into one line. */
static void print_json(struct strbuf *out, const char *key, const char *json) {
    json_t *value = json ? json_loads(json, 0, NULL) : NULL;
    char *text = value ? json_dumps(value, JSON_COMPACT | JSON_REAL_PRECISION(15)) : NULL;
    if (text)
        strbuf_printf(out, "%s: %s\n", key, text);
    free(text);
    json_decref(value);
}

static void print_body(struct strbuf *out, const char *body) {
    while (*body) {
        size_t size = strcspn(body, "\n");
        if (bus_line_is_like_mark(body, size))
            strbuf_putc(out, '\\');
        strbuf_add(out, body, size);
        strbuf_putc(out, '\n');
        body += size + (body[size] == '\n');
    }
}

void bus_message_print(const struct bus_message *m, struct strbuf *out) {
    strbuf_puts(out, "---\n");
    for (const struct bus_key *key = bus_keys; key->key; key++) {
        (key->kind == BUS_TEXT ? print_key : print_json)(out, key->key, value_of(m, key));
        if (key == bus_keys) { /* after the id */
            strbuf_puts(out, "ts: ");
            print_time(m->at, false, out);
        }
    }
    strbuf_puts(out, "---\n");
    print_body(out, m->body);
    strbuf_puts(out, BUS_END_LINE);
}

/* --- JSON ------------------------------------------------------------------------------------ */

/* A value that is already JSON. */
static void json_raw(struct json_writer *w, const char *key, const char *json) {
    json_put_null(w, key);
    if (!json)
        return;
    w->out->length -= strlen("null");
    strbuf_puts(w->out, json);
}

void bus_message_print_json(const struct bus_message *m, struct json_writer *w) {
    json_write_object_begin(w);
    for (const struct bus_key *key = bus_keys; key->key; key++) {
        (key->kind == BUS_TEXT ? json_put_string : json_raw)(w, key->json, value_of(m, key));
        if (key == bus_keys) /* after the id */
            json_put_int(w, "at", m->at);
    }
    json_put_string(w, "body", m->body);
    json_write_object_end(w);
}
