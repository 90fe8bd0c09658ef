/* top_actions.c: what can be done to tasks: keys, tags, confirmations, texts.
 *
 * Actions that stop work or bring it in (cancel, pause, approve) need a confirmation; it names the
 * task and applies to that task, even if the selection has moved. */
#include "cli/top.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "cli/print_task.h"

#define TYPED_MOST 2000 /* bytes */

/* clang-format off */
enum { VERB_PAUSE, VERB_RESUME }; /* the first verbs; they have no key */
const struct top_verb top_verbs[] = {
    { .path = "/v1/pause", .did = "paused; running tasks continue", .confirm = "pause %s? running tasks continue" },
    { .path = "/v1/resume", .did = "resumed", .confirm = "resume %s?" },
    { 'a', "approve", "approve", "/v1/tasks/approve", .did = "approved", .confirm = "approve %s?", .is_slow = true },
    { 'a', "close", "close", "/v1/tasks/close", .did = "closed", .confirm = "close %s?", .is_slow = true },
    { 'x', "reject", "reject", "/v1/tasks/reject", .did = "rejected", .asks = "reject %s: what is wrong" },
    { 'c', "cancel", "cancel", "/v1/tasks/cancel", .did = "canceled", .pending = "is being stopped", .confirm = "cancel %s?" },
    { 'r', "retry", "retry", "/v1/tasks/retry", .did = "retried" },
    { 'h', "hold", "hold", "/v1/tasks/hold", .did = "held" },
    { 'h', "release", "release", "/v1/tasks/release", .did = "released" },
    { '+', "priority", "front", "/v1/tasks/priority", "front", .did = "goes before all that wait" },
    { '-', "priority", "back", "/v1/tasks/priority", "back", .did = "goes behind all that wait" },
    { .path = NULL },
};
/* clang-format on */

/* --- tags ------------------------------------------------------------------------------------ */

size_t top_tag_count(const struct top *top) {
    return json_object_size(top->tags);
}

bool top_is_tagged(const struct top *top, const char *id) {
    return json_object_get(top->tags, id) != NULL;
}

void top_tag(struct top *top, const char *id, bool on) {
    if (!top->tags)
        top->tags = json_object();
    if (on)
        json_object_set_new(top->tags, id, json_true());
    else
        (void)json_object_del(top->tags, id);
}

void top_untag_all(struct top *top) {
    json_decref(top->tags);
    top->tags = NULL;
}

/* --- targets --------------------------------------------------------------------------------- */

void top_set_request(struct top *top, enum top_request what, const char *id) {
    char *copy = id ? xstrdup(id) : NULL;
    free(top->target_id);
    top->target_id = copy;
    top->request = what;
}

struct top_list *top_list_of(struct top *top) {
    return top_is_list(top->pane) ? &top->lists[top->pane] : NULL;
}

const json_t *top_selected(const struct top *top) {
    return top_is_list(top->pane) ? top_list_selected(&top->lists[top->pane]) : NULL;
}

const char *top_target(struct top *top) {
    if (top->mode == TOP_MODE_LOG)
        return top->log.task;
    if (top->mode == TOP_MODE_TEXT)
        return top->text_id;
    const json_t *task = top_selected(top);
    if (!get_text(task, "id", NULL))
        top_set_message(top, true, task ? "this is not a task" : "no task is selected");
    return get_text(task, "id", NULL);
}

static bool means_tags(const struct top *top) {
    return top->mode == TOP_MODE_LIST && top_tag_count(top) > 0;
}

/* The target as the daemon gave it; NULL: of a log, not known. */
static const json_t *target_task(const struct top *top) {
    return top->mode == TOP_MODE_LIST   ? top_selected(top)
           : top->mode == TOP_MODE_TEXT ? top->shown
                                        : NULL;
}

/* --- changes --------------------------------------------------------------------------------- */

/* "cancel web-17? fix the login form", "cancel 3 tasks?". */
static void put_question(struct top *top, const char *format, const char *id) {
    const json_t *task = target_task(top);
    const char *rest = strstr(format, "%s"), *title = print_title(task);
    struct print_text count = print_format("%zu tasks", top_tag_count(top));
    bool of_tags = !id && means_tags(top) && top->verb->action;
    strbuf_clear(&top->question);
    strbuf_printf(&top->question, "%.*s%s%s", (int)(rest - format), format,
                  id        ? id
                  : of_tags ? count.text
                            : "everything",
                  rest + 2);
    bool is_of_task = id && strcmp(get_text(task, "id", ""), id) == 0;
    if (top->verb->confirm && top->verb->action && is_of_task && title)
        strbuf_printf(&top->question, " %s", title);
}

