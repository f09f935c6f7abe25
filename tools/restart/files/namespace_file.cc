// SPDX-License-Identifier: GPL-2.0-only
// Files of /proc/PID/ns: the namespaces are made before any file is opened.
#include "restart/files/file_kinds.h"
#include "restart/ns/namespaces.h"

namespace cryo {

const FileKind kNamespaceKind = {
    .kind = CRYO_FILE_NAMESPACE, .open = [](FileMaking& making, const File& file, const FileUse&) {
      return making.input.namespaces.file_of(static_cast<std::uint32_t>(file.head.pos),
                                             static_cast<std::uint32_t>(file.head.pos >> 32));
    }};

}  // namespace cryo
