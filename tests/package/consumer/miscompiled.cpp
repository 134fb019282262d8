// What foliot_check_coroutines must find.
#include <foliot/runtime.hpp>

#include <string>

namespace rt = foliot::runtime;

foliot::task<std::size_t> size_of(std::string text) {
  co_return co_await rt::blocking([text] { return text.size(); });  // tidy: allow(coroutine) the breach
}
