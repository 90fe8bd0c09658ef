/* postgres_look.c: what is in a store that is not to be changed? */
#include <errno.h>

#include "store/postgres_internal.h"

static int look_into(struct pg_link *link, struct store_look *look, struct error *err) {
    PGresult *result = NULL;
    int r = pg_schema_inspect(link, STORE_VERSION, &look->version, err);
    if (r < 0 || look->version == 0)
        return r;
    r = pg_link_run(link, "read",
                    "SELECT clean, last_event, (SELECT count(*) FROM task), EXISTS (SELECT 1 FROM"
                    " note WHERE name = '" STORE_COPY_NOTE "') FROM store",
                    &result, err);
    if (r < 0)
        return r;
    look->there = PQntuples(result) == 1;
    if (look->there) {
        look->was_unclean = *PQgetvalue(result, 0, 0) != 't';
        look->last_event = (uint64_t)pg_result_number(result, 0, 1);
        look->tasks = (uint64_t)pg_result_number(result, 0, 2);
        look->unfinished = *PQgetvalue(result, 0, 3) == 't';
    }
    PQclear(result);
    return 0;
}

int pg_look(const char *url, struct store_look *ret_look, struct error *err) {
    struct pg_place place = { 0 };
    struct pg_link link = { 0 };
    int r = pg_place_parse(url, &place, err);
    if (r < 0)
        return r;
    r = pg_link_connect(&link, &place, place.connect_timeout, err);
    if (r >= 0)
        r = pg_session_begin(&link, err);
    if (r >= 0)
        r = pg_session_lock(&link, err);
    if (r >= 0)
        r = look_into(&link, ret_look, err);
    pg_link_close(&link);
    pg_place_finish(&place);
    return r;
}
