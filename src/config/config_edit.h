/* config_edit.h: changes single keys of a configuration file that a user wrote.
 *
 * Comments, order, indentation, line endings and all other values stay byte for byte. A value is
 * replaced in place, however its key is written (levels, dots, quotes, { } or JSON); a missing key
 * is added to the mapping where it belongs, with its parents if needed.
 *
 * The result is parsed and compared with the original before it is written: a refused value, or a
 * file too unusual to edit safely, changes nothing and returns an error. The file is replaced
 * atomically. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"
#include "base/strbuf.h"
#include "config/config.h"

struct config_change {
    const char *key;   /* dotted, with its name: "kinds.plan.base" */
    const char *value; /* as for config_set; NULL: remove the key */
    /* The key is a name without a setting, "kinds.plan", whose keys were already removed; the value
     * is NULL. */
    bool is_section;
};

/* All changes or none. A missing file is created (not its directory); removing a missing key is not
 * an error. */
int config_edit(const char *path, const struct config_change *changes, size_t count,
                struct error *err);

/* Same for a text; `name` is for messages. Appends the new text to `out`. */
int config_edit_text(const char *name, const struct strbuf *text,
                     const struct config_change *changes, size_t count, struct strbuf *out,
                     struct error *err);

#define CONFIG_SECRET_KEY_MAX 192u

/* Does a setting contain a potential secret: the environment of an agent, the URL of a webhook, a
 * password of the store? *ret_key: the first such setting. */
bool config_has_secret(const struct config *config, char ret_key[CONFIG_SECRET_KEY_MAX]);

/* Writes the file as in os/files.h. A new file, and one whose `config` has a secret, gets mode
 * 0600; any other keeps its own. */
int config_write_file(const char *path, const struct strbuf *text, const struct config *config,
                      struct error *err);
