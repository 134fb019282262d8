#include "unpacker.hpp"

#include <algorithm>
#include <new>
#include <utility>

#include <bzlib.h>
#include <fmt/format.h>
#include <lzma.h>
#include <zlib.h>
#include <zstd.h>
#include <zstd_errors.h>

#include "text/failure.hpp"

namespace foliot::program {

namespace {

using namespace std::string_view_literals;

constexpr std::size_t largest_step = std::size_t{1} << 30;  // zlib and libbz2 count in 32 bits

/// Keeps the last `left` elements: the codec has consumed those before them.
template <class T>
void keep_last(std::span<T>& all, std::size_t left) noexcept {
  all = all.last(left);
}

class gzip_codec final : public codec {
 public:
  gzip_codec() {
    constexpr int gzip_only = 16;
    if (::inflateInit2(&stream_, MAX_WBITS + gzip_only) != Z_OK) throw std::bad_alloc();
  }
  ~gzip_codec() override { ::inflateEnd(&stream_); }
  gzip_codec(const gzip_codec&) = delete;
  gzip_codec& operator=(const gzip_codec&) = delete;

  [[nodiscard]] std::string_view name() const noexcept override { return "gzip"; }
  [[nodiscard]] bool may_begin_with(unsigned char byte) const noexcept override { return byte == 0x1f; }
  void begin() override { ::inflateReset(&stream_); }

  state run(std::span<const char>& packed, std::span<char>& room) override {
    stream_.next_in = reinterpret_cast<const Bytef*>(packed.data());
    stream_.avail_in = static_cast<uInt>(packed.size());
    stream_.next_out = reinterpret_cast<Bytef*>(room.data());
    stream_.avail_out = static_cast<uInt>(room.size());
    const int result = ::inflate(&stream_, Z_NO_FLUSH);
    keep_last(packed, stream_.avail_in);
    keep_last(room, stream_.avail_out);
    if (result == Z_MEM_ERROR) throw std::bad_alloc();
    if (result == Z_STREAM_END) return state::ended;
    return result == Z_OK || result == Z_BUF_ERROR ? state::inside : state::damaged;
  }
  [[nodiscard]] std::string reason() const override { return stream_.msg != nullptr ? stream_.msg : "not readable"; }

 private:
  z_stream stream_{};
};

class xz_codec final : public codec {
 public:
  xz_codec() = default;
  ~xz_codec() override { ::lzma_end(&stream_); }
  xz_codec(const xz_codec&) = delete;
  xz_codec& operator=(const xz_codec&) = delete;

  [[nodiscard]] std::string_view name() const noexcept override { return "xz"; }
  [[nodiscard]] bool may_begin_with(unsigned char byte) const noexcept override { return byte == 0xfd; }
  void begin() override {
    if (::lzma_stream_decoder(&stream_, UINT64_MAX, LZMA_TELL_UNSUPPORTED_CHECK) != LZMA_OK) throw std::bad_alloc();
  }

  state run(std::span<const char>& packed, std::span<char>& room) override {
    stream_.next_in = reinterpret_cast<const std::uint8_t*>(packed.data());
    stream_.avail_in = packed.size();
    stream_.next_out = reinterpret_cast<std::uint8_t*>(room.data());
    stream_.avail_out = room.size();
    result_ = ::lzma_code(&stream_, LZMA_RUN);
    keep_last(packed, stream_.avail_in);
    keep_last(room, stream_.avail_out);
    if (result_ == LZMA_MEM_ERROR) throw std::bad_alloc();
    if (result_ == LZMA_STREAM_END) return state::ended;
    return result_ == LZMA_OK || result_ == LZMA_BUF_ERROR ? state::inside : state::damaged;
  }
  [[nodiscard]] std::string reason() const override {
    switch (result_) {
      case LZMA_FORMAT_ERROR: return "no header of a stream where one belongs";
      case LZMA_OPTIONS_ERROR: return "a filter or an option that liblzma does not know";
      case LZMA_UNSUPPORTED_CHECK: return "a check that liblzma does not know";
      default: return "its contents or their check are wrong";
    }
  }

