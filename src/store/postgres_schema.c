/* postgres_schema.c: the tables in PostgreSQL, and migrations.
 *
 * columns.h generates the tables of a new schema. Step n leads to version PG_FIRST_VERSION + n and
 * never changes after its release: a new version gets its new columns from columns.h, and a step
 * for everything else. Each step is one transaction that includes the new version number.
 *
 * As in SQLite, names and enum words are numbers in the table `name`, 0 is "none", times are
 * milliseconds, and every index serves a question. Different: a task's dependencies are an array in
 * its row, and its progress is in the same row, NULL for initial values; any change rewrites the
 * complete row here. Rows that change have room in their page (fillfactor), so that no index is
 * touched. Texts compare by bytes (COLLATE "C"): new collation rules cannot corrupt an index. */
#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "store/postgres_internal.h"

/* clang-format off */
/* One for each version; NULL: columns.h says what it adds. */
static const char *const steps[STORE_VERSION - PG_FIRST_VERSION + 1] = {
    NULL, /* a new schema has the tables of STORE_VERSION from the start */
    /* 8: the key of a live run, who its shim is, and its cgroup */
    "ALTER TABLE run ADD COLUMN shim_key text, ADD COLUMN shim_pid bigint NOT NULL DEFAULT 0,"
    " ADD COLUMN shim_start bigint NOT NULL DEFAULT 0,"
    " ADD COLUMN shim_space bigint NOT NULL DEFAULT 0, ADD COLUMN cgroup text;",
};
/* clang-format on */

#define LAST_BY_HAND 8u /* the last version whose columns are not generated from columns.h */

/* Tables that do not hold rows, and indexes. */
static const char others[] =
    "CREATE TABLE store (one boolean PRIMARY KEY DEFAULT true CHECK (one),"
    " version integer NOT NULL, epoch bigint NOT NULL, clean boolean NOT NULL,"
    " commits bigint NOT NULL, last_task bigint NOT NULL, last_event bigint NOT NULL,"
    " paused boolean NOT NULL, paused_by integer NOT NULL, paused_at bigint NOT NULL,"
    " holder text NOT NULL, holder_pid integer NOT NULL) WITH (fillfactor = 25);"
    "INSERT INTO store VALUES (true, 0, 0, true, 0, 0, 0, false, 0, 0, '', 0);"
    "CREATE TABLE name (id integer PRIMARY KEY, text text COLLATE \"C\" NOT NULL UNIQUE);"
    "CREATE INDEX task_final ON task (final_at, number) WHERE final_at IS NOT NULL;"
    "CREATE UNIQUE INDEX spec_external ON spec (project, external_id)"
    " WHERE external_id IS NOT NULL;"
    "CREATE INDEX run_open ON run (task, attempt) WHERE NOT ended;"
    "CREATE INDEX run_ended ON run (ended_at, task, attempt) WHERE ended;"
    "CREATE INDEX event_task ON event (task, seq) WHERE task IS NOT NULL;"
    "CREATE INDEX key_at ON key (at);";

const struct pg_schema pg_schema = { .steps = steps, .version = STORE_VERSION };

/* Reports the missing privileges, as the SQL that grants them. */
static int refuse_reading(struct pg_link *link, struct error *err) {
    const char *schema = link->target->schema, *role = PQuser(link->pg);
    return error_set(
        err, -EACCES,
        "role '%s' may not use the tables of schema '%s': GRANT USAGE ON SCHEMA %s TO %s; "
        "GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA %s TO %s",
        role, schema, schema, role, schema, role);
}

