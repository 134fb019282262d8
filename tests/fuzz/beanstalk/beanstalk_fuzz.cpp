// The fuzzer of the beanstalk parser, for clang's libFuzzer. docs/testing.md has the command for a long run.
#include "one_client.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  foliot::program::beanstalk::run_one_client<foliot::program::beanstalk::parser>({data, size});
  return 0;
}