 private:
  lzma_stream stream_ = LZMA_STREAM_INIT;
  lzma_ret result_ = LZMA_OK;
};

class zstd_codec final : public codec {
 public:
  zstd_codec() : context_(::ZSTD_createDCtx()) {
    if (context_ == nullptr) throw std::bad_alloc();
  }
  ~zstd_codec() override { ::ZSTD_freeDCtx(context_); }
  zstd_codec(const zstd_codec&) = delete;
  zstd_codec& operator=(const zstd_codec&) = delete;

  [[nodiscard]] std::string_view name() const noexcept override { return "zstd"; }
  [[nodiscard]] bool may_begin_with(unsigned char byte) const noexcept override {
    return byte == 0x28 || (byte & 0xf0U) == 0x50;  // a frame, or one to be skipped
  }
  void begin() override { ::ZSTD_DCtx_reset(context_, ZSTD_reset_session_only); }

  state run(std::span<const char>& packed, std::span<char>& room) override {
    ZSTD_inBuffer in{packed.data(), packed.size(), 0};
    ZSTD_outBuffer out{room.data(), room.size(), 0};
    result_ = ::ZSTD_decompressStream(context_, &out, &in);
    packed = packed.subspan(in.pos);
    room = room.subspan(out.pos);
    if (::ZSTD_isError(result_) == 0) return result_ == 0 ? state::ended : state::inside;
    const ZSTD_ErrorCode error = ::ZSTD_getErrorCode(result_);
    if (error == ZSTD_error_memory_allocation) throw std::bad_alloc();
    return error == ZSTD_error_frameParameter_windowTooLarge ? state::too_large : state::damaged;
  }
  [[nodiscard]] std::string reason() const override {
    if (::ZSTD_getErrorCode(result_) != ZSTD_error_frameParameter_windowTooLarge) return ::ZSTD_getErrorName(result_);
    return "its window is larger than 128 MiB: unpack it with zstd -d --long=31 first";
  }

 private:
  ZSTD_DCtx* context_;
  std::size_t result_ = 0;
};

class bzip2_codec final : public codec {
 public:
  bzip2_codec() = default;
  ~bzip2_codec() override { ::BZ2_bzDecompressEnd(&stream_); }
  bzip2_codec(const bzip2_codec&) = delete;
  bzip2_codec& operator=(const bzip2_codec&) = delete;

  [[nodiscard]] std::string_view name() const noexcept override { return "bzip2"; }
  [[nodiscard]] bool may_begin_with(unsigned char byte) const noexcept override { return byte == 'B'; }
  void begin() override {
    ::BZ2_bzDecompressEnd(&stream_);  // does nothing to a stream without a state
    stream_ = {};
    if (::BZ2_bzDecompressInit(&stream_, 0, 0) != BZ_OK) throw std::bad_alloc();
  }

  state run(std::span<const char>& packed, std::span<char>& room) override {
    stream_.next_in = const_cast<char*>(packed.data());  // libbz2 only reads it
    stream_.avail_in = static_cast<unsigned>(packed.size());
    stream_.next_out = room.data();
    stream_.avail_out = static_cast<unsigned>(room.size());
    result_ = ::BZ2_bzDecompress(&stream_);
    keep_last(packed, stream_.avail_in);
    keep_last(room, stream_.avail_out);
    if (result_ == BZ_MEM_ERROR) throw std::bad_alloc();
    if (result_ == BZ_STREAM_END) return state::ended;
    return result_ == BZ_OK ? state::inside : state::damaged;
  }
  [[nodiscard]] std::string reason() const override {
    return result_ == BZ_DATA_ERROR_MAGIC ? "no header of a stream where one belongs"
                                          : "its contents or their check are wrong";
  }