int pg_schema_inspect(struct pg_link *link, uint32_t newest, uint32_t *ret_version,
                      struct error *err) {
    _cleanup_(pg_result_free) PGresult *found = NULL, *row = NULL;
    int r = pg_link_run_with(
        link, "look for the schema",
        "SELECT count(*), count(*) FILTER (WHERE c.relname = 'store') FROM pg_class c"
        " JOIN pg_namespace n ON n.oid = c.relnamespace WHERE n.nspname = $1"
        " AND c.relkind IN ('r', 'p', 'v', 'm')",
        link->target->schema, &found, err);
    if (r < 0)
        return r;
    if (pg_result_number(found, 0, 0) == 0) {
        *ret_version = 0;
        return 0;
    }
    if (pg_result_number(found, 0, 1) == 0)
        return error_set(err, -EUCLEAN,
                         "schema '%s' at '%s' has tables of another program: give the store "
                         "another one with '?schema=NAME'",
                         link->target->schema, link->target->shown);
    r = pg_link_run(link, "read the version", "SELECT version FROM store", &row, err);
    if (r == -EACCES || r == -EUCLEAN) /* without USAGE the table is not even found */
        return refuse_reading(link, err);
    if (r < 0)
        return r;
    int64_t version = pg_result_number(row, 0, 0);
    if (version > newest)
        return error_set(err, -EPROTO,
                         "store '%s' has version %" PRId64 ", this program knows up to %" PRIu32
                         ": use the newer program",
                         link->target->shown, version, newest);
    if (version < PG_FIRST_VERSION)
        return error_set(err, -EUCLEAN,
                         "store '%s' is damaged (version %" PRId64 "): restore it from a dump",
                         link->target->shown, version);
    *ret_version = (uint32_t)version;
    return 0;
}

static int run_step(struct pg_link *link, const char *step, uint32_t version, struct error *err) {
    const char *schema = link->target->schema;
    _cleanup_(strbuf_finish) struct strbuf sql = STRBUF_INIT;
    strbuf_puts(&sql, "BEGIN; SET LOCAL enable_seqscan = on; SET LOCAL enable_hashjoin = on;");
    strbuf_printf(&sql, "%s UPDATE store SET version = %" PRIu32 "; COMMIT", step, version);
    time_ms patience = link->patience;
    link->patience = HOURS(24); /* a large table takes long */
    int r = pg_link_run(link, "make the tables", sql.text, NULL, err);
    link->patience = patience;
    if (r >= 0)
        return 0;
    (void)pg_link_run(link, "roll back", "ROLLBACK", NULL, NULL);
    if (r == -EACCES || r == -EUCLEAN)
        return error_set(
            err, -EACCES,
            "role '%s' may not make the tables of version %" PRIu32
            " in schema '%s' at '%s': run 'sluiced --store-migrate URL' once as the owner "
            "of the schema, or CREATE SCHEMA %s AUTHORIZATION %s",
            PQuser(link->pg), version, schema, link->target->shown, schema, PQuser(link->pg));
    return r;
}

static int create_tables(struct pg_link *link, struct error *err) {
    const char *schema = link->target->schema;
    _cleanup_(strbuf_finish) struct strbuf sql = STRBUF_INIT;
    strbuf_printf(&sql,
                  "DO $$BEGIN IF to_regnamespace('\"%s\"') IS NULL THEN"
                  " CREATE SCHEMA \"%s\"; END IF; END$$;",
                  schema, schema);
    sql_create_tables(SQL_POSTGRES, &sql);
    strbuf_puts(&sql, others);
    return run_step(link, sql.text, STORE_VERSION, err);
}

static int migrate_to(struct pg_link *link, const struct pg_schema *schema, uint32_t version,
                      struct error *err) {
    _cleanup_(strbuf_finish) struct strbuf sql = STRBUF_INIT;
    const char *step = schema->steps[version - PG_FIRST_VERSION];
    if (version > LAST_BY_HAND)
        sql_add_columns(SQL_POSTGRES, version, &sql);
    strbuf_puts(&sql, step ? step : "");
    return run_step(link, strbuf_text(&sql), version, err);
}

int pg_schema_migrate(struct pg_link *link, const struct pg_schema *schema, uint32_t from,
                      struct error *err) {
    int r = from ? 0 : create_tables(link, err);
    for (uint32_t version = from ? from + 1 : STORE_VERSION + 1;
         r >= 0 && version <= schema->version; version++)
        r = migrate_to(link, schema, version, err);
    return r;
}

int pg_schema_check_rights(struct pg_link *link, struct error *err) {
    _cleanup_(pg_result_free) PGresult *result = NULL;
    int r = pg_link_run_with(
        link, "look at the rights",
        "SELECT count(*) FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace"
        " WHERE n.nspname = $1 AND c.relkind = 'r' AND NOT (has_table_privilege(c.oid, 'SELECT')"
        " AND has_table_privilege(c.oid, 'INSERT') AND has_table_privilege(c.oid, 'UPDATE')"
        " AND has_table_privilege(c.oid, 'DELETE'))",
        link->target->schema, &result, err);
    if (r < 0)
        return r;
    return pg_result_number(result, 0, 0) > 0 ? refuse_reading(link, err) : 0;
}
