/* subscription.c: subscriptions/listen: tells a client that something it has read is not what it was.
 *
 * Tools, prompts and the list of resources never change while the program runs, so of what a client may
 * subscribe to only resources are honoured, and the acknowledgement says so. A busy queue changes many
 * times a second: each resource is told at most once a second, and once more for what came after. */
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/macros.h"
#include "mcp/mcp_internal.h"

#define URIS_MAX          64
#define SUBSCRIPTION      "io.modelcontextprotocol/subscriptionId"
#define LEAST_BETWEEN     SECONDS(1)
#define SUBSCRIPTIONS_KEY "resourceSubscriptions"

struct watched {
    char *uri, *task; /* task NULL: everything that happens */
    bool dirty;
    time_ms told; /* when it was last told; 0: never */
    bool ever;
};

struct mcp_subscription {
    struct watched *items;
    size_t count;
};

void subscription_free(struct mcp_subscription *subscription) {
    if (!subscription)
        return;
    for (size_t i = 0; i < subscription->count; i++) {
        free(subscription->items[i].uri);
        free(subscription->items[i].task);
    }
    free(subscription->items);
    free(subscription);
}

static json_t *tagged(const struct mcp_request *request) {
    return json_pack("{s:{s:O}}", "_meta", SUBSCRIPTION, request->id);
}

/* Only addresses that exist here are kept. */
static void take_uri(struct mcp_subscription *subscription, const char *uri, json_t *honoured) {
    struct resource resource;
    if (resource_parse(uri, &resource) < 0)
        return;
    subscription->items[subscription->count++] = (struct watched){
        .uri = xstrdup(uri),
        .task = resource.task.length > 0 ? xstrdup(strbuf_text(&resource.task)) : NULL,
    };
    resource_finish(&resource);
    (void)json_array_append_new(honoured, json_string(uri));
}

void subscription_begin(struct mcp_request *request) {
    const json_t *wanted = json_object_get(request->params, "notifications");
    const json_t *uris = json_object_get(wanted, SUBSCRIPTIONS_KEY);
    if (!json_is_object(wanted) || (uris && !json_is_array(uris))
        || json_array_size(uris) > URIS_MAX) {
        request_fail(request, RPC_PARAMS, NULL,
                     "notifications must be an object; %s in it a list of at most %d addresses",
                     SUBSCRIPTIONS_KEY, URIS_MAX);
        return;
    }
    struct mcp_subscription *subscription = xcalloc(1, sizeof(*subscription));
    request->subscription = subscription;
    subscription->items = xcalloc(json_array_size(uris) + 1, sizeof(*subscription->items));
    json_t *honoured = json_array(), *params = tagged(request), *agreed = json_object();
    size_t i;
    json_t *uri;
    json_array_foreach(uris, i, uri) {
        if (json_is_string(uri))
            take_uri(subscription, json_string_value(uri), honoured);
    }
    if (subscription->count > 0)
        (void)json_object_set(agreed, SUBSCRIPTIONS_KEY, honoured);
    json_decref(honoured);
    (void)json_object_set_new(params, "notifications", agreed);
    request->mcp->status = 200;
    request_watch(request->mcp);
    message_notify(request->mcp, "notifications/subscriptions/acknowledged", params);
}

static void tell_due(struct mcp_request *request) {
    struct mcp_subscription *subscription = request->subscription;
    time_ms now = request->mcp->now;
    for (size_t i = 0; i < subscription->count; i++) {
        struct watched *item = &subscription->items[i];
        if (!item->dirty || (item->ever && now < time_add(item->told, LEAST_BETWEEN)))
            continue;
        json_t *params = tagged(request);
        (void)json_object_set_new(params, "uri", json_string(item->uri));
        item->dirty = false;
        item->ever = true;
        item->told = now;
        message_notify(request->mcp, "notifications/resources/updated", params);
    }
}

void subscription_event(struct mcp_request *request, const char *task) {
    struct mcp_subscription *subscription = request->subscription;
    for (size_t i = 0; i < subscription->count; i++) {
        struct watched *item = &subscription->items[i];
        item->dirty |= !item->task || !task || resource_same_task(item->task, task);
    }
    tell_due(request);
}

void subscription_tick(struct mcp_request *request) {
    tell_due(request);
}

time_ms subscription_next(const struct mcp_request *request) {
    const struct mcp_subscription *subscription = request->subscription;
    time_ms next = TIME_NEVER;
    for (size_t i = 0; i < subscription->count; i++)
        if (subscription->items[i].dirty)
            next = time_min(next, time_add(subscription->items[i].told, LEAST_BETWEEN));
    return next;
}

void subscription_stop(struct mcp_request *request) {
    request_result(request, tagged(request));
}
