// SPDX-License-Identifier: GPL-2.0-only
// The kernel's private structures, as the module looks into them.
#include <fmt/format.h>
#include <unistd.h>

#include <optional>
#include <utility>

#include "base/error.h"
#include "cr_info/check.h"
#include "cr_info/layouts.h"

namespace cryo {
namespace {

constexpr char kRunningKernel[] = "/sys/kernel/btf/vmlinux";

void report_differences(CheckResult& result, const std::string& module, const std::string& kernel,
                        const std::vector<LayoutNote>& notes) {
  const std::vector<LayoutDifference> differences = compare_layouts(notes, kernel);
  for (const LayoutDifference& difference : differences)
    result.note("layout", fmt::format("{} {}: {}", difference.subject, difference.what, difference.without));
  result.differences += differences.size();
  if (differences.empty())
    result.good("layout", fmt::format("{} knows the private structures of {}", module, kernel));
}

// Where there is no type information is no fault; but what cannot be read has been asked for, or is of the
// tools' own release.
void compare_with(CheckResult& result, const std::string& module, const std::string& kernel,
                  const std::optional<std::vector<LayoutNote>>& notes) {
  if (!notes)
    result.note("layout", "no module to compare with the kernel's private structures");
  else if (kernel == kRunningKernel && ::access(kRunningKernel, R_OK) != 0)
    result.note("layout", fmt::format("not checked: no {}, the kernel does not describe its structures "
                                      "(CONFIG_DEBUG_INFO_BTF)",
                                      kRunningKernel));
  else
    report_differences(result, module, kernel, *notes);
}

}  // namespace

void check_layouts(CheckResult& result) {
  try {
    if (auto notes = loaded_layouts()) {
      compare_with(result, "the module", kRunningKernel, notes);
    } else if (const auto path = installed_module(kernel_release())) {
      const std::string file = fmt::format("/lib/modules/{}/{}", kernel_release(), *path);
      compare_with(result, file, kRunningKernel, file_layouts(file));
    } else {
      compare_with(result, "", kRunningKernel, std::nullopt);
    }
  } catch (const Error& error) {
    result.note("layout", fmt::format("not checked: {}", error.what()));
  }
}

CheckResult check_module_file(const std::string& module, const std::string& kernel) {
  CheckResult result;
  compare_with(result, module, kernel.empty() ? kRunningKernel : kernel, file_layouts(module));
  return result;
}

}  // namespace cryo
