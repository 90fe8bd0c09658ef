/* resources.c: reads resources by URI, and notifies subscribers of changes.
 *
 *   sluice://status                   sluice://tasks
 *   sluice://task/web-17              sluice://task/web-17/why
 *   sluice://task/web-17/log          sluice://task/web-17/log/2
 *
 * Each resource is an operation under a URI.
 *
 * To be notified, a modern client sends subscriptions/listen, a request that stays open and tags
 * its notifications. An older client sends resources/subscribe once per URI and is notified until
 * it disconnects, on stdio only: over HTTP there is no channel between requests.
 *
 * Tools, prompts and the list of resources never change while the program runs, so only
 * subscriptions to resources are honored and acknowledged. A busy queue changes many times a
 * second: each resource is reported at most once a second, with a final notification for later
 * changes. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/number.h"
#include "mcp/mcp_internal.h"

#define SCHEME            "sluice://"
#define JSON_TYPE         "application/json"
#define TEXT_TYPE         "text/plain"
#define URIS_MAX          64
#define SUBSCRIPTION      "io.modelcontextprotocol/subscriptionId"
#define LEAST_BETWEEN     SECONDS(1)
#define SUBSCRIPTIONS_KEY "resourceSubscriptions"

enum resource_kind { RESOURCE_STATUS, RESOURCE_TASKS, RESOURCE_TASK, RESOURCE_WHY, RESOURCE_LOG };

struct resource {
    enum resource_kind kind;
    struct strbuf task; /* of task resources */
    int64_t attempt;    /* RESOURCE_LOG; 0: the latest */
};

/* --- URIs ------------------------------------------------------------------------------------ */

static void resource_finish(struct resource *resource) {
    strbuf_finish(&resource->task);
}

static int parse_part(const char *part, struct resource *ret) {
    ret->kind = strcmp(part, "/why") == 0 ? RESOURCE_WHY : *part ? RESOURCE_LOG : RESOURCE_TASK;
    if (ret->kind != RESOURCE_LOG || strcmp(part, "/log") == 0)
        return 0;
    if (strncmp(part, "/log/", strlen("/log/")) != 0)
        return -EINVAL;
    int r = number_parse_int(part + strlen("/log/"), &ret->attempt, NULL);
    return r < 0 || ret->attempt < 1 || ret->attempt > UINT32_MAX ? -EINVAL : 0;
}

/* -EINVAL: unknown URI. */
static int resource_parse(const char *uri, struct resource *ret) {
    static const char task[] = SCHEME "task/";
    *ret = (struct resource){ .kind = RESOURCE_STATUS };
    if (strcmp(uri, SCHEME "status") == 0)
        return 0;
    ret->kind = RESOURCE_TASKS;
    if (strcmp(uri, SCHEME "tasks") == 0)
        return 0;
    if (strncmp(uri, task, strlen(task)) != 0)
        return -EINVAL;
    const char *id = uri + strlen(task);
    size_t size = strcspn(id, "/");
    int r = utf8_decode_percent(id, size, false, &ret->task);
    if (r == 0 && (ret->task.length == 0 || !utf8_is_line(ret->task.text, ret->task.length)))
        r = -EINVAL;
    if (r == 0)
        r = parse_part(id + size, ret);
    if (r < 0)
        resource_finish(ret);
    return r;
}

/* "web-17" and "17" are the same task: numbers are unique. A deleted one is called "#17". */
static const char *number_of(const char *id) {
    const char *end = id + strlen(id);
    while (end > id && end[-1] != '-' && end[-1] != '#')
        end--;
    return end;
}

bool resource_same_task(const char *a, const char *b) {
    return strcmp(number_of(a), number_of(b)) == 0;
}

/* --- listing --------------------------------------------------------------------------------- */

static json_t *describe(const char *key, const char *address, const char *name, const char *text,
                        const char *type) {
    return json_pack("{s:s, s:s, s:s, s:s}", key, address, "name", name, "description", text,
                     "mimeType", type);
}

void resources_list(struct mcp_request *request) {
    if (request_refuses_cursor(request))
        return;
    json_t *list =
        json_pack("[o, o]",
                  describe("uri", SCHEME "status", "status",
                           "What runs, what waits and why, limits, limiters, budgets", JSON_TYPE),
                  describe("uri", SCHEME "tasks", "tasks", "The newest tasks that have not ended",
                           JSON_TYPE));
    request_cacheable(request, json_pack("{s:o}", "resources", list), LIST_TTL_MS, "public");
}

void resources_templates(struct mcp_request *request) {
    if (request_refuses_cursor(request))
        return;
    json_t *list = json_pack(
        "[o, o, o, o]",
        describe("uriTemplate", SCHEME "task/{id}", "task", "A task with its last runs", JSON_TYPE),
        describe("uriTemplate", SCHEME "task/{id}/why", "why",
                 "Every gate of a task, with what would open it", JSON_TYPE),
        describe("uriTemplate", SCHEME "task/{id}/log", "log",
                 "The end of what its last run printed, at most 64 KiB", TEXT_TYPE),
        describe("uriTemplate", SCHEME "task/{id}/log/{attempt}", "log of an attempt",
                 "The same of one attempt, counted from 1", TEXT_TYPE));
    request_cacheable(request, json_pack("{s:o}", "resourceTemplates", list), LIST_TTL_MS,
                      "public");
}

