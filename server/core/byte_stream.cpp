#include "byte_stream.hpp"

namespace foliot::program {

task<bool> write_all(byte_stream& to, std::string_view text) {
  while (!text.empty()) {
    const auto sent = co_await to.write_some(text);
    if (!sent) co_return false;
    text.remove_prefix(*sent);
  }
  co_return true;
}

}  // namespace foliot::program
