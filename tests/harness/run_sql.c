/* run_sql.c: run_sql DATABASE runs the SQL statements of its standard input.
 *
 * The write-ahead log stays beside the database at the end, as after a crash. For tests/fixtures/import/prepare. */
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>

int main(int argc, char **argv) {
    size_t size = 0, used = 0;
    char *text = NULL, *problem = NULL;
    sqlite3 *db = NULL;
    if (argc != 2 || sqlite3_open(argv[1], &db) != SQLITE_OK)
        return 2;
    (void)sqlite3_db_config(db, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1, NULL);
    do {
        size += 1 << 16;
        text = realloc(text, size);
        if (!text)
            return 2;
        used += fread(text + used, 1, size - used - 1, stdin);
    } while (used == size - 1);
    text[used] = '\0';
    int r = sqlite3_exec(db, text, NULL, NULL, &problem);
    if (r != SQLITE_OK)
        (void)fprintf(stderr, "run_sql: %s\n", problem ? problem : "failed");
    free(text);
    (void)sqlite3_close(db);
    return r == SQLITE_OK ? 0 : 1;
}
