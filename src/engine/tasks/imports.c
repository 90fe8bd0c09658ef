/* imports.c: tasks whose runs may import. See imports.h. */
#include "engine/imports.h"

#include <stdlib.h>
#include <string.h>

#include "base/id_table.h"
#include "base/number.h"
#include "engine/note.h"

#define NOTE "imports."

struct importer {
    task_id task;
    json_t *projects;
};

struct imports {
    struct id_table of_task; /* struct importer */
};

PART_STATE(imports, struct imports, imports_of)

static void clear_importer(void *record) {
    struct importer *importer = record;
    json_decref(importer->projects);
}

static void imports_free(struct engine *e) {
    id_table_finish(&imports_of(e)->of_task);
}

static void imports_reset(struct engine *e) {
    imports_free(e);
    id_table_init(&imports_of(e)->of_task, sizeof(struct importer), clear_importer);
}

/* Takes `projects`. */
static void remember(struct engine *e, task_id task, json_t *projects) {
    struct importer *importer = id_table_find_or_make(&imports_of(e)->of_task, task);
    json_decref(importer->projects);
    importer->projects = projects;
}

void imports_add(struct engine *e, task_id task, const json_t *projects) {
    char *text = json_dumps(projects, JSON_COMPACT);
    remember(e, task, json_deep_copy(projects));
    note_put_task(e, NOTE, task, text);
    turn_wrote(e);
    free(text);
}

static void imports_load(struct engine *e, const struct note_row *row) {
    const char *key = note_key(row, NOTE);
    int64_t task = 0;
    if (!key || number_parse_int(key, &task, NULL) < 0 || task <= 0)
        return;
    json_t *projects = json_loads(row->text, 0, NULL);
    if (json_is_array(projects))
        remember(e, (task_id)task, json_incref(projects));
    json_decref(projects);
}

const json_t *engine_import_projects(const struct engine *e, task_id task) {
    const struct importer *importer = id_table_find(&imports_of(e)->of_task, task);
    return importer ? importer->projects : NULL;
}

bool engine_may_import(const struct engine *e, task_id task, const char *project) {
    const json_t *projects = engine_import_projects(e, task);
    for (size_t i = 0; i < json_array_size(projects); i++)
        if (strcmp(json_string_value(json_array_get(projects, i)), project) == 0)
            return true;
    return false;
}

static void imports_applied(struct engine *e, const struct fact *fact) {
    if (fact->kind != FACT_DELETE && fact->kind != FACT_FORGET)
        return;
    if (!id_table_drop(&imports_of(e)->of_task, fact->task))
        return;
    note_put_task(e, NOTE, fact->task, NULL);
    turn_wrote(e);
}

const struct engine_part imports_part = {
    .state_size = sizeof(struct imports),
    .at = { [STEP_INIT] = imports_reset,
            [STEP_UNLOAD] = imports_reset,
            [STEP_FREE] = imports_free },
    .applied = imports_applied,
    .load_note = imports_load,
};
