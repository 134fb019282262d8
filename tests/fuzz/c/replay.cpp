// Runs inputs of the fuzzer of the C interface without libFuzzer: the corpus, in every build, or one that failed.
//
// usage: c_replay FILE|DIRECTORY...
//
// Ends with 1 if an input cannot be read or there is none; aborts at the first that fails, as the fuzzer does.
#include <string_view>
#include <vector>

#include "fuzz/corpus_files.hpp"
#include "one_life.hpp"

int main(int count, char** words) {
  const std::vector<std::string_view> places(words + 1, words + count);
  return foliot::conformance::replay("c_replay", places,
                                     foliot::fuzzed_c::run_one_life<foliot::fuzzed_c::sound_interface>);
}
