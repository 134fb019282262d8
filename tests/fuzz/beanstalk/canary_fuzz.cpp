// The canary of the fuzzer: a parser that, after a body which was too big, loses a CR that comes alone. No input of the
// corpus shows it; the run must end with it.
#include "one_client.hpp"

namespace foliot::program::beanstalk {
namespace {

class forgetful_parser : public parser {
 public:
  using parser::parser;

  step parse(std::string_view input) {
    if (after_discarded_body_ && input == "\r") return {1, std::nullopt};
    step found = parser::parse(input);
    if (found.what) after_discarded_body_ = std::holds_alternative<body_discarded>(*found.what);
    return found;
  }

 private:
  bool after_discarded_body_ = false;
};

}  // namespace
}  // namespace foliot::program::beanstalk

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  foliot::program::beanstalk::run_one_client<foliot::program::beanstalk::forgetful_parser>({data, size});
  return 0;
}
