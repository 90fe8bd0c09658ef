/* zones.h: time zones by name, each file read once. */
#pragma once

#include <stddef.h>

#include "base/error.h"
#include "calendar/zone.h"

struct zones {
    struct zones_item {
        char *name;
        struct zone *zone;
    } * items;
    size_t count, capacity;
};

#define ZONE_UNNAMED "of the system" /* zone_name of the system's zone if it has no name */

/* "": the zone of the system. The zone lives as long as `zones`. */
int zones_find(struct zones *zones, const char *name, const struct zone **ret, struct error *err);
void zones_finish(struct zones *zones); /* safe on a zeroed one; usable with _cleanup_ */
