/* sql.c: builds statements from the columns of rows.
 *
 * A rule that no PostgreSQL constraint can express divides by zero: that aborts the transaction
 * inside the server, where the following COMMIT may already be on its way. `1 / count` is such a
 * rule: the store row has our epoch; every changed task exists. */
#include "store/sql.h"

#include <assert.h>
#include <stdio.h>

#include "base/macros.h"

#define PROGRESS_ROWS 65536

/* clang-format off */
#define ROW(kind)   &row_types[ROW_##kind]
#define BOTH(text)  .sqlite = (text), .postgres = (text)
#define INSERT      "INSERT INTO {table} ({columns}) VALUES ({values})"
#define PUT         "{put} {table} ({columns}) VALUES ({values}){conflict}"
#define INSERT_ROWS "INSERT INTO {table} ({columns}) SELECT {selected} FROM {rows}"
#define SUM_ROWS                                                                                   \
    "INSERT INTO {table} ({columns}) SELECT {sums} FROM {rows} GROUP BY {keys}{conflict}"
#define SPEC_OF     "SELECT {read:s.}, t.changed_at"
#define EACH        " FROM unnest($1::bigint[]) WITH ORDINALITY q (number, place) JOIN "
#define SPENT_BY(name, project, agent)                                                             \
    .params = "days:b since:l before_time:l limit:l after:l", BOTH(                                \
    "SELECT $1, at, " project ", " agent ", {totals} FROM spent"                                   \
    " WHERE days = $1 AND at >= $2 AND at < $3"                                                    \
    " GROUP BY at, " name " ORDER BY at, " name " LIMIT $4 OFFSET $5")
/* clang-format on */

#define STATEMENT(name, ...) [STATEMENT_##name] = { #name, __VA_ARGS__ },
const struct statement_text statement_texts[] = {
#include "store/statements.inc"
};
#undef STATEMENT

enum statement sql_write_of(enum row_kind kind) {
#define WRITE_OF(KIND, row, table, empty_is_none) [ROW_##KIND] = STATEMENT_WRITE_##KIND,
    static const enum statement statements[] = { ROW_KINDS(WRITE_OF) };
#undef WRITE_OF
    return statements[kind];
}

enum statement sql_prune_of(enum row_kind kind) {
    return kind == ROW_EVENT   ? STATEMENT_PRUNE_EVENTS
           : kind == ROW_USAGE ? STATEMENT_PRUNE_USAGE
           : kind == ROW_KEY   ? STATEMENT_PRUNE_KEYS
                               : STATEMENT_PRUNE_SPENT;
}

/* --- columns --------------------------------------------------------------------------------- */

/* A type letter of struct sql_column. */
static char type_of(const struct column *c) {
    if (column_is_text(c))
        return 't';
    if (c->type == COLUMN_BOOL || c->type == COLUMN_DAYS)
        return 'b';
    bool is_large = c->size == 8 || (c->size == 4 && !c->is_signed);
    return c->type == COLUMN_FINAL || (c->type == COLUMN_NUMBER && is_large) ? 'l' : 'i';
}

static const char *type_name(char type) {
    return type == 'b' ? "boolean" : type == 'i' ? "integer" : type == 'l' ? "bigint" : "text";
}

static bool is_key(const struct column *c) {
    return c->flags & (COLUMN_ID | COLUMN_KEY);
}

static bool is_not_key(const struct column *c) {
    return !is_key(c);
}

