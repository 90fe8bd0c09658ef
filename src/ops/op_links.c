/* op_links.c: a link in a notification that answers a question without a login.
 *
 * Everybody who has the link may answer: chat servers, mail servers and proxies see it. So the owner turns
 * it on (notify.answer_links), it is good for one question and one answer, and a GET changes
 * nothing: chat programs fetch links to show a preview. The code is in the path, because the form
 * must work without scripts; answers say not to store or to forward it, and nothing logs it.
 *
 * A process of a run is refused, however it found the link: it would answer its own question. The
 * code is then invalid, because it has leaked. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/utf8.h"
#include "engine/questions.h"
#include "ops/print.h"
#include "os/log.h"

#define ANSWER_MAX 10000 /* as of task.answer */

/* --- pages ----------------------------------------------------------------------------------- */

/* Text in an element or an attribute. Controls are shown as <202E>: they could hide a part of the
 * question, or turn it around. */
static void put_html(struct strbuf *out, const char *text) {
    static const struct {
        char letter;
        const char *entity;
    } entities[] = {
        { '&', "&amp;" }, { '<', "&lt;" }, { '>', "&gt;" }, { '"', "&quot;" }, { '\'', "&#39;" }
    };
    for (size_t left = strlen(text), length; left > 0; text += length, left -= length) {
        const char *entity = NULL;
        length = utf8_length(text, left);
        length = length ? length : 1;
        for (size_t i = 0; i < ARRAY_SIZE(entities); i++)
            if (*text == entities[i].letter)
                entity = entities[i].entity;
        bool is_layout = length == 1 && (*text == '\n' || *text == '\t');
        if (entity) {
            strbuf_puts(out, entity);
        } else if (!utf8_is_control(text, length) || is_layout) {
            strbuf_add(out, text, length);
        } else {
            const unsigned char *at = (const unsigned char *)text;
            unsigned c = length == 1 ? at[0]
                         : length == 2
                             ? (at[0] & 0x1fu) << 6 | (at[1] & 0x3fu)
                             : (at[0] & 0xfu) << 12 | (at[1] & 0x3fu) << 6 | (at[2] & 0x3fu);
            strbuf_printf(out, "&#x27e8;%04X&#x27e9;", c);
        }
    }
}

/* The title is the same for all questions: it is what previews show. */
static void begin_page(struct strbuf *out) {
    strbuf_puts(out, "<!doctype html>\n<html lang=\"en\">\n<meta charset=\"utf-8\">\n"
                     "<meta name=\"viewport\" content=\"width=device-width\">\n"
                     "<meta name=\"robots\" content=\"noindex\">\n<title>Sluice</title>\n");
}

static void put_element(struct strbuf *out, const char *name, const char *text) {
    strbuf_printf(out, "<%s>", name);
    put_html(out, text);
    strbuf_printf(out, "</%s>\n", name);
}

void op_print_error_page(const struct error *err, struct strbuf *out) {
    strbuf_clear(out);
    begin_page(out);
    put_element(out, "p", err->text);
    strbuf_puts(out, "</html>\n");
}

/* The form has no action, so it is sent to its own address: the code is not repeated. */
static void put_form(struct strbuf *out, const struct engine_question *q) {
    strbuf_puts(out, "<form method=\"post\">\n");
    for (size_t i = 0; q->choices[i]; i++) {
        strbuf_puts(out, "<p><button name=\"text\" value=\"");
        put_html(out, q->choices[i]);
        strbuf_puts(out, "\">");
        put_html(out, q->choices[i]);
        strbuf_puts(out, "</button></p>\n");
    }
    if (!q->choices[0])
        strbuf_printf(out,
                      "<p><textarea name=\"text\" rows=\"6\" cols=\"40\" maxlength=\"%d\" "
                      "required aria-label=\"Answer\"></textarea></p>\n"
                      "<p><button>Answer</button></p>\n",
                      ANSWER_MAX);
    strbuf_puts(out, "</form>\n");
}

/* --- the operations -------------------------------------------------------------------------- */

