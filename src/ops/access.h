/* access.h: may whoever comes by TCP do that? One place decides. Private to ops/.
 *
 * The front end has found out whose token it is (op_call.access); here its scope is held against
 * the right that the operation needs, and against what is not done by TCP at all. The request
 * itself says nothing about rights: neither a scope nor a run that it claims to be is believed.
 * Runs have a door of their own (capability.h). */
#pragma once

#include "config/config_edit.h"
#include "ops/op_internal.h"

/* The first step of a call that came by TCP. */
int access_begin(struct op_call *call);

/* Is the value of this setting left out of what it is shown? Texts may hold secrets: an address, a
 * variable. */
bool access_hides(const struct op_call *call, const char *key);

/* By TCP only numbers, times, switches and choices can be changed. A text may be a command, a path
 * or an address: with it, who may change settings could choose what program runs, or who is
 * told. */
int access_check_changes(struct op_call *call, const struct config_change *items, size_t count);
/* Would the daemon listen there? What would be refused later is refused at once. */
int access_check_listen(struct op_call *call, const struct config *config);
