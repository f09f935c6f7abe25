// SPDX-License-Identifier: GPL-2.0-only
#include "cr_info/layouts.h"

#include <bpf/btf.h>
#include <bpf/libbpf.h>
#include <elf.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <gelf.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <map>
#include <memory>
#include <sstream>

#include "base/error.h"
#include "base/unique_fd.h"

namespace cryo {
namespace {

constexpr char kLoadedNote[] = "/sys/module/cryo/notes/" CRYO_LAYOUT_SECTION;

using Btf = std::unique_ptr<btf, decltype([](btf* types) { btf__free(types); })>;
using ElfFile = std::unique_ptr<Elf, decltype([](Elf* elf) { ::elf_end(elf); })>;

template <std::size_t N>
std::string note_text(const char (&field)[N]) {
  return std::string(field, ::strnlen(field, N));
}

bool of_structure(const LayoutNote& note) {
  return note.kind == CRYO_LAYOUT_NOTE_MEMBER || note.kind == CRYO_LAYOUT_NOTE_SIZE;
}

const btf_type* resolved(const btf& kernel, std::uint32_t id) {
  const btf_type* type = btf__type_by_id(&kernel, id);
  while (type != nullptr && (btf_is_mod(type) || btf_is_typedef(type) || btf_is_type_tag(type)))
    type = btf__type_by_id(&kernel, type->type);
  return type;
}

struct Place {
  std::uint32_t offset = 0;  // in bits
  std::uint32_t bits = 0;
  const btf_type* type = nullptr;
};

// Also of a member without a name.
std::optional<Place> member_named(const btf& kernel, const btf_type* type, std::string_view name) {
  if (type == nullptr || !btf_is_composite(type)) return std::nullopt;
  for (std::uint32_t i = 0; i < btf_vlen(type); ++i) {
    const btf_member& member = btf_members(type)[i];
    const std::string_view found = btf__name_by_offset(&kernel, member.name_off);
    const std::uint32_t offset = btf_member_bit_offset(type, i);
    const btf_type* inside = resolved(kernel, member.type);
    if (found == name) {
      const std::uint32_t bits = btf_member_bitfield_size(type, i);
      return Place{offset,
                   bits != 0 ? bits
                             : static_cast<std::uint32_t>(
                                   std::max<std::int64_t>(btf__resolve_size(&kernel, member.type), 0) * 8),
                   inside};
    }
    if (!found.empty()) continue;
    if (auto place = member_named(kernel, inside, name)) {
      place->offset += offset;
      return place;
    }
  }
  return std::nullopt;
}

// "a.b"
std::optional<Place> member_at(const btf& kernel, const btf_type* type, std::string_view path) {
  Place sum{0, 0, type};
  while (!path.empty()) {
    const std::size_t dot = std::min(path.find('.'), path.size());
    const auto place = member_named(kernel, sum.type, path.substr(0, dot));
    if (!place) return std::nullopt;
    sum = {sum.offset + place->offset, place->bits, place->type};
    path.remove_prefix(std::min(dot + 1, path.size()));
  }
  return sum;
}

std::string bits_text(std::uint32_t bits) {
  return bits % 8 == 0 ? fmt::format("byte {}", bits / 8) : fmt::format("bit {}", bits);
}

// What is wrong; empty: nothing.
std::string member_difference(const btf& kernel, const btf_type* type, const LayoutNote& note) {
  std::string path = note_text(note.detail);
  std::uint32_t base = 0;
  if (const std::size_t from = path.find('>'); from != std::string::npos) {
    const auto start = member_at(kernel, type, path.substr(0, from));
    if (!start) return fmt::format("has no {}", path.substr(0, from));
    base = start->offset;
    path = path.substr(from + 1);
  }
  const auto place = member_at(kernel, type, path);
  if (!place) return fmt::format("has no {}", path);
  const std::uint32_t offset = place->offset - base;
  if (offset != note.offset)
    return fmt::format("{} is at {}, the module looks at {}", path, bits_text(offset),
                       bits_text(note.offset));
  if (note.bits != 0 && place->bits != note.bits)
    return fmt::format("{} has {} bytes, the module takes it for {}", path, place->bits / 8, note.bits / 8);
  return "";
}

std::string structure_difference(const btf& kernel, const btf_type* type,
                                 const std::vector<const LayoutNote*>& notes) {
  for (const LayoutNote* note : notes) {
    std::string text;
    if (note->kind == CRYO_LAYOUT_NOTE_MEMBER)
      text = member_difference(kernel, type, *note);
    else if (type->size * 8 != note->bits)
      text = fmt::format("has {} bytes, the module takes it for {}", type->size, note->bits / 8);
    if (!text.empty()) return text;
  }
  return "";
}

char letter_of(const btf& kernel, std::uint32_t id) {
  if (id == 0) return 'v';
  const btf_type* type = resolved(kernel, id);
  if (type == nullptr) return '?';
  if (btf_is_ptr(type)) return 'p';
  if (btf_is_composite(type)) return 's';
  if ((btf_is_int(type) || btf_is_any_enum(type)) && type->size < 10)
    return static_cast<char>('0' + type->size);
  return '?';
}

std::string prototype_of(const btf& kernel, const btf_type* function) {
  const btf_type* proto = btf__type_by_id(&kernel, function->type);
  if (proto == nullptr || !btf_is_func_proto(proto)) return "?";
  std::string text(1, letter_of(kernel, proto->type));
  for (std::uint32_t i = 0; i < btf_vlen(proto); ++i) text += letter_of(kernel, btf_params(proto)[i].type);
  return text;
}

bool is_one_of(const std::string& prototype, const std::string& list) {
  std::istringstream words(list);
  for (std::string word; std::getline(words, word, '|');)
    if (word == prototype) return true;
  return false;
}

// Everything of one kind and name.  Several types may have it: it is as it should be if one is.
struct Subject {
  std::vector<const LayoutNote*> notes;
  bool seen = false;
  bool fits = false;
  std::string difference;

