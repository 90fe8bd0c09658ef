/* options.h: takes a command line apart.
 *
 * --name VALUE, --name=VALUE, -x VALUE, -xVALUE, several switches as -xy; options and arguments may
 * be mixed; after `--` everything is an argument; `-` alone is one. Options must be written out. */
#pragma once

#include "cli/cmd.h"

/* One option as it was given. */
struct cmd_given {
    const struct cmd_option *option;
    const char *value; /* NULL for a switch */
};

/* --json and --help. */
extern const struct cmd_option options_common[];

/* Fills `ret_call` from the words after the command's name. 0, or -EINVAL with a sentence. The
 * call borrows the words; end it with options_finish. */
int options_parse(const struct cmd *cmd, int count, char **words, struct cmd_call *ret_call,
                  struct error *err);
void options_finish(struct cmd_call *call);
