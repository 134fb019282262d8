// Runs inputs of the beanstalk fuzzer without libFuzzer: the corpus, in every build, or one that failed.
//
// usage: beanstalk_replay FILE|DIRECTORY...
//
// Ends with 1 if an input cannot be read or there is none; aborts at the first that fails, as the fuzzer does.
#include <string_view>
#include <vector>

#include "fuzz/corpus_files.hpp"
#include "one_client.hpp"

int main(int count, char** words) {
  namespace beanstalk = foliot::program::beanstalk;
  const std::vector<std::string_view> places(words + 1, words + count);
  return foliot::conformance::replay("beanstalk_replay", places, beanstalk::run_one_client<beanstalk::parser>);
}
