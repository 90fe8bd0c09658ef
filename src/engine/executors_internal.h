/* executors_internal.h: moved to slurm/slurm_internal.h. */
#pragma once
#include "engine/slurm/slurm_internal.h" // IWYU pragma: export
