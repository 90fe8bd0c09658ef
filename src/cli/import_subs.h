/* import_subs.h: the two things that can be imported, each a command of its own below `import`. */
#pragma once

#include "cli/cmd.h"

extern const struct cmd import_cards;
extern const struct cmd import_beads;
