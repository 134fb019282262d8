// The life of a server, from its options to its end. Each part of it knows one thing, in a file of its own; here is the
// order in which they begin and end.
//
//   1. signals wait, the limit of open files is raised, and the stores are opened
//   2. the listener listens, the brokers run, and clients are served
//   3. a signal, or a store that has failed, ends it: the listener closes, the connections end with the commands that
//      they have read, then the brokers, the runtime, and the stores
//
// Each step of the way out is taken, whatever an earlier one throws. Where there is no memory for one, the process
// ends.
#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdint>
#include <deque>
#include <exception>
#include <memory>
#include <new>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <foliot/core/seam/sync.hpp>
#include <foliot/jobs/broker.hpp>
#include <foliot/jobs/job_store.hpp>
#include <foliot/runtime/after.hpp>
#include <foliot/runtime/net/watched_descriptor.hpp>
#include <foliot/runtime/run.hpp>
#include <foliot/runtime/select.hpp>
#include <foliot/runtime/sleep.hpp>
#include <foliot/runtime/spawn.hpp>
#include <foliot/runtime/this_task.hpp>
#include <foliot/version.hpp>

#include "access.hpp"
#include "backups.hpp"
#include "connections.hpp"
#include "core_dumps.hpp"
#include "held_memory.hpp"
#include "listener.hpp"
#include "machine_memory.hpp"
#include "memory_return.hpp"
#include "named_proxies.hpp"
#include "open_files.hpp"
#include "opened_stores.hpp"
#include "process_end.hpp"
#include "rate_limits.hpp"
#include "running_brokers.hpp"
#include "serve_options.hpp"
#include "server/access/server_tubes.hpp"
#include "server/access/watched_tokens.hpp"
#include "server/actions/action_runner.hpp"
#include "server/beanstalk/protocol.hpp"
#include "server/beanstalk/server_state.hpp"
#include "server/http/api.hpp"
#include "server/http/protocol.hpp"
#include "server/policies/policies_in_force.hpp"
#include "server/schedules/schedule_records.hpp"
#include "server/schedules/schedule_runner.hpp"
#include "server/schedules/zone_cache.hpp"
#include "server/schedules/zone_review.hpp"
#include "server/targets/target_record.hpp"
#ifdef FOLIOT_HAS_WEBHOOKS
#include "server/targets/secret_file.hpp"
#include "server/targets/target_runner.hpp"
#endif
#include "server_log.hpp"
#include "service_manager.hpp"
#include "shown_server.hpp"
#include "signals.hpp"
#include "text/failure.hpp"
#include "tls_certificates.hpp"
#include "watchdog.hpp"

namespace foliot::program {

namespace {

using namespace std::chrono_literals;

/// How long the sessions have to finish what they have begun, when the server ends.
constexpr duration end_of_sessions = 5s;
/// Of a folder: each batch ends with a sync. Devices that ask every few seconds do not notice it, and 10,000 of them in
/// a second share 200 syncs.
constexpr duration longest_commit_delay = 5ms;
/// How many connections the listeners of --metrics take at once. They have places of their own: they must tell what is
/// wrong also where all other places are taken.
constexpr std::size_t connections_for_monitoring = 64;
/// How often the server asks for the targets before it serves clients without them.
[[maybe_unused]] constexpr int most_looks_at_targets = 20;
constexpr std::string_view lacks_memory_to_end = "there is not enough memory to end in order; start the server again";

/// The failures of the steps in which a server ends. Both functions are called in catch blocks.
class way_out {
 public:
  /// The server has not gone on because of this.
  void note_failure() noexcept {
    if (first_ == nullptr) first_ = std::current_exception();
  }
  /// A step has failed with this. Ends the process if memory is missing.
  void note_step() noexcept {
    try {
      throw;
    } catch (const std::bad_alloc&) {
      end_process(lacks_memory_to_end);
    } catch (...) {
      note_failure();
    }
  }
  /// This is what the others come from.
  void note_cause(std::exception_ptr cause) noexcept {
    if (cause != nullptr) first_ = std::move(cause);
  }
  /// Throws the first failure, or the cause; nothing if there was none.
  void end() const {
    if (first_ != nullptr) std::rethrow_exception(first_);
  }

