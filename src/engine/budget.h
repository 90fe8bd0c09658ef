/* budget.h: moved to budget/budget_internal.h. */
#pragma once
#include "engine/budget/budget_internal.h" // IWYU pragma: export
