#pragma once
#include "executor/helper_process.h"