 private:
  bz_stream stream_{};
  int result_ = BZ_OK;
};

/// Whether the file begins with these bytes.
bool begins(std::string_view head, std::string_view signature) noexcept { return head.starts_with(signature); }

/// A client's name might begin with BZh9, so the mark of the first block, or that of the end, belongs to it, as far as
/// there is any.
bool is_bzip2(std::string_view head) noexcept {
  if (!begins(head, "BZh") || head.size() < 4 || head[3] < '1' || head[3] > '9') return false;
  const std::string_view mark = head.substr(4);
  return "\x31\x41\x59\x26\x53\x59"sv.starts_with(mark) || "\x17\x72\x45\x38\x50\x90"sv.starts_with(mark);
}

bool is_zstd(std::string_view head) noexcept {
  const bool skippable = head.size() >= 4 && (static_cast<unsigned char>(head[0]) & 0xf0U) == 0x50 &&
                         begins(head.substr(1), "\x2a\x4d\x18");
  return skippable || begins(head, "\x28\xb5\x2f\xfd");
}

/// A format that is not read.
struct other_format {
  std::string_view name;
  std::string_view signature;
};
constexpr std::array other_formats{
    other_format{"zip", "PK\x03\x04"},    other_format{"7z", "7z\xbc\xaf\x27\x1c"},
    other_format{"compress", "\x1f\x9d"}, other_format{"lz4", "\x04\x22\x4d\x18"},
    other_format{"lzip", "LZIP\x01"},     other_format{"lzop", "\x89LZO\x00"sv},
    other_format{"rar", "Rar!\x1a\x07"},  other_format{"lzma", "\x5d\x00\x00"sv},
};

}  // namespace

std::unique_ptr<codec> codec_for(std::span<const char> head, const std::string& name) {
  const std::string_view bytes(head.data(), head.size());
  if (begins(bytes, "\x1f\x8b")) return std::make_unique<gzip_codec>();
  if (begins(bytes,
             "\xfd"
             "7zXZ\x00"sv)) {
    return std::make_unique<xz_codec>();
  }
  if (is_zstd(bytes)) return std::make_unique<zstd_codec>();
  if (is_bzip2(bytes)) return std::make_unique<bzip2_codec>();
  if (begins(bytes, "\xff\xfe") || begins(bytes, "\xfe\xff")) {
    throw failure(fmt::format("'{}' is text in UTF-16: convert it with iconv -f UTF-16 -t UTF-8", name));
  }
  for (const other_format& each : other_formats) {
    if (!begins(bytes, each.signature)) continue;
    throw failure(fmt::format("'{}' is {} data, which foliot does not read: unpack it first", name, each.name));
  }
  return nullptr;
}

std::size_t unpacker::read(std::span<char> room) {
  room = room.first(std::min(room.size(), largest_step));
  // A codec may still have bytes to return when it has read all of its data, so it runs before more is read.
  for (;;) {
    if (packed_.empty() && !inside_member_ && !refill()) return 0;
    if (!inside_member_ && !begin_member()) continue;
    std::span<char> left = room;
    const codec::state result = codec_->run(packed_, left);
    if (result == codec::state::ended) inside_member_ = false;
    if (result == codec::state::damaged) {
      throw failure(fmt::format("'{}' is damaged {} data: {}", name_, codec_->name(), codec_->reason()));
    }
    if (result == codec::state::too_large) {
      throw failure(fmt::format("cannot unpack the {} data of '{}': {}", codec_->name(), name_, codec_->reason()));
    }
    if (left.size() < room.size()) return room.size() - left.size();
    if (result == codec::state::inside && packed_.empty() && !refill()) {
      throw failure(fmt::format("'{}' ends in the middle of its {} data: is it complete?", name_, codec_->name()));
    }
  }
}

bool unpacker::refill() {
  const std::size_t size = source_.read(buffer_);
  packed_ = std::span(buffer_).first(size);
  return size > 0;
}

bool unpacker::begin_member() {
  if (any_member_ && skip_padding()) return false;
  if (padded_) {
    throw failure(fmt::format("'{}' has more data after the zeros that follow its {} data: is a part of it lost?",
                              name_, codec_->name()));
  }
  if (any_member_ && !codec_->may_begin_with(static_cast<unsigned char>(packed_.front()))) {
    throw failure(
        fmt::format("'{0}' has data after its {1} data that are not {1}: unpack it first", name_, codec_->name()));
  }
  codec_->begin();
  any_member_ = inside_member_ = true;
  return true;
}

bool unpacker::skip_padding() noexcept {
  const auto end = std::ranges::find_if(packed_, [](char byte) { return byte != 0; });
  const auto zeros = static_cast<std::size_t>(end - packed_.begin());
  packed_ = packed_.subspan(zeros);
  padded_ = padded_ || zeros > 0;
  return zeros > 0;
}

}  // namespace foliot::program
