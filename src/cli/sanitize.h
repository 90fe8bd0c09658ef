/* sanitize.h: base/safe_text.h, by the name that the commands know it by. */
#pragma once

#include "base/safe_text.h"
