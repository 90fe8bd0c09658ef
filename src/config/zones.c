/* zones.c: see zones.h. */
#include "config/zones.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "os/zoneinfo.h"

int zones_find(struct zones *zones, const char *name, const struct zone **ret, struct error *err) {
    for (size_t i = 0; i < zones->count; i++)
        if (strcmp(zones->items[i].name, name) == 0) {
            *ret = zones->items[i].zone;
            return 0;
        }
    _cleanup_(strbuf_finish) struct strbuf data = STRBUF_INIT, own = STRBUF_INIT;
    struct zone *zone = NULL;
    int r = zoneinfo_read(name, &data, err);
    if (r == 1) {
        zone = zone_new_utc();
        r = 0;
    } else if (r == 0) {
        if (!*name && !zoneinfo_own_name(&own))
            strbuf_puts(&own, ZONE_UNNAMED);
        r = zone_parse(*name ? name : strbuf_text(&own), strbuf_text(&data), data.length, &zone,
                       err);
    }
    if (r < 0)
        return r;
    zones->items = xgrow(zones->items, &zones->capacity, zones->count + 1, sizeof(*zones->items));
    zones->items[zones->count++] = (struct zones_item){ .name = xstrdup(name), .zone = zone };
    *ret = zone;
    return 0;
}

void zones_finish(struct zones *zones) {
    for (size_t i = 0; i < zones->count; i++) {
        free(zones->items[i].name);
        zone_free(zones->items[i].zone);
    }
    free(zones->items);
    *zones = (struct zones){ 0 };
}
