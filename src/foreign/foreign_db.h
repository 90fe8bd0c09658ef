/* foreign_db.h: reads a SQLite database of another program, for an import.
 *
 * The database and its write-ahead log are copied into a private folder first, and the copy is
 * opened: nothing is written beside the original, not even a lock, and rows that are only in the
 * log are found. The content is not trusted: only plain tables are read, and no function, view or
 * trigger of the schema is run. */
#pragma once

#include <jansson.h>

#include "base/error.h"

/* All rows of all tables: {TABLE: [{COLUMN: value}]}. Texts that are not UTF-8 and blobs become
 * {"bytes": SIZE}. `path` is absolute; the copy is made in a new folder in `temporary`. */
int foreign_db_read(const char *path, const char *temporary, json_t **ret_tables,
                    struct error *err);