unsigned sql_columns(enum statement statement, struct sql_column ret_columns[SQL_COLUMNS_MAX]) {
    const struct statement_text *text = &statement_texts[statement];
    const struct row_type *types[] = { text->row, text->more };
    unsigned count = 0;
    /* Columns that are only read are not passed. */
    for (size_t i = 0; statement < STATEMENT_WRITES && i < ARRAY_SIZE(types) && types[i]; i++)
        ROW_COLUMNS(c, types[i])
    if (column_is_written(c) && (i == 0 || !is_key(c)))
        ret_columns[count++] = (struct sql_column){ c->name, (int)strlen(c->name), type_of(c),
                                                    c->flags & COLUMN_VARIES };
    for (const char *at = text->params ? text->params : ""; *at; at += *at == ' ') {
        assert(count < SQL_COLUMNS_MAX);
        size_t size = strcspn(at, ":");
        ret_columns[count++] = (struct sql_column){ at, (int)size, at[size + 1], false };
        at += size + 2;
    }
    return count;
}

/* --- words ----------------------------------------------------------------------------------- */

/* Agents may report any number; a sum that would overflow saturates, so that ends of runs can be
 * stored. */
#define MOST "9223372036854775807"

struct build {
    enum statement statement;
    const struct statement_text *text;
    enum sql_dialect dialect;
    enum sql_form form;
    struct strbuf *out;
    const char *argument; /* after the colon of the word, or "" */
    unsigned items;       /* of the list being written */
};

static void next_item(struct build *b) {
    strbuf_puts(b->out, b->items++ ? ", " : "");
}

static void put_table(struct build *b) {
    strbuf_puts(b->out, b->text->row->table);
}

/* All columns that the statement takes; for SQLite only those of the row. */
static void put_names(struct build *b, const char *before, bool selected) {
    struct sql_column columns[SQL_COLUMNS_MAX];
    unsigned count = sql_columns(b->statement, columns);
    for (unsigned i = 0; i < count; i++) {
        next_item(b);
        strbuf_printf(b->out, "%s%.*s%s", before, columns[i].size, columns[i].name,
                      selected && columns[i].type == 'n' ? "::bigint[]" : "");
    }
}

/* The columns of the row that are `wanted`, each between `before` and `after`. */
static void put_list(struct build *b, bool (*wanted)(const struct column *c), const char *before,
                     const char *after) {
    ROW_COLUMNS(c, b->text->row)
    if (wanted(c)) {
        next_item(b);
        strbuf_printf(b->out, "%s%s%s", before, c->name, after);
    }
}

static void put_columns(struct build *b) {
    if (b->dialect == SQL_POSTGRES)
        put_names(b, "", false);
    else
        put_list(b, column_is_written, "", "");
}

static void put_selected(struct build *b) {
    put_names(b, "n.", true);
}

static void put_values(struct build *b) {
    ROW_COLUMNS(c, b->text->row)
    if (column_is_written(c)) {
        next_item(b);
        strbuf_printf(b->out, "%c%u", b->dialect == SQL_SQLITE ? '?' : '$', b->items);
    }
}

static void put_read(struct build *b) {
    put_list(b, column_is_read, b->argument, "");
}

static void put_keys(struct build *b) {
    put_list(b, is_key, "", "");
}

static bool has_room_for_all(const struct build *b, const struct column *c) {
    return b->dialect == SQL_SQLITE || type_of(c) != 'l';
}

/* Sums over the passed rows. */
static void put_sums(struct build *b) {
    ROW_COLUMNS(c, b->text->row) {
        next_item(b);
        strbuf_printf(b->out,
                      is_key(c)                ? "n.%s"
                      : has_room_for_all(b, c) ? "sum(n.%s)"
                                               : "least(sum(n.%s), " MOST ")",
                      c->name);
    }
}

/* Sums over the stored rows. */
static void put_totals(struct build *b) {
    if (b->dialect == SQL_SQLITE)
        put_list(b, is_not_key, "sum(", ")");
    else
        put_list(b, is_not_key, "least(sum(", "), " MOST ")::bigint");
}

/* SQLite replaces a row faster than it updates all of its columns. */
static bool is_replaced(const struct build *b) {
    unsigned flags = 0;
    ROW_COLUMNS(c, b->text->row)
    flags |= c->flags;
    return b->dialect == SQL_SQLITE && !(flags & (COLUMN_FIXED | COLUMN_SUM));
}

