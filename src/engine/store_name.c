/* store_name.c: see store_name.h.
 *
 * The first commit behind a load writes it, so nothing outside is named before the rows have the name. One whose commit has
 * failed is kept, and written with the next: it is as good as any. */
#include "engine/store_name.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/macros.h"
#include "engine/engine_internal.h"
#include "engine/note.h"
#include "os/random.h"

/* Where it is; what comes later counts more. There were two names once, each in its note: one on the mark of the data
 * folder, one in the tokens of jobs. A store that has both goes on with that of its jobs, which cannot be changed, and
 * knows its folder by the other. The old notes stay where they are. */
#define NOTE_OF_FOLDER "data.store"
static const char *const notes[] = { NOTE_OF_FOLDER, "slurm.store", "store.name" };

struct store_name {
    char text[STORE_NAME_SIZE];   /* "": the rows were never read */
    char folder[STORE_NAME_SIZE]; /* what the data folder may say instead, or "" */
    unsigned rank;                /* which note it is from; 0: none */
};

static struct store_name *store_name_of(const struct engine *e) {
    return e->part[PART_store_name];
}

const char *store_name(const struct engine *e) {
    return store_name_of(e)->text;
}

static bool same(const char *known, const char *name, size_t length) {
    return length > 0 && strlen(known) == length && memcmp(known, name, length) == 0;
}

bool store_name_is(const struct engine *e, const char *name, size_t length) {
    return same(store_name_of(e)->text, name, length)
           || same(store_name_of(e)->folder, name, length);
}

static void store_name_loading(struct engine *e) {
    store_name_of(e)->rank = 0;
}

static void store_name_load(struct engine *e, const struct note_row *row) {
    struct store_name *name = store_name_of(e);
    if (!row->text)
        return;
    if (strcmp(row->name, NOTE_OF_FOLDER) == 0)
        (void)snprintf(name->folder, sizeof(name->folder), "%s", row->text);
    for (unsigned i = name->rank; i < ARRAY_SIZE(notes); i++)
        if (strcmp(row->name, notes[i]) == 0) {
            (void)snprintf(name->text, sizeof(name->text), "%s", row->text);
            name->rank = i + 1;
        }
}

static void store_name_loaded(struct engine *e) {
    struct store_name *name = store_name_of(e);
    uint64_t number;
    if (name->rank == ARRAY_SIZE(notes))
        return;
    if (!name->text[0]) {
        random_bytes(&number, sizeof(number));
        (void)snprintf(name->text, sizeof(name->text), "%016" PRIx64, number);
    }
    name->rank = ARRAY_SIZE(notes);
    note_put(e, notes[name->rank - 1], "", name->text);
}

const struct engine_part store_name_part = {
    .name = "store_name",
    .state_size = sizeof(struct store_name),
    .at = { [STEP_UNLOAD] = store_name_loading, [STEP_LOADED] = store_name_loaded },
    .load_note = store_name_load,
};
