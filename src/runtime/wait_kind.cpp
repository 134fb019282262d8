#include <foliot/runtime/wait_kind.hpp>

#include <array>
#include <cstddef>

#include "wait_phrase.hpp"

namespace foliot::runtime {

namespace {

struct wording {
  std::string_view name;
  std::string_view phrase;
};

/// In the order of the enumerators.
constexpr std::array words{
    wording{.name = "other", .phrase = ""},
    wording{.name = "receive", .phrase = " to receive"},
    wording{.name = "send", .phrase = " to send"},
    wording{.name = "select", .phrase = " in a select"},
    wording{.name = "sleep", .phrase = " in a sleep"},
    wording{.name = "timer", .phrase = " for a timer"},
    wording{.name = "callback", .phrase = " for a callback"},
    wording{.name = "mutex", .phrase = " for a mutex"},
    wording{.name = "condition", .phrase = " for a condition"},
    wording{.name = "wait_group", .phrase = " for a wait group"},
    wording{.name = "semaphore", .phrase = " for a semaphore"},
    wording{.name = "task", .phrase = " for a task"},
    wording{.name = "blocking", .phrase = " for a blocking call"},
    wording{.name = "executor", .phrase = " for an executor"},
    wording{.name = "read", .phrase = " to read"},
    wording{.name = "write", .phrase = " to write"},
    wording{.name = "signal", .phrase = " for a signal"},
    wording{.name = "context", .phrase = " for a context"},
};
static_assert(words.size() == std::size_t(wait_kind::context) + 1);

const wording& words_of(wait_kind kind) noexcept {
  const auto which = static_cast<std::size_t>(kind);
  return which < words.size() ? words[which] : words.front();
}

}  // namespace

std::string_view to_string(wait_kind kind) noexcept { return words_of(kind).name; }

std::string_view detail::wait_phrase(wait_kind kind) noexcept { return words_of(kind).phrase; }

}  // namespace foliot::runtime
