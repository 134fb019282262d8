// `foliot copy`: moves all jobs of a running beanstalk server to another one.
//
// Each job is put at the target and then deleted at the source. So nothing is lost, whatever ends in between: a job
// whose deletion was not acknowledged is at both servers, and the next run finds it at the source. What a run does with
// jobs that it may have put before: see target.hpp.
//
// Nothing is early. A delayed job is only looked at until it has been put, with what is left of its delay rounded up to
// a whole second, which is all that beanstalkd tells; between two foliots it keeps its due time. A look at the job goes
// right in front of its deletion, and shows if a client of the source has changed it meanwhile; then it is put again as
// it was at its end. If a worker of the source has got the job, the copy at the target is taken back.
//
// Ready jobs are moved in the order in which workers get them. Delayed and buried jobs are found near the ids of others
// and moved in groups. Jobs that workers of the source have reserved cannot be moved; they stay until they are given
// back, and a later run takes them.
//
// The source is not trusted: lists have bounds, bodies that are too many are dropped as they come, and answers that
// cannot both be true end the run with a failure that names them.
//
// Memory: the bodies of one group, at most 64 MiB unless one body is larger, a few times while they are passed on.
#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include <fmt/format.h>
#include <foliot/client/endpoint.hpp>
#include <foliot/core/clock.hpp>
#include <foliot/runtime/run.hpp>
#include <foliot/runtime/sleep.hpp>
#include <unistd.h>
#if defined(FOLIOT_HAS_TLS)
#include <foliot/client/tls_endpoint.hpp>
#include <foliot/tls/tls_context.hpp>
#endif

#include "commands.hpp"
#include "copy/copier.hpp"
#include "grouped.hpp"
#include "output_file.hpp"
#include "progress.hpp"
#include "report.hpp"
#include "text/address_text.hpp"
#include "text/failure.hpp"

namespace foliot::program {

namespace {

struct copy_options {
  client::endpoint from;
  client::endpoint to;
  /// Whether to go on until the workers of the source have no reserved jobs any more.
  bool waits = false;
};

using namespace std::chrono_literals;

constexpr duration between_looks = 100ms;
/// Of the jobs that stay, so many are named.
constexpr std::size_t most_named = 20;

std::string jobs_text(std::uint64_t count) { return fmt::format("{} {}", grouped(count), count == 1 ? "job" : "jobs"); }

progress::writer report_unless_terminal() {
  if (::isatty(STDERR_FILENO) != 0) return [](std::string_view) {};
  return [](std::string_view line) { report(line); };
}

class copy_run {
 public:
  explicit copy_run(const copy_options& options)
      : options_(options),
        copier_(
            options.from, options.to, [this] { show_progress(); },
            [this](const std::string& sentence) { name_refused(sentence); }),
        progress_(monotonic_clock::instance(), 0, standard_error_if_terminal(), "jobs"),
        logged_(monotonic_clock::instance(), report_unless_terminal(), "moved", "jobs") {}

  task<> run() {
    auto connecting = copier_.connect();
    co_await connecting;
    has_begun_ = true;
    jobs::job_counts left;
    bool is_last = false;  // no job was reserved when the pass began
    for (;;) {
      auto moving = copier_.move_all();
      co_await moving;
      auto counting = copier_.left();
      left = co_await counting;
      if (!options_.waits || left.all() == 0) break;
      if (left.reserved > 0) {
        is_last = false;
        show_progress();
        co_await runtime::sleep(between_looks);
      } else if (std::exchange(is_last, true)) {
        break;
      }
    }
    end(left);
  }

  /// Whether both servers have answered.
  [[nodiscard]] bool has_begun() const noexcept { return has_begun_; }

  void print_moved() {
    progress_.wipe();
    const copying::copy_counts& all = copier_.counts();
    std::string text = fmt::format("moved {} from {} to {}: {} ready, {} delayed, {} buried\n", jobs_text(all.moved()),
                                   options_.from.name, options_.to.name, grouped(all.ready), grouped(all.delayed),
                                   grouped(all.buried));
    if (all.taken_back > 0)
      text += fmt::format("took {} back from the target: workers of the source had them meanwhile\n",
                          jobs_text(all.taken_back));
    if (all.twice > 0)
      text += fmt::format("{} had gone from the target before they could be taken back, and may be done twice\n",
                          jobs_text(all.twice));
    if (copier_.refused() > most_named)
      text += fmt::format("{} more stay at the source\n", jobs_text(copier_.refused() - most_named));
    print(text);
  }

