#include "sample.hpp"

#include <string_view>

#include <fmt/format.h>

#include "gzip_writer.hpp"
#include "output_file.hpp"
#include "text/failure.hpp"

namespace foliot::program {

void sample(const sample_options& options) {
  if (options.traffic.lines > options.traffic.clients * most_lines_per_client) {
    throw failure(fmt::format("--lines {} are too many for --clients {}: in a day each can ask for at most {}",
                              options.traffic.lines, options.traffic.clients, most_lines_per_client));
  }
  output_file out(options.output);
  if (options.output.ends_with(".gz")) {
    gzip_writer packed(out);
    generate_traffic(options.traffic, [&packed](std::string_view line) { packed.write(line); });
    packed.finish();
  } else {
    generate_traffic(options.traffic, [&out](std::string_view line) { out.write(line); });
  }
  out.publish();
}

}  // namespace foliot::program
