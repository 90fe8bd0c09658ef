/* config_edit_internal.h: shared by what edits files; for the files of this folder only. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/strbuf.h"
#include "config/settings.h"
#include "yaml/yaml.h"

/* The key that is to be changed, taken apart. */
struct edit_target {
    const char *key;
    struct setting_key match;
    struct setting_joints levels; /* the dots that part levels: not those of the name */
};

/* Where it is in the file, or would be. */
struct edit_place {
    /* Found: its key and the mapping that has it; the first, if there are more. */
    const struct yaml_node *mapping, *key;
    /* What goes when it is removed: the same, or the key above that may not be left with nothing. */
    const struct yaml_node *gone_mapping, *gone_key;
    /* Not found: the nearest mapping above it, or the key of one that is not written yet. Both NULL:
     * the file says nothing at all. */
    const struct yaml_node *holder, *holder_key;
    size_t depth; /* bytes of the target's key that the holder stands for, with the dot */
};

void edit_find(const struct edit_target *target, const struct yaml_node *root,
               struct edit_place *ret_place);

/* The text to change, and how it is written. */
struct edit_file {
    const struct strbuf *text;
    const struct yaml_node *root;
    struct strbuf *out; /* empty; gets the new text */
};

/* False: it is written in a way that cannot be changed here. */
bool edit_replace(const struct edit_file *file, const struct edit_target *target,
                  const struct edit_place *place, const char *value);
bool edit_remove(const struct edit_file *file, const struct edit_place *place);
bool edit_add(const struct edit_file *file, const struct edit_target *target,
              const struct edit_place *place, const char *value);
