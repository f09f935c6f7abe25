// SPDX-License-Identifier: GPL-2.0-only
// What a module takes on trust about the kernel (kmod/compat/layout_note.h), against what a kernel says of
// itself.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "kmod/compat/layout_note.h"

struct btf;

namespace cryo {

using LayoutNote = cryo_layout_note;

// One thing in which they differ.
struct LayoutDifference {
  std::string subject;  // "struct epitem", "anon_vma_clone()"
  std::string what;     // "event is at byte 72, the module looks at 64"
  std::string without;  // what is off because of it
};

// Of the module that is loaded; nothing where there is none, or where its kernel does not show notes.
[[nodiscard]] std::optional<std::vector<LayoutNote>> loaded_layouts();
// Of the file of a module. Throws.
[[nodiscard]] std::vector<LayoutNote> file_layouts(const std::string& path);
// Of the bytes of a note. Throws.
[[nodiscard]] std::vector<LayoutNote> parse_layouts(const std::string& bytes, const std::string& where);

[[nodiscard]] std::vector<LayoutDifference> compare_layouts(const std::vector<LayoutNote>& notes,
                                                            const btf& kernel);

// "/sys/kernel/btf/vmlinux", a vmlinux, or a file with nothing else. Throws.
[[nodiscard]] std::vector<LayoutDifference> compare_layouts(const std::vector<LayoutNote>& notes,
                                                            const std::string& btf_path);

}  // namespace cryo