static void put_put(struct build *b) {
    strbuf_puts(b->out, is_replaced(b) ? "INSERT OR REPLACE INTO" : "INSERT INTO");
}

static void put_conflict(struct build *b) {
    const char *table = b->text->row->table;
    if (is_replaced(b))
        return;
    strbuf_puts(b->out, " ON CONFLICT (");
    put_keys(b);
    strbuf_puts(b->out, ") DO UPDATE SET ");
    b->items = 0;
    ROW_COLUMNS(c, b->text->row) {
        if (is_key(c) || c->flags & (COLUMN_FIXED | COLUMN_DERIVED))
            continue;
        next_item(b);
        if (!(c->flags & COLUMN_SUM))
            strbuf_printf(b->out, "%s = excluded.%s", c->name, c->name);
        else if (has_room_for_all(b, c))
            strbuf_printf(b->out, "%s = %s.%s + excluded.%s", c->name, table, c->name, c->name);
        else
            strbuf_printf(b->out, "%s = least(%s.%s::numeric + excluded.%s, " MOST ")", c->name,
                          table, c->name, c->name);
    }
}

/* In SQLite ?N are the values of the task, then whether the change is user-visible. */
static void put_changes(struct build *b) {
    bool is_pg = b->dialect == SQL_POSTGRES;
    const struct row_type *types[] = { b->text->row, is_pg ? b->text->more : NULL };
    for (size_t i = 0; i < ARRAY_SIZE(types) && types[i]; i++)
        ROW_COLUMNS(c, types[i]) {
            bool is_age = c->flags & COLUMN_AGE;
            size_t n = (size_t)(c - types[i]->columns) + 1, seen = types[i]->count + 1;
            if (c->flags & (COLUMN_ID | COLUMN_FIXED))
                continue;
            next_item(b);
            if (is_pg)
                strbuf_printf(
                    b->out, is_age ? "%s = CASE WHEN n.seen THEN n.%s ELSE t.%s END" : "%s = n.%s",
                    c->name, c->name, c->name);
            else if (is_age)
                strbuf_printf(b->out, "%s = CASE WHEN ?%zu THEN ?%zu ELSE %s END", c->name, seen, n,
                              c->name);
            else
                strbuf_printf(b->out, "%s = ?%zu", c->name, n);
        }
}

static void put_row_value(struct build *b, const struct sql_column *column, unsigned i,
                          unsigned count) {
    const char *type = type_name(column->type);
    if (!sql_is_array(column, b->form))
        strbuf_printf(b->out, "$%u::%s", i + 1, type);
    else if (b->form == SQL_USUAL || i == 0)
        strbuf_printf(b->out, "n.%.*s", column->size, column->name);
    else
        strbuf_printf(b->out, "coalesce(n.%.*s, $%u::%s)", column->size, column->name, count + i,
                      type);
}

/* (SELECT n.a AS a, coalesce(n.b, $3::text) AS b FROM unnest($1::bigint[], $2::text[]) AS n (a, b))
 * AS n, or as a rule (SELECT n.a AS a, $2::text AS b FROM unnest($1::bigint[]) AS n (a)) AS n */
static void put_rows(struct build *b) {
    struct sql_column columns[SQL_COLUMNS_MAX];
    unsigned count = sql_columns(b->statement, columns);
    _cleanup_(strbuf_finish) struct strbuf arrays = STRBUF_INIT, names = STRBUF_INIT;
    strbuf_puts(b->out, "(SELECT ");
    for (unsigned i = 0; i < count; i++) {
        const struct sql_column *column = &columns[i];
        const char *comma = arrays.length ? ", " : "";
        next_item(b);
        put_row_value(b, column, i, count);
        strbuf_printf(b->out, " AS %.*s", column->size, column->name);
        if (!sql_is_array(column, b->form))
            continue;
        strbuf_printf(&arrays, "%s$%u::%s[]", comma, i + 1, type_name(column->type));
        strbuf_printf(&names, "%s%.*s", comma, column->size, column->name);
    }
    strbuf_printf(b->out, " FROM unnest(%s) AS n (%s)) AS n", arrays.text, names.text);
}