 private:
  std::exception_ptr first_;
};

/// How many connections there may be besides those of --max-connections.
std::size_t other_connections(const serve_options& options) {
  return options.metrics.empty() ? 0 : connections_for_monitoring;
}

/// The limits of each of so many brokers.
jobs::broker_limits limits_of(const serve_options& options, std::size_t count) {
  jobs::broker_limits limits;
  // For each target that delivers one waits.
  limits.clients = options.max_connections + connections_for_monitoring + schedule_runner::lanes + most_targets;
  limits.waiting = options.max_connections + schedule_runner::lanes + most_targets;
  limits.tubes = options.max_tubes + 1 + most_targets;  // and that of the schedules
  limits.operations /= count;
  limits.queued_bytes /= count;
  limits.job.max_body = options.max_job_size;
  limits.uncounted = prefix_of_server;
  limits.uncounted_job = jobs::job_limits{largest_body_of_server};
  if (!options.folder.empty()) limits.commit_delay = longest_commit_delay;
  return limits;
}

#ifdef FOLIOT_HAS_WEBHOOKS
/// What is set up of webhooks before there is a server.
struct webhooks_setup {
  webhooks::address_rules rules;
  std::optional<secret_file> secrets;
};

/// Reads the rules and the secrets. Throws failure.
void set_up_webhooks(const serve_options& options, const server_log& log, webhooks_setup& into) {
  webhooks::address_rules_options rules;
  rules.allow = options.webhook_allow;
  rules.nat64 = options.webhook_nat64;
  rules.allows_http = options.webhook_allows_http;
  auto made = webhooks::address_rules::make(rules);
  if (!made) throw failure(fmt::format("--webhook-allow: {}", made.error()));
  into.rules = *std::move(made);
  for (const std::string& each : into.rules.warnings()) log.warning(fmt::format("--webhook-allow: {}", each));
  if (!options.webhook_secrets.empty()) into.secrets.emplace(options.webhook_secrets, log);
}

webhooks::engine_options engine_options_of(const serve_options& options) {
  webhooks::engine_options made;
  made.authorities = options.webhook_authorities;
  made.user_agent = "foliot/" FOLIOT_VERSION;
  return made;
}
#endif

/// What outlives the runtime, and so every task: the end of a run may destroy tasks where they wait, in any order.
class server {
 public:
  /// `certificates`: null if connections are in plain. `tokens`: null if clients need none.
  server(const serve_options& options, tls_certificates* certificates, watched_tokens* tokens,
         const opened_stores& stores, const signals& come, backups& copies,
#ifdef FOLIOT_HAS_WEBHOOKS
         webhooks_setup& hooks,
#endif
         const server_log& log)
      : options_(options),
        certificates_(certificates),
        tokens_(tokens),
        stores_(stores),
        come_(come),
        copies_(copies),
        log_(log),
        brokers_(stores.all(), limits_of(options, stores.all().size())),
        beanstalk_state_(brokers_.all(), options.max_job_size, options.max_tubes, memory_),
        http_api_(brokers_.all(), options.max_job_size, options.hosts, tokens, &log),
        monitoring_api_(brokers_.all(), options.max_job_size, options.hosts, tokens, &log),
        policies_(brokers_.first(), stores.with_policies(),
                  [this](const std::string& sentence) { log_.warning("policies", sentence); }),
        actions_(brokers_.first(), tokens == nullptr ? nullptr : &tokens->who(), options.max_job_size),
        schedules_(brokers_.first(), zones_),
        zone_data_(brokers_.first(), zones_, schedule_records::most_looks)
#ifdef FOLIOT_HAS_WEBHOOKS
        ,
        secrets_(hooks.secrets ? &*hooks.secrets : nullptr),
        deliveries_(brokers_.first(), actions_.records(), hooks.rules, engine_options_of(options), secrets_, log)
#endif
  {
#ifdef FOLIOT_HAS_WEBHOOKS
    http_api_.deliver_by(deliveries_);
    monitoring_api_.deliver_by(deliveries_);
#endif
    beanstalk_state_.certificates = certificates;
    beanstalk_state_.log = &log;
    beanstalk_state_.patience = options.client_timeout;
    beanstalk_state_.rates = &rates_;
    http_api_.believe(named_proxies(options.proxies));
    http_api_.show(certificates);
    http_api_.name_node(options.node);
    http_api_.do_actions_by(actions_);
    http_api_.plan_by(zones_);
    http_api_.act_by(policies_);
    monitoring_api_.believe(named_proxies(options.proxies));
    monitoring_api_.show(certificates);
    monitoring_api_.monitor_only();
    beanstalk_state_.own_jobs = &actions_.records();
  }

