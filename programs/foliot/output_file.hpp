// What the program writes: a file that appears under its name only when it is complete, or standard
// output.
//
//   output_file out("sessions.csv");
//   out.write("client,start\n");
//   out.finish();                      // all is written, or failure says why not
//   out.publish();                     // and now it is there
//
// If the object dies unpublished, nothing is left and an older file of that name is as it was (see
// temporary_file). A symbolic link stays one: what it points to is replaced, or made. What is no regular file
// (a pipe, a terminal, a device), or stands for an open descriptor (/dev/fd/3), cannot be replaced; it is
// written to as it is.
//
// Thread safety: none, one thread.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include "temporary_file.hpp"

namespace foliot::program {

class output_file {
 public:
  /// `name` is a path, or "-" or "/dev/stdout" for standard output. Throws failure.
  explicit output_file(std::string name);
  ~output_file();
  output_file(const output_file&) = delete;
  output_file& operator=(const output_file&) = delete;

  /// Appends. Throws failure, also for what earlier calls had left in the buffer.
  void write(std::string_view text);
  /// Nothing more will be written: empties the buffer and closes. Throws failure.
  void finish();
  /// finish(), and the file takes its name. Throws failure.
  void publish();

  [[nodiscard]] static bool is_standard_output(std::string_view name) noexcept {
    return name == "-" || name == "/dev/stdout";
  }

 private:
  void write_out(std::string_view text);

  std::string name_;
  std::optional<temporary_file> temporary_;
  int descriptor_ = -1;  // where to write; -1 once finished
  std::string buffer_;
};

/// Writes a whole text to standard output. Throws failure.
void print(std::string_view text);

}  // namespace foliot::program
