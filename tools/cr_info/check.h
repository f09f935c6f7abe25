// SPDX-License-Identifier: GPL-2.0-only
// cr_info --check: can this machine run Cryo, and what is missing?
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace cryo {

enum class Verdict {
  kGood,
  kNote,     // works, with something left out
  kMissing,  // Cryo does not work here
};

struct Finding {
  Verdict verdict = Verdict::kGood;
  std::string subject;  // "kernel", "module" ...
  std::string text;     // what was found, and what to do
};

struct CheckResult {
  std::vector<Finding> findings;
  std::size_t differences = 0;  // between module and kernel: something is off

  void good(std::string subject, std::string text) { add(Verdict::kGood, subject, text); }
  void note(std::string subject, std::string text) { add(Verdict::kNote, subject, text); }
  void missing(std::string subject, std::string text) { add(Verdict::kMissing, subject, text); }
  [[nodiscard]] bool usable() const;

 private:
  void add(Verdict verdict, std::string& subject, std::string& text) {
    findings.push_back({verdict, std::move(subject), std::move(text)});
  }
};

[[nodiscard]] CheckResult check_machine();
// `sum`: and whether Cryo runs here.
void print_check(const CheckResult& result, bool sum);
[[nodiscard]] nlohmann::ordered_json check_json(const CheckResult& result);

// The parts of check_machine().
void check_kernel(CheckResult& result);
// Whether /dev/cryo answers.
[[nodiscard]] bool check_device(CheckResult& result);
// Why it may not: the module, its file, headers, signatures, lockdown, the kernel's configuration.
void check_module(CheckResult& result);
void check_config(CheckResult& result);
void check_policy(CheckResult& result);
// What the module takes on trust about the kernel, against what the kernel says of itself.
void check_layouts(CheckResult& result);

// That alone, of the file of a module, and of a file with a kernel's type information (empty: of the running
// one). Throws.
[[nodiscard]] CheckResult check_module_file(const std::string& module, const std::string& kernel);

// The path of the module for `release`, below /lib/modules/RELEASE, or nothing.
[[nodiscard]] std::optional<std::string> installed_module(const std::string& release);

// The first line of a file, without its newline; nothing when it cannot be read.
[[nodiscard]] std::optional<std::string> first_line(const std::string& path);
[[nodiscard]] std::string kernel_release();

// The value of CONFIG_NAME in the text of a kernel configuration: "y", "m", "\"text\"", or "n".
[[nodiscard]] std::string config_value(std::string_view config, std::string_view name);

}  // namespace cryo
