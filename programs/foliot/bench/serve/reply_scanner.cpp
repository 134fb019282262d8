#include "reply_scanner.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstring>
#include <utility>

namespace foliot::program::bench {

namespace {

constexpr std::array<std::pair<std::string_view, reply_kind>, 14> first_words{{
    {"INSERTED", reply_kind::inserted},
    {"RESERVED", reply_kind::reserved},
    {"DELETED", reply_kind::deleted},
    {"RELEASED", reply_kind::released},
    {"BURIED", reply_kind::buried},
    {"TOUCHED", reply_kind::touched},
    {"KICKED", reply_kind::kicked},
    {"USING", reply_kind::used},
    {"WATCHING", reply_kind::watching},
    {"FOUND", reply_kind::found},
    {"OK", reply_kind::ok},
    {"NOT_FOUND", reply_kind::not_found},
    {"DEADLINE_SOON", reply_kind::deadline_soon},
    {"TIMED_OUT", reply_kind::timed_out},
}};

reply_kind kind_of_word(std::string_view word) noexcept {
  const auto known = std::ranges::find(first_words, word, &std::pair<std::string_view, reply_kind>::first);
  return known == first_words.end() ? reply_kind::other : known->second;
}

std::uint64_t number_in(std::string_view text) noexcept {
  std::uint64_t number = 0;
  std::from_chars(text.data(), text.data() + text.size(), number);
  return number;
}

bool has_body(reply_kind kind) noexcept {
  return kind == reply_kind::reserved || kind == reply_kind::found || kind == reply_kind::ok;
}

}  // namespace

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
  const std::string_view left(bytes_.data() + begin_, end_ - begin_);
  const std::size_t newline = left.find('\n');
  if (newline == std::string_view::npos) return std::nullopt;
  reply found;
  found.line = left.substr(0, newline > 0 && left[newline - 1] == '\r' ? newline - 1 : newline);
  const std::size_t word = std::min(found.line.find(' '), found.line.size());
  found.kind = kind_of_word(found.line.substr(0, word));
  if (word < found.line.size()) found.number = number_in(found.line.substr(word + 1));
  std::size_t length = newline + 1;
  if (has_body(found.kind)) {
    const std::size_t body = number_in(found.line.substr(found.line.rfind(' ') + 1));
    if (left.size() - length < body + 2) return std::nullopt;
    found.body = left.substr(length, body);
    length += body + 2;
  }
  begin_ += length;
  return found;
}

}  // namespace foliot::program::bench
