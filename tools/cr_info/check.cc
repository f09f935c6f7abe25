// SPDX-License-Identifier: GPL-2.0-only
#include "cr_info/check.h"

#include <fmt/format.h>
#include <sys/utsname.h>

#include <algorithm>
#include <fstream>
#include <nlohmann/json.hpp>

#include "base/error.h"

namespace cryo {
namespace {

const char* verdict_name(Verdict verdict) {
  switch (verdict) {
    case Verdict::kGood:
      return "good";
    case Verdict::kNote:
      return "note";
    case Verdict::kMissing:
      return "MISSING";
  }
  return "?";
}

}  // namespace

bool CheckResult::usable() const {
  return std::none_of(findings.begin(), findings.end(),
                      [](const Finding& finding) { return finding.verdict == Verdict::kMissing; });
}

CheckResult check_machine() {
  CheckResult result;
  check_kernel(result);
  if (!check_device(result)) {
    check_module(result);
    check_config(result);
  }
  check_layouts(result);
  check_policy(result);
  return result;
}

void print_check(const CheckResult& result, bool sum) {
  for (const Finding& finding : result.findings)
    fmt::print("{:<8} {:<8} {}\n", verdict_name(finding.verdict), finding.subject, finding.text);
  if (!sum) return;
  fmt::print("{}\n", result.usable() ? "Cryo can checkpoint and restart here."
                                     : "Cryo cannot do all of its work here: see what is MISSING.");
}

nlohmann::ordered_json check_json(const CheckResult& result) {
  nlohmann::ordered_json json = {{"usable", result.usable()}, {"findings", nlohmann::ordered_json::array()}};
  for (const Finding& finding : result.findings)
    json["findings"].push_back(
        {{"verdict", verdict_name(finding.verdict)}, {"subject", finding.subject}, {"text", finding.text}});
  return json;
}

std::optional<std::string> first_line(const std::string& path) {
  std::ifstream file(path);
  std::string line;
  if (!std::getline(file, line)) return std::nullopt;
  return line;
}

std::string kernel_release() {
  utsname name{};
  if (::uname(&name) != 0) fail_errno("uname");
  return name.release;
}

std::string config_value(std::string_view config, std::string_view name) {
  const std::string wanted = fmt::format("CONFIG_{}=", name);
  std::size_t at = config.find(wanted);
  while (at != std::string_view::npos && at != 0 && config[at - 1] != '\n') at = config.find(wanted, at + 1);
  if (at == std::string_view::npos) return "n";
  const std::string_view rest = config.substr(at + wanted.size());
  return std::string(rest.substr(0, rest.find('\n')));
}

}  // namespace cryo
