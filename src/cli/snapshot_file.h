/* snapshot_file.h: the snapshot a command line names. */
#pragma once

#include "cli/cmd.h"
#include "snapshot/snapshot.h"

/* Reads FILE, or the standard input for "-", with the values of the option --set. Returns CMD_OK,
 * or has printed a sentence and returns its exit code. */
int snapshot_file_read(const struct cmd_call *call, const char *path, struct snapshot **ret);

/* For the options of a command: the --set that snapshot_file_read looks for. */
#define SNAPSHOT_FILE_OPTION                                                                       \
    { "set", 's', "KEY=VALUE", "change a setting after the snapshot's own; may be repeated" }
