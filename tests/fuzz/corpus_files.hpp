// The files of a corpus, and programs that replay them without libFuzzer.
#pragma once

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <iterator>
#include <optional>
#include <span>
#include <string_view>
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

/// Calls `run` with each input, a file or the files of a directory, behind a line with its name. Returns the exit
/// status of `program`: 1, with a message, if an input cannot be read or there is none.
template <class Run>
int replay(std::string_view program, std::span<const std::string_view> places, Run run) {
  std::vector<std::filesystem::path> inputs;
  for (const std::string_view each : places) {
    if (!std::filesystem::is_directory(each)) {
      inputs.emplace_back(each);
      continue;
    }
    const auto files = files_in(each);
    inputs.insert(inputs.end(), files.begin(), files.end());
  }
  if (inputs.empty()) return std::cerr << program << ": no inputs\n", 1;
  for (const auto& input : inputs) {
    const auto bytes = contents(input);
    if (!bytes) return std::cerr << program << ": cannot read " << input << '\n', 1;
    std::cout << input.filename().string() << '\n' << std::flush;
    run(*bytes);
  }
  std::cout << inputs.size() << " inputs\n";
  return 0;
}

}  // namespace foliot::conformance
