#include "gzip_writer.hpp"

#include <algorithm>
#include <cstddef>
#include <new>

namespace foliot::program {

namespace {

constexpr std::size_t packed_size = std::size_t{64} * 1024;
constexpr std::size_t largest_piece = std::size_t{1} << 30;  // zlib counts in 32 bits

}  // namespace

gzip_writer::gzip_writer(output_file& out) : out_(out), packed_(packed_size) {
  constexpr int gzip = 16;
  constexpr int default_memory = 8;
  if (::deflateInit2(&stream_, Z_DEFAULT_COMPRESSION, Z_DEFLATED, MAX_WBITS + gzip, default_memory,
                     Z_DEFAULT_STRATEGY) != Z_OK) {
    throw std::bad_alloc();
  }
}

gzip_writer::~gzip_writer() { ::deflateEnd(&stream_); }

void gzip_writer::write(std::string_view text) {
  while (!text.empty()) {
    const std::string_view piece = text.substr(0, largest_piece);
    pack(piece, Z_NO_FLUSH);
    text.remove_prefix(piece.size());
  }
}

void gzip_writer::finish() { pack({}, Z_FINISH); }

void gzip_writer::pack(std::string_view text, int flush) {
  stream_.next_in = reinterpret_cast<const Bytef*>(text.data());
  stream_.avail_in = static_cast<uInt>(text.size());
  do {
    stream_.next_out = reinterpret_cast<Bytef*>(packed_.data());
    stream_.avail_out = static_cast<uInt>(packed_.size());
    ::deflate(&stream_, flush);
    out_.write(std::string_view(packed_.data(), packed_.size() - stream_.avail_out));
  } while (stream_.avail_out == 0);
}

}  // namespace foliot::program
