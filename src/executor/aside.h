#pragma once
#include "executor/helper_process.h"
#define aside helper_process
