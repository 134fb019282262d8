// `foliot sample`: writes an invented access log of a busy day.
//
// Thread safety: none, one thread.
#pragma once

#include <string>

#include "traffic.hpp"

namespace foliot::program {

struct sample_options {
  traffic_options traffic;
  std::string output = "-";  ///< "-" is standard output; a name that ends in .gz makes gzip data
};

/// Throws failure; then no file is written.
void sample(const sample_options& options);

}  // namespace foliot::program
