/* row_type.h: row kinds as tables of columns, for generic code. Private to store/. */
#pragma once

#include <string.h>

#include "base/arena.h"
#include "store/columns.h"
#include "store/names.h"
#include "store/rows.h"

#define ROW_KIND(KIND, row, table, empty_is_none) ROW_##KIND,
enum row_kind { ROW_KINDS(ROW_KIND) ROW_KIND_MAX };
#undef ROW_KIND

enum column_type {
    COLUMN_NUMBER,
    COLUMN_SMALL,
    COLUMN_BOOL,
    COLUMN_TEXT,
    COLUMN_SIZED,
    COLUMN_NAME,
    COLUMN_FLAGS, /* of a task: TASK_FLAGS */
    COLUMN_FINAL, /* of a task: changed_at once it is final, else NULL */
    COLUMN_DAYS,  /* enum spent_span: is it SPENT_DAY? */
    COLUMN_WORDS, /* this and higher: an enum, by its list */
};
#define COLUMN_WORD(list) (COLUMN_WORDS + WORDS_##list)

/* Space for a row of any kind, or for what an answer or loading has instead. */
#define ROW_MEMBER(KIND, row, table, empty_is_none) struct row##_row table;
union any_row {
    ROW_KINDS(ROW_MEMBER)
    struct external_row external;
    task_id number;
};
#undef ROW_MEMBER

struct column {
    const char *name;
    uint16_t at;    /* offset in the row */
    uint16_t twin;  /* of the same number in `spec`; 0: none */
    uint16_t flags; /* enum column_flag */
    uint8_t size;   /* of the member */
    uint8_t type;   /* enum column_type */
    bool is_signed;
    int8_t usual;
    uint8_t since;
};

struct row_type {
    const char *table;
    const struct column *columns;
    size_t count;
    size_t size;        /* of the struct */
    bool empty_is_none; /* its texts are names, and "" means none */
};
extern const struct row_type row_types[ROW_KIND_MAX];

/* --- one value ------------------------------------------------------------------------------- */

static inline bool column_is_text(const struct column *c) { /* in SQL */
    return c->type == COLUMN_TEXT || c->type == COLUMN_SIZED;
}

static inline bool column_is_pointer(const struct column *c) { /* in C */
    return column_is_text(c) || c->type == COLUMN_NAME;
}

static inline const char *column_text(const struct column *c, const void *row) {
    const char *text;
    memcpy(&text, (const char *)row + c->at, sizeof(text));
    return text;
}

static inline void column_set_text(const struct column *c, void *row, const char *text) {
    memcpy((char *)row + c->at, &text, sizeof(text));
}

/* For a text that is not NULL. */
static inline size_t column_text_size(const struct column *c, const void *row, const char *text) {
    size_t size;
    if (c->type != COLUMN_SIZED)
        return strlen(text);
    memcpy(&size, (const char *)row + c->at + sizeof(text), sizeof(size));
    return size ? size : strlen(text);
}

/* The raw member: an enum is its value. */
static inline int64_t column_number(const struct column *c, const void *row) {
    const char *at = (const char *)row + c->at;
    if (c->size == 8)
        return *(const int64_t *)(const void *)at;
    if (c->size == 4)
        return c->is_signed ? *(const int32_t *)(const void *)at
                            : (int64_t) * (const uint32_t *)(const void *)at;
    return c->size == 2 ? *(const uint16_t *)(const void *)at : *(const uint8_t *)at;
}

static inline void column_put(char *at, unsigned size, int64_t number) {
    if (size == 8)
        *(int64_t *)(void *)at = number;
    else if (size == 4)
        *(uint32_t *)(void *)at = (uint32_t)number;
    else if (size == 2)
        *(uint16_t *)(void *)at = (uint16_t)number;
    else
        *(uint8_t *)at = (uint8_t)number;
}

static inline void column_set_number(const struct column *c, void *row, int64_t number) {
    column_put((char *)row + c->at, c->size, number);
    if (c->twin)
        column_put((char *)row + c->twin, c->size, number);
}

int64_t task_flags(const struct task_row *row);
void task_take_flags(struct task_row *row, int64_t flags);

/* Is it stored as NULL? */
static inline bool column_is_null(const struct column *c, const void *row) {
    if (column_is_text(c))
        return !column_text(c, row);
    if (c->type == COLUMN_FINAL)
        return !task_state_is_final(((const struct task_row *)row)->spec.state);
    return (c->flags & COLUMN_OPTIONAL) && column_number(c, row) == 0;
}

