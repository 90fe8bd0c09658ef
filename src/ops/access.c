/* access.c: see access.h. */
#include "ops/access.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "config/settings.h"
#include "ops/call_internal.h"
#include "os/tcp.h"

/* What an operation needs at least. What a run says of itself can be said on its behalf. */
static enum access_scope needed(const struct op *op) {
    switch (op->right) {
    case OP_READ:
        return ACCESS_READ;
    case OP_SUBMIT:
    case OP_RUN:
        return ACCESS_SUBMIT;
    case OP_ADMIN:
    case OP_RIGHT_MAX:
        break;
    }
    return ACCESS_ADMIN;
}

/* Two tokens, or a token and the owner, may choose the same key; neither gets the answer of the
 * other. */
static void scope_key(struct op_call *call) {
    _cleanup_(strbuf_finish) struct strbuf key = STRBUF_INIT;
    strbuf_printf(&key, "token:%s/%s", call->access.id, call->key);
    call->key = arena_strdup(op_arena(call), strbuf_text(&key));
}

int access_begin(struct op_call *call) {
    const struct op *op = call->op;
    if (op->local)
        return op_fail(call, -EACCES,
                       "'%s' is not done by TCP: ask at the owner's socket, with the command line "
                       "on that machine",
                       op->name);
    if (!op->open && call->access.scope < needed(op))
        return op_fail(
            call, -EACCES,
            "this token has the scope '%s', and '%s' needs '%s': see 'sluice token add --help'",
            access_scope_name(call->access.scope), op->name, access_scope_name(needed(op)));
    free(call->caller); /* a header that anybody can write */
    call->caller = NULL;
    if (call->key)
        scope_key(call);
    call->own->step = call->key ? keys_begin : op->run;
    return CALL_GO_ON;
}

bool access_hides(const struct op_call *call, const char *key) {
    struct setting_key found = settings_match(key, NULL);
    return call->access.remote && call->access.scope < ACCESS_ADMIN && found.match == MATCH_SETTING
           && (found.setting->type == SETTING_TEXT || found.setting->type == SETTING_WORDS);
}

int access_check_changes(struct op_call *call, const struct config_change *items, size_t count) {
    for (size_t i = 0; call->access.remote && i < count; i++) {
        struct setting_key key = settings_match(items[i].key, NULL);
        if (key.match == MATCH_SETTING && !setting_is_symbol(key.setting)
            && !(key.setting->flags & SETTING_LOCAL))
            continue;
        return op_fail(call, -EACCES,
                       "'%s' is not changed by TCP, because it may decide what program runs or who "
                       "gets in: use 'sluice config set' on that machine",
                       op_quote(items[i].key).text);
    }
    return 0;
}

int access_check_listen(struct op_call *call, const struct config *config) {
    const char *text = config_text(config, "http.listen", NULL);
    struct tcp_address address;
    if (!*text)
        return 0;
    int r = tcp_parse(text, &address, &call->err);
    if (r < 0)
        return error_prefix(&call->err, "http.listen");
    if (tcp_is_loopback(&address) || *config_text(config, "http.tls_cert", NULL))
        return 0;
    return op_fail(call, -EINVAL,
                   "http.listen: '%s' can be reached from other machines: set 'http.tls_cert' and "
                   "'http.tls_key' too, or use 127.0.0.1",
                   text);
}
