/* sqlite_tables.h: reads a SQLite database of another program, for an import.
 *
 * The database and its write-ahead log are copied to a private folder, and the copy is opened. So
 * nothing is written beside the original, not even a lock, and rows that are only in the log are
 * found. The content is not trusted: only plain tables are read, and no function, view or trigger
 * of the schema runs. */
#pragma once

#include <jansson.h>

#include "base/error.h"

/* Returns all rows of all tables: {TABLE: [{COLUMN: value}]}. Blobs, and texts that are not UTF-8,
 * become {"bytes": SIZE}. `path` is absolute; the copy goes to a new folder in `temporary`. */
int sqlite_tables_read(const char *path, const char *temporary, json_t **ret_tables,
                       struct error *err);
