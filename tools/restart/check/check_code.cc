// SPDX-License-Identifier: GPL-2.0-only
// Programs and libraries whose code cannot go on on this machine, as far as one can see that in the code.
// Only what is mapped from files is looked at, and only where the architecture has something to look for.
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <set>

#include "base/exit_codes.h"
#include "base/unique_fd.h"
#include "restart/check/check.h"
#include "restart/common/restart_arch.h"
#include "restart/ns/mounts.h"
#include "restart/rights/names.h"

namespace cryo {
namespace {

// What `check` says of that part of a file.  One that cannot be read has been reported elsewhere.
std::string code_problem(const CodeCheck& check, const std::string& path, std::uint64_t offset,
                         std::uint64_t size) {
  constexpr std::size_t kChunk = 1 << 20;
  const UniqueFd fd = names::open_regular(path);
  Bytes buffer(fd ? kChunk : 0);
  for (std::uint64_t done = 0; fd && done < size;) {
    const ssize_t got = ::pread(fd.get(), buffer.data(), std::min<std::uint64_t>(kChunk, size - done),
                                static_cast<off_t>(offset + done));
    if (got <= 0) break;
    const auto length = static_cast<std::size_t>(got);
    if (std::string text = check(std::span(buffer).first(length)); !text.empty()) return text;
    done += length;
  }
  return {};
}

bool is_code(const Context& context, const cryo_vma& vma) {
  return vma.kind == CRYO_VMA_FILE && vma.flags & CRYO_VMA_EXEC &&
         context.file(vma.file).head.kind == CRYO_FILE_PATH;
}

std::vector<std::size_t> sharers(const Context& context, std::uint32_t mm) {
  std::vector<std::size_t> processes;
  for (std::size_t i = 0; i < context.processes.size(); ++i)
    if (context.processes[i].head.mm == mm && context.processes[i].creds) processes.push_back(i);
  return processes;
}

}  // namespace

void check_code(const Context& context, const RestartOptions& options, Findings& findings) {
  const CodeCheck check = code_check(context);
  if (!check) return;
  std::set<std::string> bad;
  for (const auto& [id, mm] : context.mms) {
    const NamesToCheck theirs(context, sharers(context, id));
    for (const cryo_vma& vma : mm.vmas) {
      if (!is_code(context, vma)) continue;
      const std::string path =
          outer_path(context, options.relocations, context.file(vma.file)).value_or(std::string());
      if (path.empty() || bad.contains(path)) continue;
      const std::string text = code_problem(check, path, vma.offset, vma.end - vma.start);
      if (text.empty()) continue;
      bad.insert(path);
      if (options.other_cpu == Tolerance::kError)
        findings.problem(kErrBadArch, "{}: {}", path, text);
      else
        findings.warning("{}: {}", path, text);
    }
  }
}

}  // namespace cryo
