/* row_type.c: the column tables of all rows.
 *
 * One table for each kind, generated from columns.h, so that one loop binds, reads, copies or
 * compares any of them. The checks below compare the lists with the structs: a new member without a
 * column does not compile. */
#include "store/row_type.h"

#include <assert.h>

#include "base/alloc.h"
#include "base/hash.h"
#include "base/macros.h"
#include "base/strbuf.h"
#include "base/utf8.h"
#include "store/store.h"

/* clang-format off */
#define OFFSET(r, member)  (uint16_t) offsetof(struct r, member)
#define MEMBER(r, member)                                                                          \
    .at = OFFSET(r, member), .size = (uint8_t)sizeof(((struct r *)NULL)->member),                  \
    .is_signed = _Generic(((struct r *)NULL)->member, int32_t: true, int64_t: true, default: false)
#define AT_ROW(r, member)  MEMBER(r, member)
#define AT_SAME(r, member) MEMBER(r, member)
#define AT_SPEC(r, member) MEMBER(r, spec.member)
#define AT_BOTH(r, member) MEMBER(r, member), .twin = OFFSET(r, spec.member)
#define AT_NONE(r, member) .at = 0
#define COLUMN(r, since_, name_, type_, place, member, usual_, flags_)                             \
    { .name = #name_, .type = COLUMN_##type_, AT_##place(r, member), .usual = (usual_),            \
      .flags = (flags_), .since = (since_) },
#define COLUMNS(KIND, row, table, empty_is_none)                                                   \
    static const struct column table##_columns[] = { KIND##_COLUMNS(COLUMN, row##_row) };
ROW_KINDS(COLUMNS)

