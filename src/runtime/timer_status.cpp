// The message for a timer of processor_heaps in an impossible state. In a file of its own, to keep it out of the hot
// code.
#include <array>
#include <cstdio>

#include <foliot/core/contract.hpp>

#include "timer_status.hpp"

namespace foliot::runtime::detail {

const char* timer_status::name(state which) noexcept {
  static constexpr std::array names{"none",    "waiting",   "running",          "deleted",        "removing",
                                    "removed", "modifying", "modified_earlier", "modified_later", "moving"};
  const auto index = static_cast<std::size_t>(which);
  return index < names.size() ? names[index] : "unknown";
}

void timer_status::bad_timer(std::uint8_t seen, const char* must_be, const char* file, int line) noexcept {
  std::array<char, 256> sentence{};
  std::snprintf(sentence.data(), sentence.size(),
                "a timer of processor-heaps is in the state '%s'%s, where its state must be: %s. Its memory was "
                "overwritten, or it was used after its end",
                name(state_of(seen)), (seen & abandoned) != 0 ? " and abandoned" : "", must_be);
  std::array<char, 32> word{};
  std::snprintf(word.data(), word.size(), "status word %#04x", static_cast<unsigned>(seen));
  foliot::detail::contract_broken(word.data(), sentence.data(), file, line);
}

}  // namespace foliot::runtime::detail
