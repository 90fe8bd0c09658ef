/* copy_mark.c: how does a copy find out, after a crash, what is in its TO already?
 *
 * The mark is committed with the rows it counts. It counts rows in the order of store_scan, which is the same
 * as long as nobody works with FROM: so what was written is read again and passed over.
 */
#include "store/copy_mark.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

void copy_mark_print(const struct copy_mark *mark, struct strbuf *out) {
    strbuf_printf(out, "1 %" PRIu64 " %" PRIu64 " %" PRIu64 " %s %" PRIu64 " %s", mark->epoch,
                  mark->last_event, mark->last_task, store_table_name(mark->table), mark->rows,
                  mark->place);
}

static bool find_table(const char *name, enum store_table *ret_table) {
    for (enum store_table table = 0; table < STORE_TABLE_MAX; table++)
        if (strcmp(store_table_name(table), name) == 0) {
            *ret_table = table;
            return true;
        }
    return false;
}

int copy_mark_parse(const char *text, struct copy_mark *ret_mark, struct error *err) {
    struct copy_mark mark = { 0 };
    char table[32];
    int end = 0;
    int found = sscanf(text, "1 %" SCNu64 " %" SCNu64 " %" SCNu64 " %31s %" SCNu64 "%n",
                       &mark.epoch, &mark.last_event, &mark.last_task, table, &mark.rows, &end);
    if (found < 5 || text[end] != ' ' || !find_table(table, &mark.table)
        || strlen(text + end + 1) >= sizeof(mark.place))
        return error_set(err, -EUCLEAN,
                         "the note of an unfinished copy cannot be read: remove what was copied, "
                         "and begin again");
    (void)snprintf(mark.place, sizeof(mark.place), "%s", text + end + 1);
    *ret_mark = mark;
    return 0;
}

bool copy_mark_is_of(const struct copy_mark *mark, const struct copy_mark *from) {
    return mark->epoch == from->epoch && mark->last_event == from->last_event
           && mark->last_task == from->last_task && strcmp(mark->place, from->place) == 0;
}
