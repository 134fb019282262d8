// Unpacks a file in one of the formats in which logs are kept: gzip, xz, zstd and bzip2. The first bytes of a file
// decide which, not its name.
//
// A file may be several members (xz: streams, zstd: frames), one after the other, as `cat a.gz b.gz` makes them, and
// may be padded with zeros at the end. So that no part of a log is lost in silence, it is a failure if the data end in
// the middle of a member, are damaged, or are followed by anything else; also by zeros with more data behind them,
// which may be a lost block.
//
// Thread safety: none, one thread. Memory: what the format needs, some 100 KiB for gzip, 4 MiB for bzip2, and for xz
// and zstd the window with which the file was made: up to 8 MiB at their usual levels, 64 or 128 MiB at their highest.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "line_reader.hpp"

namespace foliot::program {

/// One packed format. An object unpacks one member after the other.
class codec {
 public:
  virtual ~codec() = default;

  /// The name of the format.
  [[nodiscard]] virtual std::string_view name() const noexcept = 0;
  /// Whether a member can begin with this byte.
  [[nodiscard]] virtual bool may_begin_with(unsigned char byte) const noexcept = 0;
  /// The next byte is the first one of a member. Throws std::bad_alloc.
  virtual void begin() = 0;

  /// What run() has come to.
  enum class state : std::uint8_t { inside, ended, damaged, too_large };
  /// Unpacks from the front of `packed` to the front of `room`, and removes from both what is done. Throws
  /// std::bad_alloc. Precondition: `room` is not empty.
  virtual state run(std::span<const char>& packed, std::span<char>& room) = 0;
  /// In a few words, after run() returned `damaged` or `too_large`.
  [[nodiscard]] virtual std::string reason() const = 0;
};

/// How many of a file's first bytes tell its format.
inline constexpr std::size_t longest_signature = 10;

/// The codec of a file that begins with `head`; null for a plain one. Throws failure for a file in a packed format that
/// foliot does not read, and for one in UTF-16: `name` is the file's, for the message.
[[nodiscard]] std::unique_ptr<codec> codec_for(std::span<const char> head, const std::string& name);

/// Unpacks a source, whose name is for messages.
class unpacker final : public byte_source {
 public:
  unpacker(byte_source& packed, std::unique_ptr<codec> format, std::string name)
      : source_(packed), codec_(std::move(format)), name_(std::move(name)) {}

  std::size_t read(std::span<char> room) override;

 private:
  [[nodiscard]] bool refill();
  /// Whether a member begins here. If not, padding has been skipped, and there may be more to read.
  [[nodiscard]] bool begin_member();
  /// Skips zeros, and returns whether there were any.
  [[nodiscard]] bool skip_padding() noexcept;

  byte_source& source_;
  std::unique_ptr<codec> codec_;
  const std::string name_;
  std::span<const char> packed_;  // in buffer_, not unpacked yet
  bool inside_member_ = false;
  bool any_member_ = false;
  bool padded_ = false;  // zeros have followed a member
  std::array<char, std::size_t{64} * 1024> buffer_;
};

}  // namespace foliot::program
