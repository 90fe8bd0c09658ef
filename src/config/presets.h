/* presets.h: the named configurations.
 *
 * `sluice` is the defaults of the settings table and a few rows. Each other preset reproduces one
 * scheduler: the defaults, overridden by its own rows. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "config/config.h"

struct preset_row {
    const char *key, *value; /* NULL ends a list */
};

struct preset {
    const char *name;
    const char *text;                   /* one line */
    const char *texts[PRESET_TEXT_MAX]; /* NULL: the text of the default preset */
    /* A snapshot that gives free workspaces lists all of them. */
    bool snapshot_lists_all_workspaces;
    const struct preset_row *rows;
    /* Old configurations write "no limit" as a number: values from `unlimited_from` to 0 of these
     * keys mean `unlimited`. NULL: none. */
    const char *const *unlimited_keys;
    int64_t unlimited_from;
};

extern const struct preset presets[];
extern const size_t presets_count;
/* The names only, in the same order; NULL-terminated. */
extern const char *const preset_names[];

const struct preset *preset_find(const char *name); /* NULL: no such preset */

/* The preset's own value of `key`; NULL: the default applies. */
const char *preset_value(const struct preset *preset, const char *key);

/* Does this number of that key mean `unlimited` here? */
bool preset_means_unlimited(const struct preset *preset, const char *key, int64_t number);