  /// Until a signal or a failure ends it. The main task of the runtime.
  task<> live();

 private:
  /// The tubes of a store that only this server uses.
  task<> learn_tubes();
  /// Reads the policies of tubes, before a client could get a job against them. Tries again until the store answers, or
  /// the server ends.
  task<> learn_policies();
  /// From which tubes nobody reserves: they have targets.
  task<> learn_targets();
  task<> serve_clients(listener& gate, std::vector<listener>& http_gates, std::vector<listener>& metrics_gates);
  /// What limits the connections, and what the metrics tell of.
  void open_door();
  /// Lets the connections of all listeners end. They end at once: the time is for all.
  task<> end_connections(way_out& ending);
  /// Lets the turns of actions and schedules end that are under way.
  task<> end_turns();
  /// The connections of all listeners.
  [[nodiscard]] listener::opening how_to_open() const {
    if (certificates_ == nullptr) return listener::in_plain;
    return certificates_->opening();
  }
  /// Listens for clients of HTTP where the options ask for it. Where only the default does and the address is in use,
  /// the server does without them. Throws failure.
  task<std::vector<listener>> listen_for_http();
  /// Listens where --metrics says. Throws failure.
  task<std::vector<listener>> listen_for_monitoring();
  void begin_accepting(const listener& gate, connections& clients, std::string_view protocol);
  /// Nothing if nobody wants to see the server.
  [[nodiscard]] std::unique_ptr<shown_server> show() const;
  /// Obeys signals until one of them, or a failure of the store, ends the server, and tells the service manager that
  /// the server is ready. Goes on where memory is missing, or ends the process.
  task<> obey_to_the_end();
  /// Does what the signals that have come ask for. The end comes first: nothing behind it may keep it.
  void obey();
  /// Reads again what a running server can read again.
  void read_files_again();