/* --- reading --------------------------------------------------------------------------------- */

static void not_found(struct mcp_request *request, const char *why) {
    json_t *data = json_pack("{s:O}", "uri", json_object_get(request->params, "uri"));
    request_fail(request, request->modern ? RPC_PARAMS : RPC_NO_RESOURCE, data,
                 "resource not found: %s", why);
}

static void resource_refuse(struct mcp_request *request) {
    not_found(request, "the addresses are in resources/list and resources/templates/list");
}

static void answered(struct mcp_request *request, size_t index, const struct mcp_reply *reply) {
    (void)index;
    if (reply->code == -ENOENT && !reply->absent) {
        not_found(request, reply->message);
        return;
    }
    if (reply->code < 0) {
        request_fail(request, RPC_INTERNAL, NULL, "%s", reply->message);
        return;
    }
    json_t *text =
        reply->bytes ? message_text(reply->bytes, reply->size) : message_dump(reply->value);
    json_t *result = json_pack("{s:[{s:s, s:s, s:o}]}", "contents", "uri",
                               json_string_value(json_object_get(request->params, "uri")),
                               "mimeType", reply->bytes ? TEXT_TYPE : JSON_TYPE, "text", text);
    request_cacheable(request, result, 0, "private");
}

void resources_read(struct mcp_request *request) {
    static const char *const ops[] = {
        [RESOURCE_STATUS] = "daemon.status", [RESOURCE_TASKS] = "task.list",
        [RESOURCE_TASK] = "task.show",       [RESOURCE_WHY] = "task.why",
        [RESOURCE_LOG] = "task.log",
    };
    const char *uri = json_string_value(json_object_get(request->params, "uri"));
    struct resource resource;
    if (!uri) {
        request_fail(request, RPC_PARAMS, NULL, "resources/read needs a uri");
        return;
    }
    if (resource_parse(uri, &resource) < 0) {
        resource_refuse(request);
        return;
    }
    json_t *params = json_object();
    if (resource.task.length > 0)
        (void)json_object_set_new(params, "id", json_string(strbuf_text(&resource.task)));
    if (resource.kind == RESOURCE_LOG)
        (void)json_object_set_new(params, "tail", json_integer((json_int_t)MCP_LOG_MAX));
    if (resource.attempt > 0)
        (void)json_object_set_new(params, "attempt", json_integer(resource.attempt));
    enum resource_kind kind = resource.kind;
    resource_finish(&resource);
    request_ask(request, ops[kind], params, 0, answered);
}

/* --- subscriptions ---------------------------------------------------------------------------- */

struct watched {
    char *uri, *task; /* task NULL: any event */
    bool dirty;
    time_ms due_at; /* earliest next notification */
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

/* False: unknown URI, not added. */
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

/* --- notifications ---------------------------------------------------------------------------- */

void subscription_notify(struct mcp *mcp, struct mcp_subscription *subscription,
                         const struct mcp_request *request) {
    for (size_t i = 0; subscription && i < subscription->count; i++) {
        struct watched *item = &subscription->items[i];
        if (!item->dirty || mcp->now < item->due_at)
            continue;
        json_t *params = request ? tagged(request) : json_object();
        (void)json_object_set_new(params, "uri", json_string(item->uri));
        item->dirty = false;
        item->due_at = time_add(mcp->now, LEAST_BETWEEN);
        message_notify(mcp, "notifications/resources/updated", params);
    }
}

void subscription_event(struct mcp *mcp, struct mcp_subscription *subscription,
                        const struct mcp_request *request, const char *task) {
    for (size_t i = 0; subscription && i < subscription->count; i++) {
        struct watched *item = &subscription->items[i];
        item->dirty |= !item->task || !task || resource_same_task(item->task, task);
    }
    subscription_notify(mcp, subscription, request);
}

bool subscription_is_empty(const struct mcp_subscription *subscription) {
    return subscription->count == 0;
}

time_ms subscription_next(const struct mcp_subscription *subscription) {
    time_ms next = TIME_NEVER;
    for (size_t i = 0; subscription && i < subscription->count; i++)
        if (subscription->items[i].dirty)
            next = time_min(next, subscription->items[i].due_at);
    return next;
}

/* --- subscriptions/listen --------------------------------------------------------------------- */

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

void subscription_stop(struct mcp_request *request) {
    request_result(request, tagged(request));
}

/* --- resources/subscribe ---------------------------------------------------------------------- */

static struct watched *find_uri(const struct mcp_subscription *subscription, const char *uri) {
    for (size_t i = 0; subscription && i < subscription->count; i++)
        if (strcmp(subscription->items[i].uri, uri) == 0)
            return &subscription->items[i];
    return NULL;
}

/* The URI of the request; NULL: already answered. */
static const char *wanted_uri(struct mcp_request *request) {
    const char *uri = json_string_value(json_object_get(request->params, "uri"));
    if (request->mcp->http) {
        request_fail(
            request, RPC_METHOD, NULL,
            "over HTTP no person can be told later: use subscriptions/listen of " MCP_MODERN);
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
    request_result(request, json_object()); /* also updates the need for events */
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
