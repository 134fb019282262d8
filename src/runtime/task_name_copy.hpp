// The beginning of a task's name, for reports that are made when the task may have ended, and its owner freed the name.
//
// Thread safety: none; a plain value.
#pragma once

#include <array>
#include <string_view>

namespace foliot::runtime::detail {

class task_name_copy {
 public:
  task_name_copy() noexcept = default;
  explicit task_name_copy(std::string_view name) noexcept { name.copy(text_.data(), text_.size() - 1); }

  /// Followed by a zero byte.
  [[nodiscard]] const char* get() const noexcept { return text_.data(); }

 private:
  std::array<char, 64> text_{};
};

}  // namespace foliot::runtime::detail
