/* import_state.c: items, their links and the report. See import_state.h. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/utf8.h"
#include "cli/ask.h"
#include "cli/import_state.h"
#include "os/clock.h"
#include "os/files.h"
#include "os/outside.h"
#include "yaml/yaml.h"

#define TITLE_BYTES 400u
#define NAME_BYTES  128u

/* --- open and close -------------------------------------------------------------------------- */

const struct cmd_option state_options[] = { STATE_OPTIONS, { NULL } };

int state_open(struct state *s, const struct cmd_call *call, bool file) {
    struct error err = { 0 };
    struct stat st;
    const char *path = call->args[0];
    import_init(&s->im, call);
    s->im.notes = json_array();
    s->im.settings = json_object();
    s->im.new_projects = json_object();
    s->items = json_object();
    s->workers = json_object();
    s->ignored = json_object();
    s->now = clock_read();
    s->folder = -1;
    s->root = realpath(path, NULL);
    if (!s->root || stat(s->root, &st) < 0) {
        error_set(&err, -errno, "cannot read '%.200s': %s", path, strerror(errno));
        return cmd_error(&err);
    }
    if (!S_ISDIR(st.st_mode))
        return file ? CMD_OK : cmd_usage_error(call->cmd, "'%s' is not a directory", path);
    s->folder = outside_open(AT_FDCWD, s->root, O_RDONLY | O_DIRECTORY, NULL, &err);
    return s->folder < 0 ? cmd_error(&err) : CMD_OK;
}

void state_finish(struct state *s) {
    if (s->items && s->folder >= 0)
        (void)close(s->folder);
    import_finish(&s->im);
    json_decref(s->items);
    json_decref(s->workers);
    json_decref(s->ignored);
    free(s->root);
}

/* --- items ----------------------------------------------------------------------------------- */

static char *key_of(const char *project, const char *id) {
    struct strbuf key = STRBUF_INIT;
    strbuf_printf(&key, "%s/%s", project, id);
    return strbuf_take(&key);
}

json_t *state_find(const struct state *s, const char *project, const char *id) {
    _cleanup_(freep) char *key = key_of(project, id);
    return json_object_get(s->items, key);
}

json_t *state_item(struct state *s, const char *project, const char *id, bool *ret_new) {
    _cleanup_(freep) char *key = key_of(project, id);
    json_t *item = json_object_get(s->items, key);
    if (ret_new)
        *ret_new = !item;
    if (item)
        return item;
    (void)state_project(s, project);
    item = json_pack("{s:o, s:o, s:s, s:{s:o, s:o, s:{s:{}}}, s:[]}", "key", ask_string(key), "id",
                     ask_string(id), "is", "waiting", "task", "external_id", ask_string(id),
                     "project", ask_string(project), "meta", "import", "needs");
    json_object_set_new(s->items, key, item);
    return item;
}

json_t *state_task(const json_t *item) {
    return json_object_get(item, "task");
}

const char *state_id(const json_t *item) {
    return ask_text(item, "id", "");
}

void state_title(json_t *item, const char *text) {
    _cleanup_(strbuf_finish) struct strbuf line = STRBUF_INIT, title = STRBUF_INIT;
    text += strspn(text, " \t\r\n");
    strbuf_add(&line, text, strcspn(text, "\r\n"));
    sanitize_line(strbuf_text(&line), &title);
    size_t size = title.length;
    const char *clean = strbuf_text(&title);
    if (size > TITLE_BYTES) {
        size = TITLE_BYTES;
        while (size > 0 && ((unsigned char)clean[size] & 0xc0u) == 0x80)
            size--;
    }
    if (size > 0)
        json_object_set_new(state_task(item), "title", json_stringn(clean, size));
}

void state_keep(json_t *item, const char *name, json_t *value) {
    json_t *meta = json_object_get(state_task(item), "meta");
    json_object_set_new(json_object_get(meta, "import"), name, value);
}

