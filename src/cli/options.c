/* options.c: a command line taken apart: one pass over the words; what it finds goes into two small arrays. */
#include "cli/cmd.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/nearest.h"
#include "base/number.h"
#include "base/time_ms.h"

const struct cmd_option cmd_common_options[] = {
    { "json", 0, NULL, "print JSON" },
    { "help", 'h', NULL, "print this help" },
    { NULL },
};

struct parser {
    struct cmd_call *call;
    struct error *err;
    char **words;
    int count, at;
};

static const struct cmd_option *find_name(const struct cmd_option *list, const char *name,
                                          size_t length) {
    for (; list && list->name; list++)
        if (strncmp(list->name, name, length) == 0 && list->name[length] == '\0')
            return list;
    return NULL;
}

static const struct cmd_option *find_letter(const struct cmd_option *list, char letter) {
    for (; list && list->name; list++)
        if (list->letter == letter)
            return list;
    return NULL;
}

static int unknown_option(struct parser *p, const char *word, size_t length) {
    char name[64] = "";
    if (length < sizeof(name)) {
        memcpy(name, word, length);
        name[length] = '\0';
    }
    struct nearest nearest = nearest_to(name);
    for (const struct cmd_option *o = p->call->cmd->options; o && o->name; o++)
        nearest_offer(&nearest, o->name);
    for (const struct cmd_option *o = cmd_common_options; o->name; o++)
        nearest_offer(&nearest, o->name);
    if (nearest.best)
        return error_set(p->err, -EINVAL, "unknown option '--%.*s'; did you mean '--%s'?",
                         (int)length, word, nearest.best);
    return error_set(p->err, -EINVAL, "unknown option '--%.*s'", (int)length, word);
}

/* `value` is what was written behind the option in the same word, or NULL. */
static int take(struct parser *p, const struct cmd_option *option, const char *value) {
    if (!option->argument && value)
        return error_set(p->err, -EINVAL, "option '--%s' takes no value", option->name);
    if (option->argument && !value) {
        if (p->at + 1 >= p->count)
            return error_set(p->err, -EINVAL, "option '--%s' needs a value: %s", option->name,
                             option->argument);
        value = p->words[++p->at];
    }
    p->call->json |= option == &cmd_common_options[0];
    p->call->help |= option == &cmd_common_options[1];
    p->call->given[p->call->given_count++] = (struct cmd_given){ option, value };
    return 0;
}

static int parse_long(struct parser *p, const char *word) {
    const char *equals = strchr(word, '=');
    size_t length = equals ? (size_t)(equals - word) : strlen(word);
    const struct cmd_option *option = find_name(p->call->cmd->options, word, length);
    if (!option)
        option = find_name(cmd_common_options, word, length);
    if (!option)
        return unknown_option(p, word, length);
    return take(p, option, equals ? equals + 1 : NULL);
}

static int parse_letters(struct parser *p, const char *letters) {
    while (*letters) {
        const struct cmd_option *option = find_letter(p->call->cmd->options, *letters);
        if (!option)
            option = find_letter(cmd_common_options, *letters);
        if (!option)
            return error_set(p->err, -EINVAL, "unknown option '-%c'", *letters);
        letters++;
        const char *value = option->argument && *letters ? letters : NULL;
        int r = take(p, option, value);
        if (r < 0 || value)
            return r;
    }
    return 0;
}

int options_parse(const struct cmd *cmd, int count, char **words, struct cmd_call *ret_call,
                  struct error *err) {
    struct cmd_call call = { .cmd = cmd };
    /* Letters of one word may be several options, so the letters bound their number. */
    size_t most = 1;
    for (int i = 0; i < count; i++)
        most += strlen(words[i]) + 1;
    call.args = xcalloc((size_t)count + 1, sizeof(*call.args));
    call.given = xcalloc(most, sizeof(*call.given));
    struct parser p = { &call, err, words, count, 0 };
    bool only_args = false;
    int r = 0;
    for (; p.at < count && r == 0; p.at++) {
        const char *word = words[p.at];
        if (only_args || word[0] != '-' || word[1] == '\0')
            call.args[call.arg_count++] = word;
        else if (strcmp(word, "--") == 0)
            only_args = true;
        else
            r = word[1] == '-' ? parse_long(&p, word + 2) : parse_letters(&p, word + 1);
    }
    if (r < 0) {
        options_finish(&call);
        return r;
    }
    *ret_call = call;
    return 0;
}

void options_finish(struct cmd_call *call) {
    free(call->args);
    free(call->given);
    call->args = NULL;
    call->given = NULL;
    call->arg_count = call->given_count = 0;
}

bool cmd_has(const struct cmd_call *call, const char *option) {
    for (size_t i = 0; i < call->given_count; i++)
        if (strcmp(call->given[i].option->name, option) == 0)
            return true;
    return false;
}

const char *cmd_value(const struct cmd_call *call, const char *option) {
    for (size_t i = call->given_count; i > 0; i--)
        if (strcmp(call->given[i - 1].option->name, option) == 0)
            return call->given[i - 1].value;
    return NULL;
}

const char *cmd_value_at(const struct cmd_call *call, const char *option, size_t n) {
    for (size_t i = 0; i < call->given_count; i++)
        if (strcmp(call->given[i].option->name, option) == 0 && n-- == 0)
            return call->given[i].value;
    return NULL;
}

int cmd_seconds(const struct cmd_call *call, const char *option, int64_t max, int64_t *seconds) {
    const char *text = cmd_value(call, option);
    int64_t ms;
    if (!text)
        return CMD_OK;
    if (number_parse_span(text, &ms, NULL) < 0 || ms > SECONDS(max))
        return cmd_usage_error(
            call->cmd,
            "option '--%s': expected a time span like 90s or 30m, at most %" PRId64
            " s, got '%.80s'",
            option, max, text);
    *seconds = (ms + 999) / 1000;
    return CMD_OK;
}

int cmd_number(const struct cmd_call *call, const char *option, int64_t min, int64_t max,
               int64_t *number) {
    const char *text = cmd_value(call, option);
    int64_t value;
    if (!text)
        return CMD_OK;
    if (number_parse_int(text, &value, NULL) == 0 && value >= min && value <= max) {
        *number = value;
        return CMD_OK;
    }
    if (max == INT64_MAX)
        return cmd_usage_error(
            call->cmd, "option '--%s': expected a whole number from %" PRId64 " on, got '%.80s'",
            option, min, text);
    return cmd_usage_error(call->cmd,
                           "option '--%s': expected a whole number from %" PRId64 " to %" PRId64
                           ", got '%.80s'",
                           option, min, max, text);
}
