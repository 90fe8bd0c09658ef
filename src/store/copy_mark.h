/* copy_mark.h: how far a copy has got, as a note in its TO. Private to store/. */
#pragma once

#include "base/strbuf.h"
#include "store/scan.h"

struct copy_mark {
    /* Which FROM it is, as it was when the copy began. Whoever opens it to work raises its epoch. */
    uint64_t epoch, last_event;
    task_id last_task;
    /* What was written: all tables before this one, and so many rows of this one. */
    enum store_table table;
    uint64_t rows;
    char place[512]; /* of FROM */
};

void copy_mark_print(const struct copy_mark *mark, struct strbuf *out);
/* -EUCLEAN: it says nothing that can be understood. */
int copy_mark_parse(const char *text, struct copy_mark *ret_mark, struct error *err);
/* Was it made of the same store, which nobody has worked with since? */
bool copy_mark_is_of(const struct copy_mark *mark, const struct copy_mark *from);
