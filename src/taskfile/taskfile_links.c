/* taskfile_links.c: who is called what, and who needs whom.
 *
 * Only names of the file are looked at: what is none may be the id of a task that exists already. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/strbuf.h"
#include "base/symbol_table.h"
#include "core/cycle.h"
#include "taskfile/taskfile_internal.h"

#define CYCLE_SHOWN 8 /* a longer one is shown by its beginning */

struct links {
    const struct taskfile *file;
    struct symbol_table names;
    uint32_t *owners; /* of name n: the task owners[n] */
    uint32_t *starts, *targets;
    size_t arrows;
};

static const json_t *task_at(const struct links *l, size_t index) {
    return json_array_get(l->file->list, index);
}

static const char *name_of(const struct links *l, size_t index) {
    const char *name = json_string_value(json_object_get(task_at(l, index), "name"));
    return name ? name : "";
}

/* Where it says a member; a default has no place of its own. */
static const struct yaml_node *place_of(const struct links *l, size_t index, const char *member) {
    const struct yaml_node *task = l->file->tasks[index];
    const struct yaml_node *key = taskfile_key_of(task, member);
    return key ? key->value : task;
}

/* --- names ----------------------------------------------------------------------------------- */

static int take_name(struct links *l, size_t index, struct error *err) {
    const char *name = name_of(l, index);
    const struct yaml_node *place = place_of(l, index, "name");
    if (!json_object_get(task_at(l, index), "name"))
        return 0;
    if (*name == '\0' || strchr(name, ','))
        return taskfile_fail(l->file, place, err, "expected a name without commas, got '%.60s'",
                             name);
    size_t known = l->names.count;
    sym symbol = symbol_intern(&l->names, name, strlen(name));
    if (symbol <= known)
        return taskfile_fail(l->file, place, err, "there is a task %s in line %u already",
                             yaml_noun(place).text, l->file->tasks[l->owners[symbol]]->line);
    l->owners[symbol] = (uint32_t)index;
    return 0;
}

/* The task of this name; UINT32_MAX: none of the file. */
static uint32_t owner_of(const struct links *l, const char *name) {
    sym symbol = symbol_find(&l->names, name, strlen(name));
    return symbol ? l->owners[symbol] : UINT32_MAX;
}

/* --- arrows ---------------------------------------------------------------------------------- */

static int add_arrow(struct links *l, size_t index, const char *name, const char *member,
                     struct error *err) {
    uint32_t owner = owner_of(l, name);
    if (owner == index)
        return taskfile_fail(l->file, place_of(l, index, member), err, "task '%.60s' %s itself",
                             name, strcmp(member, "parent") == 0 ? "is the parent of" : "needs");
    if (owner != UINT32_MAX)
        l->targets[l->arrows++] = owner;
    return 0;
}

/* All arrows of one member: depends_on, or parent. */
static int draw_arrows(struct links *l, const char *member, struct error *err) {
    l->arrows = 0;
    for (size_t i = 0; i < taskfile_count(l->file); i++) {
        const json_t *value = json_object_get(task_at(l, i), member);
        l->starts[i] = (uint32_t)l->arrows;
        int r = 0;
        if (json_is_string(value))
            r = add_arrow(l, i, json_string_value(value), member, err);
        for (size_t k = 0; r >= 0 && k < json_array_size(value); k++)
            r = add_arrow(l, i, json_string_value(json_array_get(value, k)), member, err);
        if (r < 0)
            return r;
    }
    l->starts[taskfile_count(l->file)] = (uint32_t)l->arrows;
    return 0;
}

static int refuse_cycle(const struct links *l, const uint32_t *path, size_t length,
                        const char *what, struct error *err) {
    _cleanup_(strbuf_finish) struct strbuf ring = STRBUF_INIT, lines = STRBUF_INIT;
    for (size_t i = 0; i < length && i < CYCLE_SHOWN; i++) {
        strbuf_printf(&ring, "%.60s -> ", name_of(l, path[i]));
        strbuf_printf(&lines, "%s%u", i ? ", " : "", l->file->tasks[path[i]]->line);
    }
    if (length > CYCLE_SHOWN) {
        strbuf_printf(&ring, "... (%zu tasks) -> ", length);
        strbuf_puts(&lines, ", ...");
    }
    strbuf_printf(&ring, "%.60s", name_of(l, path[0]));
    return taskfile_fail(l->file, l->file->tasks[path[0]], err, "%s detected: %.300s (lines %s)",
                         what, strbuf_text(&ring), strbuf_text(&lines));
}

static int check_member(struct links *l, const char *member, const char *what, struct error *err) {
    _cleanup_(freep) uint32_t *path = NULL;
    size_t length = 0, count = taskfile_count(l->file);
    int r = draw_arrows(l, member, err);
    if (r < 0 || !cycle_find(l->starts, l->targets, (uint32_t)count, &path, &length))
        return r;
    return refuse_cycle(l, path, length, what, err);
}

static size_t most_arrows(const struct taskfile *file) {
    size_t most = taskfile_count(file);
    for (size_t i = 0; i < taskfile_count(file); i++)
        most += json_array_size(json_object_get(json_array_get(file->list, i), "depends_on"));
    return most;
}

int taskfile_check_links(const struct taskfile *file, struct error *err) {
    size_t count = taskfile_count(file);
    struct links l = { .file = file,
                       .owners = xcalloc(count + 1, sizeof(*l.owners)),
                       .starts = xcalloc(count + 1, sizeof(*l.starts)),
                       .targets = xcalloc(most_arrows(file) + 1, sizeof(*l.targets)) };
    symbol_table_init(&l.names);
    int r = 0;
    for (size_t i = 0; r >= 0 && i < count; i++)
        r = take_name(&l, i, err);
    if (r >= 0)
        r = check_member(&l, "depends_on", "dependency cycle", err);
    if (r >= 0)
        r = check_member(&l, "parent", "cycle of parents", err);
    symbol_table_finish(&l.names);
    free(l.owners);
    free(l.starts);
    free(l.targets);
    return r;
}
