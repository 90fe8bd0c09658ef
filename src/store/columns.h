/* columns.h: a task in columns, where every database keeps it alike. Private to store/. */
#pragma once

#include "store/rows.h"

/* What is yes or no, as one number. */
int64_t columns_flags(const struct task_spec *told);
void columns_take_flags(int64_t flags, struct task_spec *told);
/* Is there anything in which it differs from a task that never started? */
bool columns_have_progress(const struct task_row *row);
