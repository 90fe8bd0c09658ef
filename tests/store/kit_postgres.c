/* kit_postgres.c: a schema of a real server for each test. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>
#include <libpq-fe.h>

#include "base/alloc.h"
#include "kit.h"

static size_t made; /* schemas, at most */

const char *kit_postgres(void) {
    const char *url = getenv("SLUICE_TEST_POSTGRES");
    return url && *url ? url : NULL;
}

static void name_of(size_t n, char name[48]) {
    (void)snprintf(name, 48, "test_%d_%zu", (int)getpid(), n);
    made = n + 1 > made ? n + 1 : made;
}

void kit_postgres_url(size_t n, char ret_url[256]) {
    const char *url = kit_postgres();
    char name[48];
    name_of(n, name);
    int length = snprintf(ret_url, 256, "%s%cschema=%s", url, strchr(url, '?') ? '&' : '?', name);
    if (length < 0 || length >= 256)
        fail_msg("SLUICE_TEST_POSTGRES is too long: '%s'", url);
}

static void run(PGconn *pg, const char *sql, char ret_value[256]) {
    PGresult *result = PQexec(pg, sql);
    ExecStatusType status = PQresultStatus(result);
    if (status != PGRES_COMMAND_OK && status != PGRES_TUPLES_OK)
        fail_msg("cannot run \"%s\": %s", sql, PQerrorMessage(pg));
    if (ret_value)
        (void)snprintf(ret_value, 256, "%s",
                       PQntuples(result) > 0 && PQnfields(result) > 0 ? PQgetvalue(result, 0, 0)
                                                                      : "");
    PQclear(result);
}

static PGconn *connect_to_server(void) {
    PGconn *pg = PQconnectdb(kit_postgres());
    if (PQstatus(pg) != CONNECTION_OK)
        fail_msg("SLUICE_TEST_POSTGRES does not answer: %s", PQerrorMessage(pg));
    return pg;
}

void kit_postgres_run(size_t n, const char *sql, char ret_value[256]) {
    char name[48], path[128];
    name_of(n, name);
    (void)snprintf(path, sizeof(path), "SET client_min_messages = warning; SET search_path = %s",
                   name);
    PGconn *pg = connect_to_server();
    run(pg, path, NULL);
    run(pg, sql, ret_value);
    PQfinish(pg);
}

void kit_postgres_finish(void) {
    if (!kit_postgres() || made == 0)
        return;
    PGconn *pg = connect_to_server();
    run(pg, "SET client_min_messages = warning", NULL);
    for (size_t n = 0; n < made; n++) {
        char name[48], sql[96];
        name_of(n, name);
        (void)snprintf(sql, sizeof(sql), "DROP SCHEMA IF EXISTS %s CASCADE", name);
        run(pg, sql, NULL);
    }
    PQfinish(pg);
}