  void take(const std::string& text) {
    fits |= text.empty();
    if (!seen) difference = text;
    seen = true;
  }
};

enum class Sort { kStructure, kFunction, kConstant };
// By what it is, its name, and the group, as two may have something to do with one structure.
using Subjects = std::map<std::tuple<Sort, std::string, std::uint32_t>, Subject>;

Subjects subjects_of(const std::vector<LayoutNote>& notes) {
  Subjects subjects;
  for (const LayoutNote& note : notes) {
    if (note.kind == CRYO_LAYOUT_NOTE_GROUP) continue;
    const Sort sort = of_structure(note)                       ? Sort::kStructure
                      : note.kind == CRYO_LAYOUT_NOTE_FUNCTION ? Sort::kFunction
                                                               : Sort::kConstant;
    subjects[{sort, note_text(note.name), note.group}].notes.push_back(&note);
  }
  return subjects;
}

template <typename Take>
void for_each_named(Subjects& subjects, Sort sort, const std::string& name, Take take) {
  for (auto at = subjects.lower_bound({sort, name, 0});
       at != subjects.end() && std::get<0>(at->first) == sort && std::get<1>(at->first) == name; ++at)
    take(at->second);
}

void compare_type(const btf& kernel, const btf_type* type, Subjects& subjects) {
  if (btf_is_struct(type))
    for_each_named(
        subjects, Sort::kStructure, btf__name_by_offset(&kernel, type->name_off),
        [&](Subject& subject) { subject.take(structure_difference(kernel, type, subject.notes)); });
  if (btf_is_func(type))
    for_each_named(
        subjects, Sort::kFunction, btf__name_by_offset(&kernel, type->name_off), [&](Subject& subject) {
          const std::string prototype = prototype_of(kernel, type);
          const std::string known = note_text(subject.notes.front()->detail);
          subject.take(is_one_of(prototype, known)
                           ? ""
                           : fmt::format("returns and takes {}, the module knows {}", prototype, known));
        });
  if (!btf_is_enum(type)) return;
  for (std::uint32_t i = 0; i < btf_vlen(type); ++i) {
    const struct btf_enum& value = btf_enum(type)[i];
    for_each_named(
        subjects, Sort::kConstant, btf__name_by_offset(&kernel, value.name_off), [&](Subject& subject) {
          const auto known = static_cast<std::int32_t>(subject.notes.front()->offset);
          subject.take(
              value.val == known ? "" : fmt::format("is {}, the module takes it for {}", value.val, known));
        });
  }
}

std::map<std::uint32_t, std::string> groups_of(const std::vector<LayoutNote>& notes) {
  std::map<std::uint32_t, std::string> groups;
  for (const LayoutNote& note : notes)
    if (note.kind == CRYO_LAYOUT_NOTE_GROUP) groups[note.group] = note_text(note.detail);
  return groups;
}

std::string title_of(Sort sort, const std::string& name) {
  if (sort == Sort::kStructure) return "struct " + name;
  return sort == Sort::kFunction ? name + "()" : name;
}

// The bytes of the section in an ELF file.
std::string section_of(const std::string& path) {
  const UniqueFd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!fd) fail_errno("cannot open {}", path);
  ::elf_version(EV_CURRENT);
  const ElfFile elf(::elf_begin(fd.get(), ELF_C_READ, nullptr));
  std::size_t names = 0;
  if (!elf || ::elf_kind(elf.get()) != ELF_K_ELF || ::elf_getshdrstrndx(elf.get(), &names) != 0)
    fail(EINVAL, "{} is no module that is not compressed", path);
  for (Elf_Scn* section = nullptr; (section = ::elf_nextscn(elf.get(), section)) != nullptr;) {
    GElf_Shdr head;
    if (::gelf_getshdr(section, &head) == nullptr) continue;
    const char* name = ::elf_strptr(elf.get(), names, head.sh_name);
    const Elf_Data* data = ::elf_rawdata(section, nullptr);
    if (name != nullptr && data != nullptr && std::strcmp(name, CRYO_LAYOUT_SECTION) == 0)
      return std::string(static_cast<const char*>(data->d_buf), data->d_size);
  }
  fail(EINVAL, "{} has no note of the kernel structures that it assumes: it is older than these tools", path);
}

}  // namespace