  const serve_options& options_;
  tls_certificates* const certificates_;
  watched_tokens* const tokens_;
  const opened_stores& stores_;
  const signals& come_;
  backups& copies_;
  const server_log& log_;
  running_brokers brokers_;
  const service_manager manager_;
  watchdog dog_{manager_, brokers_, stores_};
  memory_return gives_back_;
  held_memory memory_{options_.max_buffered > 0 ? options_.max_buffered : default_max_buffered(usable_memory()),
                      [this](const std::string& sentence) { log_.warning("--max-buffered", sentence); },
                      [this] { gives_back_.begin(); }};
  request_rates rates_{{options_.requests_per_second_per_address, options_.request_burst},
                       {options_.requests_per_second_per_token, options_.request_burst}};
  beanstalk::server_state beanstalk_state_;
  beanstalk::protocol beanstalk_ = tokens_ == nullptr ? beanstalk::protocol(beanstalk_state_)
                                                      : beanstalk::protocol(beanstalk_state_, *tokens_, log_);
  http::api http_api_;
  http::protocol http_{http_api_, memory_, http::api::limits_for(options_.max_job_size)};
  http::api monitoring_api_;
  http::protocol monitoring_{monitoring_api_, memory_, http::api::limits_for(0)};
  std::optional<access> access_;
  access monitoring_access_{connections_for_monitoring};
  std::optional<connections> clients_;
  std::deque<connections> http_clients_;  // of each listener, also of those for monitoring
  std::vector<runtime::join_handle<>> accepting_;
  policies_in_force policies_;
  runtime::join_handle<> keeping_policies_;
  action_runner actions_;
  runtime::join_handle<> doing_actions_;
  zone_cache zones_;
  schedule_runner schedules_;
  runtime::join_handle<> doing_schedules_;
  zone_review zone_data_;
  runtime::join_handle<> reviewing_;
#ifdef FOLIOT_HAS_WEBHOOKS
  secret_file* const secrets_;  // null: there are none
  target_runner deliveries_;
  runtime::join_handle<> delivering_;
#endif
  /// How many rounds the task that obeys signals has begun. Publishes nothing.
  seam::atomic<std::uint64_t> rounds_of_signals_{0};
  bool ends_ = false;  // of the task that obeys signals
};

task<> server::live() {
  listener gate;
  if (options_.beanstalk) {
    auto listening = listener::listen(*options_.beanstalk, how_to_open());
    gate = co_await listening;
  }
  auto listening_for_http = listen_for_http();
  std::vector<listener> http_gates = co_await listening_for_http;
  auto listening_for_monitoring = listen_for_monitoring();
  std::vector<listener> metrics_gates = co_await listening_for_monitoring;
  const std::unique_ptr<shown_server> shown = show();
  if (!options_.database.empty()) {
    auto nothing = [] {};
    co_await runtime::blocking(nothing);  // starts the thread without which no batch is executed
  }
  way_out ending;
  try {
    brokers_.start();
    if (shown != nullptr) shown->begin();
    auto serving = serve_clients(gate, http_gates, metrics_gates);
    co_await serving;
  } catch (...) {
    ending.note_failure();
  }
  try {
    if (shown != nullptr) co_await shown->end();
  } catch (...) {
    ending.note_step();
  }
  try {
    std::exception_ptr of_store = co_await brokers_.end();
    ending.note_cause(std::move(of_store));
  } catch (...) {
    ending.note_step();
  }
  ending.end();
}

std::unique_ptr<shown_server> server::show() const {
  if (options_.statistics.empty()) return nullptr;
  try {
    return std::make_unique<shown_server>(brokers_.first(), stores_.first_watched(), options_.statistics);
  } catch (const std::system_error& error) {
    if (error.code() == std::errc::resource_unavailable_try_again) end_process(refused_thread);
    const char* advice = "";
    if (error.code() == std::errc::address_in_use) advice = ": another program listens there; name another path";
    if (error.code() == std::errc::file_exists) advice = ": the file there is not a socket; name another path";
    throw failure(
        fmt::format("cannot show the statistics at '{}': {}{}", options_.statistics, error.code().message(), advice));
  } catch (const std::invalid_argument&) {
    throw failure(
        fmt::format("cannot show the statistics at '{}': the path of a socket has at most 107 bytes, and no "
                    "zero",
                    options_.statistics));
  }
}

task<> server::learn_tubes() {
  if (beanstalk_state_.brokers.has_other_nodes()) co_return;
  auto listing = brokers_.first().execute(jobs::list_tubes{});
  const jobs::tubes_answer known = co_await listing;
  for (const std::string& each : known.tubes) {
    if (!is_of_server(each)) static_cast<void>(beanstalk_state_.tubes.obtain(each));
  }
}

task<> server::learn_policies() {
  bool is_told = false;
  while (!ends_) {
    try {
      auto reading = policies_.read();
      co_await reading;
      co_return;
    } catch (const jobs::store_unavailable& error) {
      if (!std::exchange(is_told, true)) {
        log_.warning(
            "policies",
            fmt::format("no client is served yet, because the policies of tubes cannot be read: {}", error.what()));
      }
    }
    co_await runtime::sleep(duration(100ms));
    obey();
  }
}

task<> server::learn_targets() {
#ifdef FOLIOT_HAS_WEBHOOKS
  for (int i = 0; i < most_looks_at_targets; ++i) {
    try {
      auto looking = deliveries_.look();
      co_await looking;
      co_return;
    } catch (const jobs::store_unavailable&) {
      // Tried again.
    }
    co_await runtime::sleep(250ms);
  }
  log_.warning("the store does not tell yet which tubes have targets: until it does, clients may reserve from them");
#endif
  co_return;
}

task<std::vector<listener>> server::listen_for_http() {
  std::vector<listener> made;
  try {
    for (const runtime::address& at : options_.http) {
      auto listening = listener::listen(at, how_to_open());
      listener one = co_await listening;
      made.push_back(std::move(one));
    }
  } catch (const failure& why) {
    if (!options_.http_is_default) throw;
    log_.warning("--http", fmt::format("no client of HTTP is served: {}; name another address with --http, or add "
                                       "--http off",
                                       why.what()));
  }
  co_return made;
}

task<std::vector<listener>> server::listen_for_monitoring() {
  std::vector<listener> made;
  for (const runtime::address& at : options_.metrics) {
    auto listening = listener::listen(at, how_to_open());
    listener one = co_await listening;
    made.push_back(std::move(one));
  }
  co_return made;
}

void server::begin_accepting(const listener& gate, connections& clients, std::string_view protocol) {
  accepting_.push_back(runtime::spawn(clients.accept_all(gate, dog_.round()), "accepts connections"));
  dog_.expect([&clients] { return clients.rounds(); });
  log_.info(
      fmt::format("{} clients connect to {}{}", protocol, gate.address(), certificates_ != nullptr ? " by TLS" : ""));
}

void server::open_door() {
  access_limits most;
  most.all = connections_that_fit(options_.max_connections, other_connections(options_), log_);
  most.of_address = options_.max_connections_per_address;
  most.of_token = options_.max_connections_per_token;
  beanstalk_state_.door = &access_.emplace(most);
  http_api_.limit_by(*access_, rates_, &log_);
  monitoring_api_.limit_by(monitoring_access_, rates_, &log_);
  metrics_sources parts;
  parts.stores = &stores_;
  parts.memory = &memory_;
  parts.door = &*access_;
  parts.rates = &rates_;
  parts.slow_clients = &beanstalk_state_.slow_clients;
  parts.certificates = certificates_;
  parts.schedules = &schedules_.figures();
  http_api_.measure(parts, options_.metrics_tubes);
  monitoring_api_.measure(parts, options_.metrics_tubes);
}

task<> server::serve_clients(listener& gate, std::vector<listener>& http_gates, std::vector<listener>& metrics_gates) {
  co_await learn_tubes();
  co_await learn_policies();
  if (ends_) {  // before a client was served: the policies are not known
    static_cast<void>(manager_.tell("STOPPING=1"));
    co_return;
  }
  co_await learn_targets();
  open_door();
  connections& clients = clients_.emplace(beanstalk_, *access_, log_);
  way_out ending;
  try {
    if (options_.beanstalk) begin_accepting(gate, clients, "beanstalk");
    for (const listener& each : http_gates)
      begin_accepting(each, http_clients_.emplace_back(http_, *access_, log_), "HTTP");
    for (const listener& each : metrics_gates)
      begin_accepting(each, http_clients_.emplace_back(monitoring_, monitoring_access_, log_), "metrics");
    if (options_.http_is_default && options_.http.empty()) log_.info("HTTP is off: --http names an address for it");
    if (certificates_ != nullptr) {
      static_cast<void>(runtime::spawn(certificates_->watch(), "watches the certificates"));
    }
    if (tokens_ != nullptr) static_cast<void>(runtime::spawn(tokens_->watch(), "watches the access tokens"));
    keeping_policies_ = runtime::spawn(policies_.keep_on(), "policies");
    doing_actions_ = runtime::spawn(actions_.keep_on(), "actions");
    doing_schedules_ = runtime::spawn(schedules_.keep_on(), "schedules");
    reviewing_ = runtime::spawn(zone_data_.keep_on(), "looks at the time zones");
#ifdef FOLIOT_HAS_WEBHOOKS
    if (secrets_ != nullptr) static_cast<void>(runtime::spawn(secrets_->watch(), "watches the webhook secrets"));
    delivering_ = runtime::spawn(deliveries_.keep_on(), "webhooks");
#endif
    dog_.expect([this] { return rounds_of_signals_.load(seam::relaxed); });
    if (dog_.exists()) static_cast<void>(runtime::spawn(dog_.feed(), "feeds the watchdog"));
    co_await obey_to_the_end();
  } catch (...) {
    ending.note_failure();
  }
  static_cast<void>(manager_.tell("STOPPING=1"));
  gate.close();
  for (listener& each : http_gates) each.close();
  for (listener& each : metrics_gates) each.close();
  for (runtime::join_handle<>& each : accepting_) {
    try {
      co_await each.join();
    } catch (...) {
      ending.note_failure();
    }
  }
  try {
    co_await end_connections(ending);
  } catch (...) {  // without memory for the task: connections that went on would keep the brokers from their end
    ending.note_step();
  }
  try {
    co_await end_turns();
  } catch (...) {
    ending.note_step();
  }
  ending.end();
}

task<> server::end_turns() {
  policies_.end();
  actions_.end();
  schedules_.end();
  zone_data_.end();
  if (keeping_policies_) co_await keeping_policies_.join();
#ifdef FOLIOT_HAS_WEBHOOKS
  deliveries_.end();
  if (delivering_) co_await delivering_.join();
#endif
  if (doing_actions_) co_await doing_actions_.join();
  if (doing_schedules_) co_await doing_schedules_.join();
  if (reviewing_) co_await reviewing_.join();
}

task<> server::end_connections(way_out& ending) {
  std::vector<runtime::join_handle<>> ends_of_http;
  try {
    for (connections& each : http_clients_) {
      ends_of_http.push_back(runtime::spawn(each.end(end_of_sessions), "ends connections"));
    }
  } catch (...) {
    ending.note_step();
  }
  try {
    co_await clients_->end(end_of_sessions);
  } catch (...) {
    ending.note_step();
  }
  for (runtime::join_handle<>& each : ends_of_http) {
    try {
      co_await each.join();
    } catch (...) {
      ending.note_step();
    }
  }
}

task<> server::obey_to_the_end() {
  auto watched = runtime::watched_descriptor::watch(come_.descriptor());
  if (!watched) throw failure(fmt::format("cannot wait for signals: {}", watched.error().message()));
  readiness_notice ready(manager_);
  shortage lacking;
  while (!ends_) {
    rounds_of_signals_.fetch_add(1, seam::relaxed);
    try {
      ready.try_to_tell();
      const bool tells_again = ready.next() != instant::never();
      const duration until_next = ready.next() - runtime::now();
      const duration round = dog_.round();
      auto what = co_await runtime::select(watched->readable(), brokers_.one_ended(),
                                           runtime::when(dog_.exists(), runtime::after(round)),
                                           runtime::when(tells_again, runtime::after(until_next)));
      if (what.index() == 1) co_return;
      obey();
      lacking.end();
    } catch (const std::bad_alloc&) {
      lacking.note();
    }
  }
}

void server::read_files_again() {
  bool has_none = certificates_ == nullptr && tokens_ == nullptr;
#ifdef FOLIOT_HAS_WEBHOOKS
  if (secrets_ != nullptr) {
    has_none = false;
    log_.info("SIGHUP: read the webhook secrets again");
    secrets_->read_again();
  }
#endif
  if (has_none) {
    return log_.info("SIGHUP: there is no file of settings to read again");
  }
  if (certificates_ != nullptr) {
    log_.info("SIGHUP: read the files of TLS again");
    certificates_->ask();
  }
  if (tokens_ != nullptr) {
    log_.info("SIGHUP: read the access tokens again");
    tokens_->read_again();
  }
}

void server::obey() {
  while (const int signal = come_.next()) {
    switch (signal) {
      case SIGUSR1:
        beanstalk_state_.draining = true;
        http_api_.drain();
        monitoring_api_.drain();
        schedules_.end();  // the jobs of occurrences are new ones, too
        log_.info("drain: new jobs are refused until the server is started again (SIGUSR1)");
        break;
      case SIGUSR2: copies_.begin(); break;
      case SIGHUP: read_files_again(); break;
      default:
        ends_ = true;
        log_.info(signal == SIGINT ? "end, because of SIGINT" : "end, because of SIGTERM");
        return;
    }
  }
}

/// Tasks whose exceptions nobody joins.
void log_failure(const server_log& log, std::string_view task, const std::exception_ptr& what) {
  try {
    std::rethrow_exception(what);
  } catch (const std::exception& error) {
    log.failure(task, fmt::format("{}: {}", task, error.what()));
  } catch (...) {
    log.failure(task, fmt::format("{}: unknown", task));
  }
}

/// What the user is told of a store that has failed.
failure failure_of_store(const jobs::store_failure& error, bool is_database) {
  if (is_database) return failure(error.what());
  const bool may_work_again = error.remedy() == jobs::store_failure::remedies::open_again;
  return failure(fmt::format("{}; nothing was acknowledged since{}", error.what(),
                             may_work_again ? ": start the server again" : ""));
}

/// Closes the stores of a server that has ended in order.
void close(opened_stores& stores, const serve_options& options, const server_log& log) {
  try {
    stores.close();
  } catch (const std::bad_alloc&) {
    end_process(lacks_memory_to_end);
  } catch (const std::exception& error) {
    if (options.database.empty()) {
      throw failure(fmt::format("{}; a crash of the machine may lose what was acknowledged in the last {}",
                                error.what(), to_string(*options.sync_every)));
    }
    log.warning(fmt::format("{}; what it has reserved is ready again within {}", error.what(),
                            to_string(options.node_timeout)));
  }
}

}  // namespace

void serve(const serve_options& asked) {
  forbid_core_dumps();  // before there is anything to hide
  const unread_sentence at_the_end;
  end_process_on_terminate();
  const server_log log(asked.quiet);
  const signals come;  // before there are threads, which inherit the mask
  serve_options options = asked;
  options.max_connections = allow_open_files(asked.max_connections, other_connections(asked), log);
  log.info("foliot " FOLIOT_VERSION);
  std::optional<tls_certificates> certificates;  // before the stores: a wrong one is told at once
  if (!options.tls.is_none()) certificates.emplace(options.tls, log);
  const bool is_database = !options.database.empty();
  if (is_database && options.beanstalk) runtime::run(expect_free(*options.beanstalk));
  if (is_database && !options.http_is_default) {
    for (const runtime::address& each : options.http) runtime::run(expect_free(each));
  }
  if (is_database) {
    for (const runtime::address& each : options.metrics) runtime::run(expect_free(each));
  }
  std::optional<watched_tokens> tokens;
  if (!options.tokens.empty()) tokens.emplace(options.tokens, log);  // before a store is opened for nothing
  if (tokens && tokens->who().has_certificates() && options.tls.client_authorities.empty()) {
    log.warning(
        "entries of certificates give nobody access: clients are asked for certificates by --tls-client-ca only");
  }
#ifdef FOLIOT_HAS_WEBHOOKS
  webhooks_setup hooks;
  set_up_webhooks(options, log, hooks);
#endif
  opened_stores stores(options, log);
  backups copies(stores.first(), options, log);
  runtime::run_options how;
  how.measure = !options.statistics.empty();
  how.on_failure = [&log](std::string_view task, const std::exception_ptr& what) { log_failure(log, task, what); };
#ifdef FOLIOT_HAS_WEBHOOKS
  server all(options, certificates ? &*certificates : nullptr, tokens ? &*tokens : nullptr, stores, come, copies, hooks,
             log);
#else
  server all(options, certificates ? &*certificates : nullptr, tokens ? &*tokens : nullptr, stores, come, copies, log);
#endif
  try {
    runtime::run(all.live(), how);
  } catch (const jobs::store_failure& error) {
    throw failure_of_store(error, is_database);
  }
  close(stores, options, log);
}

}  // namespace foliot::program
