#include "access.hpp"

#include <fmt/format.h>

namespace foliot::program {

access::place access::enter() noexcept {
  std::size_t count = count_.load(seam::relaxed);
  do {
    if (count >= most_) return {};
  } while (!count_.compare_exchange_weak(count, count + 1, seam::relaxed));
  return place(*this);
}

std::string access::why_refused() const {
  return fmt::format("refuse connections: there are {}, the limit of --max-connections", most_);
}

}  // namespace foliot::program
