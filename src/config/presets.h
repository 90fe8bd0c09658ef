/* presets.h: the named configurations.
 *
 * `sluice` is the defaults of the settings table and a few rows. Each other preset reproduces one
 * scheduler: it is the default with the rows of its own set over it. */
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
    const char *text;                   /* one sentence */
    const char *texts[PRESET_TEXT_MAX]; /* NULL: the text of the default preset */
    /* A snapshot that gives free workspaces lists all that there are. */
    bool snapshot_lists_all_workspaces;
    const struct preset_row *rows;
    /* Old configurations write "no limit" as a number: values from `unlimited_from` to 0 of these
     * keys mean `unlimited`. NULL: none. */
    const char *const *unlimited_keys;
    int64_t unlimited_from;
};

extern const struct preset presets[];
extern const size_t presets_count;
/* The names alone, in the same order; ends with NULL. */
extern const char *const preset_names[];

const struct preset *preset_find(const char *name); /* NULL: no such preset */

/* What its own row says of `key`; NULL: the default holds. */
const char *preset_value(const struct preset *preset, const char *key);

/* Does this number of that key mean `unlimited` here? */
bool preset_means_unlimited(const struct preset *preset, const char *key, int64_t number);
