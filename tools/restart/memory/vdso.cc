// SPDX-License-Identifier: GPL-2.0-only
#include "restart/memory/vdso.h"

#include <elf.h>

#include <algorithm>
#include <cstring>
#include <optional>

#include "base/crc32c.h"
#include "base/error.h"
#include "base/exit_codes.h"
#include "restart/common/restart_arch.h"

namespace cryo {
namespace {

struct Function {
  std::string name;
  std::uint64_t offset = 0;  // in the image
  std::uint64_t size = 0;
};

// A vdso is an ELF file as it is in memory, section headers included.  The old one comes from the context, so
// nothing in it is taken for granted.
class Image {
 public:
  explicit Image(std::span<const std::byte> bytes) : bytes_(bytes) {}

  [[nodiscard]] std::vector<Function> functions() const {
    const auto head = at<Elf64_Ehdr>(0);
    for (std::uint64_t i = 0; i < head.e_shnum; ++i) {
      const auto section = at<Elf64_Shdr>(head.e_shoff + i * sizeof(Elf64_Shdr));
      if (section.sh_type != SHT_DYNSYM) continue;
      return functions(section, at<Elf64_Shdr>(head.e_shoff + section.sh_link * sizeof(Elf64_Shdr)),
                       base(head));
    }
    fail(kErrBadArch, "a vdso without symbols");
  }

 private:
  template <typename T>
  [[nodiscard]] T at(std::uint64_t offset) const {
    if (offset > bytes_.size() || sizeof(T) > bytes_.size() - offset)
      fail(kErrBadArch, "a vdso that ends before byte {}", offset + sizeof(T));
    T value;
    std::memcpy(&value, bytes_.data() + offset, sizeof(T));
    return value;
  }

  // Address that the first byte was linked for.
  [[nodiscard]] std::uint64_t base(const Elf64_Ehdr& head) const {
    for (std::uint64_t i = 0; i < head.e_phnum; ++i)
      if (const auto part = at<Elf64_Phdr>(head.e_phoff + i * sizeof(Elf64_Phdr)); part.p_type == PT_LOAD)
        return part.p_vaddr - part.p_offset;
    fail(kErrBadArch, "a vdso without code");
  }

  [[nodiscard]] std::string name_at(std::uint64_t offset) const {
    std::string name;
    for (char c = at<char>(offset); c != '\0'; c = at<char>(++offset)) name += c;
    return name;
  }

  [[nodiscard]] std::vector<Function> functions(const Elf64_Shdr& symbols, const Elf64_Shdr& names,
                                                std::uint64_t base) const {
    std::vector<Function> result;
    for (std::uint64_t i = 0; i < symbols.sh_size / sizeof(Elf64_Sym); ++i) {
      const auto symbol = at<Elf64_Sym>(symbols.sh_offset + i * sizeof(Elf64_Sym));
      const std::uint64_t offset = symbol.st_value - base;
      if (symbol.st_shndx == SHN_UNDEF || ELF64_ST_TYPE(symbol.st_info) != STT_FUNC) continue;
      if (offset > bytes_.size() || symbol.st_size > bytes_.size() - offset)
        fail(kErrBadArch, "a function of a vdso at {:#x}, behind its end", offset);
      result.push_back({name_at(names.sh_offset + symbol.st_name), offset, symbol.st_size});
    }
    return result;
  }