/* A partial index is used only if the statement repeats its condition. */
static void put_true(struct build *b) {
    strbuf_puts(b->out, b->dialect == SQL_SQLITE ? " = 1" : "");
}

static void put_false(struct build *b) {
    strbuf_puts(b->out, b->dialect == SQL_SQLITE ? " = 0" : " = false");
}

static void put_word(struct build *b, const char *word, size_t size) {
    static const struct {
        const char *word;
        void (*put)(struct build *b);
    } words[] = {
        { "table", put_table },   { "put", put_put },           { "columns", put_columns },
        { "values", put_values }, { "selected", put_selected }, { "rows", put_rows },
        { "read", put_read },     { "keys", put_keys },         { "sums", put_sums },
        { "totals", put_totals }, { "conflict", put_conflict }, { "changes", put_changes },
        { "true", put_true },     { "false", put_false },
    };
    b->items = 0;
    for (size_t i = 0; i < ARRAY_SIZE(words); i++)
        if (strlen(words[i].word) == size && strncmp(words[i].word, word, size) == 0) {
            words[i].put(b);
            return;
        }
    assert(!"a statement has a word that stands for nothing");
}

static void expand(struct build *b, const char *text) {
    for (const char *c = text; *c; c++) {
        if (*c == '$' && b->dialect == SQL_SQLITE) {
            strbuf_putc(b->out, '?');
        } else if (*c == '{') {
            const char *word = c + 1;
            c = strchr(word, '}');
            const char *colon = memchr(word, ':', (size_t)(c - word));
            char argument[8] = "";
            if (colon)
                memcpy(argument, colon + 1, (size_t)(c - colon) - 1);
            b->argument = argument;
            put_word(b, word, (size_t)((colon ? colon : c) - word));
            b->argument = "";
        } else {
            strbuf_putc(b->out, *c);
        }
    }
}

void sql_build(enum statement statement, enum sql_dialect dialect, enum sql_form form,
               struct strbuf *out) {
    const struct statement_text *text = &statement_texts[statement];
    struct build b = { statement, text, dialect, form, out, "", 0 };
    expand(&b, dialect == SQL_SQLITE ? text->sqlite : text->postgres);
}

/* --- tables ---------------------------------------------------------------------------------- */

/* Table properties beside its columns. */
static const struct {
    const char *sqlite_id, *postgres_id; /* a number of its own */
    const char *postgres_more;           /* columns */
    const char *postgres_key;            /* NULL: in the order of the columns */
    const char *postgres_with;
} extras[ROW_KIND_MAX] = {
    /* Rows that change have room in their page, so that no index is touched. */
    [ROW_TASK] = { .postgres_more = ", needs bigint[]",
                   .postgres_with = " WITH (fillfactor = 80)" },
    [ROW_RUN] = { .postgres_with = " WITH (fillfactor = 80)" },
    [ROW_PROJECT] = { .sqlite_id = "id INTEGER PRIMARY KEY, ",
                      .postgres_id = "id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, " },
    [ROW_KEY] = { .sqlite_id = "id INTEGER PRIMARY KEY, " },
    [ROW_USAGE] = { .postgres_key = "bucket, project" },
};

static const char *or_empty(const char *text) {
    return text ? text : "";
}

