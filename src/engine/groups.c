/* groups.c: sets of tasks that are followed together. A group tracks, it never blocks. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/json_write.h"
#include "engine/engine_internal.h"

size_t engine_group_count(const struct engine *e) {
    return e->groups.count;
}

/* The core counts the members. */
static const struct engine_group *with_counts(const struct engine *e, struct group *group) {
    core_group(e->core, group->view.id, &group->view.open, &group->view.total);
    group->view.failed = core_group_failed(e->core, group->view.id);
    return &group->view;
}

const struct engine_group *engine_group_at(const struct engine *e, size_t index) {
    return with_counts(e, &e->groups.items[index]);
}

static struct group *group_find(const struct engine *e, const char *name) {
    for (size_t i = e->groups.count; i-- > 0;)
        if (strcmp(e->groups.items[i].view.name, name) == 0)
            return &e->groups.items[i];
    return NULL;
}

const struct engine_group *engine_find_group(const struct engine *e, const char *name) {
    struct group *group = group_find(e, name);
    return group ? with_counts(e, group) : NULL;
}

static void write_row(struct engine *e, const struct group *group) {
    struct group_row row = {
        .id = group->view.id,
        .name = group->view.name,
        .owned = group->view.owned,
        .closed = group->view.closed,
        .created_at = group->view.created_at,
        .closed_at = group->view.closed_at,
    };
    store_put_group(e->turn.batch, &row);
    turn_wrote(e);
}

/* Ids are positions, and rows come in their order; a group that is gone leaves an empty place. */
void group_from_row(struct engine *e, const struct group_row *row) {
    while (e->groups.count < row->id) {
        struct group *group = LIST_ADD(&e->groups);
        *group = (struct group){ .view = { .id = (uint32_t)e->groups.count, .name = xstrdup("") } };
    }
    struct engine_group *view = &e->groups.items[row->id - 1].view;
    free((char *)view->name);
    *view = (struct engine_group){
        .id = row->id,
        .name = xstrdup(row->name),
        .owned = row->owned,
        .closed = row->closed,
        .created_at = row->created_at,
        .closed_at = row->closed_at,
    };
}

int engine_open_group(struct engine *e, const char *name, bool owned, uint32_t *ret_id,
                      struct error *err) {
    char made[32];
    for (size_t n = e->groups.count + 1; !name; n++) { /* somebody may have called his own so */
        snprintf(made, sizeof(made), "group-%zu", n);
        name = group_find(e, made) ? NULL : made;
    }
    struct group *group = group_find(e, name);
    if (group && group->view.owned && group->view.closed)
        return error_set(err, -EBUSY, "group '%s' was closed by its owner: choose another name",
                         name);
    if (!group) {
        struct group_row row = {
            .id = (uint32_t)e->groups.count + 1, .name = name, .owned = owned, .created_at = e->now
        };
        group_from_row(e, &row);
        group = &e->groups.items[row.id - 1];
        write_row(e, group);
    }
    *ret_id = group->view.id;
    return 0;
}

static void set_closed(struct engine *e, struct group *group, bool closed) {
    group->view.closed = closed;
    group->view.closed_at = closed ? e->now : 0;
    write_row(e, group);
    struct strbuf data = STRBUF_INIT;
    struct json_writer w;
    json_write_init(&w, &data, false);
    json_write_object_begin(&w);
    json_write_key(&w, "group");
    json_write_string(&w, group->view.name);
    (void)with_counts(e, group);
    json_write_key(&w, "total");
    json_write_int(&w, group->view.total);
    json_write_key(&w, "open");
    json_write_int(&w, group->view.open);
    json_write_key(&w, "failed");
    json_write_int(&w, group->view.failed);
    json_write_object_end(&w);
    engine_event(e, closed ? "group.closed" : "group.opened", 0, 0, strbuf_text(&data));
    strbuf_finish(&data);
}

int engine_close_group(struct engine *e, const char *name, struct error *err) {
    struct group *group = group_find(e, name);
    if (!group)
        return error_set(err, -ENOENT, "there is no group '%s'", name);
    if (group->view.closed)
        return 1;
    set_closed(e, group, true);
    return 0;
}

void groups_on_order(struct engine *e, const struct order *order) {
    if (order->group == 0 || order->group > e->groups.count)
        return;
    struct group *group = &e->groups.items[order->group - 1];
    bool close = order->to == TASK_DONE;
    if (group->view.owned || group->view.closed == close)
        return;
    set_closed(e, group, close);
}

void groups_free(struct engine *e) {
    for (size_t i = 0; i < e->groups.count; i++)
        free((char *)e->groups.items[i].view.name);
    free(e->groups.items);
    memset(&e->groups, 0, sizeof(e->groups));
}
