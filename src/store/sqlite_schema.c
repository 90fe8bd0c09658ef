/* sqlite_schema.c: migrates a file of any older version.
 *
 * columns.h generates the tables of a new file. Step n leads from version n to n + 1 and never
 * changes after its release: a new version gets its new columns from columns.h, and a step for
 * everything else. Each step is one transaction that includes the new version number, so a crash
 * leaves the old version or the new one. Before the first step, an existing file is copied.
 *
 * Names and enum words are numbers in the table `name`; 0 is "none". Times are milliseconds. Only
 * tasks with progress have a row in `progress`: a million waiting tasks load faster without. Every
 * index serves a question: unended runs at startup, final tasks for retention, the events of one
 * task, keys by age, runs by their end. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>

#include "base/strbuf.h"
#include "store/sqlite_internal.h"

/* clang-format off */

/* 6 → 7: sums of the existing runs. Part of that step, so it never changes either. */
#define SPENT_SO_FAR(days, span)                                                                   \
    "INSERT INTO spent SELECT " days ", ended_at - ended_at % " span ", t.project, r.agent,"       \
    " count(*), sum(outcome = (SELECT id FROM name WHERE text = 'ok')),"                           \
    " sum(CASE WHEN r.started_at > 0 AND ended_at > r.started_at"                                  \
    " THEN ended_at - r.started_at ELSE 0 END), sum(max(tokens_in, 0)),"                           \
    " sum(max(tokens_out, 0)), sum(max(tokens_cached, 0)), sum(max(cost_micro_usd, 0)),"           \
    " sum(tokens_in < 0 AND tokens_out < 0), sum(cost_micro_usd < 0)"                              \
    " FROM run r JOIN task t ON t.number = r.task WHERE ended = 1 GROUP BY 2, 3, 4;"

