// SPDX-License-Identifier: GPL-2.0-only
// Kinds of open files, as the reader knows them: each describes itself in its own file, beside the parser of
// what it has, and has a line here.
#pragma once

#include <cstdint>

#include "context/model.h"

namespace cryo {

struct Staging;

// An open file and all of the context around it.
struct FileInContext {
  const Staging& staging;
  const Context& context;
  const File& file;
  const Inode* inode;  // nullptr: none

  // Throws Error (EBADMSG) where `there` is false: the file has no `what`.
  void require(bool there, const char* what) const;
};

// What is made again from the contents of its inode has those.
void require_contents(const FileInContext& in);

struct FileKindModel {
  std::uint32_t kind;           // CRYO_FILE_*
  const char* name;             // "pty-master"
  bool opened_by_path = false;  // has a path that is not empty
  // Whether it has all that it takes, and that fits the rest of the context. Throws Error (EBADMSG). May be
  // left out.
  void (*check)(const FileInContext& in) = nullptr;
};

extern const FileKindModel kPathModel;
extern const FileKindModel kContentsModel;
extern const FileKindModel kTerminalModel;
extern const FileKindModel kStdioModel;
extern const FileKindModel kPipeModel;
extern const FileKindModel kEpollModel;
extern const FileKindModel kSocketModel;
extern const FileKindModel kEventfdModel;
extern const FileKindModel kUnixModel;
extern const FileKindModel kTcpModel;
extern const FileKindModel kUdpModel;
extern const FileKindModel kNetlinkModel;
extern const FileKindModel kWaitingModel;
extern const FileKindModel kTimerfdModel;
extern const FileKindModel kSignalfdModel;
extern const FileKindModel kInotifyModel;
extern const FileKindModel kPtyMasterModel;
extern const FileKindModel kPtySlaveModel;
extern const FileKindModel kFifoModel;
extern const FileKindModel kSysvModel;
extern const FileKindModel kMqueueModel;
extern const FileKindModel kPosixShmModel;
extern const FileKindModel kDeviceModel;
extern const FileKindModel kClosedModel;
extern const FileKindModel kRemovedDirectoryModel;
extern const FileKindModel kPidfdModel;
extern const FileKindModel kUringModel;
extern const FileKindModel kFanotifyModel;
extern const FileKindModel kNamespaceModel;
extern const FileKindModel kHugetlbModel;
extern const FileKindModel kRawModel;
extern const FileKindModel kClientModel;
extern const FileKindModel kRequestModel;
extern const FileKindModel kOutputModel;

inline constexpr const FileKindModel* kFileKindModels[] = {
    &kPathModel,    &kContentsModel,  &kTerminalModel, &kStdioModel,     &kPipeModel,
    &kEpollModel,   &kSocketModel,    &kEventfdModel,  &kUnixModel,      &kTcpModel,
    &kUdpModel,     &kNetlinkModel,   &kWaitingModel,  &kTimerfdModel,   &kSignalfdModel,
    &kInotifyModel, &kPtyMasterModel, &kPtySlaveModel, &kFifoModel,      &kSysvModel,
    &kMqueueModel,  &kPosixShmModel,  &kDeviceModel,   &kClosedModel,    &kRemovedDirectoryModel,
    &kPidfdModel,   &kUringModel,     &kFanotifyModel, &kNamespaceModel, &kHugetlbModel,
    &kRawModel,     &kClientModel,    &kRequestModel,  &kOutputModel};

// nullptr: not known.
[[nodiscard]] const FileKindModel* file_kind_model(std::uint32_t kind);

}  // namespace cryo
