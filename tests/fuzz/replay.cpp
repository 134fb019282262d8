// Runs inputs of the fuzzer without libFuzzer: the corpus, in every build, or one that failed.
//
// usage: fuzz_replay [--words] FILE|DIRECTORY...
//
// --words prints each script instead of running it. Ends with 1 where an input cannot be read or there is none; aborts
// at the first that fails, as the fuzzer does.
#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <iterator>
#include <string_view>
#include <vector>

#include "corpus_files.hpp"
#include "one_input.hpp"

int main(int count, char** words) {
  namespace conformance = foliot::conformance;
  std::vector<std::string_view> arguments(words + 1, words + count);
  const bool in_words = std::erase(arguments, "--words") > 0;
  std::vector<std::filesystem::path> inputs;
  for (const std::string_view each : arguments) {
    if (!std::filesystem::is_directory(each)) {
      inputs.emplace_back(each);
      continue;
    }
    const auto files = conformance::files_in(each);
    inputs.insert(inputs.end(), files.begin(), files.end());
  }
  if (inputs.empty()) return std::cerr << "fuzz_replay: no inputs\n", 1;
  for (const auto& input : inputs) {
    const auto bytes = conformance::contents(input);
    if (!bytes) return std::cerr << "fuzz_replay: cannot read " << input << '\n', 1;
    std::cout << input.filename().string() << (in_words ? ": " : "\n") << std::flush;
    if (in_words) {
      std::cout << conformance::decode(*bytes);
    } else {
      conformance::run_one_input(*bytes, conformance::rigour::all, conformance::fuzzed_queues());
    }
  }
  std::cout << inputs.size() << " inputs\n";
}