/* "name TYPE" and constraints. `may_be_null`: progress in PostgreSQL. */
static void put_definition(enum sql_dialect dialect, const struct column *c, const char *id,
                           bool may_be_null, struct strbuf *out) {
    bool is_pg = dialect == SQL_POSTGRES, is_text = column_is_text(c);
    bool is_required =
        is_text ? c->flags & (COLUMN_REQUIRED | COLUMN_ID)
                : !may_be_null && c->type != COLUMN_FINAL && !(c->flags & COLUMN_OPTIONAL);
    strbuf_printf(out, "%s %s", c->name,
                  is_pg     ? type_name(type_of(c))
                  : is_text ? "TEXT"
                            : "INTEGER");
    if (is_pg && is_text && c->flags & (COLUMN_ID | COLUMN_INDEXED))
        strbuf_puts(out, " COLLATE \"C\"");
    if (c->flags & COLUMN_ID && !id)
        strbuf_puts(out, " PRIMARY KEY");
    else if (is_required)
        strbuf_puts(out, " NOT NULL");
    if (c->flags & COLUMN_ID && id)
        strbuf_puts(out, " UNIQUE");
}

static void put_definitions(enum sql_dialect dialect, enum row_kind kind, struct strbuf *out) {
    const char *id = dialect == SQL_SQLITE ? extras[kind].sqlite_id : extras[kind].postgres_id;
    unsigned count = 0;
    /* PostgreSQL aligns columns: widest first wastes no space. */
    for (const char *type = dialect == SQL_POSTGRES ? "libt" : "*"; *type; type++)
        ROW_COLUMNS(c, &row_types[kind])
    if (*type == '*' || type_of(c) == *type) {
        strbuf_puts(out, count++ ? ", " : or_empty(id));
        put_definition(dialect, c, id, false, out);
    }
    if (kind == ROW_TASK && dialect == SQL_POSTGRES)
        ROW_COLUMNS(c, &row_types[ROW_PROGRESS])
    if (!is_key(c)) {
        strbuf_puts(out, ", ");
        put_definition(dialect, c, NULL, true, out);
    }
}

static bool is_table(enum sql_dialect dialect, enum row_kind kind) {
    return kind != ROW_PAUSE && (kind != ROW_PROGRESS || dialect == SQL_SQLITE);
}

static void create_table(enum sql_dialect dialect, enum row_kind kind, struct strbuf *out) {
    const struct row_type *type = &row_types[kind];
    bool is_pg = dialect == SQL_POSTGRES;
    const struct statement_text text = { .row = type };
    struct build keys = { .text = &text, .dialect = dialect, .out = out };
    strbuf_printf(out, "CREATE TABLE %s (", type->table);
    put_definitions(dialect, kind, out);
    strbuf_puts(out, is_pg ? or_empty(extras[kind].postgres_more) : "");
    bool composite = type->columns[0].flags & COLUMN_KEY;
    if (composite) {
        strbuf_puts(out, ", PRIMARY KEY (");
        if (is_pg && extras[kind].postgres_key)
            strbuf_puts(out, extras[kind].postgres_key);
        else
            put_keys(&keys);
        strbuf_putc(out, ')');
    }
    bool has_rowid = !composite && (!column_is_text(type->columns) || extras[kind].sqlite_id);
    if (is_pg)
        strbuf_printf(out, ")%s;\n", or_empty(extras[kind].postgres_with));
    else
        strbuf_printf(out, ") STRICT%s;\n", has_rowid ? "" : ", WITHOUT ROWID");
}

void sql_create_tables(enum sql_dialect dialect, struct strbuf *out) {
    for (enum row_kind kind = 0; kind < ROW_KIND_MAX; kind++)
        if (is_table(dialect, kind))
            create_table(dialect, kind, out);
}

