/* config_show.h: the configuration, for users and programs. Printed from the settings table and a
 * config. */
#pragma once

#include <stdbool.h>

#include "base/error.h"
#include "base/strbuf.h"
#include "config/config.h"

/* Every effective value and its origin, one line each. JSON: {"preset", "settings": [{"key",
 * "value", "origin"}]}. */
void config_show(const struct config *config, bool json, struct strbuf *out);

/* One key: description, accepted values, default, its value here and in each preset. A key with a
 * name in it, or the pattern itself (kinds.K.base). -EINVAL: unknown key. */
int config_explain(const struct config *config, const char *key, bool json, struct strbuf *out,
                   struct error *err);

/* Every key with its description. */
void config_keys(bool json, struct strbuf *out);

/* docs/reference/settings.md. */
void config_reference(struct strbuf *out);
