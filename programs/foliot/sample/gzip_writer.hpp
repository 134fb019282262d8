// Packs text as one member of gzip data, the same bytes for the same text and version of zlib: neither
// time nor name is written.
//
// Thread safety: none, one thread. Memory: some 350 KiB.
#pragma once

#include <string_view>
#include <vector>

#include <zlib.h>

#include "../output_file.hpp"

namespace foliot::program {

class gzip_writer {
 public:
  /// Throws std::bad_alloc.
  explicit gzip_writer(output_file& out);
  ~gzip_writer();
  gzip_writer(const gzip_writer&) = delete;
  gzip_writer& operator=(const gzip_writer&) = delete;

  /// Appends. Throws failure as the file does.
  void write(std::string_view text);
  /// Nothing more comes: writes the end of the data. The file is not finished by that.
  void finish();

 private:
  void pack(std::string_view text, int flush);

  output_file& out_;
  z_stream stream_{};
  std::vector<char> packed_;
};

}  // namespace foliot::program
