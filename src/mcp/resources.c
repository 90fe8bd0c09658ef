/* resources.c: what can be read by an address: the status, tasks, why they wait, their logs.
 *
 *   sluice://status                   sluice://tasks
 *   sluice://task/web-17              sluice://task/web-17/why
 *   sluice://task/web-17/log          sluice://task/web-17/log/2
 *
 * Each is an operation under another name; only the addresses are decided here. */
#include <errno.h>
#include <string.h>

#include "base/macros.h"
#include "base/number.h"
#include "base/utf8.h"
#include "mcp/mcp_internal.h"

#define SCHEME      "sluice://"
#define LIST_TTL_MS 300000
#define JSON_TYPE   "application/json"
#define TEXT_TYPE   "text/plain"

/* --- addresses ------------------------------------------------------------------------------- */

void resource_finish(struct resource *resource) {
    strbuf_finish(&resource->task);
}

/* A part of a path, %XX taken back. */
static int decode(const char *text, size_t size, struct strbuf *out) {
    for (size_t i = 0; i < size; i++) {
        int high, low;
        if (text[i] != '%') {
            strbuf_putc(out, text[i]);
            continue;
        }
        high = i + 2 < size ? number_hex_digit(text[i + 1]) : -1;
        low = high >= 0 ? number_hex_digit(text[i + 2]) : -1;
        if (low < 0 || high * 16 + low < 0x20)
            return -EINVAL;
        strbuf_putc(out, (char)(high * 16 + low));
        i += 2;
    }
    for (size_t at = 0; at < out->length;) {
        size_t length = utf8_length(out->text + at, out->length - at);
        if (length == 0)
            return -EINVAL;
        at += length;
    }
    return out->length > 0 ? 0 : -EINVAL;
}

static int parse_part(const char *part, struct resource *ret) {
    ret->kind = RESOURCE_TASK;
    if (*part == '\0')
        return 0;
    ret->kind = RESOURCE_WHY;
    if (strcmp(part, "/why") == 0)
        return 0;
    ret->kind = RESOURCE_LOG;
    if (strcmp(part, "/log") == 0)
        return 0;
    if (strncmp(part, "/log/", strlen("/log/")) != 0)
        return -EINVAL;
    int r = number_parse_int(part + strlen("/log/"), &ret->attempt, NULL);
    return r < 0 || ret->attempt < 1 || ret->attempt > UINT32_MAX ? -EINVAL : 0;
}

int resource_parse(const char *uri, struct resource *ret) {
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
    int r = decode(id, size, &ret->task);
    if (r >= 0)
        r = parse_part(id + size, ret);
    if (r < 0)
        resource_finish(ret);
    return r;
}

/* "web-17" and "17" are the same task: no other has this number. One that is gone is called "#17". */
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

static bool has_cursor(struct mcp_request *request) {
    if (!json_object_get(request->params, "cursor"))
        return false;
    request_fail(request, RPC_PARAMS, NULL, "there is one page: no cursor is known");
    return true;
}

void resources_list(struct mcp_request *request) {
    if (has_cursor(request))
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
    if (has_cursor(request))
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

static const char *uri_of(const struct mcp_request *request) {
    return json_string_value(json_object_get(request->params, "uri"));
}

static void not_found(struct mcp_request *request, const char *why) {
    json_t *data = json_pack("{s:O}", "uri", json_object_get(request->params, "uri"));
    request_fail(request, request->modern ? RPC_PARAMS : RPC_NO_RESOURCE, data,
                 "resource not found: %s", why);
}

void resource_refuse(struct mcp_request *request) {
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
    json_t *result = json_pack("{s:[{s:s, s:s, s:o}]}", "contents", "uri", uri_of(request),
                               "mimeType", reply->bytes ? TEXT_TYPE : JSON_TYPE, "text", text);
    request_cacheable(request, result, 0, "private");
}

void resources_read(struct mcp_request *request) {
    static const char *const ops[] = {
        [RESOURCE_STATUS] = "daemon.status", [RESOURCE_TASKS] = "task.list",
        [RESOURCE_TASK] = "task.show",       [RESOURCE_WHY] = "task.why",
        [RESOURCE_LOG] = "task.log",
    };
    const char *uri = uri_of(request);
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
