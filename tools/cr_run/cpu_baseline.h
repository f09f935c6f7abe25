// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <string>

namespace cryo {

// Has the program that is executed next, and those that it runs, keep to a level of cpu_levels(), and
// tells cr_restart so: by the environment. Throws Error when there is no such level, or this
// processor is below it.
void set_cpu_baseline(const std::string& name);

}  // namespace cryo
