// The name of a task: what reports of failures and deadlocks, and dumps, call it.
//
//   spawn(serve(peer), "serve");                                     // a literal is not copied
//   spawn(serve(peer), "serve " + to_string(peer.remote_address()));  // a string is
//
// Thread safety: a value.
#pragma once

#include <foliot/core/language.hpp>

#include <concepts>
#include <cstddef>
#include <memory>
#include <string_view>
#include <utility>

namespace foliot::runtime {

/// A text of a literal, or of its own. Movable.
class task_name {
 public:
  /// Keeps the pointer, not the text: a literal, or a text that outlives the task and its join_handle, which may report
  /// the failure. Implicit, so that a literal is a name.
  task_name(const char* lasting) noexcept : text_(lasting) {}
  /// Copies the text, up to its first null character, for a std::string or a std::string_view. Throws std::bad_alloc.
  template <class Text>
    requires(std::convertible_to<const Text&, std::string_view> && !std::convertible_to<const Text&, const char*>)
  task_name(const Text& text) : own_(copy_of(text)), text_(own_.get()) {}

  /// The text, as long as this or the object that own() went to exists.
  [[nodiscard]] const char* c_str() const noexcept { return text_; }
  /// The copy of the text; null for a literal.
  [[nodiscard]] std::unique_ptr<char[]> own() && noexcept { return std::move(own_); }

 private:
  static std::unique_ptr<char[]> copy_of(std::string_view text) {
    auto copy = std::make_unique<char[]>(text.size() + 1);  // zeroed
    text.copy(copy.get(), text.size());
    return copy;
  }

  std::unique_ptr<char[]> own_;
  const char* text_;
};

}  // namespace foliot::runtime
