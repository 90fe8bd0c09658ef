/* config_secret.h: the file of a configuration that holds secrets is for its owner alone. */
#pragma once

#include <stdbool.h>

#include "base/error.h"
#include "base/strbuf.h"
#include "config/config.h"

#define CONFIG_SECRET_KEY_MAX 192u

/* Does a setting hold what may be a secret: the environment of an agent, the address of a webhook, a password of the
 * store? *ret_key: the first such setting. */
bool config_has_secret(const struct config *config, char ret_key[CONFIG_SECRET_KEY_MAX]);

/* Writes the file, as os/files.h does it. A new file, and one whose `config` holds a secret, gets mode 0600; any other keeps
 * its own. */
int config_write_file(const char *path, const struct strbuf *text, const struct config *config,
                      struct error *err);
