/* row_copy.c: how is a row kept after its caller has gone?
 *
 * A table says where the texts of each kind of row are, so that one loop measures and one copies.
 * A text that is forgotten here would be a pointer into freed memory: the round trip of every field
 * in tests/store/ runs under the address sanitizer.
 */
#include "store/row_copy.h"

#include <assert.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "base/alloc.h"
#include "base/macros.h"
#include "store/store.h"

#define TEXTS_MAX 15
#define NO_TEXT   UINT16_MAX

struct row_shape {
    size_t size;
    bool empty_is_none;        /* its texts are names, and "" is what no name prints as */
    uint16_t texts[TEXTS_MAX]; /* offsets of `const char *`, then NO_TEXT */
};

#define AT(type, member) (uint16_t) offsetof(struct type, member)

/* clang-format off */
static const struct row_shape shapes[] = {
    [ROW_TASK] = { sizeof(struct task_row), true,
        { AT(task_row, project), AT(task_row, kind), AT(task_row, agent), AT(task_row, limiter),
          AT(task_row, workspace), AT(task_row, serial), AT(task_row, resources),
          AT(task_row, run_agent), AT(task_row, run_limiter), NO_TEXT } },
    [ROW_SPEC] = { sizeof(struct spec_row), false,
        { AT(spec_row, title), AT(spec_row, external_id), AT(spec_row, context),
          NO_TEXT } }, /* and json */
    [ROW_RUN] = { sizeof(struct run_row), true,
        { AT(run_row, agent), AT(run_row, executor), AT(run_row, host), AT(run_row, boot_id),
          AT(run_row, folder), AT(run_row, how), AT(run_row, applied), AT(run_row, message),
          AT(run_row, token_hash), AT(run_row, session), AT(run_row, model), AT(run_row, said),
          AT(run_row, shim_key), AT(run_row, cgroup), NO_TEXT } },
    [ROW_EVENT] = { sizeof(struct event_row), false,
        { AT(event_row, kind), AT(event_row, data), NO_TEXT } },
    [ROW_PROJECT] = { sizeof(struct project_row), false,
        { AT(project_row, name), AT(project_row, prefix), AT(project_row, paused_by), NO_TEXT } },
    [ROW_GROUP] = { sizeof(struct group_row), false, { AT(group_row, name), NO_TEXT } },
    [ROW_LIMITER] = { sizeof(struct limiter_row), false, { AT(limiter_row, name), NO_TEXT } },
    [ROW_AGENT] = { sizeof(struct agent_row), false, { AT(agent_row, name), NO_TEXT } },
    [ROW_USAGE] = { sizeof(struct usage_row), true, { AT(usage_row, project), NO_TEXT } },
    [ROW_WAIT] = { sizeof(struct wait_row), true,
        { AT(wait_row, project), AT(wait_row, limiter), AT(wait_row, agent), NO_TEXT } },
    [ROW_KEY] = { sizeof(struct key_row), false, { AT(key_row, key), AT(key_row, answer), NO_TEXT } },
    [ROW_PAUSE] = { sizeof(struct pause_row), true, { AT(pause_row, by), NO_TEXT } },
    [ROW_NOTE] = { sizeof(struct note_row), false, { AT(note_row, name), AT(note_row, text), NO_TEXT } },
    [ROW_SPENT] = { sizeof(struct spent_row), true,
        { AT(spent_row, project), AT(spent_row, agent), NO_TEXT } },
};
/* clang-format on */
_Static_assert(ARRAY_SIZE(shapes) == ROW_KIND_MAX, "a row has no shape");

static const char *text_at(const struct row_shape *shape, const void *row, size_t index) {
    const char *text;
    memcpy(&text, (const char *)row + shape->texts[index], sizeof(text));
    return text && shape->empty_is_none && !*text ? NULL : text;
}

static size_t json_size(const struct spec_row *row) {
    if (!row->json)
        return 0;
    return row->json_size ? row->json_size : strlen(row->json);
}

/* What the row points at beside its texts: put behind it first, because it must be aligned. */
static size_t tail_bytes(enum row_kind kind, const void *row) {
    const struct task_row *task = row;
    return kind == ROW_TASK ? task->depends_on_count * sizeof(*task->depends_on) : 0;
}

static size_t all_bytes(enum row_kind kind, const void *row) {
    const struct row_shape *shape = &shapes[kind];
    size_t bytes = shape->size + tail_bytes(kind, row);
    for (size_t i = 0; i < TEXTS_MAX && shape->texts[i] != NO_TEXT; i++) {
        const char *text = text_at(shape, row, i);
        bytes += text ? strlen(text) + 1 : 0;
    }
    if (kind == ROW_SPEC)
        bytes += json_size(row) + 1;
    return bytes;
}

static char *put_bytes(char *free, const void *bytes, size_t size) {
    if (size > 0)
        memcpy(free, bytes, size);
    return free + size;
}

static char *copy_task(struct task_row *copy, char *free) {
    const task_id *from = copy->depends_on;
    copy->depends_on = copy->depends_on_count ? (const task_id *)(void *)free : NULL;
    struct task_spec *told = &copy->told;
    told->project = told->kind = told->agent = told->limiter = 0;
    told->workspace = told->serial = told->run_agent = told->run_limiter = 0;
    told->depends_on = NULL;
    told->resources = NULL;
    told->depends_on_count = told->resource_count = 0;
    told->id = copy->id;
    told->reason = copy->reason;
    return put_bytes(free, from, copy->depends_on_count * sizeof(*from));
}

static void *copy_into(enum row_kind kind, const void *row, void *memory) {
    const struct row_shape *shape = &shapes[kind];
    memcpy(memory, row, shape->size);
    char *free = (char *)memory + shape->size;
    if (kind == ROW_TASK)
        free = copy_task(memory, free);
    if (kind == ROW_SPEC) {
        struct spec_row *spec = memory;
        spec->json_size = json_size(spec);
        const char *json = spec->json;
        spec->json = json ? free : NULL;
        free = put_bytes(free, json, spec->json_size);
        *free++ = '\0';
    }
    for (size_t i = 0; i < TEXTS_MAX && shape->texts[i] != NO_TEXT; i++) {
        const char *text = text_at(shape, row, i);
        const char *copy = text ? free : NULL;
        memcpy((char *)memory + shape->texts[i], &copy, sizeof(copy));
        free = text ? put_bytes(free, text, strlen(text) + 1) : free;
    }
    return memory;
}

void *row_copy(enum row_kind kind, const void *row, struct arena *arena) {
    assert(kind < ROW_KIND_MAX && row);
    return copy_into(kind, row, arena_alloc(arena, all_bytes(kind, row)));
}

void *row_clone(enum row_kind kind, const void *row) {
    assert(kind < ROW_KIND_MAX && row);
    return copy_into(kind, row, xmalloc(all_bytes(kind, row)));
}

struct run_row *run_row_clone(const struct run_row *row) {
    return row_clone(ROW_RUN, row);
}
