// The canary of the fuzzer: a parser that, after a line in a wrong format, loses a CR that comes alone. No input of the
// corpus shows it; the run must end with it. One change of an input is enough, so that every seed finds it within
// some thousands of runs: where libFuzzer chooses otherwise, it must not miss it.
#include "one_client.hpp"

namespace foliot::program::beanstalk {
namespace {

class forgetful_parser : public parser {
 public:
  using parser::parser;

  step parse(std::string_view input) {
    if (after_bad_format_ && input == "\r") return {1, std::nullopt};
    step found = parser::parse(input);
    if (found.what) after_bad_format_ = std::holds_alternative<bad_format>(*found.what);
    return found;
  }

 private:
  bool after_bad_format_ = false;
};

}  // namespace
}  // namespace foliot::program::beanstalk

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  foliot::program::beanstalk::run_one_client<foliot::program::beanstalk::forgetful_parser>({data, size});
  return 0;
}
