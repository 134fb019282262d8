#include <foliot/core/seam/secret_bytes.hpp>

#include <sys/random.h>

#include <cerrno>
#include <system_error>

namespace foliot::inline core::seam {

void fill_with_secret_bytes(std::span<std::byte> into) {
  while (!into.empty()) {
    const auto got = ::getrandom(into.data(), into.size(), 0);
    if (got < 0 && errno != EINTR)
      throw std::system_error(errno, std::generic_category(), "foliot: cannot get random bytes");
    if (got > 0) into = into.subspan(static_cast<std::size_t>(got));
  }
}

}  // namespace foliot::inline core::seam
