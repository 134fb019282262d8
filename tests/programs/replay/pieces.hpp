// A source that hands out a text in pieces of random sizes.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <utility>

#include <foliot/core/seam/random.hpp>

#include "replay/line_reader.hpp"

namespace foliot::program {

class pieces final : public byte_source {
 public:
  pieces(std::string text, std::size_t largest, std::uint64_t seed = 1)
      : text_(std::move(text)), largest_(largest), random_(seed) {}

  std::size_t read(std::span<char> room) override {
    const std::size_t wanted = 1 + random_.below(largest_);
    const std::size_t size = std::min({wanted, room.size(), text_.size() - at_});
    std::copy_n(text_.begin() + static_cast<std::ptrdiff_t>(at_), size, room.begin());
    at_ += size;
    return size;
  }

 private:
  std::string text_;
  std::size_t at_ = 0;
  std::size_t largest_;
  random_stream random_;
};

}  // namespace foliot::program