 private:
  void end(const jobs::job_counts& left) {
    print_moved();
    if (left.all() == 0) return;
    throw failure(
        fmt::format("{} at {}: {} reserved by workers, {} ready, {} delayed, {} buried; run the command again "
                    "to move what can be moved by then{}",
                    left.all() == 1 ? "1 job is still" : fmt::format("{} are still", jobs_text(left.all())),
                    options_.from.name, grouped(left.reserved), grouped(left.ready), grouped(left.delayed),
                    grouped(left.buried), left.reserved > 0 ? ", or add --wait" : ""),
        exit_code::bad_input);
  }

  void show_progress() {
    progress_.update(0, copier_.counts().moved());
    logged_.update(copier_.counts().moved());
  }

  void name_refused(const std::string& sentence) {
    progress_.wipe();
    if (copier_.refused() <= most_named) report(sentence);
  }

  const copy_options& options_;
  copying::copier copier_;
  progress progress_;
  logged_progress logged_;
  bool has_begun_ = false;
};

/// Moves the jobs, and prints how many it has moved. Throws failure: with exit_code::bad_input where jobs are left.
void copy(const copy_options& options) {
  if (options.from.name == options.to.name)
    throw failure(fmt::format("FROM and TO are both {}: name two servers", options.from.name));
  copy_run all(options);
  runtime::run_options how;
  how.processors = 1;
  try {
    runtime::run(all.run(), how);
  } catch (const failure& error) {
    if (error.code() == exit_code::bad_input || !all.has_begun()) throw;
    all.print_moved();
    throw failure(fmt::format("{}; no job is lost: run the command again to go on", error.what()));
  }
}

constexpr std::string_view by_tls = "tls:";

#if defined(FOLIOT_HAS_TLS)

/// The name or the IP address in an address that find_server() takes.
std::string host_in(const std::string& text) {
  if (const auto named = parse_named_address(text)) return named->first;
  const std::optional<runtime::address> at = parse_address(text);
  if (!at || at->is_local()) return "localhost";
  std::string host = at->to_string();
  host.resize(host.rfind(':'));
  if (host.starts_with('[')) host = host.substr(1, host.size() - 2);
  return host;
}

tls::tls_context trusting(std::string_view argument, const std::string& authorities) {
  tls::tls_options options;
  if (!authorities.empty()) options.roots.push_back(tls::pem::file(authorities));
  auto made = tls::tls_context::client(options);
  if (made) return *std::move(made);
  if (authorities.empty()) throw failure(fmt::format("{}: TLS is not possible: {}", argument, made.error().message()));
  throw failure(
      fmt::format("--tls-ca: the certificates in '{}' cannot be used: {}", authorities, made.error().message()));
}

#endif

/// Where a server is, and whether it is spoken to in plain or by TLS, as a user writes it: an address
/// (address_text.hpp), with `tls:` in front for TLS, such as tls:jobs.example.com:11300. What follows `tls:` is also
/// what the server's certificate must be for; at a path that is localhost. `authorities`: the file with those that a
/// server's certificate may be signed by; empty: the system's. Throws failure, which begins with `argument`, if the
/// text is none, if there is no such host, or if the authorities cannot be read. Not inside of a runtime, because it
/// may look up a name.
client::endpoint find_place(std::string_view argument, std::string_view text, const std::string& authorities) {
  if (!text.starts_with(by_tls)) return client::endpoint_at(find_server(argument, std::string(text)));
#if defined(FOLIOT_HAS_TLS)
  const std::string address(text.substr(by_tls.size()));
  const tls::tls_context context = trusting(argument, authorities);
  return client::tls_endpoint_at(find_server(argument, address), host_in(address), context);
#else
  static_cast<void>(authorities);
  throw failure(
      fmt::format("{}: this program was built without TLS: leave out 'tls:', or build it with OpenSSL 3", argument));
#endif
}

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
      options.from = find_place("FROM", all->from, all->authorities);
      options.to = find_place("TO", all->to, all->authorities);
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