static void change(struct top *top, const struct top_verb *verb, const char *id) {
    top_set_request(top, TOP_REQUEST_CHANGE, id);
    top->verb = verb;
    strbuf_clear(&top->reply);
    if (!verb->confirm && !verb->asks)
        return;
    put_question(top, verb->confirm ? verb->confirm : verb->asks, id);
    top_begin_prompt(top, verb->confirm ? TOP_PROMPT_SURE : TOP_PROMPT_REASON, "");
    top->request = TOP_REQUEST_NONE;
}

/* Of all tasks, or of the selected task's project. */
static void pause_or_resume(struct top *top, bool of_project) {
    const json_t *status = top->model.status;
    const char *project = of_project ? get_text(target_task(top), "project", "") : NULL;
    bool paused = !project && get_true(status, "paused");
    if (project && !*project) {
        top_set_message(top, true, "no task is selected whose project could be paused");
        return;
    }
    EACH_ITEM(one, json_object_get(status, "projects")) {
        if (project && strcmp(get_text(one, "name", ""), project) == 0)
            paused = get_true(one, "paused");
    }
    change(top, &top_verbs[paused ? VERB_RESUME : VERB_PAUSE], project);
}

/* The verb with this key that fits the task; NULL: none does. */
static const struct top_verb *fitting_verb(const json_t *task, int key) {
    for (const struct top_verb *verb = top_verbs; verb->path; verb++)
        if (verb->key != 0 && verb->key == key && top_offers(task, verb->action))
            return verb;
    return NULL;
}

/* The one that fits the first tagged task which any fits, as far as they are loaded. */
static const struct top_verb *verb_of_tags(const struct top *top, int key) {
    const struct top_list *list = &top->lists[top_is_list(top->pane) ? top->pane : 0];
    const struct top_verb *verb = NULL;
    for (size_t row = 0; !verb && row < top_list_known(list); row++) {
        const json_t *task = top_list_row(list, row);
        if (task && top_is_tagged(top, get_text(task, "id", "")))
            verb = fitting_verb(task, key);
    }
    return verb;
}

/* If none fits, the first verb with this key: the daemon then says why. */
const struct top_verb *top_verb_of(const struct top *top, int key) {
    const struct top_verb *verb =
        means_tags(top) ? verb_of_tags(top, key) : fitting_verb(target_task(top), key);
    for (const struct top_verb *one = top_verbs; one->path && !verb; one++)
        if (one->key != 0 && one->key == key)
            verb = one;
    return verb;
}

static void take_verb(struct top *top, const struct top_verb *verb) {
    if (means_tags(top)) {
        change(top, verb, NULL);
        return;
    }
    const char *id = top_target(top);
    if (id && verb->key == 'a' && !top_offers(target_task(top), verb->action))
        top_set_request(top, TOP_REQUEST_QUESTION, id); /* it may ask something */
    else if (id)
        change(top, verb, id);
}

bool top_take_action(struct top *top, int key) {
    if (key == 'p' || key == 'P') {
        pause_or_resume(top, key == 'P');
        return true;
    }
    const struct top_verb *verb = top_verb_of(top, key);
    if (verb)
        take_verb(top, verb);
    return verb != NULL;
}

/* --- answers --------------------------------------------------------------------------------- */

void top_ask(struct top *top, const json_t *task) {
    json_t *question = json_object_get(task, "question");
    const char *id = top->target_id;
    if (!member_is(question, "state", "open")) {
        top_set_message(top, true, "%s neither waits for review nor asks anything", id);
        return;
    }
    size_t choices = json_array_size(json_object_get(question, "choices"));
    json_decref(top->asked);
    top->asked = json_incref(question);
    free(TAKE_PTR(top->text_id)); /* the question replaces the details */
    top_question_fill(&top->text, id, question, top->now);
    top->text.top = 0;
    top->mode = TOP_MODE_TEXT;
    strbuf_clear(&top->question);
    if (choices > 0)
        strbuf_printf(&top->question, "answer, 1 to %zu", choices);
    else
        strbuf_puts(&top->question, "answer");
    top_begin_prompt(top, TOP_PROMPT_ANSWER, "");
}

