// Packs text as one member of gzip data, without a time or a name: the same text and version of zlib give the same
// bytes.
//
// Thread safety: none, one thread. Memory: some 350 KiB.
#pragma once

#include <string_view>
#include <vector>

#include <zlib.h>

#include "output_file.hpp"

namespace foliot::program {

class gzip_writer {
 public:
  /// Throws std::bad_alloc.
  explicit gzip_writer(output_file& out);
  ~gzip_writer();
  gzip_writer(const gzip_writer&) = delete;
  gzip_writer& operator=(const gzip_writer&) = delete;

  /// Appends. Throws failure as output_file.
  void write(std::string_view text);
  /// Writes the end of the data. The caller must finish the file.
  void finish();

 private:
  void pack(std::string_view text, int flush);

  output_file& out_;
  z_stream stream_{};
  std::vector<char> packed_;
};

}  // namespace foliot::program
