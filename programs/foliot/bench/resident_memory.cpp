#include "resident_memory.hpp"

#include <array>
#include <charconv>
#include <cstring>

#include <fcntl.h>
#include <unistd.h>

namespace foliot::program::bench {

std::int64_t resident_kibibytes() {
  const int file = ::open("/proc/self/smaps_rollup", O_RDONLY | O_CLOEXEC);
  if (file < 0) return -1;
  std::array<char, 4096> text{};
  const ssize_t length = ::read(file, text.data(), text.size() - 1);
  ::close(file);
  if (length <= 0) return -1;
  const char* name = std::strstr(text.data(), "\nAnonymous:");
  if (name == nullptr) return -1;
  const char* number = name + std::strcspn(name, "0123456789");
  std::int64_t kibibytes = -1;
  std::from_chars(number, text.data() + length, kibibytes);
  return kibibytes;
}

}  // namespace foliot::program::bench
