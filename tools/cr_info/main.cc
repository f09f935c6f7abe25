// SPDX-License-Identifier: GPL-2.0-only
// cr_info - show what is in a context, and whether this machine can run Cryo
#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <exception>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/exit_codes.h"
#include "base/message.h"
#include "base/privileged_caller.h"
#include "context/find_context.h"
#include "context/reader.h"
#include "cr_info/check.h"
#include "cr_info/options.h"
#include "cr_info/report.h"
#include "cr_info/text.h"

namespace cryo {
namespace {

enum : int { kExitGood = 0, kExitDamaged = 1, kExitNewer = 2, kExitUnreadable = 3 };

int exit_code_of(const Error& error) {
  if (error.code() == EBADMSG) return kExitDamaged;
  return error.code() == EOPNOTSUPP ? kExitNewer : kExitUnreadable;
}

void print_json(const nlohmann::ordered_json& json) {
  // Paths are bytes, JSON is UTF-8: what is not becomes a replacement character.
  fmt::print("{}\n",
             printable_json(json.dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace)));
}

int show(const InfoOptions& options) {
  const Source source = Source::open(options.file);
  const Context context = read_context(source, {.verify_pages = options.verify, .show_only = true});
  if (options.json) {
    nlohmann::ordered_json json = report_json(context, source);
    json["section_list"] = sections_json(source, options.verbose > 0);
    print_json(json);
  } else {
    const std::vector<Link> links = options.file == "-"
                                        ? std::vector<Link>{}
                                        : links_of(context, {options.file, options.ancestors}, false);
    print_report(context, source, links, options.verbose);
  }
  return context.obstacles.empty() ? kExitGood : kExitNewer;
}

int show_chain(const InfoOptions& options) {
  const Source source = Source::open(options.file);
  const Context context = read_context(source, {.verify_pages = options.verify, .show_only = true});
  const AncestorPlace place{options.file == "-" ? "" : options.file, options.ancestors};
  const std::vector<Link> links = links_of(context, place, options.verify);
  if (options.json)
    print_json(chain_json(context, source, links));
  else
    print_chain(context, source, links);
  for (const Link& link : links)
    if (link.state != "good") return kExitDamaged;
  return context.obstacles.empty() ? kExitGood : kExitNewer;
}

bool is_directory(const std::string& path) {
  struct stat status {};
  if (path == "-") return false;
  const FoundContext found = find_context(path);
  return found.place && ::fstat(found.place.get(), &status) == 0 && S_ISDIR(status.st_mode);
}

int list(const InfoOptions& options) {
  const std::vector<ListedContext> all = contexts_in(options.file, options.verify);
  if (options.json)
    print_json(directory_json(all));
  else
    print_directory(options.file, all);
  const bool good =
      std::all_of(all.begin(), all.end(), [](const auto& listed) { return listed.state == "good"; });
  return good ? kExitGood : kExitDamaged;
}

int check(const InfoOptions& options) {
  const bool file = !options.module.empty();
  const CheckResult result = file ? check_module_file(options.module, options.btf) : check_machine();
  if (options.json)
    print_json(check_json(result));
  else
    print_check(result, !file);
  return result.usable() && (!file || result.differences == 0) ? 0 : 1;
}

// Output that could not be written is no success.
int flushed(int code) {
  if (std::fflush(stdout) == 0 && std::ferror(stdout) == 0) return code;
  message("cr_info", "standard output: {}", errno_text(errno));
  return kExitUnreadable;
}

int run(int argc, char** argv) {
  try {
    const InfoOptions options = parse_info_options(argc, argv);
    if (options.check) return flushed(check(options));
    if (is_privileged_caller())
      Source::refuse_untrusted_copies("run cr_info as its owner (runuser -u USER -- cr_info FILE)");
    if (options.chain) return flushed(show_chain(options));
    return flushed(is_directory(options.file) ? list(options) : show(options));
  } catch (const InfoDone&) {
    return flushed(0);
  } catch (const UsageError& error) {
    message("cr_info", "{}", error.text);
    std::fputs("Try 'cr_info --help' for more information.\n", stderr);
    return kExitUsage;
  } catch (const Error& error) {
    message("cr_info", "{}", error.what());
    return exit_code_of(error);
  }
}

}  // namespace
}  // namespace cryo

int main(int argc, char** argv) {
  try {
    return cryo::run(argc, argv);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "cr_info: %s\n", error.what());
    return cryo::kExitUnreadable;
  }
}
