/* groups.c: sets of tasks that are followed together. A group tracks, it never blocks.
 *
 * It is deleted with the last of its tasks, so their retention applies. One that was closed without
 * any is deleted at a start, at the same age. Its index is reused, because the core counts by
 * index; its number in a generated name is not, so that a name never means another group. */
#include "engine/engine.h"

#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/json_write.h"
#include "engine/note.h"

struct groups {
    LIST(struct engine_group) all; /* by id - 1 */
    struct id_map by_name;
    LIST(uint32_t) free;  /* ids of deleted ones, */
    size_t free_before;   /* of which this many were free before this turn */
    uint64_t last_number; /* the highest one in a generated name */
    uint32_t leaving;     /* the group of a task that is about to be deleted */
};

PART_STATE(groups, struct groups, groups_of)

size_t engine_group_count(const struct engine *e) {
    return groups_of(e)->all.count;
}

/* The core counts the members. */
static const struct engine_group *with_counts(const struct engine *e, struct engine_group *group) {
    struct group_view view = core_group(e->core, group->id);
    group->total = view.total;
    group->open = view.open;
    group->failed = view.failed;
    return group;
}

const struct engine_group *engine_group_at(const struct engine *e, size_t index) {
    return with_counts(e, &groups_of(e)->all.items[index]);
}

/* Every sling may create a group, so they are found by a hash of the name. */
static uint64_t hash_name(const char *name) {
    return hash_bytes(name, strlen(name));
}

static bool has_name(const void *ctx, uint32_t handle, const void *key) {
    const struct engine *e = ctx;
    return strcmp(groups_of(e)->all.items[handle - 1].name, key) == 0;
}

static struct engine_group *group_find(const struct engine *e, const char *name) {
    struct groups *g = groups_of(e);
    uint32_t id = id_map_find(&g->by_name, hash_name(name), name);
    return id ? &g->all.items[id - 1] : NULL;
}

const struct engine_group *engine_find_group(const struct engine *e, const char *name) {
    struct engine_group *group = group_find(e, name);
    return group ? with_counts(e, group) : NULL;
}

/* A group and its row have members of the same names. */
#define SAME_MEMBER(from, since, name, type, place, member, usual, flags) .member = (from)->member,

static void write_row(struct engine *e, const struct engine_group *group) {
    struct group_row row = { GROUP_COLUMNS(SAME_MEMBER, group) };
    store_put_group(e->turn.batch, &row);
    turn_wrote(e);
}

/* Ids are positions, and rows come in their order; a deleted group leaves an empty entry. */
static void group_from_row(struct engine *e, const struct group_row *row) {
    struct groups *g = groups_of(e);
    while (g->all.count < row->id) {
        struct engine_group *group = LIST_ADD(&g->all);
        *group = (struct engine_group){ .id = (uint32_t)g->all.count, .name = xstrdup("") };
    }
    assert(row->id > 0 && g->all.items);
    struct engine_group *view = &g->all.items[row->id - 1];
    free((char *)view->name);
    *view = (struct engine_group){ GROUP_COLUMNS(SAME_MEMBER, row) };
    view->name = xstrdup(row->name);
    if (!g->by_name.same)
        id_map_init(&g->by_name, has_name, e);
    id_map_add(&g->by_name, hash_name(view->name), row->id);
}

/* --- ids and numbers -------------------------------------------------------------------------- */

#define NOTE "groups" /* the highest number in a generated name */

static void groups_begin(struct engine *e) {
    groups_of(e)->free_before = groups_of(e)->free.count;
}

/* Not of one deleted in this turn: the core may still have orders about it. */
static uint32_t take_id(struct engine *e) {
    struct groups *g = groups_of(e);
    if (g->free_before == 0)
        return (uint32_t)g->all.count + 1;
    uint32_t *place = &g->free.items[--g->free_before], id = *place;
    *place = g->free.items[--g->free.count];
    return id;
}

static const char *make_name(struct engine *e, char ret_name[32]) {
    struct groups *g = groups_of(e);
    uint64_t number = g->last_number > g->all.count ? g->last_number : g->all.count;
    do /* a user may have chosen this name */
        snprintf(ret_name, 32, "group-%" PRIu64, ++number);
    while (group_find(e, ret_name));
    g->last_number = number;
    note_put_number(e, NOTE, "", (int64_t)number);
    return ret_name;
}

static void groups_load_note(struct engine *e, const struct note_row *row) {
    int64_t number = 0;
    const char *key = note_number(row, NOTE, &number);
    if (key && !*key && number > 0)
        groups_of(e)->last_number = (uint64_t)number;
}

