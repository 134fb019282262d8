#include "byte_stream.hpp"

#include <chrono>
#include <span>
#include <vector>

#include "wiping_allocator.hpp"

namespace foliot::program {

namespace {

constexpr std::size_t most_dropped = 1'048'576;
constexpr duration most_time_for_dropped = std::chrono::seconds(1);

}  // namespace

task<bool> write_all(byte_stream& to, std::string_view text) {
  while (!text.empty()) {
    const auto sent = co_await to.write_some(text);
    if (!sent) co_return false;
    text.remove_prefix(*sent);
  }
  co_return true;
}

task<> drop_the_rest(byte_stream& of) {
  of.set_read_deadline(most_time_for_dropped);
  of.set_write_deadline(most_time_for_dropped);
  co_await of.close_write();
  std::vector<char, wiping_allocator<char>> bytes(1024);  // it may be a token, in a wrong place
  for (std::size_t dropped = 0; dropped < most_dropped;) {
    const auto got = co_await of.read_some(std::span(bytes));
    if (!got || *got == 0) co_return;
    dropped += *got;
  }
}

}  // namespace foliot::program
