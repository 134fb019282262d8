#include "../commands.hpp"

#include <memory>
#include <string>
#include <vector>

#include "../failure.hpp"
#include "serve_options.hpp"

namespace foliot::program {

namespace {

struct arguments {
  serve_options options;
  bool in_memory = false;
  bool insecure = false;
  std::vector<std::string> sync{"always"};
  std::string beanstalk = "127.0.0.1:11300";
  std::string checked;
};

void add_store(CLI::App& line, arguments& all) {
  CLI::Option* data = line.add_option("--data", all.options.folder, "The folder of the jobs; made if it is missing")
                          ->type_name("DIR")
                          ->capture_default_str()
                          ->group("Where the jobs are");
  line.add_flag("--memory", all.in_memory, "Keep the jobs in memory: they end with the server")
      ->excludes(data)
      ->group("Where the jobs are");
  line.add_flag("--salvage", all.options.salvage,
                "Start also if the log of the jobs is damaged: what was stored\n"
                "behind the damage is lost. Copy the folder first")
      ->excludes("--memory")
      ->group("Where the jobs are");
  line.add_option("--sync", all.sync,
                  "When changes are written through to the disk: 'always', before\n"
                  "they are acknowledged, or 'every DURATION': a crash of the\n"
                  "machine loses the changes since then")
      ->type_name("WHEN")
      ->expected(1, 2)
      ->default_str("always")
      ->group("Where the jobs are");
}

void add_listeners(CLI::App& line, arguments& all) {
  line.add_option("--beanstalk", all.beanstalk, "Where clients of beanstalkd connect; unix:PATH, or off")
      ->type_name("ADDRESS")
      ->capture_default_str()
      ->group("Who may connect");
  line.add_flag("--insecure", all.insecure, "Allow addresses that other machines can reach")->group("Who may connect");
}

void add_limits(CLI::App& line, serve_options& options) {
  const auto limit = [&line](const char* name, auto& value, const char* text, auto least, auto most) {
    CLI::Range range(least, most);
    range.description("");  // the text says it
    return line.add_option(name, value, text)->type_name("N")->capture_default_str()->check(range)->group("Limits");
  };
  limit("--max-job-size", options.max_job_size, "Bytes of a job's body; at most 1 GiB", std::size_t{0}, most_job_size);
  limit("--max-connections", options.max_connections, "Connections at once", std::size_t{1}, std::size_t{1'000'000});
  limit("--max-tubes", options.max_tubes, "Tubes at once that a connection uses or watches", std::size_t{1},
        std::size_t{100'000'000});
  limit("--max-jobs", options.max_jobs, "Jobs at once; 0: as many as there is room for", std::uint64_t{0},
        ~std::uint64_t{0});
  line.add_option("--max-memory", options.max_memory, "Memory for jobs with --memory, such as 2GB; 0: no limit")
      ->type_name("SIZE")
      ->default_str("0")
      ->transform(CLI::AsSizeValue(false).description(""))
      ->group("Limits");
}

}  // namespace

void add_serve(CLI::App& program, command& chosen) {
  const auto all = std::make_shared<arguments>();
  CLI::App* line = program.add_subcommand("serve", "Keep jobs until they are due, for clients of beanstalkd");
  add_store(*line, *all);
  add_listeners(*line, *all);
  add_limits(*line, all->options);
  CLI::Option* check = line->add_option("--check", all->checked, "Check the store in DIR, say what is wrong, and end")
                           ->type_name("DIR")
                           ->group("Other");
  for (const char* const other : {"--data", "--memory", "--salvage"}) check->excludes(line->get_option(other));
  line->add_flag("--quiet", all->options.quiet, "Log only warnings and failures")->group("Other");
  line->footer(
      "A job is put with a delay and handed to one worker when it is due. What the\n"
      "server has acknowledged survives a crash.\n"
      "\n"
      "  foliot serve                              jobs in ./foliot-data, clients at port 11300\n"
      "  printf 'put 0 5 60 2\\r\\nhi\\r\\nreserve\\r\\nquit\\r\\n' | nc 127.0.0.1 11300\n"
      "\n"
      "Signals: SIGTERM and SIGINT end it in order; SIGUSR1 drains it (it takes no more\n"
      "jobs, until it is started again); SIGUSR2 makes a backup in DIR/backups.");
  line->callback([all, check, &chosen] {
    if (check->count() > 0) {
      chosen = [all] { check_store(all->checked); };
      return;
    }
    chosen = [all] {
      if (all->in_memory) {
        all->options.folder.clear();
      } else if (all->options.folder.empty()) {  // not in memory by mistake, as where a variable is not set
        throw failure("--data '' is no folder: name one, or add --memory");
      }
      all->options.sync_every = sync_period(all->sync);
      all->options.beanstalk = listen_address("--beanstalk", all->beanstalk, all->insecure);
      serve(all->options);
    };
  });
}

}  // namespace foliot::program
