/* wrap_command.c: a sandbox program of the configuration, with the paths of the run in its words. */
#include <errno.h>
#include <string.h>

#include "base/macros.h"
#include "sandbox/plan_internal.h"

static void put_filled(const struct sandbox_plan *plan, const char *word,
                       struct plan_words *words) {
    const struct {
        const char *name, *value;
    } names[] = {
        { "{workspace}", plan->workspace },
        { "{home}", plan->home },
        { "{run}", plan->run },
    };
    _cleanup_(strbuf_finish) struct strbuf text = STRBUF_INIT;
    while (*word) {
        size_t i = 0;
        while (i < ARRAY_SIZE(names) && strncmp(word, names[i].name, strlen(names[i].name)) != 0)
            i++;
        if (i == ARRAY_SIZE(names)) {
            strbuf_putc(&text, *word++);
            continue;
        }
        strbuf_puts(&text, names[i].value ? names[i].value : "");
        word += strlen(names[i].name);
    }
    plan_put(words, strbuf_text(&text));
}

int wrap_command_words(struct sandbox_plan *plan, struct plan_words *words, struct error *err) {
    if (!plan->wrap || !plan->wrap[0])
        return error_set(err, -EINVAL, "'wrap' has no words");
    plan_put(words, plan->program); /* looked for in the daemon's PATH, not in the task's */
    for (size_t i = 1; plan->wrap[i]; i++)
        put_filled(plan, plan->wrap[i], words);
    return 0;
}

/* What loaders and the usual interpreters read before the first line of a program. */
bool sandbox_is_unsafe_variable(const char *pair) {
    static const char *const names[] = {
        "BASH_ENV=",
        "BASH_FUNC_",
        "ENV=",
        "GCONV_PATH=",
        "GETCONF_DIR=",
        "GLIBC_TUNABLES=",
        "HOSTALIASES=",
        "IFS=",
        "JAVA_TOOL_OPTIONS=",
        "LD_",
        "LOCPATH=",
        "NLSPATH=",
        "NODE_OPTIONS=",
        "NODE_PATH=",
        "PATH=",
        "PERL5DB=",
        "PERL5LIB=",
        "PERL5OPT=",
        "PERLLIB=",
        "PROMPT_COMMAND=",
        "PS4=",
        "PYTHON",
        "RES_OPTIONS=",
        "RUBYLIB=",
        "RUBYOPT=",
        "SHELLOPTS=",
        "BASHOPTS=",
        "ZDOTDIR=",
    };
    for (size_t i = 0; i < ARRAY_SIZE(names); i++)
        if (strncmp(pair, names[i], strlen(names[i])) == 0)
            return true;
    return false;
}