/* The first column of a new table has that version as `since`. */
void sql_add_columns(enum sql_dialect dialect, uint32_t version, struct strbuf *out) {
    for (enum row_kind kind = 0; kind < ROW_KIND_MAX; kind++) {
        const struct row_type *type = &row_types[kind];
        bool is_progress = kind == ROW_PROGRESS && dialect == SQL_POSTGRES;
        if (is_table(dialect, kind) && type->columns->since == version) {
            create_table(dialect, kind, out);
            continue;
        }
        ROW_COLUMNS(c, type) {
            if (c->since != version || (!is_table(dialect, kind) && !is_progress))
                continue;
            strbuf_printf(out, "ALTER TABLE %s ADD COLUMN ", is_progress ? "task" : type->table);
            put_definition(dialect, c, NULL, is_progress, out);
            if (!column_is_text(c) && !is_progress && !(c->flags & COLUMN_OPTIONAL))
                strbuf_printf(out, " DEFAULT %s",
                              type_of(c) == 'b' && dialect == SQL_POSTGRES ? "false"
                              : c->usual < 0                               ? "-1"
                              : c->usual                                   ? "1"
                                                                           : "0");
            strbuf_putc(out, ';');
        }
    }
}

/* --- reading --------------------------------------------------------------------------------- */

const struct sql_part sql_parts[] = {
    { ROW_PROJECT, " FROM project ORDER BY id" },
    { ROW_LIMITER, " FROM limiter ORDER BY name" },
    { ROW_AGENT, " FROM agent ORDER BY name" },
    { ROW_GROUP, " FROM grp ORDER BY id" },
    { ROW_USAGE, " FROM usage ORDER BY bucket, project" },
    { ROW_WAIT, " FROM wait ORDER BY project, limiter, agent" },
    { ROW_NOTE, " FROM note ORDER BY name" },
    { ROW_TASK, " FROM task ORDER BY number" },
    /* From the index alone: the rows of `spec` are wide. */
    { SQL_EXTERNAL, " FROM spec WHERE external_id IS NOT NULL" },
    { ROW_RUN, " FROM run WHERE ended{false} ORDER BY task, attempt" },
};
_Static_assert(ARRAY_SIZE(sql_parts) == SQL_PARTS, "what is loaded has changed");

void sql_load(const struct sql_part *part, enum sql_dialect dialect, struct strbuf *out) {
    struct statement_text text = { 0 };
    struct build b = { .text = &text, .dialect = dialect, .out = out, .argument = "" };
    strbuf_puts(out, part->kind == SQL_EXTERNAL ? "SELECT number, external_id" : "SELECT ");
    if (part->kind != SQL_EXTERNAL) {
        text.row = &row_types[part->kind];
        put_read(&b);
    }
    if (part->kind == ROW_TASK && dialect == SQL_POSTGRES) {
        strbuf_puts(out, ", needs, number");
        ROW_COLUMNS(c, &row_types[ROW_PROGRESS])
        if (!is_key(c))
            strbuf_printf(out, ", %s", c->name);
    }
    expand(&b, part->rest);
}

static int report_damage(struct sql_loader *loader, enum row_kind kind) {
    char what[128];
    (void)snprintf(what, sizeof(what), "table %s %s", row_types[kind].table, loader->damage);
    return loader->damaged(loader->store, what, loader->err);
}

static int pass_row(struct sql_loader *loader, enum row_kind kind, const void *row) {
    return loader->names.damaged
               ? report_damage(loader, kind)
               : store_pass_row(loader->store, loader->reader, kind, row, loader->err);
}

int sql_load_row(struct sql_loader *loader, enum row_kind kind, const struct row_source *from,
                 const void *ctx) {
    union any_row row;
    memset(&row, 0, sizeof(row));
    if (kind == SQL_EXTERNAL)
        row.external = (struct external_row){ (task_id)from->number(ctx, 0), from->text(ctx, 1) };
    else
        (void)row_read(&row_types[kind], &row, from, ctx, 0, &loader->names);
    return pass_row(loader, kind, &row);
}

int sql_load_task(struct sql_loader *loader, const struct task_row *row) {
    const struct store_options *options = loader->options;
    if (loader->tasks++ % PROGRESS_ROWS == 0 && options->progress) {
        task_id last = loader->store->last.task;
        double part = last ? (double)row->id / (double)last : 1;
        options->progress(options->ctx, "loading", part < 1 ? (unsigned)(100 * part) : 100);
    }
    loader->names.damaged |= row->id == 0 || !row->project;
    return pass_row(loader, ROW_TASK, row);
}

