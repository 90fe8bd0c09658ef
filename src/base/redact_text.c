/* redact_text.c: the part of redact.h that needs the heap. */
#include "base/redact.h"

bool redact_text(const struct redact_index *index, const char *text, size_t size,
                 struct strbuf *out) {
    struct redact_hit hit;
    size_t from = 0;
    for (; redact_find(index, text, size, from, &hit); from = hit.end) {
        strbuf_add(out, text + from, hit.begin - from);
        strbuf_printf(out, "[redacted %.*s]", (int)hit.name_size, hit.name);
    }
    strbuf_add(out, text + from, size - from);
    return from > 0;
}
