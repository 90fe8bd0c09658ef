/* decode.h: the members of a snapshot as tables, and the records that they fill. Private to
 * snapshot/ and its tests.
 *
 * A `struct object` lists the members that a JSON object may have, with types, ranges and offsets
 * in a record. decode.c fills records from a file, write.c prints the same records. A member that
 * is not in the file keeps its initial value, and one that has its initial value is not written.
 * Null means "not given".
 *
 * A file may have a million tasks, so their records are flat: names are symbols of the core, task
 * ids are symbols of draft.ids, lists are in shared pools. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/strbuf.h"
#include "base/symbol_table.h"
#include "core/fact.h"
#include "snapshot/json_stream.h"

/* --- records --------------------------------------------------------------------------------- */

#define ABSENT         (-1)       /* not given: of caps, switches and amounts */
#define ABSENT_TIME    INT64_MIN  /* of times, which may lie before the epoch */
#define ABSENT_ATTEMPT UINT32_MAX /* of the number of attempts */

/* How `sim` runs a task; ABSENT where nothing was given. */
struct hint {
    int64_t duration[2]; /* ms */
    int64_t tokens[2];   /* ABSENT_TIME: not given; -1: none reported */
    int64_t failure_milli, limited_milli;
    int64_t usd; /* millionths of a dollar; ABSENT: the run reports no cost */
};

struct task_record {
    /* Ids are symbols of draft.ids, lists are in the pools. Not given: TASK_ABSENT, UNTIL_MAX,
     * PARENT_GATE_MAX, ABSENT_TIME, ABSENT_ATTEMPT. */
    struct task_spec spec;
    int64_t tokens, usd;            /* reported by its run; millionths of a dollar */
    int64_t expected_usd;           /* of its run */
    uint32_t depends_on, resources; /* first in draft.depends_on and draft.resources */
    uint32_t hint;                  /* in draft.hints, + 1 */
    int8_t parallelizable;
    bool artifact_present;
    time_ms arrives_at; /* 0, or not after `now`: it is in the queue */
    sym schedule;
};

/* A task of the file. Files list up to a million tasks, which give few of the possible members.
 * Those not listed here are in `words`, as far as they differ from task_initial. */
struct listed_task {
    sym id, parent, project;
    uint32_t depends_on, depends_on_count; /* in draft.depends_on */
    uint32_t resources, resource_count;    /* in draft.resources */
    uint32_t hint;                         /* in draft.hints, + 1 */
    size_t words;                          /* in draft.words */
};

struct project_record {
    sym id;
    uint32_t completed, running, running_roots;
    int64_t weight_milli, max_running, budget, free_workspaces, tokens_used;
    int64_t budget_usd, usd_used; /* millionths of a dollar */
    time_ms hours_until;
    int8_t active, paused;
};

struct agent_record {
    struct agent_spec spec;
    int8_t idle;
};

struct limiter_record {
    struct limiter_spec spec;
    uint32_t running;
};

struct lock_record {
    sym workspace;
    sym holder;  /* id of a task; 0: none */
    bool locked; /* externally; then it has no holder */
};

struct config_record {
    const char *key, *value;
    struct json_position position;
};

struct kind_hint {
    sym kind;
    struct hint hint;
};

/* The scalars of the top level. */
struct top_record {
    time_ms now;
    int64_t tokens_used, budget, disk_free_milli_gb, memory_free_mb, load_milli;
    int64_t budget_usd, usd_used; /* millionths of a dollar */
    int64_t seed;
    uint32_t running, running_roots; /* runs of no project */
    time_ms clock_offset;
    bool paused;
    bool live;             /* the state is restored as after a restart; else the core computes it */
    struct pace_spec pace; /* last_start: or ABSENT_TIME */
    struct claim_spec claim;  /* task: an id */
    uint32_t claim_resources; /* first in draft.resources */
};

