/* shape.h: the shapes of answers, one table each.
 *
 * Only the shape names the members of an answer. The schemas of docs/reference/openapi.json, the
 * tables and examples of docs/reference/api.md, and web/src/types.ts are generated from it. Many
 * printers use the same rows (SHAPE_PRINT); the others are written manually. Tests keep them in
 * step: where SLUICE_TEST_ANSWERS names a file, every answer is compared with its shape before it
 * is sent (op_check_answers), and the test harness sets it.
 *
 * Shapes of several operations are in shape.c and print.c; that of one operation is in its own
 * file, as `.answers = ANSWERS({ "name", T_TEXT, "what it is", "an example" }, …)`. */
#pragma once

#include <jansson.h>
#include <stdbool.h>

#include "base/error.h"
#include "base/strbuf.h"

enum {
    T_TEXT = 1, /* `of`: an example, or NULL */
    T_ID,       /* of a task */
    T_INT,
    T_NUMBER,
    T_BOOL,
    T_TIME,   /* ms since the epoch */
    T_SPAN,   /* ms */
    T_USD,    /* dollars */
    T_WORD,   /* `of`: struct words */
    T_OBJECT, /* `of`: struct shape */
    T_JSON,   /* any value; with T_MAP: an object with any members */
    T_PAIR,   /* two integers */
    T_TYPE_MAX,
    T_TYPE = 0xff,
    T_LIST = 0x100,  /* of these */
    T_MAP = 0x200,   /* of these, by name; `of` of a T_INT: struct words, the names */
    T_NULL = 0x400,  /* or null */
    T_MAYBE = 0x800, /* may be missing */
};

/* A type in docs/reference/api.md, in a JSON schema (or NULL), in TypeScript, and as an example.
 * T_WORD and T_OBJECT have names and examples of their own. */
struct shape_type {
    const char *markdown, *schema, *typescript, *example;
    unsigned allowed; /* JSON types, as bits */
};
extern const struct shape_type shape_types[T_TYPE_MAX];

struct shape_member {
    const char *name; /* NULL ends a list */
    unsigned type;
    const char *text; /* lower case, no full stop */
    const void *of;
};

struct shape {
    const char *name; /* TypeScript name; NULL: used by one operation only */
    const char *text;
    const struct shape *base; /* its members come first; or NULL */
    const struct shape_member *members;
};

/* Allowed words of a member: those of a list, or those that `at` returns from `first` on until
 * NULL. */
struct words {
    const char *name;
    const char *const *list;
    const char *(*at)(int index);
    int first;
};
const char *words_at(const struct words *words, int index); /* from 0; NULL: no more */

#define SHAPE_ROWS(...)                                                                            \
    (const struct shape_member[]) {                                                                \
        __VA_ARGS__, {                                                                             \
            .name = NULL                                                                           \
        }                                                                                          \
    }
#define ANSWERS(...)                                                                               \
    &(const struct shape) {                                                                        \
        .members = SHAPE_ROWS(__VA_ARGS__)                                                         \
    }
/* Members printed from their rows: X(print function, name, type, text, of, value) in a list macro.
 * SHAPE_ROW makes rows of it, SHAPE_PRINT calls that print to `w`, SHAPE_OBJECT the same in braces,
 * and those with _TO print to `&w`; values are expressions evaluated where the macro is used. */
#define SHAPE_ROW(print_, name_, type_, text_, of_, ...)      { name_, type_, text_, of_ },
#define SHAPE_PRINT(print_, name_, type_, text_, of_, ...)    print_(w, name_, __VA_ARGS__);
#define SHAPE_PRINT_TO(print_, name_, type_, text_, of_, ...) print_(&w, name_, __VA_ARGS__);
#define SHAPE_OBJECT(list_)                                                                        \
    json_write_object_begin(w);                                                                    \
    list_(SHAPE_PRINT) json_write_object_end(w);
#define SHAPE_OBJECT_TO(list_)                                                                     \
    json_write_object_begin(&w);                                                                   \
    list_(SHAPE_PRINT_TO) json_write_object_end(&w);
#define SHAPE_ALL(list_)                                                                           \
    (const struct shape_member[]) {                                                                \
        list_(SHAPE_ROW) {                                                                         \
            .name = NULL                                                                           \
        }                                                                                          \
    }
/* A page of a list; more members may follow. */
#define SHAPE_PAGE(shape_)                                                                         \
    { "items", T_OBJECT | T_LIST, "this page", shape_ }, {                                         \
        "next", T_TEXT | T_NULL, "the cursor of the next page; null after the last", "i50"         \
    }
/* Warnings of the queue (queue_room.h). */
#define SHAPE_ROOM                                                                                 \
    { "deferred", T_INT | T_MAYBE, "how many had no room" },                                       \
        { "warning", T_TEXT | T_NULL, "what a person should know" }, {                             \
        "depths", T_INT | T_MAP | T_MAYBE, "with a warning: how many tasks wait, by kind"          \
    }
#define SHAPE_ALREADY                                                                              \
    { "already", T_BOOL, "it was so before: nothing has changed" }

extern const struct words words_state, words_hold, words_phase, words_outcome, words_scope,
    words_reason, words_limiter;
extern const struct shape shape_any_run, shape_budget, shape_limit, shape_amount, shape_changed,
    shape_error, shape_event, shape_group, shape_hours, shape_limiter, shape_message_page,
    shape_posted, shape_project, shape_run, shape_task, shape_task_budget;

/* Calls `each` once for every named shape, dependencies first; words_each: for lists of words. */
void shape_each(void (*each)(const struct shape *shape, void *ctx), void *ctx);
void words_each(void (*each)(const struct words *words, void *ctx), void *ctx);

/* -EPROTO with the path: missing or unknown members, and values of another type. */
int shape_check(const struct shape *shape, const json_t *value, struct error *err);
/* When answers are checked: writes "seen NAME" once, or "bad NAME: why". */
void shape_report(const struct shape *shape, const char *name, const struct strbuf *answer);
void shape_print_example(const struct shape *shape, struct strbuf *out);
