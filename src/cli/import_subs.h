/* import_subs.h: what can be imported, each a command of its own below `import`. */
#pragma once

#include "cli/cmd.h"

extern const struct cmd import_cards;
extern const struct cmd import_beads;
extern const struct cmd import_agency;
extern const struct cmd import_agent_queue;
extern const struct cmd import_conductor;
extern const struct cmd import_gastown;
extern const struct cmd import_loopr;
