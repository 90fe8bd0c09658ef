/* op_session.c: how a page in the owner's browser gets a token, without anybody typing one.
 *
 * The command line asks, at the owner's socket, for a code that is good once and for a minute, and opens a link with it in the
 * fragment, which browsers send to nobody. The page swaps it for a token of its own. What is left in a history or a
 * terminal is worth nothing. The browser gets the link from a file (engine/page_code.h).
 *
 * A process of a run gets no token for a code, wherever it has found it: a run must not become its owner. The code is
 * used up then, because it is known to a program that should not have it. */
#include <errno.h>
#include <string.h>

#include "engine/access.h"
#include "engine/page_code.h"
#include "ops/print.h"
#include "os/log.h"

#define PAGE_NAME  "dashboard"
#define PAGE_SCOPE ACCESS_SUBMIT /* when none is asked for */

static const char *const scopes[] = { "read", "submit", "admin", NULL };

/* Its link in a file, for the browser. What cannot be written is no error: the link is still good. */
static const char *write_file(struct op_call *call, const char *code, const char *link) {
    const char *path = NULL;
    struct error err = { 0 };
    if (op_flag(call, "file") && engine_write_code_file(call->engine, code, link, &path, &err) < 0)
        log_warning("no file for the browser: %s", err.text);
    return path;
}

static int run_code(struct op_call *call) {
    char code[PAGE_CODE_SIZE];
    const char *scope = op_text(call, "scope");
    const char *url = engine_entry_url(call->engine);
    bool opened = !url;
    int r =
        url ? 0 : engine_open_entry(call->engine, (unsigned)op_number(call, "port", 0), &call->err);
    if (r < 0)
        return r;
    if (opened)
        url = engine_entry_url(call->engine);
    scope = scope ? scope : access_scope_name(PAGE_SCOPE);
    time_ms until = engine_make_code(call->engine, access_scope_find(scope), code);
    _cleanup_(strbuf_finish) struct strbuf link = STRBUF_INIT;
    strbuf_printf(&link, "%s/#t=%s", url ? url : "", code);
    struct json_writer w = op_begin(call);
    print_text(&w, "link", strbuf_text(&link));
    print_text(&w, "url", url);
    print_text(&w, "code", code);
    print_text(&w, "scope", scope);
    print_time(&w, "expires_at", until);
    print_bool(&w, "opened", opened);
    print_text(&w, "file", write_file(call, code, strbuf_text(&link)));
    json_write_object_end(&w);
    explicit_bzero(code, sizeof(code));
    if (link.text)
        explicit_bzero(link.text, link.length);
    return 0;
}

struct made {
    char token[ACCESS_TOKEN_SIZE];
    char id[ACCESS_ID_SIZE];
    enum access_scope scope;
    time_ms until;
};

static void wipe(void *state) {
    explicit_bzero(state, sizeof(struct made));
}

/* May the other end have a token? Who follows a file sits at this machine. */
static int check_peer(struct op_call *call, const struct page_code *code) {
    enum op_peer peer = call->find_peer ? call->find_peer(call) : OP_PEER_UNKNOWN;
    if (peer == OP_PEER_PROGRAM || (peer == OP_PEER_ELSEWHERE && !code->has_file))
        return 0;
    log_warning("the code of a dashboard link was refused: it came from %s",
                peer == OP_PEER_RUN         ? "a process of a run"
                : peer == OP_PEER_ELSEWHERE ? "outside of this machine"
                                            : "a process that cannot be identified");
    if (peer == OP_PEER_ELSEWHERE)
        return op_fail(call, -EACCES,
                       "this link is for a browser of the daemon's machine: run 'sluice dash "
                       "--print' for one that can be opened elsewhere");
    return op_fail(call, -EACCES,
                   "a process of a run cannot open the dashboard, nor can one that cannot be "
                   "identified: this link is used up");
}