void state_need(json_t *item, const char *project, const char *id) {
    _cleanup_(freep) char *key = key_of(project, id);
    json_t *needs = json_object_get(item, "needs"), *need;
    size_t i;
    json_array_foreach(needs, i, need) if (strcmp(json_string_value(need), key) == 0) return;
    json_array_append_new(needs, ask_string(key));
}

void state_parent(json_t *item, const char *project, const char *id, bool waits) {
    _cleanup_(freep) char *key = key_of(project, id);
    json_object_set_new(item, "parent", ask_string(key));
    json_object_set_new(state_task(item), "parent_gate", json_string(waits ? "done" : "none"));
}

bool state_is(const json_t *item, const char *is) {
    return ask_is(item, "is", is);
}

static bool is_ended(const json_t *item) {
    return !state_is(item, "waiting running held draft");
}

void state_set(struct state *s, json_t *item, const char *is) {
    json_object_set_new(item, "is", json_string(is));
    if (strcmp(is, "running") == 0)
        state_note(
            s, state_id(item),
            "it was running there and starts again: stop it there, or the work is done twice");
}

void state_hold(struct state *s, json_t *item, const char *format, ...) {
    _cleanup_(strbuf_finish) struct strbuf why = STRBUF_INIT;
    va_list args;
    va_start(args, format);
    strbuf_vprintf(&why, format, args);
    va_end(args);
    bool held = !is_ended(item) && !state_is(item, "draft");
    if (held)
        json_object_set_new(item, "is", json_string("held"));
    state_note(s, state_id(item), "%s%s", held ? "held: " : "", strbuf_text(&why));
}

void state_order(json_t *item, double rank) {
    json_object_set_new(item, "rank", json_real(rank));
}

void state_created(const struct state *s, json_t *item, time_ms at) {
    if (at > 0)
        json_object_set_new(state_task(item), "created_at", json_integer(time_min(at, s->now)));
}

/* --- the report ------------------------------------------------------------------------------ */

void state_report(struct state *s, enum state_report what, const char *source, const char *format,
                  ...) {
    _cleanup_(strbuf_finish) struct strbuf why = STRBUF_INIT;
    va_list args;
    va_start(args, format);
    strbuf_vprintf(&why, format, args);
    va_end(args);
    json_array_append_new(what == STATE_NOTE ? s->im.notes : s->im.skipped,
                          json_pack("{s:o, s:o}", "source", ask_string(source), "why",
                                    ask_string(strbuf_text(&why))));
    s->im.damaged |= what == STATE_DAMAGED;
}

void state_known(struct state *s, const json_t *object, const char *known) {
    const char *key;
    json_t *value;
    json_object_foreach((json_t *)object, key, value) {
        if (ask_is_word(key, known) || json_object_get(s->ignored, key))
            continue;
        json_object_set_new(s->ignored, key, json_true());
        state_note(s, key, "this member of the records is not known and was not read");
    }
}

void state_setting(struct state *s, const char *key, const json_t *value) {
    _cleanup_(strbuf_finish) struct strbuf text = STRBUF_INIT;
    if (json_is_string(value))
        strbuf_puts(&text, json_string_value(value));
    else if (json_is_real(value))
        strbuf_printf(&text, "%g", json_real_value(value));
    else if (json_is_integer(value) || json_is_boolean(value))
        ask_dump(value, &text);
    while (text.length > 0 && text.text[text.length - 1] == '\n')
        text.text[--text.length] = '\0';
    if (text.length > 0)
        json_object_set_new(s->im.settings, key, ask_string(strbuf_text(&text)));
}

json_t *state_project(struct state *s, const char *name) {
    json_t *settings = json_object_get(s->im.new_projects, name);
    if (!settings) {
        settings = json_object();
        json_object_set_new(s->im.new_projects, name, settings);
    }
    return settings;
}

/* --- links ----------------------------------------------------------------------------------- */