/* The stored value of a column that is neither a text nor NULL. */
static inline int64_t column_store(const struct column *c, const void *row, struct names *names) {
    if (c->type >= COLUMN_WORDS)
        return names_word(names, (enum word_list)(c->type - COLUMN_WORDS),
                          (unsigned)column_number(c, row));
    if (c->type == COLUMN_NAME)
        return names_number(names, column_text(c, row));
    if (c->type == COLUMN_FLAGS)
        return task_flags(row);
    int64_t number = column_number(c, row);
    return c->type == COLUMN_DAYS ? number == SPENT_DAY : number;
}

/* The inverse. Sets *damaged if the number is invalid. */
static inline void column_load(const struct column *c, void *row, int64_t number,
                               const struct names *names, bool *damaged) {
    if (c->type >= COLUMN_WORDS)
        number = names_value(names, (enum word_list)(c->type - COLUMN_WORDS), number, damaged);
    else if (c->type == COLUMN_BOOL)
        number = number != 0;
    else if (c->type == COLUMN_DAYS)
        number = number ? SPENT_DAY : SPENT_HOUR;
    if (c->type == COLUMN_NAME)
        column_set_text(c, row, names_text(names, number, damaged));
    else if (c->type == COLUMN_FLAGS)
        task_take_flags(row, number);
    else
        column_set_number(c, row, number);
}

/* --- columns of a row ------------------------------------------------------------------------ */

/* Columns that statements write from the row. */
static inline bool column_is_written(const struct column *c) {
    return !(c->flags & COLUMN_DERIVED);
}

/* Columns whose value no other column has. */
static inline bool column_is_read(const struct column *c) {
    return column_is_written(c) && c->type != COLUMN_FINAL;
}

#define ROW_COLUMNS(c, type)                                                                       \
    for (const struct column *c = (type)->columns, *end_of_##c = c + (type)->count;                \
         c < end_of_##c; c++)

/* The source of a row's values: the columns of a result, in the requested order. */
struct row_source {
    int64_t (*number)(const void *ctx, int column); /* 0 for NULL */
    const char *(*text)(const void *ctx, int column);
    size_t (*size)(const void *ctx, int column); /* of a text */
    /* NULL: columns with a usual value are never null. */
    bool (*is_null)(const void *ctx, int column);
};

/* Resolves name numbers; `damaged`: one of them is invalid. */
struct row_names {
    const struct names *names;
    bool damaged;
};

/* Reads all columns of the type, and returns the index of the next column. Inlined into each
 * backend with its source: a million tasks are loaded at startup. */
static inline __attribute__((always_inline)) int row_read(const struct row_type *type, void *row,
                                                          const struct row_source *from,
                                                          const void *ctx, int at,
                                                          struct row_names *names) {
    bool may_be_null = from->is_null && type == &row_types[ROW_PROGRESS];
    ROW_COLUMNS(c, type) {
        if (may_be_null && from->is_null(ctx, at)) {
            if (c->type != COLUMN_NAME)
                column_set_number(c, row, c->usual);
        } else if (c->type == COLUMN_NUMBER) {
            column_set_number(c, row, from->number(ctx, at));
        } else if (!column_is_read(c)) {
            continue;
        } else if (!column_is_text(c)) {
            column_load(c, row, from->number(ctx, at), names->names, &names->damaged);
        } else {
            column_set_text(c, row, from->text(ctx, at));
            size_t size = c->type == COLUMN_SIZED ? from->size(ctx, at) : 0;
            if (c->type == COLUMN_SIZED)
                memcpy((char *)row + c->at + sizeof(char *), &size, sizeof(size));
        }
        at++;
    }
    return at;
}

/* Adds the sum columns. */
void row_add(enum row_kind kind, void *row, const void *more);
/* Copies the columns with one of these flags from `old` to `row`. */
void row_keep(enum row_kind kind, void *row, const void *old, unsigned flags);
/* Does the task differ from one that never started? */
bool task_has_progress(const struct task_row *row);
/* A hash of all stored values; `hash`: seed, for chaining. */
uint64_t row_hash(enum row_kind kind, const void *row, uint64_t hash);

/* --- copies in one allocation ---------------------------------------------------------------- */

/* The symbols and lists of a copied task's `spec` are empty: its texts have the same values. */
void *row_copy(enum row_kind kind, const void *row, struct arena *arena);
void *row_clone(enum row_kind kind, const void *row); /* one allocation: end with free */
/* Clears what is not stored: the rest of a limiter or agent comes from the configuration. */
void row_strip(enum row_kind kind, void *row);