#define TYPE(KIND, row, table, empty_is_none)                                                      \
    [ROW_##KIND] = { #table, table##_columns, ARRAY_SIZE(table##_columns),                         \
                     sizeof(struct row##_row), empty_is_none },
const struct row_type row_types[] = { ROW_KINDS(TYPE) };

/* --- completeness of the lists --------------------------------------------------------------- */

#define COUNT_ROW  0,
#define COUNT_SPEC
#define COUNT_BOTH 0,
#define COUNT_SAME
#define COUNT_NONE
#define SPEC_ROW
#define SPEC_SPEC  0,
#define SPEC_BOTH  0,
#define SPEC_SAME
#define IN_ROW(r, since, name, type, place, member, usual, flags)  COUNT_##place
#define IN_SPEC(r, since, name, type, place, member, usual, flags) SPEC_##place
#define IN_FLAGS(member, bit, most)                                0,
/* One initializer for each member: too few are missing, too many are excess. */
#define EVERY_MEMBER(type, ...)                                                                    \
    _Static_assert(sizeof((struct type){ __VA_ARGS__ }) > 0, "");
#pragma GCC diagnostic push
#pragma GCC diagnostic error "-Wmissing-field-initializers"
EVERY_MEMBER(task_row, TASK_COLUMNS(IN_ROW, _) PROGRESS_COLUMNS(IN_ROW, _)
             0 /* depends_on */, 0 /* its count */, { 0 } /* spec */)
EVERY_MEMBER(task_spec, TASK_COLUMNS(IN_SPEC, _) PROGRESS_COLUMNS(IN_SPEC, _) TASK_FLAGS(IN_FLAGS)
             0 /* depends_on */, 0 /* its count */, 0 /* resources */, 0 /* their count */,
             0 /* enqueued_at: rows have it as ready_since */, 0 /* look */,
             { { 0 }, 0, 0, 0, 0, 0 } /* escalation: notes have it */)
EVERY_MEMBER(spec_row, SPEC_COLUMNS(IN_ROW, _) 0 /* json_size */, 0 /* changed_at */)
EVERY_MEMBER(run_row, RUN_COLUMNS(IN_ROW, _))
EVERY_MEMBER(event_row, EVENT_COLUMNS(IN_ROW, _))
EVERY_MEMBER(project_row, PROJECT_COLUMNS(IN_ROW, _))
EVERY_MEMBER(group_row, GROUP_COLUMNS(IN_ROW, _))
EVERY_MEMBER(limiter_row, LIMITER_COLUMNS(IN_ROW, _) { 0 } /* spec */)
EVERY_MEMBER(agent_row, AGENT_COLUMNS(IN_ROW, _) { 0 } /* spec */)
EVERY_MEMBER(usage_row, USAGE_COLUMNS(IN_ROW, _))
EVERY_MEMBER(wait_row, WAIT_COLUMNS(IN_ROW, _))
EVERY_MEMBER(key_row, KEY_COLUMNS(IN_ROW, _))
EVERY_MEMBER(note_row, NOTE_COLUMNS(IN_ROW, _))
EVERY_MEMBER(spent_row, SPENT_COLUMNS(IN_ROW, _))
EVERY_MEMBER(pause_row, PAUSE_COLUMNS(IN_ROW, _))
#pragma GCC diagnostic pop

#define VERSION(r, since, name, type, place, member, usual, flags)                                 \
    _Static_assert((since) <= STORE_VERSION, "a column is of a version to come: STORE_VERSION");
#define VERSIONS(KIND, row, table, empty_is_none) KIND##_COLUMNS(VERSION, _)
ROW_KINDS(VERSIONS)
/* clang-format on */

/* The rest comes from the configuration: see LIMITER_COLUMNS, AGENT_COLUMNS. */
_Static_assert(sizeof(void *) != 8 || sizeof(struct limiter_spec) == 168, "is it a column?");
_Static_assert(sizeof(void *) != 8 || sizeof(struct agent_spec) == 128, "is it a column?");

/* --- values ---------------------------------------------------------------------------------- */

int64_t task_flags(const struct task_row *row) {
#define BITS(member, bit, most) | (int64_t)row->spec.member *(bit)
    return 0 TASK_FLAGS(BITS);
#undef BITS
}

void task_take_flags(struct task_row *row, int64_t flags) {
#define BITS(member, bit, most) row->spec.member = (unsigned)(flags / (bit)) & (most);
    TASK_FLAGS(BITS)
#undef BITS
}

bool task_has_progress(const struct task_row *row) {
    const struct row_type *type = &row_types[ROW_PROGRESS];
    ROW_COLUMNS(c, type)
    if (!(c->flags & COLUMN_ID)
        && (column_is_pointer(c) ? column_text(c, row) != NULL : column_number(c, row) != c->usual))
        return true;
    return false;
}

void row_add(enum row_kind kind, void *row, const void *more) {
    const struct row_type *type = &row_types[kind];
    ROW_COLUMNS(c, type)
    if (c->flags & COLUMN_SUM)
        column_set_number(c, row, column_number(c, row) + column_number(c, more));
}

void row_keep(enum row_kind kind, void *row, const void *old, unsigned flags) {
    const struct row_type *type = &row_types[kind];
    ROW_COLUMNS(c, type)
    if (c->flags & flags)
        memcpy((char *)row + c->at, (const char *)old + c->at, c->size);
}

/* --- hashes ---------------------------------------------------------------------------------- */

/* Invalid bytes hash like their replacement in PostgreSQL (postgres_bulk.c): SQLite keeps them
 * unchanged. */
static uint64_t hash_text(const char *text, size_t size) {
    if (utf8_is_clean(text, size))
        return hash_bytes(text, size);
    _cleanup_(strbuf_finish) struct strbuf clean = STRBUF_INIT;
    utf8_clean(text, size, &clean);
    return hash_bytes(clean.text, clean.length);
}

uint64_t row_hash(enum row_kind kind, const void *row, uint64_t hash) {
    const struct row_type *type = &row_types[kind];
    ROW_COLUMNS(c, type) {
        if (!column_is_read(c))
            continue;
        if (column_is_pointer(c)) {
            const char *text = column_text(c, row);
            hash = hash_mix(hash, text ? hash_text(text, column_text_size(c, row, text)) : 0);
        } else {
            hash = hash_mix(hash,
                            hash_u64((uint64_t)(c->type == COLUMN_FLAGS ? task_flags(row)
                                                                        : column_number(c, row))));
        }
    }
    return hash;
}

/* --- copies ---------------------------------------------------------------------------------- */

/* The text as stored; NULL: none. */
static const char *text_of(const struct row_type *type, const struct column *c, const void *row,
                           size_t *ret_size) {
    const char *text = column_text(c, row);
    if (!text || (type->empty_is_none && !*text))
        return NULL;
    *ret_size = column_text_size(c, row, text);
    return text;
}

/* The columns of a task are in two lists. */
static const struct row_type *next_type(enum row_kind kind, const struct row_type *type) {
    return kind == ROW_TASK && type == &row_types[ROW_TASK] ? &row_types[ROW_PROGRESS] : NULL;
}

static size_t all_bytes(enum row_kind kind, const void *row) {
    size_t bytes = row_types[kind].size, size;
    for (const struct row_type *type = &row_types[kind]; type; type = next_type(kind, type))
        ROW_COLUMNS(c, type)
    if (column_is_pointer(c) && column_is_written(c) && text_of(type, c, row, &size))
        bytes += size + 1;
    const struct task_row *task = row;
    return kind == ROW_TASK ? bytes + task->depends_on_count * sizeof(*task->depends_on) : bytes;
}

/* Its dependencies are placed after it first, because they must be aligned. */
static char *copy_task(struct task_row *copy, char *free) {
    size_t size = copy->depends_on_count * sizeof(*copy->depends_on);
    if (size > 0)
        copy->depends_on = memcpy(free, copy->depends_on, size);
    else
        copy->depends_on = NULL;
    struct task_spec *spec = &copy->spec;
#define CLEAR(member) spec->member = 0;
    TASK_SYMBOLS(CLEAR)
#undef CLEAR
    spec->depends_on = NULL;
    spec->resources = NULL;
    spec->depends_on_count = spec->resource_count = 0;
    spec->id = copy->id;
    spec->reason = copy->reason;
    return free + size;
}

static void *copy_into(enum row_kind kind, const void *row, void *memory) {
    char *free = memcpy(memory, row, row_types[kind].size);
    free += row_types[kind].size;
    if (kind == ROW_TASK)
        free = copy_task(memory, free);
    for (const struct row_type *type = &row_types[kind]; type; type = next_type(kind, type))
        ROW_COLUMNS(c, type) {
            if (!column_is_pointer(c) || !column_is_written(c))
                continue;
            size_t size = 0;
            const char *text = text_of(type, c, row, &size);
            column_set_text(c, memory, text ? memcpy(free, text, size) : NULL);
            if (c->type == COLUMN_SIZED)
                memcpy((char *)memory + c->at + sizeof(text), &size, sizeof(size));
            if (text) {
                free[size] = '\0';
                free += size + 1;
            }
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

void row_strip(enum row_kind kind, void *row) {
    const struct row_type *type = &row_types[kind];
    _cleanup_(freep) char *original = memcpy(xmalloc(type->size), row, type->size);
    memset(row, 0, type->size);
    ROW_COLUMNS(c, type)
    if (column_is_written(c))
        memcpy((char *)row + c->at, original + c->at, c->size);
}