/* What is not there cannot be waited for: the item is held. */
static void check_links(struct state *s, json_t *item) {
    json_t *needs = json_object_get(item, "needs");
    for (size_t i = 0; i < json_array_size(needs);) {
        const char *key = json_string_value(json_array_get(needs, i));
        const json_t *other = json_object_get(s->items, key);
        if (other && state_is(other, "failed canceled") && !is_ended(item))
            state_note(s, state_id(item),
                       "it needs '%s', which has %s: it waits until you retry that",
                       state_id(other), state_is(other, "failed") ? "failed" : "been canceled");
        if (other) {
            i++;
            continue;
        }
        state_hold(s, item, "it needs '%s', which does not exist", strchr(key, '/') + 1);
        state_keep(item, "missing", ask_string(strchr(key, '/') + 1));
        json_array_remove(needs, i);
    }
    const char *parent = ask_text(item, "parent", NULL);
    if (!parent || json_object_get(s->items, parent))
        return;
    state_note(s, state_id(item), "its parent '%s' does not exist", strchr(parent, '/') + 1);
    json_object_del(item, "parent");
    json_object_del(state_task(item), "parent_gate");
}

struct sorting {
    struct state *state;
    json_t **sorted;
    size_t count;
    json_t *path; /* keys from the first item to this one */
};

/* The items of the path from `key` on need each other. */
static void break_cycle(struct sorting *sort, const char *key) {
    _cleanup_(strbuf_finish) struct strbuf cycle = STRBUF_INIT;
    size_t from = json_array_size(sort->path), count = from;
    do
        from--;
    while (from > 0 && strcmp(json_string_value(json_array_get(sort->path, from)), key) != 0);
    for (size_t i = from; i < count; i++) {
        const char *at = json_string_value(json_array_get(sort->path, i));
        strbuf_printf(&cycle, "%s -> ", strchr(at, '/') + 1);
    }
    strbuf_puts(&cycle, strchr(key, '/') + 1);
    for (size_t i = from; i < count; i++) {
        const char *at = json_string_value(json_array_get(sort->path, i));
        const char *next =
            json_string_value(json_array_get(sort->path, i + 1 < count ? i + 1 : from));
        json_t *item = json_object_get(sort->state->items, at);
        json_t *needs = json_object_get(item, "needs");
        for (size_t k = json_array_size(needs); k-- > 0;)
            if (strcmp(json_string_value(json_array_get(needs, k)), next) == 0)
                json_array_remove(needs, k);
        if (strcmp(ask_text(item, "parent", ""), next) == 0)
            json_object_del(item, "parent");
        state_keep(item, "cycle", ask_string(strbuf_text(&cycle)));
        state_hold(sort->state, item, "they need each other: %s", strbuf_text(&cycle));
    }
}

/* Depth first: what it needs comes before it. */
static void visit(struct sorting *sort, json_t *item) {
    const char *key = ask_text(item, "key", "");
    int64_t mark = ask_int(item, "visited", 0);
    if (mark == 1)
        break_cycle(sort, key);
    if (mark != 0)
        return;
    json_object_set_new(item, "visited", json_integer(1));
    json_array_append_new(sort->path, ask_string(key));
    json_t *needs = json_copy(json_object_get(item, "needs"));
    json_t *parent = json_object_get(sort->state->items, ask_text(item, "parent", ""));
    bool waits = ask_is(state_task(item), "parent_gate", "done");
    if (parent && waits)
        json_array_append(needs, json_object_get(item, "parent"));
    ASK_EACH(need, needs) {
        json_t *other = json_object_get(sort->state->items, json_string_value(need));
        if (other)
            visit(sort, other);
    }
    json_decref(needs);
    json_array_remove(sort->path, json_array_size(sort->path) - 1);
    json_object_set_new(item, "visited", json_integer(2));
    sort->sorted[sort->count++] = item;
}

static int class_of(const json_t *item) {
    return is_ended(item) ? 0 : state_is(item, "running") ? 1 : state_is(item, "waiting") ? 2 : 3;
}

