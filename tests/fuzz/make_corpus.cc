// SPDX-License-Identifier: GPL-2.0-only
// make_corpus DIR - writes contexts of all sorts: where the fuzzer starts from
#include <fmt/format.h>

#include <exception>
#include <filesystem>
#include <fstream>

#include "base/error.h"
#include "unit/sample_contexts.h"

namespace {

using namespace cryo;

void save(const std::filesystem::path& path, const Bytes& bytes) {
  std::ofstream file(path, std::ios::binary);
  file.write(reinterpret_cast<const char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
  file.close();
  if (!file) fail(EIO, "{}: cannot be written", path.string());
}

void run(const std::filesystem::path& dir) {
  std::filesystem::create_directories(dir);
  for (const test::SampleContext& sample : test::sample_contexts())
    save(dir / sample.name, sample.builder.build());
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) {
    fmt::print(stderr, "usage: make_corpus DIR\n");
    return 2;
  }
  try {
    run(argv[1]);
  } catch (const std::exception& e) {
    fmt::print(stderr, "make_corpus: {}\n", e.what());
    return 1;
  }
}
