// The fuzzer of the HTTP parser, for clang's libFuzzer. docs/testing.md has the command for a long run.
#include "one_client.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  foliot::program::http::run_one_client<foliot::program::http::request_parser>({data, size});
  return 0;
}