/* The value of a statement's parameter: the member of the question that has its name. */
static struct sql_value value_of(const struct store_query *q, const struct sql_column *param,
                                 const struct names *names) {
    sym project = q->project ? symbol_find(&names->table, q->project, strlen(q->project)) : 0;
    const struct {
        const char *name;
        struct sql_value value;
    } members[] = {
        { "task", { NULL, sql_number(q->task) } },
        { "after", { NULL, sql_number(q->after) } },
        { "before", { NULL, q->before ? sql_number(q->before) : INT64_MAX } },
        { "since", { NULL, q->since } },
        { "before_time", { NULL, q->before_time } },
        { "place_ended_at", { NULL, q->place.ended_at } },
        { "place_task", { NULL, sql_number(q->place.task) } },
        { "place_attempt", { NULL, q->place.attempt } },
        { "days", { NULL, q->days } },
        { "limit", { NULL, (int64_t)q->limit } },
        { "key", { q->key ? q->key : "", 0 } }, /* no key is empty */
        { "project", { NULL, project } },
    };
    for (size_t i = 0; i < ARRAY_SIZE(members); i++)
        if (strlen(members[i].name) == (size_t)param->size
            && strncmp(members[i].name, param->name, (size_t)param->size) == 0)
            return members[i].value;
    assert(!"a parameter has the name of no member");
    return (struct sql_value){ 0 };
}

static enum statement statement_of(const struct store_query *q) {
    static const struct {
        enum statement any, of_task; /* of_task 0: the same */
    } statements[] = {
        [QUERY_SPECS] = { STATEMENT_GET_SPEC },
        [QUERY_CHANGED] = { STATEMENT_GET_CHANGED },
        [QUERY_TITLES] = { STATEMENT_GET_TITLE },
        [QUERY_RUNS] = { STATEMENT_GET_ALL_RUNS, STATEMENT_GET_RUNS },
        [QUERY_EVENTS] = { STATEMENT_GET_EVENTS, STATEMENT_GET_TASK_EVENTS },
        [QUERY_EVENTS_BACK] = { STATEMENT_GET_EVENTS_BACK, STATEMENT_GET_TASK_EVENTS_BACK },
        [QUERY_KEY] = { STATEMENT_GET_KEY },
        [QUERY_KEYS] = { STATEMENT_GET_KEYS },
        [QUERY_EXTERNAL] = { STATEMENT_GET_EXTERNAL },
        [QUERY_EXPIRED] = { STATEMENT_GET_EXPIRED },
        [QUERY_ENDED] = { STATEMENT_GET_ENDED },
        [QUERY_SPENT] = { STATEMENT_GET_SPENT_BY_PROJECT },
    };
    _Static_assert(ARRAY_SIZE(statements) == QUERY_KIND_MAX, "a question has no statement");
    if (q->kind == QUERY_SPENT && (q->apart || q->by_agent))
        return q->apart ? STATEMENT_GET_SPENT_APART : STATEMENT_GET_SPENT_BY_AGENT;
    enum statement of_task = q->task ? statements[q->kind].of_task : 0;
    return of_task ? of_task : statements[q->kind].any;
}

bool sql_query(const struct store_query *q, const struct names *names, struct sql_query *ret) {
    struct sql_column params[SQL_COLUMNS_MAX];
    *ret = (struct sql_query){ .statement = statement_of(q) };
    unsigned count = sql_columns(ret->statement, params);
    assert(count <= SQL_VALUES_MAX);
    if (count > 0 && params[0].type != 'L') /* else one row for each of the tasks */
        for (; ret->count < count; ret->count++)
            ret->values[ret->count] = value_of(q, &params[ret->count], names);
    return q->kind != QUERY_EXTERNAL || (ret->values[0].number && q->key);
}
