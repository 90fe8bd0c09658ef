/* cmd_import.c: work that is kept elsewhere becomes tasks, each once. */
#include "cli/cmd.h"
#include "cli/import_subs.h"

const struct cmd cmd_import = {
    "import", .subs = CMD_LIST(&import_agency, &import_agent_queue, &import_beads, &import_cards,
                               &import_conductor, &import_gastown, &import_loopr)
};
