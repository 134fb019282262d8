#include "commands.hpp"

#include <memory>
#include <string>

#include "copy.hpp"
#include "server_place.hpp"
#include "text/failure.hpp"

namespace foliot::program {

namespace {

struct copy_arguments {
  std::string from;
  std::string to;
  std::string authorities;
  bool waits = false;
};

}  // namespace

void add_copy(CLI::App& program, command& chosen) {
  const auto all = std::make_shared<copy_arguments>();
  CLI::App* line = program.add_subcommand("copy", "Move all jobs from one beanstalk server to another one");
  line->add_option("FROM", all->from, "The server that has the jobs: beanstalkd or foliot serve")
      ->type_name("")
      ->required();
  line->add_option("TO", all->to, "The server that is to have them")->type_name("")->required();
  line->add_flag("--wait", all->waits, "Wait for the jobs that workers of FROM have reserved");
  line->add_option("--tls-ca", all->authorities,
                   "The authorities, in PEM, that servers after tls: may have their\n"
                   "certificates from; default: the system's")
      ->type_name("FILE")
      ->check([](const std::string& given) {
        return given.empty() ? std::string("the path of a file is empty") : std::string();
      });
  line->footer(
      "Both are addresses: 127.0.0.1:11300, localhost:11300, [::1]:11300, a port alone,\n"
      "or unix:PATH; for TLS with tls: in front, such as tls:localhost:11300.\n"
      "\n"
      "  foliot copy 11300 11400\n"
      "\n"
      "It moves ready, delayed and buried jobs with their tubes, priorities, TTRs and\n"
      "what is left of their delays. Producers and workers may go on. It may be ended\n"
      "at any time and started again: no job is lost, and none is early.\n"
      "\n"
      "Exit codes: 0 if FROM has no job any more, 1 if some are left, 2 for anything\n"
      "else, such as a server that goes away.");
  line->callback([all, &chosen] {
    chosen = [all] {
      copy_options options;
      options.from = copying::find_place("FROM", all->from, all->authorities);
      options.to = copying::find_place("TO", all->to, all->authorities);
      if (!all->authorities.empty() && options.from.way.empty() && options.to.way.empty()) {
        throw failure(
            "--tls-ca is for servers that speak TLS: write tls: in front of their addresses, or leave it out");
      }
      options.waits = all->waits;
      copy(options);
    };
  });
}

}  // namespace foliot::program
