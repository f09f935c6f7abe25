// SPDX-License-Identifier: GPL-2.0-only
#include "cr_checkpoint/generations.h"

#include <dirent.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <memory>
#include <set>
#include <string_view>
#include <utility>

#include "base/error.h"
#include "base/parse.h"
#include "context/chain.h"
#include "context/reader.h"

namespace cryo {
namespace {

// A chain that is longer, or has that many times the bytes of what it makes, is not worth to be continued.
constexpr std::size_t kLongestChain = 32;
constexpr std::uint64_t kMostBytes = 3;
// Names with a higher number are nobody's generations.
constexpr std::uint64_t kHighestNumber = 999'999'999;

struct CloseDirectory {
  void operator()(DIR* directory) const { ::closedir(directory); }
};

bool is_worth_continuing(const Parent& parent) {
  std::uint64_t bytes = 0;
  for (const ParentFile& file : parent.files()) bytes += file.length;
  return parent.files().size() < kLongestChain &&
         (parent.files().size() == 1 || bytes / kMostBytes <= parent.page_bytes());
}

struct Look {
  bool whole = false;     // the file itself
  bool complete = false;  // so is all that it needs: it can be restarted
  std::set<std::string> needs;
};

// Of a directory that others can write to, too, only what the caller has made himself: what another one has made can be removed by
// him at any time. Nothing that is no file is opened.
bool is_own(const std::string& path) {
  struct stat status {};
  return ::lstat(path.c_str(), &status) == 0 && S_ISREG(status.st_mode) && status.st_uid == ::geteuid();
}

// Looks at contexts from the newest to the oldest, and reads no pages that a newer one says to be untouched since it has seen them.
class Looker {
 public:
  // `fresh`: has just been written, on others that have been looked at for it. Otherwise the pages are read, where `pages` wants
  // that and nothing tells that they are as they were.
  [[nodiscard]] Look look_at(const std::string& path, bool fresh, bool pages);

 private:
  [[nodiscard]] bool is_known(const Source& source) const {
    return std::any_of(known_.begin(), known_.end(),
                       [&](const Ancestor& ancestor) { return is_untouched(ancestor, source); });
  }

  std::vector<Ancestor> known_;  // of complete ones
};

Look Looker::look_at(const std::string& path, bool fresh, bool pages) {
  Look look;
  try {
    const Source source = open_parent(path);
    const Context context = read_context(source, {.verify_pages = false});
    if (pages && !fresh && !is_known(source)) verify_pages(source, context.pages);
    look.whole = true;
    for (const Ancestor& ancestor : context.ancestors) look.needs.insert(ancestor.name);
    if (!pages) return look;
    const Chain chain(context, source, {path, {}});
    for (std::uint32_t i = 1; i <= context.ancestors.size() && !fresh; ++i)
      if (!is_untouched(context.ancestors[i - 1], chain.numbered(i)))
        verify_ancestor(context, i, chain.numbered(i));
    look.complete = true;
    known_.insert(known_.end(), context.ancestors.begin(), context.ancestors.end());
  } catch (const Error&) {
    // What it is not, is said above.
  }
  return look;
}

}  // namespace

Generations::Generations(std::string directory, pid_t target)
    : directory_(std::move(directory)), prefix_(fmt::format("context.{}.", target)), all_(list()) {}

std::vector<Generations::Generation> Generations::list() const {
  constexpr std::string_view kCompressed = ".zst";
  const std::unique_ptr<DIR, CloseDirectory> directory(::opendir(directory_.c_str()));
  if (!directory) fail_errno("{}", directory_);
  std::vector<Generation> all;
  while (const dirent* entry = ::readdir(directory.get())) {
    std::string_view name = entry->d_name;
    if (!name.starts_with(prefix_)) continue;
    name.remove_prefix(prefix_.size());
    if (name.ends_with(kCompressed)) name.remove_suffix(kCompressed.size());
    if (const auto number = parse_number<std::uint64_t>(name, 1, kHighestNumber))
      all.push_back({*number, entry->d_name, is_own(directory_ + "/" + entry->d_name)});
  }
  std::sort(all.begin(), all.end(),
            [](const Generation& a, const Generation& b) { return a.number > b.number; });
  return all;
}

std::optional<Parent> Generations::newest(std::vector<std::string>& notes,
                                          const std::function<void(const Parent&)>& prepare) const {
  for (const Generation& generation : all_) {
    if (!generation.own) {
      notes.push_back(fmt::format("cannot be a parent: {} is not a file of the caller's own", path(generation)));
      continue;
    }
    try {
      Parent parent(path(generation));
      if (is_worth_continuing(parent)) {
        prepare(parent);
        return parent;
      }
      notes.push_back("the chain is long enough: this context is a full one");
      return std::nullopt;
    } catch (const Error& error) {
      notes.push_back(fmt::format("cannot be a parent: {}", error.what()));
    }
  }
  if (!all_.empty()) notes.push_back("none of the contexts that are there can be a parent: this one is a full one");
  return std::nullopt;
}

// Those of others count, too, as their names are taken; but not so high that no number is left.
std::string Generations::next(bool compressed) const {
  std::uint64_t number = 1;
  std::set<std::uint64_t> taken;
  for (const Generation& generation : all_) {
    if (generation.own) number = std::max(number, generation.number + 1);
    taken.insert(generation.number);
  }
  while (taken.contains(number)) ++number;
  if (number > kHighestNumber) fail(EOVERFLOW, "{}: no number is left for {}N", directory_, prefix_);
  return fmt::format("{}/{}{}{}", directory_, prefix_, number, compressed ? ".zst" : "");
}

// What is left for its bytes alone may have lost what it needs: it goes when nobody needs it any more. What
// is damaged itself stays, for somebody to look at.
void Generations::keep(std::size_t count) const {
  std::set<std::string> needed;
  std::vector<Generation> old;
  std::size_t kept = 0;
  Looker looker;
  const auto was_there = [this](const Generation& generation) {
    return std::any_of(all_.begin(), all_.end(), [&](const Generation& other) { return other.name == generation.name; });
  };
  for (const Generation& generation : list()) {
    if (!generation.own) continue;
    const Look look = looker.look_at(path(generation), !was_there(generation), kept < count);
    if (kept == count) {
      if (look.whole) old.push_back(generation);
    } else if (look.complete) {
      ++kept;
      needed.insert(look.needs.begin(), look.needs.end());
    }
  }
  for (const Generation& generation : old)
    if (!needed.contains(generation.name) && ::unlink(path(generation).c_str()) != 0 && errno != ENOENT)
      fail_errno("the context is complete, but {} cannot be removed", path(generation));
}

}  // namespace cryo