static void drop(struct engine *e, uint32_t id) {
    struct groups *g = groups_of(e);
    struct engine_group *view = &g->all.items[id - 1];
    id_map_remove(&g->by_name, hash_name(view->name), view->name);
    free((char *)view->name);
    *view = (struct engine_group){ .id = id, .name = xstrdup("") };
    *LIST_ADD(&g->free) = id;
    store_delete_group(e->turn.batch, id);
}

static void groups_applying(struct engine *e, const struct fact *fact) {
    struct task_spec spec = { 0 };
    if (fact->kind == FACT_DELETE || fact->kind == FACT_FORGET)
        (void)core_task_spec(e->core, fact->task, &spec);
    groups_of(e)->leaving = spec.group;
}

/* A group is deleted with the last of its tasks. */
static void groups_applied(struct engine *e, const struct fact *fact) {
    struct groups *g = groups_of(e);
    uint32_t id = g->leaving;
    (void)fact;
    if (id == 0 || id > g->all.count || !*g->all.items[id - 1].name)
        return;
    const struct engine_group *view = with_counts(e, &g->all.items[id - 1]);
    if (view->total == 0 && (view->closed || !view->owned))
        drop(e, id);
}

/* After tasks and notes: deletes groups that were closed long ago and have no task. */
static void groups_loaded(struct engine *e) {
    struct groups *g = groups_of(e);
    time_ms keep = config_number(e->config, "retention.days", NULL);
    for (uint32_t id = (uint32_t)g->all.count; id > 0; id--) {
        const struct engine_group *view = with_counts(e, &g->all.items[id - 1]);
        if (!*view->name)
            *LIST_ADD(&g->free) = id;
        else if (view->closed && view->total == 0 && time_add(view->closed_at, keep) < e->now)
            drop(e, id);
    }
}

/* --- changing --------------------------------------------------------------------------------- */

int engine_open_group(struct engine *e, const char *name, bool owned, uint32_t *ret_id,
                      struct error *err) {
    char made[32];
    if (!name)
        name = make_name(e, made);
    struct engine_group *group = group_find(e, name);
    if (group && group->owned && group->closed)
        return error_set(err, -EBUSY, "group '%s' was closed by its owner: choose another name",
                         name);
    if (!group) {
        struct group_row row = {
            .id = take_id(e), .name = name, .owned = owned, .created_at = e->now
        };
        group_from_row(e, &row);
        group = &groups_of(e)->all.items[row.id - 1];
        write_row(e, group);
    }
    *ret_id = group->id;
    return 0;
}

void engine_take_back_group(struct engine *e, uint32_t id) {
    if (id > 0 && with_counts(e, &groups_of(e)->all.items[id - 1])->total == 0)
        drop(e, id);
}

static void set_closed(struct engine *e, struct engine_group *group, bool closed) {
    group->closed = closed;
    group->closed_at = closed ? e->now : 0;
    write_row(e, group);
    struct event_data data;
    struct json_writer *w = event_begin(&data);
    json_put_string(w, "group", group->name);
    (void)with_counts(e, group);
    json_put_int(w, "total", group->total);
    json_put_int(w, "open", group->open);
    json_put_int(w, "failed", group->failed);
    event_end(e, &data, closed ? "group.closed" : "group.opened", 0, 0);
}

int engine_close_group(struct engine *e, const char *name, struct error *err) {
    struct engine_group *group = group_find(e, name);
    if (!group)
        return error_set(err, -ENOENT, "there is no group '%s'", name);
    if (group->closed)
        return 1;
    set_closed(e, group, true);
    return 0;
}

static void groups_ordered(struct engine *e, const struct order *order, size_t count) {
    (void)count;
    if (order->kind != ORDER_GROUP || order->group == 0 || order->group > groups_of(e)->all.count)
        return;
    struct engine_group *group = &groups_of(e)->all.items[order->group - 1];
    bool close = order->to == TASK_DONE, is_deleted = !*group->name;
    if (!is_deleted && !group->owned && group->closed != close)
        set_closed(e, group, close);
}

static void groups_free(struct engine *e) {
    struct groups *g = groups_of(e);
    for (size_t i = 0; i < g->all.count; i++)
        free((char *)g->all.items[i].name);
    free(g->all.items);
    free(g->free.items);
    id_map_finish(&g->by_name);
    *g = (struct groups){ .last_number = g->last_number };
}

const struct engine_part groups_part = {
    .state_size = sizeof(struct groups),
    .at = { [STEP_UNLOAD] = groups_free,
            [STEP_LOADED] = groups_loaded,
            [STEP_BEGIN] = groups_begin,
            [STEP_FREE] = groups_free },
    .applying = groups_applying,
    .applied = groups_applied,
    .ordered = groups_ordered,
    .load_group = group_from_row,
    .load_note = groups_load_note,
};
