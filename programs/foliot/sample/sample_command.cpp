#include "commands.hpp"

#include <cstdint>
#include <limits>
#include <memory>
#include <string>

#include <fmt/format.h>

#include "number_option.hpp"
#include "sample.hpp"
#include "text/failure.hpp"
#include "text/timestamp.hpp"

namespace foliot::program {

namespace {

struct sample_arguments {
  sample_options options;
  std::string start = "2026-03-02";
};

instant midnight_of(const std::string& date) {
  const auto midnight = parse_date(date);
  if (!midnight || date < "1970-01-01" || date > "2099-12-31") {
    throw failure(fmt::format("--start: '{}' is no date from 1970 to 2099, such as 2026-03-02", date));
  }
  return *midnight;
}

}  // namespace

void add_sample(CLI::App& program, command& chosen) {
  const auto all = std::make_shared<sample_arguments>();
  traffic_options& traffic = all->options.traffic;
  CLI::App* line = program.add_subcommand("sample", "Write an invented access log of a busy day");
  line->add_option("--seed", traffic.seed, "The same seed makes the same log")
      ->type_name("N")
      ->transform(whole_number(0, std::numeric_limits<std::uint64_t>::max()))
      ->capture_default_str();
  line->add_option("--lines", traffic.lines, "How many lines, exactly")
      ->type_name("N")
      ->transform(whole_number(1, most_lines_per_client * most_clients))
      ->capture_default_str();
  line->add_option("--clients", traffic.clients, "How many clients there are; some may not come")
      ->type_name("N")
      ->transform(whole_number(1, most_clients))
      ->capture_default_str();
  line->add_option("--start", all->start, "The day, which begins at midnight UTC")
      ->type_name("YYYY-MM-DD")
      ->capture_default_str();
  line->add_option("--late", traffic.late_permille,
                   "How many requests in a thousand are slow, so that their lines come late,\nout of order")
      ->type_name("N")
      ->transform(whole_number(0, 1000))
      ->capture_default_str();
  line->add_option("-o,--output", all->options.output,
                   "Where to write; a name that ends in .gz makes gzip data;\n- is standard output")
      ->type_name("FILE")
      ->capture_default_str();
  line->callback([all, &chosen] {
    chosen = [all] {
      all->options.traffic.start = midnight_of(all->start);
      sample(all->options);
    };
  });
}

}  // namespace foliot::program
