// usage: fuzz_seeds DIRECTORY. Writes the seeds of the fuzzer there, as bytes, one a file.
#include <filesystem>
#include <fstream>
#include <iostream>
#include <span>

#include "script_bytes.hpp"
#include "seeds.hpp"

int main(int count, char** words) {
  if (count != 2) return std::cerr << "usage: fuzz_seeds DIRECTORY\n", 2;
  const std::filesystem::path directory = words[1];
  std::filesystem::create_directories(directory);
  for (const auto& seed : foliot::conformance::seeds()) {
    std::ofstream file(directory / seed.name, std::ios::binary);
    for (const std::uint8_t byte : foliot::conformance::encode(seed.what)) file.put(static_cast<char>(byte));
    if (!file.flush()) return std::cerr << "fuzz_seeds: cannot write " << directory / seed.name << '\n', 1;
  }
}