/* A growing array of records. */
#define POOL(type)                                                                                 \
    struct {                                                                                       \
        type *items;                                                                               \
        size_t count, capacity;                                                                    \
    }
#define POOL_ADD(pool)                                                                             \
    ((pool)->items =                                                                               \
         xgrow((pool)->items, &(pool)->capacity, (pool)->count + 1, sizeof(*(pool)->items)),       \
     &(pool)->items[(pool)->count++])

/* The content of a file, before anything is applied to a core. */
struct draft {
    struct symbol_table *symbols; /* the core's */
    struct symbol_table ids;      /* task ids as written, in the order of first mention */
    /* The number of each id: 1 .. n for listed tasks, in the order of the file; 0 for others until
     * draft_resolve. */
    POOL(uint32_t) numbers;
    sym *by_number; /* the id of each number */
    struct arena texts;
    struct top_record top;
    bool projects_given, agents_given;
    POOL(struct config_record) config;
    POOL(struct project_record) projects;
    POOL(struct agent_record) agents;
    POOL(struct limiter_record) limiters;
    POOL(struct lock_record) locks;
    POOL(struct usage_spec) usage;
    POOL(struct wait_spec) waits;
    POOL(struct listed_task) tasks;
    POOL(uint64_t) words;         /* draft_add_task */
    __int128 run_tokens, run_usd; /* reported by the runs of all tasks */
    POOL(uint32_t) depends_on;    /* ids; task numbers after draft_resolve */
    POOL(sym) resources;
    POOL(struct hint) hints;
    POOL(struct kind_hint) kind_hints;
};

/* Resets the members of `task` that struct listed_task holds. */
void draft_add_task(struct draft *draft, struct task_record *task);
/* The record as it was added; its lists may have become shorter. */
void draft_task(const struct draft *draft, size_t index, struct task_record *ret);

/* --- tables ---------------------------------------------------------------------------------- */

#define TEXT_MAX    255              /* bytes of a name or an id */
#define FIELDS_MAX  64               /* members of one object */
#define OBJECT_MAX  16               /* kinds of object */
#define NUMBER_MOST 9007199254740991 /* what every JSON program can hold; 285,000 years in ms */

enum field_type {
    FIELD_SKIP,   /* anything, ignored */
    FIELD_BOOL,   /* bool */
    FIELD_SWITCH, /* int8_t: a bool, or ABSENT */
    FIELD_INT64,  /* integers within min .. max */
    FIELD_INT32,
    FIELD_UINT32,
    FIELD_UINT16,
    FIELD_MILLI,   /* int64_t, thousandths within min .. max */
    FIELD_USD,     /* int64_t, dollars with up to six decimals, as millionths */
    FIELD_CAP,     /* int64_t, not negative, or "unlimited" */
    FIELD_SYMBOL,  /* sym: a name */
    FIELD_ID,      /* task_id: a symbol of draft.ids */
    FIELD_WORD,    /* an enum: one of `words`, from number min up to max */
    FIELD_RANGE,   /* int64_t[2]: an integer or a list of two */
    FIELD_SPAN,    /* int64_t[2]: the same, with up to three decimals, as thousandths */
    FIELD_IDS,     /* list of task ids */
    FIELD_SYMBOLS, /* list of names */
    FIELD_STEPS,   /* struct escalation_spec: list of agents, ":" for that of the step before */
    FIELD_WORDS,   /* unsigned: list of `words`; the bit 1 << number of each */
    FIELD_OBJECT,
    FIELD_OBJECTS, /* list of objects */
    FIELD_LOCKS,   /* object: name → task id, null or true */
    FIELD_HINTS,   /* object: name → object */
    FIELD_CONFIG,  /* the configuration: any names, any depth */
    FIELD_TYPE_MAX,
};

/* What a name names: an anonymous snapshot replaces it accordingly. */
enum name_role {
    NAME_PROJECT,
    NAME_KIND,
    NAME_AGENT,
    NAME_LIMITER,
    NAME_RESOURCE,
    NAME_WORKSPACE,
    NAME_PHASE,
    NAME_SCHEDULE,
    NAME_ROLE_MAX,
};

