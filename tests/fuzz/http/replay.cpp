// Runs inputs of the HTTP fuzzer without libFuzzer: the corpus, in every build, or one that failed.
//
// usage: http_replay FILE|DIRECTORY...
//
// Ends with 1 if an input cannot be read or there is none; aborts at the first that fails, as the fuzzer does.
#include <string_view>
#include <vector>

#include "fuzz/corpus_files.hpp"
#include "one_client.hpp"

int main(int count, char** words) {
  namespace http = foliot::program::http;
  const std::vector<std::string_view> places(words + 1, words + count);
  return foliot::conformance::replay("http_replay", places, http::run_one_client<http::request_parser>);
}
