#include "commands.hpp"

#include <memory>
#include <string>
#include <vector>

#include "explain.hpp"
#include "output_file.hpp"

namespace foliot::program {

namespace {

struct explain_options {
  std::string engine;
  std::string output;  // empty: the engine's name, with .html
};

/// Throws failure; then no file is written.
void write_page(const explain_options& options) {
  output_file out(options.output.empty() ? options.engine + ".html" : options.output);
  out.write(page_of(options.engine));
  out.publish();
}

}  // namespace

void add_explain(CLI::App& program, command& chosen) {
  const auto options = std::make_shared<explain_options>();
  std::vector<std::string> names;
  for (const explained_engine& each : explained_engines()) names.emplace_back(each.name);
  CLI::App* line = program.add_subcommand("explain", "Write a page that shows an engine at work, step by step");
  line->add_option("engine", options->engine, "The engine")
      ->type_name("ENGINE")
      ->transform(CLI::IsMember(names))
      ->required();
  line->add_option("-o,--output", options->output, "Where to write; - is standard output. By default ENGINE.html")
      ->type_name("FILE");
  line->callback([options, &chosen] { chosen = [options] { write_page(*options); }; });
}

}  // namespace foliot::program
