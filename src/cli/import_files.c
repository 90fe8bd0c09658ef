/* import_files.c: the files of a state folder, and values in them. See import_state.h. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/utf8.h"
#include "cli/ask.h"
#include "cli/import_state.h"
#include "os/files.h"
#include "os/outside.h"
#include "yaml/yaml.h"

#define NAMES_MAX 100000u
#define LINE_MAX  (8u << 20)

static const struct yaml_limits yaml_limits = { STATE_FILE_MAX, 32, 2000000 };

/* --- files ----------------------------------------------------------------------------------- */

static int read_bytes(const struct state *s, const char *path, struct strbuf *out,
                      struct error *err) {
    if (s->folder < 0)
        return outside_read(AT_FDCWD, s->root, 0, STATE_FILE_MAX, out, err);
    return outside_read(s->folder, path, 0, STATE_FILE_MAX, out, err);
}

int state_read(const struct state *s, const char *path, struct strbuf *out, struct error *err) {
    int r = read_bytes(s, path, out, err);
    if (r == 0 && !utf8_is_clean(strbuf_text(out), out->length))
        r = error_set(err, -EINVAL, "'%.200s' is not text", path);
    return r;
}

unsigned state_mode(const struct state *s, const char *path) {
    struct stat st;
    if (s->folder < 0 || fstatat(s->folder, path, &st, AT_SYMLINK_NOFOLLOW) < 0)
        return 0;
    return st.st_mode;
}

static int by_version(const void *a, const void *b) {
    return strverscmp(*(char *const *)a, *(char *const *)b);
}

json_t *state_list(const struct state *s, const char *path) {
    _cleanup_(fd_closep) int fd = -1;
    json_t *names = json_array();
    if (s->folder < 0)
        return names;
    fd = outside_open(s->folder, *path ? path : ".", O_RDONLY | O_DIRECTORY, NULL, NULL);
    if (fd < 0)
        return names;
    char **list = NULL;
    size_t count = 0, capacity = 0;
    const char *name;
    DIR *dir = fdopendir(dup(fd));
    while (dir && count < NAMES_MAX) {
        const struct dirent *entry = readdir(dir);
        if (!entry)
            break;
        name = entry->d_name;
        if (name[0] == '.')
            continue;
        list = xgrow(list, &capacity, count + 1, sizeof(*list));
        list[count++] = xstrdup(name);
    }
    if (dir)
        (void)closedir(dir);
    if (count > 0)
        qsort(list, count, sizeof(*list), by_version);
    for (size_t i = 0; i < count; i++) {
        json_array_append_new(names, ask_string(list[i]));
        free(list[i]);
    }
    free(list);
    return names;
}

/* --- YAML and JSON --------------------------------------------------------------------------- */

static json_t *scalar(const struct yaml_node *node) {
    switch (yaml_type(node)) {
    case YAML_NULL:
        return json_null();
    case YAML_TRUE:
        return json_true();
    case YAML_FALSE:
        return json_false();
    case YAML_INTEGER:
        return json_integer(yaml_integer(node));
    case YAML_REAL:
        return json_real(yaml_real(node));
    case YAML_TEXT:
    case YAML_TYPE_MAX:
        break;
    }
    return ask_string(node->text);
}

static json_t *json_of(const struct yaml_node *node) {
    if (!node || node->kind == YAML_SCALAR)
        return node ? scalar(node) : json_null();
    json_t *value = node->kind == YAML_LIST ? json_array() : json_object();
    for (const struct yaml_node *at = node->first; at; at = at->next)
        if (node->kind == YAML_LIST)
            json_array_append_new(value, json_of(at));
        else
            json_object_set_new(value, at->text, json_of(at->value));
    return value;
}

