/* sqlite_names.c: names and words as numbers (names.h), in a file. */
#include "store/sqlite_internal.h"

sym sqlite_name(struct sqlite_store *store, const char *name) {
    return names_number(&store->names, name);
}

const char *sqlite_name_text(const struct sqlite_store *store, int64_t number, bool *damaged) {
    return names_text(&store->names, number, damaged);
}

sym sqlite_word(const struct sqlite_store *store, enum word_list list, unsigned value) {
    return names_word(&store->names, list, value);
}

unsigned sqlite_word_value(const struct sqlite_store *store, enum word_list list, int64_t number,
                           bool *damaged) {
    return names_value(&store->names, list, number, damaged);
}

int sqlite_names_load(struct sqlite_store *store, struct error *err) {
    sqlite3_stmt *stmt = NULL;
    int rc =
        sqlite3_prepare_v2(store->db, "SELECT id, text FROM name ORDER BY id", -1, &stmt, NULL);
    bool dense = true;
    while (rc == SQLITE_OK && dense && (rc = sqlite3_step(stmt)) == SQLITE_ROW) {
        dense = names_read(&store->names, sqlite3_column_int64(stmt, 0),
                           (const char *)sqlite3_column_text(stmt, 1));
        rc = SQLITE_OK;
    }
    sqlite3_finalize(stmt);
    if (!dense)
        return sqlite_damaged(store, "the table of names has a gap", err);
    if (rc != SQLITE_DONE)
        return sqlite_fault(store, "read", rc, err);
    names_learn(&store->names);
    return 0;
}

int sqlite_names_write(struct sqlite_store *store) {
    struct names *names = &store->names;
    int rc = SQLITE_OK;
    for (sym number = names->stored + 1; rc == SQLITE_OK && number <= names->table.count;
         number++) {
        sqlite3_stmt *stmt = sqlite_statement(store, STATEMENT_ADD_NAME);
        if (!stmt)
            return sqlite3_extended_errcode(store->db);
        sqlite3_bind_int64(stmt, 1, number);
        sqlite3_bind_text(stmt, 2, symbol_name(&names->table, number), -1, SQLITE_STATIC);
        rc = sqlite_finish(stmt);
    }
    return rc;
}

void sqlite_names_settle(struct sqlite_store *store) {
    store->names.stored = store->names.table.count;
}
