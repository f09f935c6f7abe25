// SPDX-License-Identifier: GPL-2.0-only
// Each kind of open file of the format is in the tables of the reader, of a restart and of cr_info, once.
#include <algorithm>
#include <iterator>
#include <set>

#include "context/file_kinds.h"
#include "context/schema.h"
#include "cr_info/file_text.h"
#include "restart/files/file_kinds.h"
#include "unit/tap.h"

namespace {

using namespace cryo;

std::span<const SchemaValue> kinds_of_format() {
  const SchemaSection* section = schema_section(CRYO_SEC_FILE);
  return schema_field(*section->structure, "kind")->values;
}

// Names of those that a table with the kinds `known` has not, and what is in it twice, or is no kind.
std::string missing(const std::vector<std::uint32_t>& known) {
  std::string names;
  for (const SchemaValue& kind : kinds_of_format())
    if (std::count(known.begin(), known.end(), kind.value) != 1) names += fmt::format(" {}", kind.name);
  for (const std::uint32_t kind : known)
    if (std::none_of(kinds_of_format().begin(), kinds_of_format().end(),
                     [kind](const SchemaValue& v) { return v.value == kind; }))
      names += fmt::format(" {}", kind);
  return names;
}

template <typename Table>
std::vector<std::uint32_t> kinds_in(const Table& table) {
  std::vector<std::uint32_t> kinds;
  for (const auto* entry : table) kinds.push_back(entry->kind);
  return kinds;
}

TEST("each kind of open file is known to the reader") {
  CHECK(kinds_of_format().size() > 30);
  CHECK_EQ(missing(kinds_in(kFileKindModels)), "");
  std::set<std::string> names;
  for (const FileKindModel* model : kFileKindModels) CHECK(names.insert(model->name).second);
  CHECK(file_kind_model(0) == nullptr);
}

TEST("each kind of open file is known to a restart") {
  std::vector<std::uint32_t> kinds = kinds_in(kFileKinds);
  kinds.push_back(CRYO_FILE_WAITING);  // no open file
  CHECK_EQ(missing(kinds), "");
  for (const FileKind* kind : kFileKinds)
    CHECK((kind->open != nullptr) == (kind->kind != CRYO_FILE_SYSV));  // mapped only
  CHECK(file_kind(CRYO_FILE_WAITING) == nullptr);
}

TEST("each kind of open file has a text in cr_info") {
  std::vector<std::uint32_t> kinds;
  for (const FileKindText& text : kFileKindTexts) kinds.push_back(text.kind);
  CHECK_EQ(missing(kinds), "");
}

}  // namespace
