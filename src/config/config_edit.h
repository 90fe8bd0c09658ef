/* config_edit.h: changes single keys of a configuration file that a person wrote.
 *
 * Comments, order, indentation, line ends and every other value stay byte for byte as they are. A
 * value is replaced where it stands, however its key is written (levels, dots, quotes, { } or
 * JSON); a key that is not there is added to the mapping where it belongs, with those above it if
 * need be.
 *
 * The result is read as a configuration, and compared with what was there before, ahead of writing:
 * a value that is refused, or a file too unusual to be changed safely, leaves everything as it was
 * and says why. The file is replaced atomically. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"
#include "base/strbuf.h"
#include "config/config.h"

struct config_change {
    const char *key;   /* dotted, with its name: "kinds.plan.base" */
    const char *value; /* as config_set takes it; NULL: the key is removed */
    /* The key is a name without a setting, "kinds.plan", whose keys were removed before; the value
     * is NULL. */
    bool is_section;
};

/* All changes or none. A missing file is made (not its folder); removing what is not there is no
 * error. */
int config_edit(const char *path, const struct config_change *changes, size_t count,
                struct error *err);

/* The same for a text; `name` is for messages. The new text is put behind what `out` holds. */
int config_edit_text(const char *name, const struct strbuf *text,
                     const struct config_change *changes, size_t count, struct strbuf *out,
                     struct error *err);

#define CONFIG_SECRET_KEY_MAX 192u

/* Does a setting hold what may be a secret: the environment of an agent, the address of a webhook,
 * a password of the store? *ret_key: the first such setting. */
bool config_has_secret(const struct config *config, char ret_key[CONFIG_SECRET_KEY_MAX]);

/* Writes the file, as os/files.h does it. A new file, and one whose `config` holds a secret, gets
 * mode 0600; any other keeps its own. */
int config_write_file(const char *path, const struct strbuf *text, const struct config *config,
                      struct error *err);
