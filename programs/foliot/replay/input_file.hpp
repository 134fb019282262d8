// Reads a log from a file or a pipe, plain or gzip; its first two bytes decide which.
//
// gzip data may be several members, one after the other, as `cat a.gz b.gz` makes them, and may be padded with zeros at
// the end. So that no part of a log is lost in silence, it is a failure if the data end in the middle of a member, are
// damaged, or are followed by anything else; also by zeros with more data behind them, which may be a lost block.
//
// Thread safety: none, one thread. Memory: some 100 KiB, independent of the file's size.
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

  /// How many bytes of the file, compressed or not, have been read.
  [[nodiscard]] std::uint64_t bytes_read() const noexcept { return bytes_read_; }

  /// Throws failure if the file does not exist, is a directory, or has no permission to be read. Does not open it.
  static void check(const std::string& name);
  /// The size of the file; nothing if that is unknown, as for a pipe.
  [[nodiscard]] static std::optional<std::uint64_t> size(const std::string& name) noexcept;

 private:
  class gunzip;

  /// Reads the bytes that the constructor has read first, then from the descriptor.
  std::size_t read_raw(std::span<char> room);

  int descriptor_;
  std::string name_;  // in messages
  std::uint64_t bytes_read_ = 0;
  char head_[2]{};  // the first bytes, of which [head_begin_, head_end_) have not been returned yet
  std::size_t head_begin_ = 0;
  std::size_t head_end_ = 0;
  std::unique_ptr<gunzip> gunzip_;  // null for a plain file
};

}  // namespace foliot::program
