/* kit_postgres.c: a schema of a real server for each test. */
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
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

void kit_postgres_second(size_t n, const char *first, char ret_url[256]) {
    char whole[256];
    kit_postgres_url(n, whole);
    const char *host = strrchr(whole, '@');
    if (!host)
        fail_msg("SLUICE_TEST_POSTGRES must be postgresql://USER@HOST:PORT/DATABASE");
    host++;
    int length = snprintf(ret_url, 256, "%.*s%s,%s&connect_timeout=2", (int)(host - whole), whole,
                          first, host);
    if (length < 0 || length >= 256)
        fail_msg("SLUICE_TEST_POSTGRES is too long: '%s'", whole);
}

int kit_postgres_frozen(char ret_host[32]) {
    struct sockaddr_in address = { .sin_family = AF_INET,
                                   .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
    socklen_t size = sizeof(address);
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0 || bind(fd, (const struct sockaddr *)&address, size) < 0 || listen(fd, 16) < 0
        || getsockname(fd, (struct sockaddr *)&address, &size) < 0)
        fail_msg("cannot listen on 127.0.0.1: %s", strerror(errno));
    (void)snprintf(ret_host, 32, "127.0.0.1:%u", (unsigned)ntohs(address.sin_port));
    return fd;
}

int kit_postgres_tried(int frozen) {
    int count = 0;
    for (int fd; (fd = accept4(frozen, NULL, NULL, SOCK_CLOEXEC)) >= 0; count++)
        close(fd);
    return count;
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