  std::span<const std::byte> bytes_;
};

const VdsoFunction* known(const std::string& name) {
  const auto all = vdso_functions();
  const auto it = std::find_if(all.begin(), all.end(), [&](const VdsoFunction& f) { return f.name == name; });
  return it == all.end() ? nullptr : &*it;
}

// Functions have aliases.
const VdsoFunction* known_at(const std::vector<Function>& functions, std::uint64_t offset) {
  for (const Function& function : functions)
    if (const VdsoFunction* one = known(function.name); one != nullptr && function.offset == offset)
      return one;
  return nullptr;
}

std::span<const std::byte> image_of(const std::vector<KernelMapping>& own) {
  for (const KernelMapping& mapping : own)
    if (mapping.kind == CRYO_VMA_VDSO)
      return {reinterpret_cast<const std::byte*>(mapping.range.start), mapping.range.size()};
  return {};
}

// Of one's own vdso, which stays as it is.
std::uint32_t checksum_of(std::span<const std::byte> image) {
  static std::span<const std::byte> last;
  static std::uint32_t result = 0;
  if (image.data() == last.data() && image.size() == last.size() && !image.empty()) return result;
  last = image;
  return result = crc32c(image);
}

}  // namespace

std::vector<KernelMapping> kernel_mappings(const std::vector<OwnMapping>& own) {
  std::vector<KernelMapping> result;
  for (const OwnMapping& mapping : own) {
    if (mapping.name == "[vdso]")
      result.push_back({mapping.range, CRYO_VMA_VDSO});
    else if (mapping.name.starts_with("[vvar"))
      result.push_back({mapping.range, CRYO_VMA_VVAR});
  }
  return result;
}

std::vector<KernelMapping> kernel_mappings(const Mm& mm) {
  std::vector<KernelMapping> result;
  for (const cryo_vma& vma : mm.vmas)
    if (vma.kind == CRYO_VMA_VDSO || vma.kind == CRYO_VMA_VVAR)
      result.push_back({{vma.start, vma.end}, vma.kind});
  return result;
}

const std::vector<KernelMapping>& own_vdso() {
  static const std::vector<KernelMapping> own = kernel_mappings(own_mappings());
  return own;
}

bool same_layout(const std::vector<KernelMapping>& own, const std::vector<KernelMapping>& saved) {
  if (own.size() != saved.size()) return false;
  for (std::size_t i = 0; i < own.size(); ++i) {
    if (own[i].kind != saved[i].kind || own[i].range.size() != saved[i].range.size()) return false;
    if (own[i].range.start - own[0].range.start != saved[i].range.start - saved[0].range.start) return false;
  }
  return true;
}

AddressRange span_of(const std::vector<KernelMapping>& mappings) {
  if (mappings.empty()) return {};
  return {mappings.front().range.start, mappings.back().range.end};
}

bool has_code(const std::vector<KernelMapping>& mappings) {
  return std::any_of(mappings.begin(), mappings.end(),
                     [](const KernelMapping& mapping) { return mapping.kind == CRYO_VMA_VDSO; });
}

bool keeps_own_vdso(const Context& context, const Mm& mm, const std::vector<KernelMapping>& own) {
  const std::vector<KernelMapping> saved = kernel_mappings(mm);
  if (!has_code(saved)) return true;
  if (!same_layout(own, saved) || checksum_of(image_of(own)) != mm.head.vdso_crc) return false;
  const auto vdso = context.vdsos.find(mm.head.vdso_crc);
  Bytes image = vdso == context.vdsos.end() ? Bytes{} : vdso->second.image;
  return !adapt_vdso(image, context);
}

std::string vdso_problem(const Context& context, const Mm& mm, const std::vector<KernelMapping>& own) {
  constexpr std::uint64_t kAnywhere = 0x10000;
  if (keeps_own_vdso(context, mm, own)) return {};
  const auto vdso = context.vdsos.find(mm.head.vdso_crc);
  if (vdso == context.vdsos.end()) return "and it is not in the context";
  for (const KernelMapping& mapping : kernel_mappings(mm))
    if (mapping.kind == CRYO_VMA_VDSO && mapping.range.size() != vdso->second.image.size())
      return fmt::format("and {} bytes of it are mapped, {} bytes are in the context", mapping.range.size(),
                         vdso->second.image.size());
  try {
    (void)redirected_vdso(vdso->second.image, image_of(own), kAnywhere);
  } catch (const Error& error) {
    return error.what();
  }
  return {};
}

Bytes redirected_vdso(const Bytes& image, std::span<const std::byte> own, std::uint64_t own_at) {
  const std::vector<Function> functions = Image(image).functions();
  const std::vector<Function> here = Image(own).functions();
  Bytes result = image;
  for (const Function& function : functions) {
    const VdsoFunction* what = known_at(functions, function.offset);
    if (what == nullptr) fail(kErrBadArch, "its function {} is not known", function.name);
    if (what->call == kVdsoKeep) continue;
    const auto same = std::find_if(here.begin(), here.end(),
                                   [what](const Function& other) { return other.name == what->name; });
    const Bytes code = same != here.end() ? jump_code(own_at + same->offset) : syscall_code(what->call);
    if (code.size() > function.size)
      fail(kErrBadArch, "its function {} has {} bytes, {} are needed", function.name, function.size,
           code.size());
    std::copy(code.begin(), code.end(), result.begin() + static_cast<std::ptrdiff_t>(function.offset));
  }
  return result;
}

}  // namespace cryo
