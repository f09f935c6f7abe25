// SPDX-License-Identifier: GPL-2.0-only
#include "cr_checkpoint/generations.h"

#include <dirent.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <iterator>
#include <map>
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

// By what is in it; kUntold: an ancestor would tell, and is not there.
enum class Whose { kOurs, kOthers, kUntold };

struct Look {
  Whose whose = Whose::kUntold;
  bool whole = false;     // the file itself
  bool complete = false;  // so is all that it needs: it can be restarted
  bool kept = false;      // is one of those that are to be kept
  bool old = false;       // all of these are newer
  std::set<std::string> needs;
};

// Of a directory that others can write to, too, only what the caller has made himself: what another one has
// made can be removed by him at any time. Nothing that is no file is opened.
bool is_own(const std::string& path) {
  struct stat status {};
  return ::lstat(path.c_str(), &status) == 0 && S_ISREG(status.st_mode) && status.st_uid == ::geteuid();
}

// Looks at contexts from the newest to the oldest, and reads no pages that a newer one says to be untouched
// since it has seen them.
class Looker {
 public:
  Looker(LiveJob job, pid_t id) : job_(std::move(job)), id_(id), lines_(id) {}

  // `fresh`: has just been written, on others that have been looked at for it. Otherwise the pages are read,
  // where `pages` wants that, it is of the job, and nothing tells that they are as they were.
  [[nodiscard]] Look look_at(const std::string& path, bool fresh, bool pages);

 private:
  [[nodiscard]] bool is_known(const Source& source) const {
    return std::any_of(known_.begin(), known_.end(),
                       [&](const Ancestor& ancestor) { return is_untouched(ancestor, source); });
  }
  [[nodiscard]] Whose whose(const Context& context, const Source& source, const std::string& path);

  LiveJob job_;
  pid_t id_;
  LineReader lines_;
  std::vector<Ancestor> known_;  // of complete ones
};

Whose Looker::whose(const Context& context, const Source& source, const std::string& path) {
  const Line line = lines_.line_of(context, source, path);
  if (is_of(job_, line, context, id_)) return Whose::kOurs;
  return line.marks.empty() && !is_of_a_copy(job_, context) ? Whose::kUntold : Whose::kOthers;
}

Look Looker::look_at(const std::string& path, bool fresh, bool pages) {
  Look look;
  try {
    const Source source = open_parent(path);
    const Context context = read_context(source, {.verify_pages = false});
    look.whose = whose(context, source, path);
    pages = pages && look.whose == Whose::kOurs;
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

// What nothing in it tells of is of the job if it descends from what is, or has been needed by that.
void decide_by_ancestry(std::map<std::string, Look>& looks) {
  const auto is_ours = [&](const std::string& name) {
    const auto found = looks.find(name);
    return found != looks.end() && found->second.whose == Whose::kOurs;
  };
  std::set<std::string> needed;
  for (const auto& [name, look] : looks)
    if (look.whose == Whose::kOurs) needed.insert(look.needs.begin(), look.needs.end());
  std::set<std::string> found;
  for (const auto& [name, look] : looks)
    if (look.whose == Whose::kUntold && look.whole &&
        (needed.contains(name) || std::any_of(look.needs.begin(), look.needs.end(), is_ours)))
      found.insert(name);
  for (const std::string& name : found) looks[name].whose = Whose::kOurs;
}

}  // namespace

Generations::Generations(std::string directory, pid_t target, LiveJob job)
    : directory_(std::move(directory)),
      target_(target),
      prefix_(fmt::format("context.{}.", target)),
      job_(std::move(job)),
      all_(list()) {}

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

void Generations::note_others(const std::vector<std::string>& others, std::vector<std::string>& notes) const {
  if (others.empty()) return;
  const std::string more = others.size() > 1 ? fmt::format(" and {} more are", others.size() - 1) : " is";
  notes.push_back(
      fmt::format("{}{} from another job that had the id {}, or from a program that this process ran before: "
                  "not used as parent, and not removed (use a separate directory for each job)",
                  others.front(), more, target_));
}

std::optional<Parent> Generations::newest(std::vector<std::string>& notes,
                                          const std::function<void(const Parent&)>& prepare) const {
  LineReader lines(target_);
  std::vector<std::string> others;
  std::optional<Parent> found;
  bool ends = false;
  for (const Generation& generation : all_) {
    if (found || ends) break;
    if (!generation.own) {
      notes.push_back(
          fmt::format("cannot be a parent: {} is not a file of the caller's own", path(generation)));
      continue;
    }
    try {
      Parent parent(path(generation));
      const Line line = lines.line_of(parent.context(), parent.source(), path(generation));
      if (!is_of(job_, line, parent.context(), target_)) {
        others.push_back(path(generation));
      } else if (is_worth_continuing(parent)) {
        prepare(parent);
        found.emplace(std::move(parent));
      } else {
        ends = true;
      }
    } catch (const Error& error) {
      notes.push_back(fmt::format("cannot be a parent: {}", error.what()));
    }
  }
  note_others(others, notes);
  if (ends)
    notes.push_back("the chain is long enough: this context is full");
  else if (!found && !all_.empty())
    notes.push_back("no existing context can be the parent: this one is full");
  return found;
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

bool Generations::was_there(const Generation& generation) const {
  return std::any_of(all_.begin(), all_.end(),
                     [&](const Generation& other) { return other.name == generation.name; });
}

// What has been written tells most surely what the job is. Where two at once have got one number, by what the
// job was before.
LiveJob Generations::as_written(const std::vector<Generation>& now) const {
  const std::string names[] = {next(false), next(true)};
  std::vector<Line> written;
  for (const Generation& generation : now) {
    if (was_there(generation) ||
        std::find(std::begin(names), std::end(names), path(generation)) == std::end(names))
      continue;
    try {
      const Source source = open_parent(path(generation));
      const Context context = read_context(source, {.verify_pages = false});
      written.push_back(LineReader(target_).line_of(context, source, path(generation)));
    } catch (const Error&) {
      // It is complete, but cannot be read now: there may be no room to unpack it.
    }
  }
  LiveJob job = job_;
  if (written.size() == 1) job.line = written.front();
  return job;
}

// What is left for its bytes alone may have lost what it needs: it goes when nobody needs it any more. What
// is damaged itself stays, for somebody to look at.
void Generations::keep(std::size_t count) const {
  const std::vector<Generation> now = list();
  std::map<std::string, Look> looks;
  std::size_t kept = 0;
  Looker looker(as_written(now), target_);
  for (const Generation& generation : now) {
    if (!generation.own) continue;
    Look& look = looks[generation.name];
    look = looker.look_at(path(generation), !was_there(generation), kept < count);
    look.old = kept == count;
    look.kept = look.complete && kept < count;
    if (look.kept) ++kept;
  }
  decide_by_ancestry(looks);
  std::set<std::string> needed;
  for (const auto& [name, look] : looks)
    if (look.kept || look.whose != Whose::kOurs) needed.insert(look.needs.begin(), look.needs.end());
  for (const auto& [name, look] : looks)
    if (look.old && look.whole && look.whose == Whose::kOurs && !needed.contains(name) &&
        ::unlink((directory_ + "/" + name).c_str()) != 0 && errno != ENOENT)
      fail_errno("the context is complete, but {}/{} cannot be removed", directory_, name);
}

}  // namespace cryo
