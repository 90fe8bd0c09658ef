/* names.c: see names.h. */
#include "ops/names.h"

int names_list(struct op_call *call, size_t count, names_print each) {
    uint64_t from = 0;
    bool given;
    int r = op_cursor(call, 'i', &from, &given);
    if (r < 0)
        return r;
    size_t limit = op_limit(call), at = (size_t)from;
    struct json_writer w;
    json_write_init(&w, &call->answer, false);
    json_write_object_begin(&w);
    json_write_key(&w, "items");
    json_write_array_begin(&w);
    for (; at < count && at < from + limit; at++)
        each(&w, call, at);
    json_write_array_end(&w);
    op_print_next(&w, 'i', at < count ? at : 0);
    json_write_object_end(&w);
    return 0;
}
