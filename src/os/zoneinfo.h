/* zoneinfo.h: reads the system's time zone files. */
#pragma once

#include <stdbool.h>

#include "base/error.h"
#include "base/strbuf.h"

/* "Europe/Berlin": a path below the zoneinfo folder. */
bool zoneinfo_is_name(const char *name);

/* Appends the file of a zone (TZif); "" is the system's own zone. -EINVAL: there is no such
 * zone. 1: the system has no zone; use UTC. */
int zoneinfo_read(const char *name, struct strbuf *out, struct error *err);

/* Appends the name of the system's own zone; "UTC": it has none. False: it has one without a name. */
bool zoneinfo_own_name(struct strbuf *out);
