#include <foliot/runtime/wait_kind.hpp>

#include <cstdint>

#include "wait_words.hpp"

namespace foliot::runtime {

namespace {

struct wording {
  std::string_view name;
  std::string_view phrase;
};

constexpr wording other{.name = "other", .phrase = ""};

/// Without a default, so that compilers warn of a kind that is missing.
constexpr wording words_of(wait_kind kind) noexcept {
  switch (kind) {
    case wait_kind::other: return other;
    case wait_kind::receive: return {.name = "receive", .phrase = " to receive"};
    case wait_kind::send: return {.name = "send", .phrase = " to send"};
    case wait_kind::select: return {.name = "select", .phrase = " in a select"};
    case wait_kind::sleep: return {.name = "sleep", .phrase = " in a sleep"};
    case wait_kind::timer: return {.name = "timer", .phrase = " for a timer"};
    case wait_kind::callback: return {.name = "callback", .phrase = " for a callback"};
    case wait_kind::mutex: return {.name = "mutex", .phrase = " for a mutex"};
    case wait_kind::condition: return {.name = "condition", .phrase = " for a condition"};
    case wait_kind::wait_group: return {.name = "wait_group", .phrase = " for a wait group"};
    case wait_kind::semaphore: return {.name = "semaphore", .phrase = " for a semaphore"};
    case wait_kind::task: return {.name = "task", .phrase = " for a task"};
    case wait_kind::blocking: return {.name = "blocking", .phrase = " for a blocking call"};
    case wait_kind::executor: return {.name = "executor", .phrase = " for an executor"};
    case wait_kind::read: return {.name = "read", .phrase = " to read"};
    case wait_kind::write: return {.name = "write", .phrase = " to write"};
    case wait_kind::signal: return {.name = "signal", .phrase = " for a signal"};
    case wait_kind::context: return {.name = "context", .phrase = " for a context"};
  }
  return other;
}

}  // namespace

std::string_view to_string(wait_kind kind) noexcept { return words_of(kind).name; }

std::string_view detail::wait_phrase(wait_kind kind) noexcept { return words_of(kind).phrase; }

wait_kind detail::wait_kind_named(std::string_view name) noexcept {
  for (unsigned i = 0; i <= UINT8_MAX; ++i) {
    if (const auto kind = static_cast<wait_kind>(i); to_string(kind) == name) return kind;
  }
  return wait_kind::other;
}

}  // namespace foliot::runtime
