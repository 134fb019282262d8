// What foliot::duration is there for: the same sum without it.
#include <cstdint>
#include <cstdio>
#include <limits>

int main(int count, char**) {
  std::int64_t deadline = std::numeric_limits<std::int64_t>::max() - 1;
  deadline += count + 1;
  std::printf("%lld\n", static_cast<long long>(deadline));
}