/* Ended, running, waiting by rank, held; then by time of creation and id. */
static int compare_items(const void *a, const void *b) {
    json_t *x = *(json_t *const *)a, *y = *(json_t *const *)b;
    double rank_x = ask_real(x, "rank", HUGE_VAL), rank_y = ask_real(y, "rank", HUGE_VAL);
    int64_t at_x = ask_int(state_task(x), "created_at", 0);
    int64_t at_y = ask_int(state_task(y), "created_at", 0);
    if (class_of(x) != class_of(y))
        return class_of(x) - class_of(y);
    if (!is_ended(x) && (rank_x < rank_y || rank_x > rank_y))
        return rank_x < rank_y ? -1 : 1;
    if (at_x != at_y)
        return at_x < at_y ? -1 : 1;
    return strverscmp(state_id(x), state_id(y));
}

static bool reaches(const struct state *s, const json_t *item, const char *key, json_t *seen) {
    ASK_EACH(need, json_object_get(item, "needs")) {
        const char *next = json_string_value(need);
        if (strcmp(next, key) == 0)
            return true;
        if (json_object_get(seen, next))
            continue;
        json_object_set_new(seen, next, json_true());
        if (reaches(s, json_object_get(s->items, next), key, seen))
            return true;
    }
    return false;
}

/* A parent ends after the children that do not wait for it. One that needs its parent in another way waits for it:
 * else each would wait for the other. */
static void check_gate(const struct state *s, json_t *item) {
    const char *parent = ask_text(item, "parent", NULL);
    json_t *seen = json_object();
    if (parent && reaches(s, item, parent, seen))
        json_object_set_new(state_task(item), "parent_gate", json_string("done"));
    json_decref(seen);
}

/* --- sending --------------------------------------------------------------------------------- */

/* What other tasks of the batch call it: its id, unless another project has the same one. */
static void set_names(json_t *const *sorted, size_t count) {
    json_t *seen = json_object();
    for (size_t i = 0; i < count; i++) {
        const char *id = state_id(sorted[i]), *key = ask_text(sorted[i], "key", "");
        const char *name = json_object_get(seen, id) ? key : id;
        json_object_set_new(seen, id, json_true());
        json_object_set_new(state_task(sorted[i]), "name", ask_string(name));
    }
    json_decref(seen);
}

static const char *name_of(const struct state *s, const char *key) {
    return ask_text(state_task(json_object_get(s->items, key)), "name", "");
}

static void add_worker(void *ctx, const json_t *agent) {
    if (ask_true(agent, "roster"))
        json_object_set_new(ctx, ask_text(agent, "name", ""), json_true());
}

/* Where there is a roster, an agent outside of it takes no work: any worker does, as where the task comes from. */
static void set_agent(struct state *s, json_t *item) {
    json_t *task = state_task(item);
    const char *agent = ask_text(task, "agent", NULL), *given = cmd_value(s->im.call, "agent");
    bool has_roster = json_object_size(s->workers) > 0;
    if (json_object_get(task, "argv"))
        return;
    if (agent && has_roster && !json_object_get(s->workers, agent)) {
        state_keep(item, "agent", ask_string(agent));
        json_object_del(task, "agent");
        agent = NULL;
    }
    if (!agent && (given || !has_roster))
        json_object_set_new(task, "agent", ask_string(given ? given : "claude"));
}

static void finish_task(struct state *s, json_t *item) {
    json_t *task = state_task(item), *needs = json_object_get(item, "needs"), *need;
    const char *is = ask_text(item, "is", ""), *parent = ask_text(item, "parent", NULL);
    size_t i;
    if (json_array_size(needs) > 0) {
        json_t *names = json_array();
        json_array_foreach(needs, i, need)
            json_array_append_new(names, ask_string(name_of(s, json_string_value(need))));
        json_object_set_new(task, "depends_on", names);
    }
    if (parent)
        json_object_set_new(task, "parent", ask_string(name_of(s, parent)));
    if (is_ended(item))
        json_object_set_new(task, "state", json_string(is));
    else if (strcmp(is, "held") == 0)
        json_object_set_new(task, "hold", json_true());
    else if (strcmp(is, "draft") == 0)
        json_object_set_new(task, "draft", json_true());
    set_agent(s, item);
    state_keep(item, "from", json_string(cmd_name(s->im.call->cmd)));
    state_keep(item, "state", json_string(is));
}

