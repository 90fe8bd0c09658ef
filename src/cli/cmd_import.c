/* cmd_import.c: work that is kept elsewhere becomes tasks, each once. */
#include "cli/cmd.h"
#include "cli/import_subs.h"

static const struct cmd *const import_subs[] = { &import_agency,    &import_agent_queue,
                                                 &import_beads,     &import_cards,
                                                 &import_conductor, &import_gastown,
                                                 &import_loopr,     NULL };

const struct cmd cmd_import = {
    .name = "import",
    .usage = "import agency|agent-queue|beads|cards|conductor|gastown|loopr ...",
    .summary = "add work that is kept elsewhere: boards, beads, the state of other schedulers",
    .text = "Each has a name of its own there, so importing again adds only what is new.\n",
    .examples = "sluice import cards --agent claude --project web ./project\n"
                "bd ready --json | sluice import beads --agent claude -\n",
    .subs = import_subs,
};
