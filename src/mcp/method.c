/* method.c: which version does a request speak, and what does it want?
 *
 * A request whose `_meta` names a version stands for itself and is modern. Over HTTP the header may say so
 * too, and then a missing `_meta` is an error, not an older client. Everything else is the older way,
 * which needs no session here: nothing that a client agreed on changes what it may ask for. */
#include <string.h>

#include "base/macros.h"
#include "mcp/mcp_internal.h"

#define META_VERSION      "io.modelcontextprotocol/protocolVersion"
#define META_CAPABILITIES "io.modelcontextprotocol/clientCapabilities"
#define META_CLIENT       "io.modelcontextprotocol/clientInfo"
#define META_SERVER       "io.modelcontextprotocol/serverInfo"
#define LIST_TTL_MS       300000

static const char *const versions[] = { MCP_MODERN,   MCP_LATEST,   "2025-06-18",
                                        MCP_BATCHING, "2024-11-05", NULL };

static const char instructions[] = "Sluice runs coding agents and commands as tasks, durably: what "
                                   "is queued survives restarts, runs "
                                   "under limits, and is repeated until it is done. Queue work "
                                   "with queue_task, follow it with task_wait "
                                   "or task_status, and ask why when a task does not start. Inside "
                                   "a run of Sluice add_children makes "
                                   "subtasks, post_message writes to the task's bus, and "
                                   "report_done says that the task is finished.";

const char *method_version(const char *text) {
    for (const char *const *v = versions; text && *v; v++)
        if (strcmp(*v, text) == 0)
            return *v;
    return NULL;
}

json_t *method_versions(void) {
    json_t *list = json_array();
    for (const char *const *v = versions; *v; v++)
        (void)json_array_append_new(list, json_string(*v));
    return list;
}

static json_t *server_info(void) {
    return json_pack("{s:s, s:s, s:s}", "name", "sluice", "title", "Sluice", "version",
                     SLUICE_VERSION);
}

/* --- the methods that are about the protocol -------------------------------------------------- */

/* The version that was asked for, or ours: the client decides whether it can live with it. */
static void initialize(struct mcp_request *request) {
    const json_t *asked = json_object_get(request->params, "protocolVersion");
    if (!json_is_string(asked)) {
        request_fail(request, RPC_PARAMS, NULL, "protocolVersion must be a text");
        return;
    }
    const char *version = method_version(json_string_value(asked));
    if (!version || strcmp(version, MCP_MODERN) == 0)
        version = MCP_LATEST; /* the modern one has no initialize */
    request->mcp->version = version;
    json_t *result =
        json_pack("{s:s, s:{s:{}, s:{s:b}}, s:o, s:s}", "protocolVersion", version, "capabilities",
                  "tools", "resources", "subscribe", !request->mcp->http, "serverInfo",
                  server_info(), "instructions", instructions);
    request_result(request, result);
}

static void ping(struct mcp_request *request) {
    request_result(request, json_object());
}

static void discover(struct mcp_request *request) {
    json_t *result =
        json_pack("{s:o, s:{s:{}, s:{s:b}}, s:s, s:{s:o}}", "supportedVersions", method_versions(),
                  "capabilities", "tools", "resources", "subscribe", 1, "instructions",
                  instructions, "_meta", META_SERVER, server_info());
    request_cacheable(request, result, LIST_TTL_MS, "public");
}

/* --- the table ------------------------------------------------------------------------------- */

enum { OLDER = 1u << 0, MODERN = 1u << 1 };

static const struct method {
    const char *name;
    unsigned eras;
    void (*begin)(struct mcp_request *request);
} methods[] = {
    { "initialize", OLDER, initialize },
    { "ping", OLDER, ping },
    { "resources/list", OLDER | MODERN, resources_list },
    { "resources/read", OLDER | MODERN, resources_read },
    { "resources/subscribe", OLDER, subscribe_begin },
    { "resources/templates/list", OLDER | MODERN, resources_templates },
    { "resources/unsubscribe", OLDER, unsubscribe_begin },
    { "server/discover", MODERN, discover },
    { "subscriptions/listen", MODERN, subscription_begin },
    { "tools/call", OLDER | MODERN, tools_call },
    { "tools/list", OLDER | MODERN, tools_list },
};

static const struct method *find(const char *name) {
    for (size_t i = 0; i < ARRAY_SIZE(methods); i++)
        if (strcmp(methods[i].name, name) == 0)
            return &methods[i];
    return NULL;
}

bool method_is_modern_only(const char *name) {
    const struct method *method = find(name);
    return method && method->eras == MODERN;
}

/* --- eras ------------------------------------------------------------------------------------ */

static void refuse_version(struct mcp_request *request, const char *asked) {
    json_t *data = json_pack("{s:o, s:o}", "supported", method_versions(), "requested",
                             message_text(asked, strlen(asked)));
    request_fail(request, RPC_VERSION, data, "unsupported protocol version '%s'",
                 message_quote(asked).text);
}

/* False: it was answered. */
static bool meta_holds(struct mcp_request *request, const json_t *meta) {
    const json_t *version = json_object_get(meta, META_VERSION);
    const json_t *client = json_object_get(meta, META_CLIENT);
    if (!json_is_string(version)) {
        request_fail(request, RPC_PARAMS, NULL, "_meta needs %s, a text", META_VERSION);
        return false;
    }
    if (!json_is_object(json_object_get(meta, META_CAPABILITIES))) {
        request_fail(request, RPC_PARAMS, NULL, "_meta needs %s, an object", META_CAPABILITIES);
        return false;
    }
    if (client && !json_is_object(client)) {
        request_fail(request, RPC_PARAMS, NULL, "%s in _meta must be an object", META_CLIENT);
        return false;
    }
    return true;
}

static bool modern_holds(struct mcp_request *request, const json_t *meta) {
    if (!meta_holds(request, meta))
        return false;
    const char *version = json_string_value(json_object_get(meta, META_VERSION));
    const char *header = request->mcp->header_version;
    if (request->mcp->http && (!header || strcmp(header, version) != 0)) {
        request_fail(request, RPC_HEADERS, NULL,
                     "the header MCP-Protocol-Version and _meta do not name the same version");
        return false;
    }
    if (strcmp(version, MCP_MODERN) != 0) { /* the others begin with initialize */
        refuse_version(request, version);
        return false;
    }
    request->version = MCP_MODERN;
    return headers_hold(request);
}

static bool older_holds(struct mcp_request *request) {
    const char *header = request->mcp->header_version;
    if (header && !method_version(header)) {
        refuse_version(request, header);
        return false;
    }
    request->version = header                  ? method_version(header)
                       : request->mcp->version ? request->mcp->version
                       : request->mcp->http    ? MCP_BATCHING
                                               : MCP_LATEST;
    return true;
}

/* Does the request speak the modern way, well or badly? */
static bool wants_modern(const struct mcp_request *request, const json_t *meta) {
    const char *header = request->mcp->header_version;
    return json_object_get(meta, META_VERSION) || (header && strcmp(header, MCP_MODERN) == 0)
           || method_is_modern_only(request->method);
}

void method_begin(struct mcp_request *request) {
    const json_t *meta = json_object_get(request->params, "_meta");
    request->modern = wants_modern(request, meta);
    if (!(request->modern ? modern_holds(request, meta) : older_holds(request)))
        return;
    const struct method *method = find(request->method);
    if (!method || !(method->eras & (request->modern ? MODERN : OLDER))) {
        request_fail(request, RPC_METHOD, NULL, "there is no method '%s' in %s",
                     message_quote(request->method).text, request->version);
        return;
    }
    request->begun = true;
    method->begin(request);
}
