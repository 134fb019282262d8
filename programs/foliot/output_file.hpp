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

}  // namespace foliot::program
