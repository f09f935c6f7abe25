// SPDX-License-Identifier: GPL-2.0-only
// tap.h - test output (TAP)
#ifndef CRT_TAP_H
#define CRT_TAP_H

#include <iostream>
#include <sstream>
#include <string>
#include <vector>

namespace crt {

inline std::vector<std::string> split(const std::string& text, char separator) {
  std::vector<std::string> parts;
  std::istringstream in(text);
  for (std::string part; std::getline(in, part, separator);)
    if (!part.empty()) parts.push_back(part);
  return parts;
}

class Tap {
 public:
  bool ok(bool cond, const std::string& text) {
    std::cout << (cond ? "ok " : "not ok ") << ++count_ << " - " << text << std::endl;
    failed_ += !cond;
    return cond;
  }
  void skip(const std::string& text, const std::string& why) {
    std::cout << "ok " << ++count_ << " - " << text << " # SKIP " << why << std::endl;
  }
  void diag(const std::string& text) {
    for (const auto& line : split(text, '\n')) std::cout << "# " << line << std::endl;
  }
  int finish() {
    std::cout << "1.." << count_ << std::endl;
    return failed_ ? 1 : 0;
  }
  unsigned failed() const { return failed_; }

 private:
  unsigned count_ = 0;
  unsigned failed_ = 0;
};

}  // namespace crt

#endif  // CRT_TAP_H
