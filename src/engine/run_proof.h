/* run_proof.h: moved to live_run.h. */
#pragma once
#include "engine/live_run.h" // IWYU pragma: export