json_t *state_yaml(const struct state *s, const char *path, struct error *err) {
    _cleanup_(strbuf_finish) struct strbuf text = STRBUF_INIT;
    _cleanup_(yaml_finish) struct yaml yaml = { 0 };
    int r = state_read(s, path, &text, err);
    if (r == 0)
        r = yaml_parse(path, strbuf_text(&text), text.length, &yaml_limits, &yaml, err);
    return r < 0 ? NULL : json_of(yaml.root);
}

json_t *state_json(const struct state *s, const char *path, struct error *err) {
    _cleanup_(strbuf_finish) struct strbuf text = STRBUF_INIT;
    json_error_t problem;
    if (state_read(s, path, &text, err) < 0)
        return NULL;
    json_t *value = json_loadb(strbuf_text(&text), text.length, JSON_DECODE_ANY, &problem);
    if (!value)
        error_set(err, -EINVAL, "%.200s:%d: not JSON: %s", path, problem.line, problem.text);
    return value;
}

static void take_line(struct state *s, const char *source, const char *line, size_t size,
                      state_each each, void *ctx) {
    while (size > 0 && strchr(" \t\r", line[size - 1]))
        size--;
    if (size == 0)
        return;
    json_t *record = json_loadb(line, size, 0, NULL);
    if (json_is_object(record))
        each(s, record, source, ctx);
    else
        state_damaged(s, source, "the line is not a JSON object");
    json_decref(record);
}

int state_lines(struct state *s, const char *path, state_each each, void *ctx, struct error *err) {
    _cleanup_(strbuf_finish) struct strbuf text = STRBUF_INIT, source = STRBUF_INIT;
    int r =
        read_bytes(s, path, &text, err); /* a line that is not text is damaged, not all of them */
    if (r < 0)
        return r;
    const char *at = strbuf_text(&text), *end = at + text.length;
    for (unsigned number = 1; at < end; number++) {
        const char *newline = memchr(at, '\n', (size_t)(end - at));
        const char *stop = newline ? newline : end;
        strbuf_clear(&source);
        strbuf_printf(&source, "%s:%u", path, number);
        take_line(s, strbuf_text(&source), at, (size_t)(stop - at), each, ctx);
        at = newline ? newline + 1 : end;
    }
    return 0;
}

/* --- values ---------------------------------------------------------------------------------- */

static int64_t days_of(int64_t year, int64_t month, int64_t day) {
    year -= month <= 2;
    int64_t era = year / 400, of_era = year - era * 400;
    int64_t of_year = (153 * (month + (month > 2 ? -3 : 9)) + 2) / 5 + day - 1;
    return era * 146097 + of_era * 365 + of_era / 4 - of_era / 100 + of_year - 719468;
}

time_ms state_time(const char *text) {
    int year = 0, month = 0, day = 0, hour = 0, minute = 0, second = 0, length = 0, zone_h = 0,
        zone_m = 0;
    if (!text || sscanf(text, "%4d-%2d-%2d%n", &year, &month, &day, &length) != 3 || year < 1970)
        return 0;
    text += length;
    length = 0;
    if (*text == 'T' || *text == ' ')
        if (sscanf(text + 1, "%2d:%2d:%2d%n", &hour, &minute, &second, &length) != 3)
            return 0;
    text += length > 0 ? length + 1 : 0;
    time_ms ms = 0, unit = 100;
    if (*text == '.')
        for (text++; *text >= '0' && *text <= '9'; text++, unit /= 10)
            ms += (*text - '0') * unit;
    if ((*text == '+' || *text == '-') && sscanf(text + 1, "%2d:%2d", &zone_h, &zone_m) == 2)
        hour -= *text == '+' ? zone_h : -zone_h, minute -= *text == '+' ? zone_m : -zone_m;
    return (((days_of(year, month, day) * 24 + hour) * 60 + minute) * 60 + second) * 1000 + ms;
}

double state_number(const json_t *object, const char *key, double otherwise) {
    const json_t *value = json_object_get(object, key);
    return json_is_number(value) ? json_number_value(value) : otherwise;
}
