#include "commands.hpp"

#include <memory>
#include <string>

#include "text/duration_text.hpp"
#include "text/failure.hpp"
#include "top.hpp"

namespace foliot::program {

namespace {

struct top_arguments {
  top_options options;
  std::string interval = "1s";
};

}  // namespace

void add_top(CLI::App& program, command& chosen) {
  const auto all = std::make_shared<top_arguments>();
  CLI::App* line = program.add_subcommand("top", "Look at the timers, the tasks or the jobs of a running program");
  line->add_option("PATH", all->options.path,
                   "Where the program shows them, with a foliot::statistics_socket or a runtime_statistics_socket,\n"
                   "or by foliot serve --statistics")
      ->type_name("")
      ->required();
  CLI::Option* once = line->add_flag("--once", all->options.once, "Look once; by default again and again");
  CLI::Option* interval = line->add_option("--interval", all->interval, "The time between two looks, such as 500ms")
                              ->type_name("DURATION")
                              ->capture_default_str();
  CLI::Option* prometheus =
      line->add_flag("--prometheus", all->options.prometheus, "Look once, and print Prometheus' text format");
  interval->excludes(once)->excludes(prometheus);
  line->footer(
      "Rates are those since the look before. Percentiles are over all that the\n"
      "program has measured since it began, at most 1/32 too high.");
  line->callback([all, &chosen] {
    chosen = [all] {
      const auto length = parse_duration(all->interval);
      if (!length) throw failure("--interval: " + length.error());
      all->options.interval = *length;
      top(all->options);
    };
  });
}

}  // namespace foliot::program
