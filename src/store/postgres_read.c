/* postgres_read.c: a row in the binary format, from an answer or from COPY.
 *
 * Numbers come with the width of their column, big end first. Both sources give texts that end in NUL: libpq
 * puts one behind each value of an answer; in a row of COPY it takes the place of the length that
 * follows, which has been read by then.
 */
#include <assert.h>
#include <endian.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "store/postgres_internal.h"

void pg_row_of_result(struct pg_row *row, const PGresult *result, int index) {
    int columns = PQnfields(result);
    assert(columns <= (int)PG_COLUMNS_MAX);
    for (int i = 0; i < columns; i++) {
        bool none = PQgetisnull(result, index, i);
        row->values[i] = none ? NULL : PQgetvalue(result, index, i);
        row->lengths[i] = none ? 0 : PQgetlength(result, index, i);
    }
}

static int32_t read_i32(const char *at) {
    uint32_t big;
    memcpy(&big, at, sizeof(big));
    return (int32_t)be32toh(big);
}

bool pg_row_of_copy(struct pg_row *row, char *bytes, int size) {
    char *at = bytes, *end = bytes + size;
    if (size < 2)
        return false;
    int columns = (int16_t)((unsigned char)at[0] << 8 | (unsigned char)at[1]);
    at += 2;
    if (columns < 0 || columns > (int)PG_COLUMNS_MAX)
        return false;
    for (int i = 0; i < columns; i++) {
        if (end - at < 4)
            return false;
        int32_t length = read_i32(at);
        *at = '\0'; /* behind the value before */
        at += 4;
        if (length > end - at)
            return false;
        row->values[i] = length < 0 ? NULL : at;
        row->lengths[i] = length < 0 ? 0 : length;
        at += row->lengths[i];
    }
    return true;
}

int64_t pg_int(const struct pg_row *row, unsigned column) {
    const char *value = row->values[column];
    if (!value)
        return 0;
    if (row->lengths[column] == 8) {
        uint64_t big;
        memcpy(&big, value, sizeof(big));
        return (int64_t)be64toh(big);
    }
    return row->lengths[column] == 4 ? read_i32(value) : *value;
}

int64_t pg_int_or(const struct pg_row *row, unsigned column, int64_t usual) {
    return row->values[column] ? pg_int(row, column) : usual;
}

bool pg_flag(const struct pg_row *row, unsigned column) {
    return pg_int(row, column) != 0;
}

const char *pg_text(const struct pg_row *row, unsigned column) {
    return row->values[column];
}

const char *pg_name(struct pg_row *row, unsigned column) {
    return names_text(row->names, pg_int(row, column), &row->damaged);
}

unsigned pg_word(struct pg_row *row, enum word_list list, unsigned column) {
    return names_value(row->names, list, pg_int(row, column), &row->damaged);
}

unsigned pg_word_or(struct pg_row *row, enum word_list list, unsigned column, unsigned usual) {
    return row->values[column] ? pg_word(row, list, column) : usual;
}

void pg_read_run(struct pg_row *row, struct run_row *ret_row) {
    *ret_row = (struct run_row){
        .task = (task_id)pg_int(row, 0),
        .attempt = (uint32_t)pg_int(row, 1),
        .iteration = (uint32_t)pg_int(row, 2),
        .agent = pg_name(row, 3),
        .executor = pg_name(row, 4),
        .host = pg_name(row, 5),
        .boot_id = pg_name(row, 6),
        .folder = pg_text(row, 7),
        .phase = pg_word(row, WORDS_PHASE, 8),
        .ended = pg_flag(row, 9),
        .ordered_at = pg_int(row, 10),
        .started_at = pg_int(row, 11),
        .ended_at = pg_int(row, 12),
        .outcome = pg_word(row, WORDS_OUTCOME, 13),
        .how = pg_name(row, 14),
        .exit_code = (int32_t)pg_int(row, 15),
        .exit_signal = (int32_t)pg_int(row, 16),
        .tokens_in = pg_int(row, 17),
        .tokens_out = pg_int(row, 18),
        .cost_micro_usd = pg_int(row, 19),
        .applied = pg_text(row, 20),
        .message = pg_text(row, 21),
        .limited_until = pg_int(row, 22),
        .stop_now = pg_flag(row, 23),
        .token_hash = pg_text(row, 24),
        .tokens_cached = pg_int(row, 25),
        .session = pg_text(row, 26),
        .resumed = pg_flag(row, 27),
        .model = pg_name(row, 28),
        .said = pg_name(row, 29),
        .shim_key = pg_text(row, 30),
        .shim_pid = pg_int(row, 31),
        .shim_start = pg_int(row, 32),
        .shim_space = pg_int(row, 33),
        .cgroup = pg_text(row, 34),
    };
}

bool pg_numbers(const struct pg_row *row, unsigned column, task_id **numbers, size_t *capacity,
                size_t *ret_count) {
    const char *at = row->values[column];
    size_t left = (size_t)row->lengths[column];
    *ret_count = 0;
    if (!at)
        return true;
    if (left < 12 || (read_i32(at) == 1 && left < 20))
        return false;
    if (read_i32(at) == 0)
        return true; /* an empty one has no length */
    int32_t count = read_i32(at + 12);
    if (read_i32(at) != 1 || count < 0 || left != 20 + (size_t)count * 12)
        return false;
    *numbers = xgrow(*numbers, capacity, (size_t)count, sizeof(**numbers));
    at += 20;
    for (int32_t i = 0; i < count; i++, at += 12) {
        uint64_t big;
        memcpy(&big, at + 4, sizeof(big));
        (*numbers)[i] = be64toh(big);
    }
    *ret_count = (size_t)count;
    return true;
}

int pg_damaged(struct pg_store *store, const char *what, struct error *err) {
    struct error own = { 0 };
    error_set(&own, -EUCLEAN, "store '%s' is damaged (%.150s): restore it from a dump",
              store->place.shown, what);
    store_break(&store->base, &own);
    return error_set(err, own.code, "%s", own.text);
}
