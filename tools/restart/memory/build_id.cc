// SPDX-License-Identifier: GPL-2.0-only
#include "restart/memory/build_id.h"

#include <elf.h>
#include <fcntl.h>
#include <unistd.h>

#include <cstring>
#include <span>

#include "base/unique_fd.h"
#include "restart/rights/names.h"

namespace cryo {
namespace {

using View = std::span<const std::byte>;

std::size_t padded(std::size_t size) {
  return (size + 3) & ~std::size_t{3};
}

template <typename T>
bool take(View from, std::size_t offset, T& value) {
  if (offset > from.size() || from.size() - offset < sizeof(T)) return false;
  std::memcpy(&value, from.data() + offset, sizeof(T));
  return true;
}

Bytes find_in_notes(View notes) {
  Elf64_Nhdr note;
  while (take(notes, 0, note)) {
    if (note.n_namesz > notes.size() || note.n_descsz > notes.size()) return {};
    const std::size_t id = sizeof(note) + padded(note.n_namesz);
    if (id + note.n_descsz > notes.size()) return {};
    if (note.n_type == NT_GNU_BUILD_ID && note.n_namesz == sizeof("GNU") &&
        std::memcmp(notes.data() + sizeof(note), "GNU", sizeof("GNU")) == 0)
      return {notes.begin() + static_cast<std::ptrdiff_t>(id),
              notes.begin() + static_cast<std::ptrdiff_t>(id + note.n_descsz)};
    const std::size_t next = id + padded(note.n_descsz);
    if (next > notes.size()) return {};
    notes = notes.subspan(next);
  }
  return {};
}

Bytes find_build_id(View page) {
  Elf64_Ehdr head;
  if (!take(page, 0, head) || std::memcmp(head.e_ident, ELFMAG, SELFMAG) != 0 ||
      head.e_ident[EI_CLASS] != ELFCLASS64 || head.e_phentsize != sizeof(Elf64_Phdr))
    return {};
  for (std::size_t i = 0; i < head.e_phnum; ++i) {
    Elf64_Phdr segment;
    if (head.e_phoff > page.size() || !take(page, head.e_phoff + i * sizeof(segment), segment)) return {};
    if (segment.p_type != PT_NOTE || segment.p_offset > page.size() ||
        segment.p_filesz > page.size() - segment.p_offset)
      continue;
    Bytes id = find_in_notes(page.subspan(segment.p_offset, segment.p_filesz));
    if (!id.empty()) return id;
  }
  return {};
}

}  // namespace

Bytes build_id_of(const std::string& path) {
  const UniqueFd fd = names::open_regular(path);
  Bytes page(static_cast<std::size_t>(::sysconf(_SC_PAGESIZE)));
  const ssize_t got = fd ? ::pread(fd.get(), page.data(), page.size(), 0) : 0;
  return got > 0 ? find_build_id(View(page).first(static_cast<std::size_t>(got))) : Bytes{};
}

}  // namespace cryo
