/* shim_path.h: where is the program that stays with a run? */
#pragma once

#include "base/error.h"

/* $SLUICE_SHIM, else beside this program, else beside it in ../libexec/sluice. The caller frees. */
int shim_path_find(char **ret_path, struct error *err);
