/* event_kinds.c: the table of event kinds. */
#include "engine/event_kinds.h"

#include <stddef.h>
#include <string.h>

#include "base/macros.h"

static const char *const kinds[] = {
#define SECTION(title)
#define KIND(name, text, data) name,
#include "engine/event_kinds.inc"
#undef KIND
#undef SECTION
};

bool event_kind_is_known(const char *kind) {
    for (size_t i = 0; i < ARRAY_SIZE(kinds); i++)
        if (strcmp(kinds[i], kind) == 0)
            return true;
    return false;
}
