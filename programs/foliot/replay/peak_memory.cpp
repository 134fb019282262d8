#include "peak_memory.hpp"

#include <fstream>
#include <string>

#include <sys/resource.h>

namespace foliot::program {

namespace {

constexpr std::size_t kibibyte = 1024;

}  // namespace

std::size_t peak_memory_bytes() {
  std::ifstream status("/proc/self/status");
  std::string word;
  while (status >> word) {
    std::size_t size = 0;
    if (word == "VmHWM:" && status >> size) return size * kibibyte;
  }
  struct rusage usage{};
  ::getrusage(RUSAGE_SELF, &usage);
  return static_cast<std::size_t>(usage.ru_maxrss) * kibibyte;
}

}  // namespace foliot::program
