/* subscription.c: tells a client that something it has read is not what it was.
 *
 * A modern client sends subscriptions/listen, a request that stays open and tags what it causes. An older one says
 * resources/subscribe for each address, once, and is told as long as it is there: on stdio alone, because over
 * HTTP there is nobody to tell between two requests.
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

static struct mcp_subscription *subscription_new(size_t most) {
    struct mcp_subscription *subscription = xcalloc(1, sizeof(*subscription));
    subscription->items = xcalloc(most + 1, sizeof(*subscription->items));
    return subscription;
}

/* Only addresses that exist here are kept. False: this is none. */
static bool take_uri(struct mcp_subscription *subscription, const char *uri) {
    struct resource resource;
    if (resource_parse(uri, &resource) < 0)
        return false;
    subscription->items[subscription->count++] = (struct watched){
        .uri = xstrdup(uri),
        .task = resource.task.length > 0 ? xstrdup(strbuf_text(&resource.task)) : NULL,
    };
    resource_finish(&resource);
    return true;
}

/* --- what has changed -------------------------------------------------------------------------- */

/* `request`: the one that listens; or NULL. */
static void tell_due(struct mcp *mcp, struct mcp_subscription *subscription,
                     const struct mcp_request *request) {
    for (size_t i = 0; i < subscription->count; i++) {
        struct watched *item = &subscription->items[i];
        if (!item->dirty || (item->ever && mcp->now < time_add(item->told, LEAST_BETWEEN)))
            continue;
        json_t *params = request ? tagged(request) : json_object();
        (void)json_object_set_new(params, "uri", json_string(item->uri));
        item->dirty = false;
        item->ever = true;
        item->told = mcp->now;
        message_notify(mcp, "notifications/resources/updated", params);
    }
}

static void mark(struct mcp_subscription *subscription, const char *task) {
    for (size_t i = 0; i < subscription->count; i++) {
        struct watched *item = &subscription->items[i];
        item->dirty |= !item->task || !task || resource_same_task(item->task, task);
    }
}

static time_ms next_of(const struct mcp_subscription *subscription) {
    time_ms next = TIME_NEVER;
    for (size_t i = 0; i < subscription->count; i++)
        if (subscription->items[i].dirty)
            next = time_min(next, time_add(subscription->items[i].told, LEAST_BETWEEN));
    return next;
}

/* --- subscriptions/listen ---------------------------------------------------------------------- */

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
    struct mcp_subscription *subscription = subscription_new(json_array_size(uris));
    request->subscription = subscription;
    json_t *honoured = json_array(), *params = tagged(request), *agreed = json_object();
    size_t i;
    json_t *uri;
    json_array_foreach(uris, i, uri) {
        if (json_is_string(uri) && take_uri(subscription, json_string_value(uri)))
            (void)json_array_append(honoured, uri);
    }
    if (subscription->count > 0)
        (void)json_object_set(agreed, SUBSCRIPTIONS_KEY, honoured);
    json_decref(honoured);
    (void)json_object_set_new(params, "notifications", agreed);
    request->mcp->status = 200;
    request_watch(request->mcp);
    message_notify(request->mcp, "notifications/subscriptions/acknowledged", params);
}

void subscription_event(struct mcp_request *request, const char *task) {
    mark(request->subscription, task);
    tell_due(request->mcp, request->subscription, request);
}

void subscription_tick(struct mcp_request *request) {
    tell_due(request->mcp, request->subscription, request);
}

time_ms subscription_next(const struct mcp_request *request) {
    return next_of(request->subscription);
}

void subscription_stop(struct mcp_request *request) {
    request_result(request, tagged(request));
}

/* --- resources/subscribe ----------------------------------------------------------------------- */

static struct watched *find_uri(const struct mcp_subscription *subscription, const char *uri) {
    for (size_t i = 0; subscription && i < subscription->count; i++)
        if (strcmp(subscription->items[i].uri, uri) == 0)
            return &subscription->items[i];
    return NULL;
}

/* The address of the request; NULL: it was answered. */
static const char *wanted_uri(struct mcp_request *request) {
    const char *uri = json_string_value(json_object_get(request->params, "uri"));
    if (request->mcp->http) {
        request_fail(request, RPC_METHOD, NULL,
                     "over HTTP nobody can be told later: use subscriptions/listen of " MCP_MODERN);
        return NULL;
    }
    if (!uri)
        request_fail(request, RPC_PARAMS, NULL, "%s needs a uri", request->method);
    return uri;
}

void subscribe_begin(struct mcp_request *request) {
    struct mcp *mcp = request->mcp;
    const char *uri = wanted_uri(request);
    if (!uri)
        return;
    if (!mcp->subscribed)
        mcp->subscribed = subscription_new(URIS_MAX);
    if (!find_uri(mcp->subscribed, uri)) {
        if (mcp->subscribed->count == URIS_MAX) {
            request_fail(request, RPC_PARAMS, NULL,
                         "%d addresses are subscribed: unsubscribe from one of them", URIS_MAX);
            return;
        }
        if (!take_uri(mcp->subscribed, uri)) {
            resource_refuse(request);
            return;
        }
    }
    request_result(request, json_object()); /* looks for whether events are needed */
}

void unsubscribe_begin(struct mcp_request *request) {
    struct mcp_subscription *subscription = request->mcp->subscribed;
    const char *uri = wanted_uri(request);
    struct watched *item = uri ? find_uri(subscription, uri) : NULL;
    if (item) {
        free(item->uri);
        free(item->task);
        *item = subscription->items[--subscription->count];
    }
    if (uri)
        request_result(request, json_object());
}

bool subscribed_any(const struct mcp *mcp) {
    return mcp->subscribed && mcp->subscribed->count > 0;
}

void subscribed_event(struct mcp *mcp, const char *task) {
    if (!mcp->subscribed)
        return;
    mark(mcp->subscribed, task);
    tell_due(mcp, mcp->subscribed, NULL);
}

void subscribed_tick(struct mcp *mcp) {
    if (mcp->subscribed)
        tell_due(mcp, mcp->subscribed, NULL);
}

time_ms subscribed_next(const struct mcp *mcp) {
    return mcp->subscribed ? next_of(mcp->subscribed) : TIME_NEVER;
}