std::vector<LayoutNote> parse_layouts(const std::string& bytes, const std::string& where) {
  Elf64_Nhdr head;
  if (bytes.size() < sizeof(head)) fail(EINVAL, "{}: cut", where);
  std::memcpy(&head, bytes.data(), sizeof(head));
  const std::size_t name_size = (std::size_t{head.n_namesz} + 3) / 4 * 4;
  // Its section leaves room for a name of eight bytes.
  const std::size_t at = sizeof(head) + name_size;
  if (head.n_type != CRYO_LAYOUT_NOTE_TYPE || head.n_namesz != sizeof(CRYO_LAYOUT_NOTE_NAME) ||
      head.n_descsz % sizeof(LayoutNote) != 0 || bytes.size() < at || bytes.size() - at < head.n_descsz ||
      std::memcmp(bytes.data() + sizeof(head), CRYO_LAYOUT_NOTE_NAME, sizeof(CRYO_LAYOUT_NOTE_NAME)) != 0)
    fail(EINVAL, "{} is a note of another version of Cryo: install module and tools of the same release",
         where);
  std::vector<LayoutNote> notes(head.n_descsz / sizeof(LayoutNote));
  std::memcpy(notes.data(), bytes.data() + at, head.n_descsz);
  return notes;
}

std::optional<std::vector<LayoutNote>> loaded_layouts() {
  std::ifstream file(kLoadedNote, std::ios::binary);
  if (!file) return std::nullopt;
  std::ostringstream bytes;
  bytes << file.rdbuf();
  return parse_layouts(bytes.str(), kLoadedNote);
}

std::vector<LayoutNote> file_layouts(const std::string& path) {
  return parse_layouts(section_of(path), path);
}

std::vector<LayoutDifference> compare_layouts(const std::vector<LayoutNote>& notes, const btf& kernel) {
  Subjects subjects = subjects_of(notes);
  for (std::uint32_t id = 1; id < btf__type_cnt(&kernel); ++id)
    compare_type(kernel, btf__type_by_id(&kernel, id), subjects);
  const auto groups = groups_of(notes);
  std::vector<LayoutDifference> differences;
  for (const auto& [key, subject] : subjects) {
    const auto& [sort, name, group] = key;
    // The compiler may have changed a function, or put it into its callers: then there is no type
    // information.
    if (subject.fits || (!subject.seen && sort == Sort::kFunction)) continue;
    const auto without = groups.find(group);
    differences.push_back({title_of(sort, name), subject.seen ? subject.difference : "is not there",
                           without == groups.end() ? "" : without->second});
  }
  return differences;
}

std::vector<LayoutDifference> compare_layouts(const std::vector<LayoutNote>& notes,
                                              const std::string& btf_path) {
  ::libbpf_set_print(nullptr);
  const Btf kernel(btf__parse(btf_path.c_str(), nullptr));
  if (!kernel) fail_errno("cannot read type information (BTF) from {}", btf_path);
  return compare_layouts(notes, *kernel);
}

}  // namespace cryo
