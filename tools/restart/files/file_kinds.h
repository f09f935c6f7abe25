// SPDX-License-Identifier: GPL-2.0-only
// Kinds of open files: each describes itself in its own file, and has a line here; whoever checks or makes
// files walks the list.
#pragma once

#include <cstdint>
#include <memory>
#include <set>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "restart/common/findings.h"
#include "restart/files/files.h"

namespace cryo {

// What kinds keep from one file to the next: each an object of a type of its own, made when it is first asked
// for.
class KindStates {
 public:
  template <typename T, typename... Args>
  [[nodiscard]] T& get(Args&... args) {
    for (const auto& [type, state] : states_)
      if (type == &kType<T>) return *static_cast<T*>(state.get());
    return *static_cast<T*>(states_.emplace_back(&kType<T>, std::make_shared<T>(args...)).second.get());
  }

 private:
  template <typename T>
  static constexpr char kType = 0;

  std::vector<std::pair<const void*, std::shared_ptr<void>>> states_;
};

// The check of all open files of a job, and the one that it is at.
struct FileCheck {
  FileCheck(const Context& context, const RestartOptions& options, const Creds& own, Findings& findings)
      : context(context), options(options), own(own), findings(findings) {}
  FileCheck(const FileCheck&) = delete;
  FileCheck& operator=(const FileCheck&) = delete;

  template <typename... Args>
  void problem(int code, fmt::format_string<Args...> format, Args&&... args) {
    findings.problem(code, "pid {}: {}: {}", pid, what, fmt::format(format, std::forward<Args>(args)...));
  }

  template <typename T>
  [[nodiscard]] T& state() {
    return states.get<T>();
  }

  const Context& context;
  const RestartOptions& options;
  const Creds& own;
  Findings& findings;
  const FileUses uses = file_uses(context);
  const Outputs outputs = find_outputs(context, uses);
  const OwnStandards standards = own_standards();
  std::set<std::uint32_t> taken;  // of these, by a process of the job
  KindStates states;

  std::int32_t pid = 0;  // of the first process that has the file
  std::string what;      // "descriptor 3 (/path)"
  std::string path;      // relocated
};

// The making of all open files of a job.
struct FileMaking {
  FileMaking(FileRestoreInput& input, FileStore& store) : input(input), store(store) {}
  FileMaking(const FileMaking&) = delete;
  FileMaking& operator=(const FileMaking&) = delete;

  template <typename T>
  [[nodiscard]] T& state() {
    if constexpr (std::is_constructible_v<T, FileRestoreInput&>)
      return states.get<T>(input);
    else
      return states.get<T>();
  }

  FileRestoreInput& input;
  FileStore& store;
  KindStates states;
};

// Can the user give the process another file in its place (--redirect)?
enum class Redirectable {
  kNo,
  kIfData,  // unless it is a directory, or open by its name only (O_PATH)
  kYes,
};

// All but `kind` may be left out.
struct FileKind {
  std::uint32_t kind;  // CRYO_FILE_*
  // What stands in the way of one that is not redirected.
  void (*check)(FileCheck& at, const File& file, const FileUse& use) = nullptr;
  // In the maker. None: it is nothing that can be opened.
  UniqueFd (*open)(FileMaking& making, const File& file, const FileUse& use) = nullptr;
  // Before the first file is opened, and when all are; whether or not one of the kind is there.
  void (*begin)(FileMaking& making) = nullptr;
  void (*finish)(FileMaking& making) = nullptr;
  // Is it one that a process of the job makes, when that exists?
  bool (*is_late)(const File& file) = nullptr;
  bool has_position = false;  // which belongs to the open file
  bool is_nameless = false;   // and has an inode of its own: no file keeps its mode and owner
  Redirectable redirectable = Redirectable::kNo;
  bool is_shared_outside =
      false;  // with whoever has started cr_restart, or it is nothing: its status flags are left alone
};

// Watches and marks are of a file, and are put on what has its name: is that, at `path` now, another one? Not
// where the user has moved it.
[[nodiscard]] bool is_other_watched(const FileCheck& at, const std::string& saved, const std::string& path,
                                    std::uint64_t ino);

// Of a pipe, named or not: can it be as large as it was?
void check_pipe(FileCheck& at, const Inode& inode);

extern const FileKind kPtyMasterKind;
extern const FileKind kPtySlaveKind;
extern const FileKind kUringKind;
extern const FileKind kPathKind;
extern const FileKind kDeviceKind;
extern const FileKind kClosedKind;
extern const FileKind kContentsKind;
extern const FileKind kPosixShmKind;
extern const FileKind kHugetlbKind;
extern const FileKind kSocketKind;
extern const FileKind kUnixKind;
extern const FileKind kTcpKind;
extern const FileKind kUdpKind;
extern const FileKind kRawKind;
extern const FileKind kNetlinkKind;
extern const FileKind kPidfdKind;
extern const FileKind kRemovedDirectoryKind;
extern const FileKind kTerminalKind;
extern const FileKind kStdioKind;
extern const FileKind kPipeKind;
extern const FileKind kFifoKind;
extern const FileKind kEpollKind;
extern const FileKind kEventfdKind;
extern const FileKind kTimerfdKind;
extern const FileKind kSignalfdKind;
extern const FileKind kInotifyKind;
extern const FileKind kFanotifyKind;
extern const FileKind kNamespaceKind;
extern const FileKind kMqueueKind;
extern const FileKind kSysvKind;
extern const FileKind kClientKind;
extern const FileKind kRequestKind;
extern const FileKind kOutputKind;

// Begun and finished in this order: queues of sockets are filled when all else is there that may be passed in
// them. A connection that waits (CRYO_FILE_WAITING) is no open file.
inline constexpr const FileKind* kFileKinds[] = {&kPtyMasterKind,
                                                 &kPtySlaveKind,
                                                 &kUringKind,
                                                 &kPathKind,
                                                 &kDeviceKind,
                                                 &kClosedKind,
                                                 &kContentsKind,
                                                 &kPosixShmKind,
                                                 &kHugetlbKind,
                                                 &kSocketKind,
                                                 &kUnixKind,
                                                 &kTcpKind,
                                                 &kUdpKind,
                                                 &kRawKind,
                                                 &kNetlinkKind,
                                                 &kPidfdKind,
                                                 &kRemovedDirectoryKind,
                                                 &kTerminalKind,
                                                 &kStdioKind,
                                                 &kPipeKind,
                                                 &kFifoKind,
                                                 &kEpollKind,
                                                 &kEventfdKind,
                                                 &kTimerfdKind,
                                                 &kSignalfdKind,
                                                 &kInotifyKind,
                                                 &kFanotifyKind,
                                                 &kNamespaceKind,
                                                 &kMqueueKind,
                                                 &kSysvKind,
                                                 &kClientKind,
                                                 &kRequestKind,
                                                 &kOutputKind};

// nullptr: not known.
[[nodiscard]] const FileKind* file_kind(std::uint32_t kind);

}  // namespace cryo
