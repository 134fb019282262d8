#include "reply_scanner.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

namespace foliot::program::bench {

std::span<char> reply_scanner::room(std::size_t least) {
  if (begin_ == end_) begin_ = end_ = 0;
  if (bytes_.size() - end_ < least && begin_ > 0) {
    std::memmove(bytes_.data(), bytes_.data() + begin_, end_ - begin_);
    end_ -= std::exchange(begin_, 0);
  }
  if (bytes_.size() - end_ < least) bytes_.resize(std::max(end_ + least, 2 * bytes_.size()));
  return std::span(bytes_).subspan(end_);
}

void reply_scanner::append(std::string_view bytes) {
  std::ranges::copy(bytes, room(bytes.size()).begin());
  added(bytes.size());
}

std::optional<reply> reply_scanner::next() {
  const std::optional<found_reply> found = protocol_->find_reply({bytes_.data() + begin_, end_ - begin_});
  if (!found) return std::nullopt;
  begin_ += found->length;
  return found->what;
}

}  // namespace foliot::program::bench
