// Runs inputs of the fuzzer without libFuzzer: the corpus, in every build, or one that failed.
//
// usage: fuzz_replay [--words] FILE|DIRECTORY...
//
// --words prints each script instead of running it. Ends with 1 where an input cannot be read or there is none; aborts
// at the first that fails, as the fuzzer does.
#include <iostream>
#include <string_view>
#include <vector>

#include "corpus_files.hpp"
#include "one_input.hpp"

int main(int count, char** words) {
  namespace conformance = foliot::conformance;
  std::vector<std::string_view> places(words + 1, words + count);
  const bool in_words = std::erase(places, "--words") > 0;
  return conformance::replay("fuzz_replay", places, [in_words](const auto& bytes) {
    if (in_words) {
      std::cout << conformance::decode(bytes);
    } else {
      conformance::run_one_input(bytes, conformance::rigour::all, conformance::fuzzed_queues());
    }
  });
}
