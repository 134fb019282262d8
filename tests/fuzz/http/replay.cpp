// Runs inputs of the HTTP fuzzer without libFuzzer: the corpus, in every build, or one that failed.
//
// usage: http_replay FILE|DIRECTORY...
//
// Ends with 1 if an input cannot be read or there is none; aborts at the first that fails, as the fuzzer does.
#include <filesystem>
#include <iostream>
#include <span>
#include <string_view>
#include <vector>

#include "fuzz/corpus_files.hpp"
#include "one_client.hpp"

int main(int count, char** words) {
  std::vector<std::filesystem::path> inputs;
  for (const std::string_view each : std::vector<std::string_view>(words + 1, words + count)) {
    if (!std::filesystem::is_directory(each)) {
      inputs.emplace_back(each);
      continue;
    }
    const auto files = foliot::conformance::files_in(each);
    inputs.insert(inputs.end(), files.begin(), files.end());
  }
  if (inputs.empty()) return std::cerr << "http_replay: no inputs\n", 1;
  for (const auto& input : inputs) {
    const auto bytes = foliot::conformance::contents(input);
    if (!bytes) return std::cerr << "http_replay: cannot read " << input << '\n', 1;
    std::cout << input.filename().string() << '\n' << std::flush;
    foliot::program::http::run_one_client<foliot::program::http::request_parser>(*bytes);
  }
  std::cout << inputs.size() << " inputs\n";
}
