// Runs inputs of the fuzzer of texts without libFuzzer: the corpus, in every build, or one that failed.
//
// usage: texts_replay FILE|DIRECTORY...
//
// Ends with 1 if an input cannot be read or there is none; aborts at the first that fails, as the fuzzer does.
#include <string_view>
#include <vector>

#include "fuzz/corpus_files.hpp"
#include "one_text.hpp"

int main(int count, char** words) {
  namespace program = foliot::program;
  const std::vector<std::string_view> places(words + 1, words + count);
  return foliot::conformance::replay("texts_replay", places, program::run_one_text<program::sound_parsers>);
}
