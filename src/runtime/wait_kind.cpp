#include <foliot/runtime/wait_kind.hpp>

#include <algorithm>
#include <cstddef>
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

wait_kind kind_named(std::string_view name) noexcept {
  for (unsigned i = 0; i <= UINT8_MAX; ++i) {
    if (const auto kind = static_cast<wait_kind>(i); to_string(kind) == name) return kind;
  }
  return wait_kind::other;
}

/// The names of the kinds in the set, each after `between` but the first.
std::string names_of(wait_kinds set, std::string_view between) {
  std::string names;
  for (unsigned i = 0; i < 32; ++i) {
    const auto kind = static_cast<wait_kind>(i);
    if (!set.contains(kind)) continue;
    if (!names.empty()) names += between;
    names += to_string(kind);
  }
  return names;
}

}  // namespace

std::string_view to_string(wait_kind kind) noexcept { return words_of(kind).name; }

std::string to_string(const wait_reason& reason) {
  std::string text(to_string(reason.kind()));
  return reason.cases().empty() ? text : text + "(" + names_of(reason.cases(), ",") + ")";
}

std::string detail::wait_phrase(const wait_reason& reason) {
  std::string text(words_of(reason.kind()).phrase);
  return reason.cases().empty() ? text : text + " (" + names_of(reason.cases(), ", ") + ")";
}

wait_reason detail::wait_reason_in(std::string_view text) noexcept {
  const std::size_t open = text.find('(');
  const wait_kind kind = kind_named(text.substr(0, open));
  wait_kinds cases;
  if (kind == wait_kind::select && open != std::string_view::npos && text.ends_with(')')) {
    std::string_view rest = text.substr(open + 1, text.size() - open - 2);
    while (!rest.empty()) {
      const std::size_t end = std::min(rest.find(','), rest.size());
      cases.add(kind_named(rest.substr(0, end)));
      rest.remove_prefix(std::min(end + 1, rest.size()));
    }
  }
  return {kind, cases};
}

}  // namespace foliot::runtime
