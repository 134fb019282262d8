// The canary of the fuzzer: a parser that takes a CR that comes alone, after the head of a request, for nothing. No
// input of the corpus shows it; the run must end with it.
#include "one_client.hpp"

namespace foliot::program::http {
namespace {

class forgetful_parser : public request_parser {
 public:
  using request_parser::request_parser;

  step parse(std::string_view input) {
    if (is_behind_a_head_ && input == "\r") return {1, std::nullopt};
    const step found = request_parser::parse(input);
    if (found.what) is_behind_a_head_ = *found.what == event::head;
    return found;
  }

 private:
  bool is_behind_a_head_ = false;
};

}  // namespace
}  // namespace foliot::program::http

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  foliot::program::http::run_one_client<foliot::program::http::forgetful_parser>({data, size});
  return 0;
}
