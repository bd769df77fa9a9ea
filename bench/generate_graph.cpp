// Writes the edges of a random graph to standard output as COPY text, "a TAB b" a line: R-MAT of Chakrabarti, Zhan and
// Faloutsos 2004 with the parameters of Graph500 (0.57, 0.19, 0.19, 0.05), so that few vertices have most edges.
//
//   generate_graph SCALE EDGES_OF_A_VERTEX [SEED]     2^SCALE vertices
//
// Vertices are numbered by a bijection, so that the number of a vertex tells nothing about its edges. Edges repeat, in both
// directions, and may lead from a vertex to itself. The same arguments give the same edges on every machine.
#include <cstdio>
#include <cstdlib>
#include <string>

#include "instances.h"

namespace {

/// A bijection of [0, 2^scale). Each step can be undone.
uint64_t number_of(uint64_t vertex, int scale) {
  const uint64_t mask = (uint64_t{1} << scale) - 1;
  for (const uint64_t odd : {0x9e3779b97f4a7c15u, 0xbf58476d1ce4e5b9u}) {
    vertex = vertex * odd & mask;
    vertex ^= vertex >> (scale / 2 + 1);
  }
  return vertex;
}

}  // namespace

int main(int argc, char** argv) {
  const int scale = argc > 1 ? std::atoi(argv[1]) : 0;
  const int64_t edges_of_a_vertex = argc > 2 ? std::atoll(argv[2]) : 0;
  const uint64_t seed = argc > 3 ? std::strtoull(argv[3], nullptr, 10) : 1;
  if (scale < 1 || scale > 30 || edges_of_a_vertex < 1) {
    std::fprintf(stderr, "usage: generate_graph SCALE EDGES_OF_A_VERTEX [SEED]\nwith SCALE from 1 to 30\n");
    return 2;
  }
  batmap::bench::Random random(seed);
  const int64_t edges = edges_of_a_vertex << scale;
  for (int64_t k = 0; k < edges; ++k) {
    uint64_t ends[2] = {0, 0};
    for (int bit = 0; bit < scale; ++bit) {
      const double at = random.unit();
      const int quarter = at < 0.57 ? 0 : at < 0.76 ? 1 : at < 0.95 ? 2 : 3;
      ends[0] = ends[0] << 1 | static_cast<uint64_t>(quarter >> 1);
      ends[1] = ends[1] << 1 | static_cast<uint64_t>(quarter & 1);
    }
    if (std::printf("%llu\t%llu\n", static_cast<unsigned long long>(number_of(ends[0], scale)),
                    static_cast<unsigned long long>(number_of(ends[1], scale))) < 0) {
      std::perror("generate_graph: could not write");
      return 1;
    }
  }
  return std::fflush(stdout) == 0 ? 0 : 1;
}
