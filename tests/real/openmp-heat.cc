// SPDX-License-Identifier: GPL-2.0-only
// Heat on a grid, four OpenMP threads; a digest of all bits at each step.
#include <omp.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>

namespace {

constexpr int kSize = 400;
using Grid = std::vector<double>;

void step(const Grid& from, Grid& to) {
#pragma omp parallel for schedule(static)
  for (int y = 1; y < kSize - 1; y++)
    for (int x = 1; x < kSize - 1; x++) {
      int i = y * kSize + x;
      to[i] = from[i] + 0.2 * (from[i - 1] + from[i + 1] + from[i - kSize] + from[i + kSize] - 4 * from[i]);
    }
}

std::uint64_t digest(const Grid& grid) {
  std::uint64_t hash = 1469598103934665603ULL;
  for (double value : grid) {
    std::uint64_t bits;
    std::memcpy(&bits, &value, sizeof(bits));
    hash = (hash ^ bits) * 1099511628211ULL;
  }
  return hash;
}

}  // namespace

int main(int argc, char** argv) {
  int steps = argc > 1 ? std::atoi(argv[1]) : 10;
  omp_set_num_threads(4);
  Grid a(kSize * kSize), b(kSize * kSize);
  for (int i = 0; i < kSize; i++) a[i] = b[i] = 100.0 + i;
  for (int s = 0; s < steps; s++) {
    for (int i = 0; i < 8; i++) {
      step(a, b);
      step(b, a);
    }
    std::printf("%d %016llx\n", s, static_cast<unsigned long long>(digest(a)));
    std::fflush(stdout);
  }
  return 7;
}
