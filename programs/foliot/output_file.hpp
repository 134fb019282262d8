// An output of the program: a file that appears under its name only when it is complete, or standard output.
//
//   output_file out("sessions.csv");
//   out.write("client,start\n");
//   out.finish();                      // all is written, or failure is thrown
//   out.publish();                     // the file has its name
//
// If the object is destroyed unpublished, nothing is left, and an older file of that name is unchanged (see
// temporary_file). A symbolic link stays one: the file that it points to is replaced, or made. A pipe, a terminal, a
// device, and the name of an open descriptor (/dev/fd/3) cannot be replaced: they are written to directly.
//
// Thread safety: none, one thread.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include <sys/stat.h>

#include "temporary_file.hpp"

namespace foliot::program {

class output_file {
 public:
  /// `name` is a path, or "-" or "/dev/stdout" for standard output. Throws failure.
  explicit output_file(std::string name);
  ~output_file();
  output_file(const output_file&) = delete;
  output_file& operator=(const output_file&) = delete;

  /// Appends. Throws failure, which may concern the text of an earlier call that was still in the buffer.
  void write(std::string_view text);
  /// Writes the rest of the buffer, and closes. Throws failure. Nothing may be written after it.
  void finish();
  /// Calls finish(), and gives the file its name. Throws failure.
  void publish();

  [[nodiscard]] static bool is_standard_output(std::string_view name) noexcept {
    return name == "-" || name == "/dev/stdout";
  }

 private:
  void write_out(std::string_view text);

  std::string name_;
  std::optional<temporary_file> temporary_;
  int descriptor_ = -1;  // -1 once finished
  std::string buffer_;
};

/// Writes a whole text to standard output. Throws failure.
void print(std::string_view text);

// The file that a name on the command line leads to, so that no output replaces another one, or an input: `a`, `./a`, a
// link to `a` and a standard output that the shell has sent to `a` are one file.
//
//   if (same_file(file_identity::of_output("a.json"), file_identity::of_output("./a.json"))) …
//
// A file that exists is identified by its device and inode; one that does not by the path that it would have, with all
// links resolved.
//
// Thread safety: immutable. The answer is valid for the moment when the identities were made.

class file_identity {
 public:
  /// `name` is a path, or a name of standard output as in output_file.
  [[nodiscard]] static file_identity of_output(const std::string& name);
  /// `name` is a path, or "-" for standard input.
  [[nodiscard]] static file_identity of_input(const std::string& name);

  /// Whether what is written to one of them would be in the other one, or be lost. Two outputs to standard output are
  /// the same; other than that, a terminal, a pipe or a device that is a standard stream is no file.
  [[nodiscard]] friend bool same_file(const file_identity& a, const file_identity& b) noexcept {
    if (a.stream_ != no_stream && a.stream_ == b.stream_) return true;
    const bool named = a.stream_ == no_stream && b.stream_ == no_stream;
    if (a.inode_ && b.inode_) return *a.inode_ == *b.inode_ && (named || a.regular_);
    return named && !a.path_.empty() && a.path_ == b.path_;
  }

 private:
  static constexpr int no_stream = -1;

  /// A standard stream, by its descriptor.
  explicit file_identity(int stream) noexcept;
  explicit file_identity(const std::string& path);
  void note(const struct ::stat& found) noexcept;

  int stream_ = no_stream;
  std::optional<std::pair<::dev_t, ::ino_t>> inode_;  // of a file that exists
  bool regular_ = false;
  std::string path_;  // of a file that does not exist; empty where that is unknown
};

/// Where a chain of symbolic links leads, whether there is a file or not; `name` itself if it is no link, or if the
/// chain has no end.
[[nodiscard]] std::string end_of_links(const std::string& name);

}  // namespace foliot::program
