#include <foliot/core/seam/random.hpp>

namespace foliot::inline core {

std::uint64_t random_stream::entropy() {
  std::random_device device;
  return (std::uint64_t{device()} << 32) | device();
}

}  // namespace foliot::inline core