static void forget_project(void *ctx, const json_t *project) {
    json_object_del(ctx, ask_text(project, "name", ""));
}

/* Only projects that have items, and that the daemon does not know. */
static int add_projects(struct state *s, json_t *const *sorted, size_t count, struct ask *ask) {
    json_t *all = json_object();
    for (size_t i = 0; i < count; i++) {
        const char *name = ask_text(state_task(sorted[i]), "project", "");
        json_object_set(all, name, state_project(s, name));
    }
    json_decref(s->im.new_projects);
    s->im.new_projects = all;
    int code = ask_pages(ask, "/v1/projects?limit=1000", 1000000, forget_project, all);
    const char *name;
    json_t *settings;
    if (code != CMD_OK || cmd_has(s->im.call, "dry-run"))
        return code;
    json_object_foreach(all, name, settings) {
        json_t *body = json_copy(settings);
        json_object_set_new(body, "name", ask_string(name));
        if (ask_try_post(ask, body, "/v1/projects") == 0)
            continue;
        state_note(s, name, "the project has neither prefix nor path of there: %s", ask->err.text);
        body = json_copy(settings);
        json_object_set_new(body, "name", ask_string(name));
        json_object_del(body, "prefix");
        json_object_del(body, "path");
        code = ask_post(ask, body, "/v1/projects");
        if (code != CMD_OK)
            break;
    }
    return code;
}

static int apply_settings(const struct state *s, struct ask *ask) {
    if (!cmd_has(s->im.call, "settings") || cmd_has(s->im.call, "dry-run")
        || json_object_size(s->im.settings) == 0)
        return CMD_OK;
    return ask_post(ask, json_pack("{s:O}", "set", s->im.settings), "/v1/config");
}

/* With the first import alone: the user may have resumed since. */
static int keep_paused(struct state *s, const json_t *item, struct ask *ask) {
    if (!s->paused)
        return CMD_OK;
    state_note(
        s, s->im.call->args[0],
        "dispatch was paused there: the first import pauses it here; 'sluice resume' ends that");
    if (!item || cmd_has(s->im.call, "dry-run"))
        return CMD_OK;
    if (ask_try_task(ask, state_id(item)) == 0)
        return CMD_OK;
    return ask_post(ask, json_object(), "/v1/pause");
}

int state_send(struct state *s) {
    size_t count = json_object_size(s->items), at = 0;
    json_t **list = xcalloc(count + 1, sizeof(json_t *)), *item;
    struct sorting sort = { .state = s,
                            .sorted = xcalloc(count + 1, sizeof(json_t *)),
                            .path = json_array() };
    const char *key;
    json_object_foreach(s->items, key, item) {
        check_links(s, item);
        list[at++] = item;
    }
    qsort(list, count, sizeof(*list), compare_items);
    for (size_t i = 0; i < count; i++)
        visit(&sort, list[i]);
    set_names(sort.sorted, count);
    _cleanup_(ask_finish) struct ask ask = { 0 };
    int code = ask_open(&ask, ASK_START);
    if (code == CMD_OK)
        code = ask_pages(&ask, "/v1/agents?limit=1000", 1000000, add_worker, s->workers);
    for (size_t i = 0; i < count; i++) {
        check_gate(s, sort.sorted[i]);
        finish_task(s, sort.sorted[i]);
        import_add(&s->im, state_id(sort.sorted[i]), json_incref(state_task(sort.sorted[i])));
    }
    if (code == CMD_OK)
        code = apply_settings(s, &ask);
    if (code == CMD_OK)
        code = add_projects(s, sort.sorted, count, &ask);
    if (code == CMD_OK)
        code = keep_paused(s, count > 0 ? sort.sorted[0] : NULL, &ask);
    free(list);
    free(sort.sorted);
    json_decref(sort.path);
    return code == CMD_OK ? import_send(&s->im) : code;
}

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
    DIR *dir = fdopendir(fcntl(fd, F_DUPFD_CLOEXEC, 0));
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
