// Where the figures of a benchmark go: as text to standard output, as JSON and as a page to files; and its progress.
//
// Thread safety: none, one thread.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "output_file.hpp"
#include "progress.hpp"

namespace foliot::program::bench {

/// The names of the files that the user asks for; "-" is standard output.
struct output_names {
  std::optional<std::string> json{};
  std::optional<std::string> report{};
};

/// Writes the text to the file of this name, if there is one; made before the long work, so that a name that cannot be
/// written is reported at once.
class optional_output {
 public:
  explicit optional_output(const std::optional<std::string>& name) {
    if (name) file_.emplace(*name);
  }
  /// `text` is called if there is a file. Throws failure.
  void publish(const std::function<std::string()>& text) {
    if (!file_) return;
    file_->write(text());
    file_->publish();
  }

 private:
  std::optional<output_file> file_;
};

/// The files, opened, and standard output, unless one of them is that.
class outputs {
 public:
  /// Throws failure if two outputs go to the same file, one cannot be made, or this program cannot make the page.
  explicit outputs(const output_names& names);

  /// Each function makes its text. Throws failure.
  void publish(const std::function<std::string()>& text, const std::function<std::string()>& json,
               const std::function<std::string()>& page);

 private:
  bool standard_output_taken_;
  optional_output json_;
  optional_output page_;
};

/// A line of the terminal that shows the progress, and is wiped off at the end.
class progress_line {
 public:
  progress_line() = default;
  ~progress_line();
  progress_line(const progress_line&) = delete;
  progress_line& operator=(const progress_line&) = delete;

  /// `what` is measured now, after `done` of `all` measurements.
  void show(const std::string& what, std::uint64_t done, std::uint64_t all);

 private:
  progress::writer write_ = standard_error_if_terminal();
};

}  // namespace foliot::program::bench
