// A log as it lies on disk or comes down a pipe: plain or gzip, told apart by its first two bytes.
//
// gzip data may be several members, one after the other, as `cat a.gz b.gz` makes them, and may be
// padded with zeros at the end. What ends in the middle of a member, is damaged, or is followed by anything
// else is a failure, so that no part of a log is passed over in silence: also zeros with more data behind
// them, which are what a lost block looks like.
//
// Thread safety: none, one thread. Memory: some 100 KiB, whatever the file's size.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>

#include "line_reader.hpp"

namespace foliot::program {

class input_file final : public byte_source {
 public:
  /// `name` is a path, or "-" for standard input. Throws failure.
  explicit input_file(std::string name);
  ~input_file() override;
  input_file(const input_file&) = delete;
  input_file& operator=(const input_file&) = delete;

  std::size_t read(std::span<char> room) override;

  /// How much of the file itself, compressed or not, has been read.
  [[nodiscard]] std::uint64_t bytes_read() const noexcept { return bytes_read_; }

  /// Throws failure if such a file plainly cannot be read: it does not exist, is a directory, or may
  /// not be read. Opens nothing.
  static void check(const std::string& name);
  /// Its size; nothing where there is none to tell, as for a pipe.
  [[nodiscard]] static std::optional<std::uint64_t> size(const std::string& name) noexcept;

 private:
  class gunzip;

  /// What read(2) gives, after the bytes that the constructor looked at.
  std::size_t read_raw(std::span<char> room);

  int descriptor_;
  std::string name_;  // as messages show it
  std::uint64_t bytes_read_ = 0;
  char head_[2]{};  // the bytes that tell plain from gzip, until they have been read
  std::size_t head_begin_ = 0;
  std::size_t head_end_ = 0;
  std::unique_ptr<gunzip> gunzip_;  // null for a plain file
};

}  // namespace foliot::program
