/* config_show_internal.h: shared by what prints settings; for the files of this folder only. */
#pragma once

#include "base/json_write.h"
#include "config/config_internal.h"

/* A value as JSON: numbers as numbers, `unlimited` and the like as text, the order as a list. */
void show_json_value(struct json_writer *w, const struct config *config,
                     const struct setting *setting, int64_t value);

/* What preset `name` says of a row, as text. For a row with a name: the value of that name, or with
 * NULL those of each name the preset has ("plan 40, spec 60"), or the default. */
void show_preset_value(const struct config *preset, const struct setting *setting, const char *name,
                       struct strbuf *out);

/* A config of that preset; end with config_free. */
struct config *show_preset(const char *name);

/* The default as text, or "as KEY". */
void show_default(const struct setting *setting, struct strbuf *out);