struct reader;

struct field {
    const char *name;
    size_t length; /* of the name */
    enum field_type type;
    size_t offset; /* in the record */
    int64_t min, max;
    const char *(*word)(int number);
    const struct object *object;
    enum name_role role; /* with FIELD_SYMBOL */
};

struct object {
    unsigned number;  /* of the kind of object, below OBJECT_MAX */
    const char *noun; /* "a task" */
    const struct field *fields;
    unsigned count;
    size_t target;       /* offset of the record in struct reader */
    const void *initial; /* record with the initial values; NULL: the object is never written */
    size_t size;         /* of the record to initialize; 0: it is a part of another one */
    void (*begin)(struct reader *r);                            /* or NULL */
    int (*end)(struct reader *r, struct error *err);            /* or NULL */
    void (*given)(struct reader *r, const struct field *field); /* a list began; or NULL */
};

/* schema.c */
extern const struct object object_snapshot, object_task, object_project, object_agent,
    object_limiter, object_usage, object_wait, object_pace, object_claim;
extern const struct hint hint_initial;
extern const struct task_record task_initial;
extern const struct project_record project_initial;
extern const struct top_record top_initial;

/* Name number `key` of object number `object`, both from 0, or NULL: to compare with the manual. */
const char *schema_key(size_t object, size_t key, const char **ret_noun);

/* --- decoding --------------------------------------------------------------------------------
 *
 * decode_token keeps a stack of frames, one per open bracket. It refuses unknown and repeated
 * members, wrong types and values out of range, for all objects. */

enum frame_kind {
    FRAME_OBJECT,
    FRAME_LIST,
    FRAME_MAP, /* FIELD_LOCKS, FIELD_HINTS */
    FRAME_SKIP,
    FRAME_CONFIG,
    FRAME_CONFIG_LIST,
};

struct frame {
    enum frame_kind kind;
    const struct object *object; /* FRAME_OBJECT: this one; else the one around it */
    const struct field *field; /* FRAME_OBJECT: the current member; else the field it belongs to */
    uint64_t seen;             /* members given so far */
    unsigned last;             /* number of the last member + 1 */
    uint32_t count;            /* FRAME_LIST: items so far */
    size_t path_length;        /* FRAME_CONFIG: of the path around it */
};

struct reader {
    struct draft draft;
    struct json_stream *stream;
    struct frame frames[JSON_DEPTH_MAX + 1];
    unsigned depth;
    /* Files repeat their members in the same order: which one followed which, last time. */
    uint8_t follows[OBJECT_MAX][FIELDS_MAX + 1];

    /* the records that are being filled */
    struct task_record task;
    struct project_record project;
    struct agent_record agent;
    struct limiter_record limiter;
    struct usage_spec usage;
    struct wait_spec wait;
    struct hint hint;
    sym map_key; /* FRAME_MAP */

    uint8_t *symbol_seen; /* `enum seen_as` bits by symbol */
    size_t symbol_capacity;
    struct strbuf path, value;        /* of the configuration */
    struct symbol_table config_paths; /* to find a path that is given twice */
};

enum seen_as {
    SEEN_PROJECT = 1u << 0,
    SEEN_AGENT = 1u << 1,
    SEEN_LIMITER = 1u << 2,
    SEEN_WORKSPACE = 1u << 3,
    SEEN_HINT = 1u << 4,
};

/* True the first time. */
bool reader_first(struct reader *r, sym name, enum seen_as as);
/* xgrow that fills the added items with zeros. */
void *grow_zeroed(void *items, size_t *capacity, size_t need, size_t size);

/* A json_handler; ctx is a struct reader. */
int decode_token(void *ctx, struct json_stream *stream, const struct json_token *token,
                 struct error *err);
