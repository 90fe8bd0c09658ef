/* config_change.h: `config set`, `config unset` and `config reload`. */
#pragma once

#include "cli/cmd.h"

int config_change_set(const struct cmd_call *call);
int config_change_unset(const struct cmd_call *call);
int config_change_reload(const struct cmd_call *call);