/* A number means the choice of that number, unless it is a choice itself. */
static const char *answer_of(const struct top *top, const char *typed) {
    const json_t *choices = json_object_get(top->asked, "choices");
    char *end;
    EACH_ITEM(choice, choices) {
        if (strcmp(json_string_value(choice), typed) == 0)
            return typed;
    }
    unsigned long number = strtoul(typed, &end, 10);
    const json_t *chosen = *end == '\0' && number > 0 ? json_array_get(choices, number - 1) : NULL;
    return chosen ? json_string_value(chosen) : typed;
}

static void leave_question(struct top *top) {
    top->mode = TOP_MODE_LIST;
    free(TAKE_PTR(top->text_id));
    json_decref(TAKE_PTR(top->asked));
}

static void end_answer(struct top *top) {
    const char *typed = strbuf_text(&top->typed);
    strbuf_clear(&top->reply);
    strbuf_puts(&top->reply, answer_of(top, typed));
    if (typed[strspn(typed, " ")] == '\0')
        top_set_message(top, false, "nothing was answered");
    else
        top->request = TOP_REQUEST_ANSWER;
    leave_question(top);
}

/* --- typing ---------------------------------------------------------------------------------- */

static void end_filter(struct top *top) {
    strbuf_clear(&top->filter);
    strbuf_puts(&top->filter, strbuf_text(&top->typed));
    for (size_t i = 0; i < TOP_PANE_MAX; i++)
        top_list_reset(&top->lists[i]);
}

static void end_typing(struct top *top) {
    enum top_prompt prompt = top->prompt;
    top->prompt = TOP_PROMPT_NONE;
    if (prompt == TOP_PROMPT_FILTER) {
        end_filter(top);
    } else if (prompt == TOP_PROMPT_ANSWER) {
        end_answer(top);
    } else if (prompt == TOP_PROMPT_REASON) {
        strbuf_clear(&top->reply);
        strbuf_puts(&top->reply, strbuf_text(&top->typed));
        top->request = TOP_REQUEST_CHANGE;
    } else {
        if (top->typed.length > 0) { /* an empty search repeats the last one */
            strbuf_clear(&top->search);
            strbuf_puts(&top->search, strbuf_text(&top->typed));
        }
        top_search_log(top, false);
    }
}

static void leave_typing(struct top *top) {
    if (top->prompt == TOP_PROMPT_ANSWER)
        leave_question(top);
    if (top->prompt == TOP_PROMPT_ANSWER || top->prompt == TOP_PROMPT_REASON)
        top_set_message(top, false, "nothing was changed");
    top->prompt = TOP_PROMPT_NONE;
}

static void add_typed(struct top *top, unsigned c) {
    char bytes[4];
    size_t size = c < 0x80 ? 1 : c < 0x800 ? 2 : c < 0x10000 ? 3 : 4;
    if (c < 0x20 || c == 0x7f || c >= 0x110000 || top->typed.length + size > TYPED_MOST)
        return;
    static const unsigned char leads[] = { 0, 0, 0xc0, 0xe0, 0xf0 };
    for (size_t i = size; i-- > 1; c >>= 6)
        bytes[i] = (char)(0x80 | (c & 0x3f));
    bytes[0] = (char)(leads[size] | c);
    strbuf_add(&top->typed, bytes, size);
}

/* Removes the last character, of any number of bytes. */
static void drop_last(struct strbuf *typed) {
    while (typed->length > 0 && ((unsigned char)typed->text[typed->length - 1] & 0xc0) == 0x80)
        typed->length--;
    if (typed->length > 0)
        typed->text[--typed->length] = '\0';
}

static void take_typed(struct top *top, int key) {
    struct strbuf *typed = &top->typed;
    switch (key) {
    case TOP_KEY_ENTER:
        end_typing(top);
        break;
    case TOP_KEY_ESCAPE:
        leave_typing(top);
        break;
    case TOP_KEY_BACKSPACE:
        drop_last(typed);
        break;
    case 'U' - '@': /* Ctrl-U */
        strbuf_clear(typed);
        break;
    default:
        add_typed(top, (unsigned)key);
        break;
    }
}

void top_begin_prompt(struct top *top, enum top_prompt prompt, const char *old) {
    strbuf_clear(&top->typed);
    strbuf_puts(&top->typed, old);
    top->prompt = prompt;
}

void top_take_prompt(struct top *top, int key) {
    if (key >= TOP_KEY_CLICK)
        return; /* the mouse neither confirms nor types */
    if (top->prompt != TOP_PROMPT_SURE) {
        take_typed(top, key);
        return;
    }
    top->prompt = TOP_PROMPT_NONE;
    if (key == 'y' || key == 'Y')
        top->request = TOP_REQUEST_CHANGE;
    else
        top_set_message(top, false, "nothing was changed");
}
