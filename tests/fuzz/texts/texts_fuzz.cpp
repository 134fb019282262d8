// The fuzzer of texts that clients and operators write, for clang's libFuzzer. docs/testing.md has the command for a
// long run.
#include "one_text.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  foliot::program::run_one_text<foliot::program::sound_parsers>({data, size});
  return 0;
}
