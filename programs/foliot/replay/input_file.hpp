// Reads a log from a file or a pipe, plain or packed; its first bytes decide which, see unpacker.
//
// Thread safety: none, one thread. Memory: that of the unpacker, independent of the file's size.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>

#include "line_reader.hpp"
#include "unpacker.hpp"

namespace foliot::program {

class input_file final : public byte_source {
 public:
  /// `name` is a path, or "-" for standard input. Throws failure.
  explicit input_file(const std::string& name);

  std::size_t read(std::span<char> room) override;

  /// How many bytes of the file, compressed or not, have been read.
  [[nodiscard]] std::uint64_t bytes_read() const noexcept { return file_.bytes_read(); }

  /// Throws failure if the file does not exist, is a directory, or has no permission to be read. Does not open it.
  static void check(const std::string& name);
  /// The size of the file; nothing if that is unknown, as for a pipe.
  [[nodiscard]] static std::optional<std::uint64_t> size(const std::string& name) noexcept;

 private:
  /// The bytes of the file itself.
  class raw_file final : public byte_source {
   public:
    /// Throws failure.
    explicit raw_file(const std::string& name);
    ~raw_file() override;
    raw_file(const raw_file&) = delete;
    raw_file& operator=(const raw_file&) = delete;

    std::size_t read(std::span<char> room) override;

    [[nodiscard]] std::span<const char> head() const noexcept { return std::span(head_).first(head_end_); }
    [[nodiscard]] std::uint64_t bytes_read() const noexcept { return bytes_read_; }

   private:
    std::size_t read_descriptor(std::span<char> room);
    void read_head();

    const std::string name_;  // in messages
    const int descriptor_;
    std::uint64_t bytes_read_ = 0;
    std::array<char, longest_signature> head_{};  // the first bytes
    std::size_t head_begin_ = 0;                  // [head_begin_, head_end_) have not been returned yet
    std::size_t head_end_ = 0;
  };

  raw_file file_;
  std::unique_ptr<unpacker> unpacker_;  // null for a plain file
};

}  // namespace foliot::program