/* One for each version; NULL: columns.h says what it adds. */
static const char *const steps[STORE_VERSION] = {
    NULL, /* a new file has the tables of STORE_VERSION from the start */
    /* 1 → 2: who paused a project, and when; for the queue it is in `meta` */
    ("ALTER TABLE project ADD COLUMN paused_by INTEGER NOT NULL DEFAULT 0;"
     "ALTER TABLE project ADD COLUMN paused_at INTEGER NOT NULL DEFAULT 0;"),
    /* 2 → 3: persistent notes of parts of the daemon */
    "CREATE TABLE note (name TEXT PRIMARY KEY, text TEXT NOT NULL) STRICT, WITHOUT ROWID;",
    /* 3 → 4: the context of a sling */
    "ALTER TABLE spec ADD COLUMN context TEXT;",
    /* 4 → 5: rate limit and stop mode of a run; the last success of an account */
    ("ALTER TABLE run ADD COLUMN limited_until INTEGER NOT NULL DEFAULT 0;"
     "ALTER TABLE run ADD COLUMN stop_now INTEGER NOT NULL DEFAULT 0;"
     "ALTER TABLE limiter ADD COLUMN last_success INTEGER NOT NULL DEFAULT 0;"),
    /* 5 → 6: the token of a run, and what its agent reported */
    ("ALTER TABLE run ADD COLUMN token_hash TEXT;"
     "ALTER TABLE run ADD COLUMN tokens_cached INTEGER NOT NULL DEFAULT -1;"
     "ALTER TABLE run ADD COLUMN session TEXT;"
     "ALTER TABLE run ADD COLUMN resumed INTEGER NOT NULL DEFAULT 0;"
     "ALTER TABLE run ADD COLUMN model INTEGER NOT NULL DEFAULT 0;"
     "ALTER TABLE run ADD COLUMN said INTEGER NOT NULL DEFAULT 0;"),
    /* 6 → 7: lender and lent slots of a live run; runs by their end; usage by hour (days = 0) and
     * by day, which outlives the runs; clocks of agents with failover; tasks with their own command
     * are bound to their agent; money beside tokens, unknown for earlier usage */
    ("ALTER TABLE progress ADD COLUMN lender INTEGER NOT NULL DEFAULT 0;"
     "ALTER TABLE progress ADD COLUMN borrowed INTEGER NOT NULL DEFAULT 0;"
     "CREATE INDEX run_ended ON run (ended_at) WHERE ended = 1;"
     "CREATE TABLE spent (days INTEGER NOT NULL, at INTEGER NOT NULL, project INTEGER NOT NULL,"
     " agent INTEGER NOT NULL, runs INTEGER NOT NULL, ok INTEGER NOT NULL,"
     " busy_ms INTEGER NOT NULL, tokens_in INTEGER NOT NULL, tokens_out INTEGER NOT NULL,"
     " tokens_cached INTEGER NOT NULL, cost_micro_usd INTEGER NOT NULL,"
     " unknown_tokens INTEGER NOT NULL, unknown_cost INTEGER NOT NULL,"
     " PRIMARY KEY (days, at, project, agent)) STRICT, WITHOUT ROWID;"
     SPENT_SO_FAR("0", "3600000") SPENT_SO_FAR("1", "86400000")
     "ALTER TABLE wait RENAME TO wait_6;"
     "CREATE TABLE wait (project INTEGER NOT NULL, limiter INTEGER NOT NULL, agent INTEGER NOT NULL,"
     " lost INTEGER NOT NULL, closed_since INTEGER NOT NULL,"
     " PRIMARY KEY (project, limiter, agent)) STRICT, WITHOUT ROWID;"
     "INSERT INTO wait SELECT project, limiter, 0, lost, closed_since FROM wait_6;"
     "DROP TABLE wait_6;"
     "UPDATE task SET flags = flags | 256 WHERE final_at IS NULL AND agent <> 0 AND number IN"
     " (SELECT number FROM spec WHERE CASE WHEN json_valid(json) THEN"
     " json_extract(json, '$.argv') IS NOT NULL END);"
     "ALTER TABLE usage ADD COLUMN money INTEGER NOT NULL DEFAULT 0;"
     "ALTER TABLE usage ADD COLUMN priced INTEGER NOT NULL DEFAULT 0;"
     "ALTER TABLE usage ADD COLUMN unpriced INTEGER NOT NULL DEFAULT 0;"),
    /* 7 → 8: the key, shim and cgroup of a live run */
    ("ALTER TABLE run ADD COLUMN shim_key TEXT;"
     "ALTER TABLE run ADD COLUMN shim_pid INTEGER NOT NULL DEFAULT 0;"
     "ALTER TABLE run ADD COLUMN shim_start INTEGER NOT NULL DEFAULT 0;"
     "ALTER TABLE run ADD COLUMN shim_space INTEGER NOT NULL DEFAULT 0;"
     "ALTER TABLE run ADD COLUMN cgroup TEXT;"),
};
/* clang-format on */

#define LAST_BY_HAND 8u /* the last version whose columns are not generated from columns.h */

const struct sqlite_schema sqlite_schema = { .steps = steps, .version = STORE_VERSION };

/* One transaction: the step, its number and the application id. */
static int run_step(struct sqlite_store *store, const char *step, uint32_t version,
                    struct error *err) {
    _cleanup_(strbuf_finish) struct strbuf sql = STRBUF_INIT;
    strbuf_printf(&sql,
                  "BEGIN IMMEDIATE; %s; PRAGMA application_id = %d;"
                  "PRAGMA user_version = %" PRIu32 "; COMMIT",
                  step, SQLITE_APPLICATION_ID, version);
    int rc = sqlite3_exec(store->db, sql.text, NULL, NULL, NULL);
    if (rc == SQLITE_OK)
        return 0;
    int r = sqlite_error(store->db, store->file.path, "migrate", rc, err);
    if (!sqlite3_get_autocommit(store->db))
        (void)sqlite3_exec(store->db, "ROLLBACK", NULL, NULL, NULL);
    return r;
}

