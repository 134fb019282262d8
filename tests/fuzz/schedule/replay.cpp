// Runs inputs of the fuzzer of rules without libFuzzer: the corpus, in every build, or one that failed.
//
// usage: schedule_replay FILE|DIRECTORY...
//
// Ends with 1 if an input cannot be read or there is none; aborts at the first that fails, as the fuzzer does.
#include <string_view>
#include <vector>

#include "fuzz/corpus_files.hpp"
#include "one_rule.hpp"

int main(int count, char** words) {
  namespace schedule = foliot::schedule;
  const std::vector<std::string_view> places(words + 1, words + count);
  return foliot::conformance::replay("schedule_replay", places, schedule::run_one_rule<schedule::sound_timetable>);
}