static int run_open(struct op_call *call) {
    struct made *made = op_state(call, sizeof(*made), wipe);
    struct page_code code = engine_take_code(call->engine, op_text(call, "code"));
    made->scope = code.scope;
    if (made->scope == ACCESS_NONE)
        return op_fail(
            call, -EKEYREJECTED,
            "this link was used already, or is older than a minute: run 'sluice dash' again");
    int r = check_peer(call, &code);
    if (r < 0)
        return r;
    made->until = time_add(engine_now(call->engine),
                           config_number(engine_config(call->engine), "http.session_h", NULL));
    char name[] = PAGE_NAME;
    struct engine_access draft = {
        .name = name, .scope = made->scope, .session = true, .expires_at = made->until
    };
    r = engine_add_access(call->engine, &draft, made->token, made->id, &call->err);
    if (r == 0)
        strbuf_puts(&call->memo, made->id);
    return r;
}

static void finish_open(struct op_call *call) {
    const struct made *made = op_state(call, sizeof(*made), wipe);
    struct json_writer w = op_begin(call);
    print_text(&w, "token", made->token);
    print_text(&w, "scope", access_scope_name(made->scope));
    print_time(&w, "expires_at", made->until);
    json_write_object_end(&w);
}

static int replay_open(struct op_call *call, const char *memo) {
    (void)memo;
    return op_fail(call, -EKEYREJECTED, "this link was used already: run 'sluice dash' again");
}

/* --- the operations -------------------------------------------------------------------------- */

const struct op op_session_code = {
    OP("session.code", "POST", "/v1/session/code", "make a link that opens the dashboard once"),
    .text = "Good for one use within a minute. If the daemon has no TCP listener (`http.listen`), "
            "it listens on a loopback port from now on, until it ends. Only at the owner's socket.",
    .params = PARAMS(
        PARAM(TEXT, BODY, "scope", .text = "what the page may do; `submit` when not given",
              .choices = scopes),
        PARAM(BOOLEAN, BODY, "file",
              .text = "also write a private file that redirects to the link, for a browser on this "
                      "machine: unlike the link, its path can be passed as an argument"),
        PARAM(NUMBER, BODY, "port",
              .text =
                  "where to listen, if the daemon does not yet; 0, or not given: any that is free",
              .min = 0, .max = 65535)),
    .answers =
        ANSWERS({ "link", T_TEXT, "opens the dashboard", "http://127.0.0.1:7878/#t=…" },
                { "url", T_TEXT | T_NULL, "where the daemon listens", "http://127.0.0.1:7878" },
                { "code", T_TEXT, "the code in the link" },
                { "scope", T_WORD, "what the page may do", &words_scope },
                { "expires_at", T_TIME, "until when it is good" },
                { "opened", T_BOOL, "the daemon began to listen for it" },
                { "file", T_TEXT | T_NULL,
                  "the path of the requested file, which has mode 0600 and is removed when the "
                  "code is used or expires" }),
    .right = OP_ADMIN,
    .local = true,
    .run = run_code,
};

const struct op op_session_open = {
    OP("session.open", "POST", "/v1/session", "swap the code of a link for a token"),
    .text = "The only operation besides /healthz that needs no token over TCP. A code that was "
            "used, or is older than a minute, is refused (401). A process of a run is refused, too "
            "(403), and the code becomes invalid.",
    .params = PARAMS(PARAM(TEXT, BODY, "code", .text = "what stands behind `#t=` in the link",
                           .required = true, .min = 1, .max = 128)),
    .answers = ANSWERS({ "token", T_TEXT, "for `Authorization: Bearer`", "sl_k3f9x2m7aq_…" },
                       { "scope", T_WORD, "what it may do", &words_scope },
                       { "expires_at", T_TIME, "until when it is good" }),
    .right = OP_READ,
    .writes = true,
    .open = true,
    .run = run_open,
    .gives_token = true,
    .finish = finish_open,
    .replay = replay_open,
};