/* NULL: the call has failed. */
static const struct engine_question *find_question(struct op_call *call) {
    bool is_on = config_number(engine_config(call->engine), "notify.answer_links", NULL) != 0;
    const struct engine_question *q =
        is_on ? engine_link_question(call->engine, op_text(call, "code")) : NULL;
    if (!q)
        (void)op_fail(call, -ENOENT,
                      "this link is not valid, or not any more: the question may be answered");
    return q;
}

static int run_show(struct op_call *call) {
    const struct engine_question *q = find_question(call);
    if (!q)
        return call->err.code;
    _cleanup_(freep) char *head = xasprintf("%s asks", op_id(call, q->task));
    begin_page(&call->answer);
    put_element(&call->answer, "h1", head);
    put_element(&call->answer, "pre", q->text);
    put_form(&call->answer, q);
    strbuf_puts(&call->answer, "</html>\n");
    return 0;
}

/* Lines of a form end with CR LF. */
static char *take_answer(struct op_call *call) {
    char *text = xstrdup(op_text(call, "text")), *to = text;
    for (const char *from = text; *from; from++)
        if (from[0] != '\r' || from[1] != '\n')
            *to++ = *from;
    *to = '\0';
    return text;
}

/* -EACCES: not a person. */
static int check_peer(struct op_call *call) {
    enum op_peer peer = call->find_peer ? call->find_peer(call) : OP_PEER_PROGRAM;
    if (peer == OP_PEER_PROGRAM || peer == OP_PEER_ELSEWHERE)
        return 0;
    log_warning("an answer link was refused: it came from %s",
                peer == OP_PEER_RUN ? "a process of a run" : "a process that cannot be identified");
    return -EACCES;
}

static int run_answer(struct op_call *call) {
    const struct engine_question *q = find_question(call);
    _cleanup_(freep) char *text = take_answer(call);
    if (!q)
        return call->err.code;
    if (text[strspn(text, " \t\r\n")] == '\0')
        return op_fail(call, -EINVAL, "'text' is empty");
    if (check_peer(call) < 0) {
        /* Not an error of the call, whose changes would be dropped. */
        engine_end_link(call->engine, op_text(call, "code"));
        call->status = 403;
        begin_page(&call->answer);
        put_element(&call->answer, "p",
                    "a process of a run cannot answer, nor can one that cannot be identified: this "
                    "link is used up");
        strbuf_puts(&call->answer, "</html>\n");
        return 0;
    }
    task_id task = q->task;
    int r = engine_answer_link(call->engine, op_text(call, "code"), text, &call->err);
    if (r < 0)
        return r;
    _cleanup_(freep) char *head = xasprintf("%s is answered", op_id(call, task));
    begin_page(&call->answer);
    put_element(&call->answer, "h1", head);
    put_element(&call->answer, "pre", text);
    strbuf_puts(&call->answer, "</html>\n");
    return 0;
}

#define PARAM_CODE                                                                                 \
    PARAM(TEXT, PATH, "code", .required = true, .min = 1, .max = 128,                              \
          .text = "the last part of the link")

const struct op op_link_show = {
    OP("link.show", "GET", OP_LINK_PATH "{code}", "show the question of an answer link"),
    .text = "A page with a form, for the link that a notification has with `notify.answer_links`. "
            "Needs no token, and changes nothing. A link that is not valid is not found (404): its "
            "question is answered, withdrawn or over.",
    .params = PARAMS(PARAM_CODE),
    OP_READS(READ, NONE, run_show),
    .open = true,
    .form = true,
    .answer = OP_ANSWER_PAGE,
};

const struct op op_link_answer = {
    OP("link.answer", "POST", OP_LINK_PATH "{code}", "answer the question of an answer link"),
    .text = "Sent by the form of that page. The link is used up with the answer; the event "
            "`task.answered` has `by: link`. A process of a run is refused (403), and the link "
            "becomes invalid.",
    .params = PARAMS(PARAM_CODE,
                     PARAM(TEXT, BODY, "text", .required = true, .lines = true, .min = 1,
                           .max = ANSWER_MAX, .text = "the answer; one of the choices, if any")),
    OP_WRITES(READ, NONE, run_answer),
    .open = true,
    .form = true,
    .answer = OP_ANSWER_PAGE,
};
