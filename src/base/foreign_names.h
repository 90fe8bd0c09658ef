/* foreign_names.h: names that users bring from other programs, and what they are called here.
 *
 * For suggestions after an unknown name: pueue, task-spooler, Slurm, at, cron, GNU parallel and
 * common aliases. A suggestion is printed between single quotes; two of them are written a' or 'b. */
#pragma once

enum foreign_scope { FOREIGN_COMMAND, FOREIGN_OPTION, FOREIGN_MEMBER, FOREIGN_SETTING };

/* NULL: not known. Letter case does not matter, and '_' equals '-'. */
const char *foreign_name(enum foreign_scope scope, const char *typed);