/* Tables that do not hold rows, and indexes. */
static const char others[] =
    "CREATE TABLE meta (key TEXT PRIMARY KEY, value INTEGER NOT NULL) STRICT, WITHOUT ROWID;"
    "INSERT INTO meta VALUES ('epoch', 0), ('clean', 1), ('paused', 0), ('last_task', 0),"
    " ('last_event', 0);"
    "CREATE TABLE name (id INTEGER PRIMARY KEY, text TEXT NOT NULL UNIQUE) STRICT;"
    "CREATE TABLE depend (task INTEGER NOT NULL, position INTEGER NOT NULL,"
    " needs INTEGER NOT NULL, PRIMARY KEY (task, position)) STRICT, WITHOUT ROWID;"
    "CREATE INDEX task_final ON task (final_at) WHERE final_at IS NOT NULL;"
    "CREATE UNIQUE INDEX spec_external ON spec (project, external_id)"
    " WHERE external_id IS NOT NULL;"
    "CREATE INDEX run_open ON run (task, attempt) WHERE ended = 0;"
    "CREATE INDEX run_ended ON run (ended_at) WHERE ended = 1;"
    "CREATE INDEX event_task ON event (task) WHERE task IS NOT NULL;"
    "CREATE INDEX key_at ON key (at);";

static int create_tables(struct sqlite_store *store, struct error *err) {
    _cleanup_(strbuf_finish) struct strbuf sql = STRBUF_INIT;
    sql_create_tables(SQL_SQLITE, &sql);
    strbuf_puts(&sql, others);
    return run_step(store, sql.text, STORE_VERSION, err);
}

static int migrate_to(struct sqlite_store *store, const struct sqlite_schema *schema,
                      uint32_t version, struct error *err) {
    _cleanup_(strbuf_finish) struct strbuf sql = STRBUF_INIT;
    const char *step = schema->steps[version - 1];
    if (version > LAST_BY_HAND)
        sql_add_columns(SQL_SQLITE, version, &sql);
    strbuf_puts(&sql, step ? step : "");
    return run_step(store, strbuf_text(&sql), version, err);
}

static int make_copy(struct sqlite_store *store, uint32_t version, struct store_report *report,
                     struct error *err) {
    char what[32];
    (void)snprintf(what, sizeof(what), "version-%" PRIu32, version);
    if (sqlite_file_choose_name(&store->file, what, report->backup) < 0)
        return error_set(err, -ENAMETOOLONG, "path '%s' is too long for a copy beside it",
                         store->file.path);
    int r = sqlite_copy(store, report->backup, err);
    if (r < 0)
        report->backup[0] = '\0';
    return r < 0 ? error_prefix(err, "cannot copy the store before its migration") : 0;
}

int sqlite_inspect(struct sqlite_store *store, uint32_t newest, struct store_report *report,
                   uint32_t *ret_version, struct error *err) {
    int64_t found[3] = { 0 }, clean = 1;
    int rc = sqlite_numbers(store->db,
                            "SELECT *, (SELECT count(*) FROM sqlite_schema)"
                            " FROM pragma_user_version, pragma_application_id",
                            3, found);
    int64_t version = found[0], id = found[1], tables = found[2];
    if (rc != SQLITE_OK)
        return sqlite_error(store->db, store->file.path, "read", rc, err);
    report->created = version == 0 && id == 0 && tables == 0;
    if (!report->created && id != SQLITE_APPLICATION_ID)
        return error_set(err, -EUCLEAN,
                         "'%s' is a database of another program: give the store another place",
                         store->file.path);
    if (version < 0 || version > newest)
        return error_set(err, -EPROTO,
                         "store '%s' has version %" PRId64 ", this program knows up to %" PRIu32
                         ": use the newer program, or restore an older copy",
                         store->file.path, version, newest);
    if (!report->created)
        rc = sqlite_meta(store->db, "clean", &clean);
    if (rc != SQLITE_OK)
        return sqlite_error(store->db, store->file.path, "read", rc, err);
    report->was_unclean = clean == 0;
    *ret_version = (uint32_t)version;
    return 0;
}

int sqlite_migrate(struct sqlite_store *store, const struct sqlite_schema *schema, uint32_t from,
                   struct store_report *report, struct error *err) {
    uint32_t to = schema->version;
    if (from > 0 && from < to) {
        sqlite_progress(store, "copying before the migration", 0);
        int r = make_copy(store, from, report, err);
        if (r < 0)
            return r;
        report->migrated_from = from;
    }
    int r = from == 0 ? create_tables(store, err) : 0;
    for (uint32_t version = from ? from : STORE_VERSION; r >= 0 && version < to; version++) {
        if (from > 0)
            sqlite_progress(store, "migrating", 100 * (version - from) / (to - from));
        r = migrate_to(store, schema, version + 1, err);
    }
    return r;
}
