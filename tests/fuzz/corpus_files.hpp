// The files of a corpus.
#pragma once

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <optional>
#include <vector>

namespace foliot::conformance {

/// Those that lie in `directory`, by name.
inline std::vector<std::filesystem::path> files_in(const std::filesystem::path& directory) {
  std::vector<std::filesystem::path> files;
  for (const auto& each : std::filesystem::directory_iterator(directory)) {
    if (each.is_regular_file()) files.push_back(each.path());
  }
  std::ranges::sort(files);
  return files;
}

/// What is in `file`; nothing, where it cannot be read.
inline std::optional<std::vector<std::uint8_t>> contents(const std::filesystem::path& file) {
  std::ifstream in(file, std::ios::binary);
  if (!in) return std::nullopt;
  return std::vector<std::uint8_t>(std::istreambuf_iterator<char>(in), {});
}

}  // namespace foliot::conformance
