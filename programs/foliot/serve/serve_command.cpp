#include "commands.hpp"

#include <memory>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "number_option.hpp"
#include "server/core/rate_limits.hpp"
#include "server/core/serve_options.hpp"
#include "text/failure.hpp"

namespace foliot::program {

namespace {

struct serve_arguments {
  serve_options options;
  bool in_memory = false;
  bool insecure = false;
  std::vector<std::string> sync{"always"};
  std::string beanstalk = "127.0.0.1:11300";
  std::vector<std::string> http;  // empty: the default
  std::vector<std::string> proxies;
  std::vector<std::string> metrics;
  std::vector<std::string> metrics_tubes;
  std::string checked;
  bool migrates = false;
  std::string node_timeout = "10s";
  std::string client_timeout = "10m";
};

void add_store(CLI::App& line, serve_arguments& all) {
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

void add_database(CLI::App& line, serve_arguments& all) {
  constexpr const char* group = "Jobs in a database, which several nodes share";
  CLI::Option* store = line.add_option("--store", all.options.database,
                                       "The PostgreSQL database of the jobs: postgresql://HOST/NAME,\n"
                                       "or 'host=HOST dbname=NAME'")
                           ->type_name("DATABASE")
                           ->group(group);
  for (const char* const other : {"--data", "--memory", "--salvage", "--sync", "--max-jobs", "--max-memory"}) {
    store->excludes(line.get_option(other));
  }
  line.add_option("--node", all.options.node,
                  "The name of this node, which no other one has; default: the\n"
                  "machine's name and the address of --beanstalk")
      ->type_name("NAME")
      ->check([](const std::string& name) { return name.empty() ? std::string("a node needs a name") : std::string(); })
      ->needs(store)
      ->group(group);
  line.add_option("--sessions", all.options.sessions,
                  "How many batches the database executes for this node at once;\n"
                  "each session has two connections to it")
      ->type_name("N")
      ->capture_default_str()
      ->transform(whole_number(1, most_sessions))
      ->needs(store)
      ->group(group);
  line.add_option("--node-timeout", all.node_timeout,
                  "Jobs that a node has reserved are ready again after the node\n"
                  "has been silent for this time")
      ->type_name("DURATION")
      ->capture_default_str()
      ->needs(store)
      ->group(group);
  line.add_flag("--migrate", all.migrates, "Make the tables in the database, or bring them up to date,\nand end")
      ->needs(store)
      ->group(group);
}

locks locks_of(const serve_arguments& all) {
  locks has;
  has.tls = !all.options.tls.is_none();
  has.tokens = !all.options.tokens.empty();
  has.insecure = all.insecure;
  return has;
}

/// What --check asks for.
void check(const serve_arguments& all, bool has_database) {
  if (has_database && !all.checked.empty()) {
    throw failure("--check DIR checks a folder, and --store is a database: leave out one of them");
  }
  if (!has_database && all.checked.empty()) {
    throw failure("--check: name the folder of a store, or a database with --store");
  }
  if (has_database) {
    check_database(all.options.database);
  } else {
    check_store(all.checked);
  }
}

void choose_listeners(serve_arguments& all) {
  all.options.beanstalk = listen_address("--beanstalk", all.beanstalk, locks_of(all));
  all.options.http_is_default = all.http.empty();
  if (!all.options.http_is_default) {
    all.options.http = http_addresses(all.http, locks_of(all));
  } else if (const auto at = default_http_address(all.options.beanstalk)) {
    all.options.http.push_back(*at);
  }
  all.options.metrics = metrics_addresses(all.metrics, locks_of(all));
  all.options.metrics_tubes.patterns = tube_patterns(all.metrics_tubes);
  for (std::string& each : all.options.hosts) each = host_name(each);
  for (const std::string& each : all.proxies) all.options.proxies.push_back(proxy_network(each));
}

/// A burst is a part of a rate limit. Throws failure if there is none.
void expect_rate_of_burst(const serve_options& options) {
  const bool has_rate = options.requests_per_second_per_address > 0 || options.requests_per_second_per_token > 0;
  if (options.request_burst == 0 || has_rate) return;
  throw failure(
      "--request-burst limits nothing without a rate: add --requests-per-second-per-address or "
      "--requests-per-second-per-token");
}

/// Completes the options of a server over a database.
void choose_database(serve_arguments& all) {
  all.options.folder.clear();
  if (all.options.max_job_size > most_job_size_in_database) {
    throw failure(
        fmt::format("--max-job-size with --store is at most {}, so that no job holds up those of others; got {}",
                    most_job_size_in_database, all.options.max_job_size));
  }
  choose_listeners(all);
  all.options.node = node_name(all.options.node, all.options.beanstalk);
  all.options.node_timeout = node_timeout(all.node_timeout);
}

void add_listeners(CLI::App& line, serve_arguments& all) {
  line.add_option("--beanstalk", all.beanstalk,
                  "Where clients of beanstalkd connect: an address, a port alone,\n"
                  "NAME:PORT, unix:PATH, or off with --store")
      ->type_name("ADDRESS")
      ->capture_default_str()
      ->group("Who may connect");
  line.add_option("--http", all.http,
                  "Where clients of HTTP connect: as --beanstalk, or off; default:\n"
                  "127.0.0.1:11380 where --beanstalk is a port of loopback, else\n"
                  "off. May come several times")
      ->type_name("ADDRESS")
      ->expected(1)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll)
      ->check([](const std::string& text) {
        return text.empty() ? std::string("'' is no address: name one, or off") : std::string();
      })
      ->group("Who may connect");
  line.add_option("--host", all.options.hosts,
                  "A name by which clients of HTTP reach the server, besides\n"
                  "localhost, as where a proxy passes it on; they need access\n"
                  "tokens then. May come several times")
      ->type_name("NAME")
      ->expected(1)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll)
      ->group("Who may connect");
  line.add_option("--proxy", all.proxies,
                  "A proxy of HTTP from which the server takes the addresses of\n"
                  "its clients: an address, a network such as 10.1.0.0/16, or unix.\n"
                  "May come several times")
      ->type_name("ADDRESS")
      ->expected(1)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll)
      ->group("Who may connect");
  const auto file = [&line](const char* name, std::string& path, const char* text) {
    return line.add_option(name, path, text)
        ->type_name("FILE")
        ->check([](const std::string& given) {  // as where a variable is not set: it must not switch off TLS
          return given.empty() ? std::string("the path of a file is empty") : std::string();
        })
        ->group("Who may connect");
  };
  CLI::Option* certificate = file("--tls-certificate", all.options.tls.certificate,
                                  "Speak TLS, with this certificate and those between it and a\n"
                                  "root, in PEM; it is read again when it changes, and on SIGHUP");
  file("--tls-key", all.options.tls.key, "The certificate's key; default: it is in the same file")->needs(certificate);
  file("--tls-client-ca", all.options.tls.client_authorities,
       "Ask clients for certificates, which these authorities must\nhave signed; a client may have none")
      ->needs(certificate);
  line.add_option("--tokens", all.options.tokens,
                  "The file of access tokens, of which each client must show one,\n"
                  "or a certificate with an entry there: see foliot token --help")
      ->type_name("FILE")
      ->group("Who may connect");
  line.add_flag("--insecure", all.insecure,
                "Allow addresses that other machines can reach, although TLS\n"
                "or access tokens are missing")
      ->group("Who may connect");
  line.get_option("--host")->needs("--tokens");
  line.get_option("--proxy")->needs("--tokens");
}

#ifdef FOLIOT_HAS_WEBHOOKS
void add_webhooks(CLI::App& line, serve_arguments& all) {
  constexpr const char* group = "Webhooks";
  const auto several = [&line](const char* name, std::vector<std::string>& into, const char* text, const char* type) {
    line.add_option(name, into, text)
        ->type_name(type)
        ->expected(1)
        ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll)
        ->group(group);
  };
  several("--webhook-allow", all.options.webhook_allow,
          "Allow targets at this host, such as hooks.example.com or\n"
          "'*.example.com', at a network, such as 10.9.0.0/24, or at a host\n"
          "within a network, such as billing.internal=10.1.0.0/16; with a\n"
          ":PORT or without. May come several times; default: no target",
          "RULE");
  line.add_option("--webhook-secrets", all.options.webhook_secrets,
                  "The file of the secrets by which deliveries are signed; it is\n"
                  "read again when it changes, and on SIGHUP")
      ->type_name("FILE")
      ->check([](const std::string& given) {
        return given.empty() ? std::string("the path of a file is empty") : std::string();
      })
      ->group(group);
  line.add_flag("--webhook-allow-http", all.options.webhook_allows_http,
                "Allow targets without TLS: others on the way can read the jobs")
      ->group(group);
  line.add_option("--webhook-ca", all.options.webhook_authorities,
                  "The authorities by which targets are verified, in PEM; default:\n"
                  "the system's")
      ->type_name("FILE")
      ->group(group);
  several("--webhook-nat64", all.options.webhook_nat64,
          "A prefix of NAT64, such as 64:ff9b::/96: the IPv4 address within\n"
          "is vetted. May come several times",
          "NETWORK");
}
#endif

void add_limits(CLI::App& line, serve_arguments& all) {
  serve_options& options = all.options;
  const auto limit = [&line](const char* name, auto& value, const char* text, auto least, auto most) {
    return line.add_option(name, value, text)
        ->type_name("N")
        ->capture_default_str()
        ->transform(whole_number(least, most))
        ->group("Limits");
  };
  limit("--max-job-size", options.max_job_size, "Bytes of a job's body; at most 1 GiB", std::size_t{0}, most_job_size);
  limit("--max-connections", options.max_connections, "Connections at once", std::size_t{1}, std::size_t{1'000'000});
  limit("--max-connections-per-address", options.max_connections_per_address,
        "The same from one address (of IPv6, from a network of 64\nbits); 0: no limit", std::size_t{0},
        std::size_t{1'000'000});
  limit("--max-connections-per-token", options.max_connections_per_token,
        "The same by one access token or certificate; a request over\nHTTP counts while it runs; 0: no limit",
        std::size_t{0}, std::size_t{1'000'000});
  limit("--requests-per-second-per-address", options.requests_per_second_per_address,
        "Requests over HTTP, and commands of clients of beanstalkd, from\none address; 0: no limit", std::uint64_t{0},
        request_rate::most);
  limit("--requests-per-second-per-token", options.requests_per_second_per_token,
        "The same by one access token or certificate; 0: no limit", std::uint64_t{0}, request_rate::most);
  limit("--request-burst", options.request_burst,
        "How many of them may come at once after a silence; 0: as many\nas in a second", std::uint64_t{0},
        request_rate::most);
  line.add_option("--client-timeout", all.client_timeout,
                  "Close connections of clients of beanstalkd that have sent half a\n"
                  "command, or do not read their answers, and do not go on for so\n"
                  "long; or off. Those that wait for jobs may wait for ever")
      ->type_name("DURATION")
      ->capture_default_str()
      ->group("Limits");
  limit("--max-tubes", options.max_tubes, "Tubes at once that a connection uses or watches", std::size_t{1},
        std::size_t{100'000'000});
  limit("--max-jobs", options.max_jobs, "Jobs at once; 0: as many as there is room for", std::uint64_t{0},
        ~std::uint64_t{0});
  line.add_option("--max-memory", options.max_memory, "Memory for jobs with --memory, such as 2GB; 0: no limit")
      ->type_name("SIZE")
      ->default_str("0")
      ->transform(size_in_bytes())
      ->group("Limits");
  line.add_option("--max-buffered", options.max_buffered,
                  "Memory for what waits to be sent to clients or to be executed,\n"
                  "such as 64MB; default: an eighth of the memory there is, 16 MiB\n"
                  "to 4 GiB")
      ->type_name("SIZE")
      ->transform(size_in_bytes())
      ->group("Limits");
}

void add_monitoring(CLI::App& line, serve_arguments& all) {
  constexpr const char* group = "Monitoring";
  line.add_option("--metrics", all.metrics,
                  "Where /health, /ready and /metrics are asked for, and nothing\n"
                  "else: an address as of --http, where they are besides. May come\n"
                  "several times")
      ->type_name("ADDRESS")
      ->expected(1)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll)
      ->check([](const std::string& text) {
        return text.empty() ? std::string("'' is no address: name one, or leave it out") : std::string();
      })
      ->group(group);
  line.add_option("--metrics-tubes", all.metrics_tubes,
                  "Tubes that have metrics of their own, such as 'mail.*'; default:\n"
                  "all of them. May come several times")
      ->type_name("PATTERN")
      ->expected(1)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll)
      ->group(group);
  line.add_option("--max-metrics-tubes", all.options.metrics_tubes.shown,
                  "How many of these, those with the most jobs; at most 200. The\n"
                  "others are one series together")
      ->type_name("N")
      ->capture_default_str()
      ->transform(whole_number(std::size_t{0}, tube_choice::most_shown))
      ->group(group);
}

constexpr const char* footer =
    "A job is put with a delay and handed to one worker when it is due. What the\n"
    "server has acknowledged survives a crash.\n"
    "\n"
    "  foliot serve                              jobs in ./foliot-data\n"
    "  curl -d hi 'localhost:11380/v1/jobs?tube=mail&delay=5s'\n"
    "  curl -X POST 'localhost:11380/v1/reserve?tube=mail'\n"
    "  printf 'put 0 5 60 2\\r\\nhi\\r\\nreserve\\r\\nquit\\r\\n' | nc 127.0.0.1 11300\n"
    "\n"
    "Signals: SIGTERM and SIGINT end it in order; SIGUSR1 drains it (it takes no more\n"
    "jobs, until it is started again); SIGUSR2 makes a backup in DIR/backups; SIGHUP\n"
    "has it read the access tokens and the files of TLS again, which it does as well\n"
    "when they change.";

}  // namespace

void add_serve(CLI::App& program, command& chosen) {
  const auto all = std::make_shared<serve_arguments>();
  CLI::App* line = program.add_subcommand("serve", "Keep jobs until they are due, for clients of beanstalkd and HTTP");
  add_store(*line, *all);
  add_listeners(*line, *all);
#ifdef FOLIOT_HAS_WEBHOOKS
  add_webhooks(*line, *all);
#endif
  add_limits(*line, *all);
  add_monitoring(*line, *all);
  add_database(*line, *all);
  const CLI::Option* const database = line->get_option("--store");
  CLI::Option* checking = line->add_option("--check", all->checked,
                                           "Check the store in DIR, or that of --store, say what is\nwrong, and end")
                              ->type_name("DIR")
                              ->expected(0, 1)
                              ->group("Other");
  for (const char* const other : {"--data", "--memory", "--salvage", "--migrate"}) {
    checking->excludes(line->get_option(other));
  }
  const CLI::Option* const statistics =
      line->add_option("--statistics", all->options.statistics,
                       "Show the server's jobs, tasks, timers and workers at this\npath, for `foliot top`")
          ->type_name("PATH")
          ->group("Other");
  line->add_flag("--quiet", all->options.quiet, "Log only warnings, failures and changes by operators")->group("Other");
  line->footer(footer);
  const CLI::Option* const tokens = line->get_option("--tokens");
  line->callback([all, checking, database, statistics, tokens, &chosen] {
    const bool has_database = database->count() > 0;
    const bool checks = checking->count() > 0;
    const bool shows_nowhere = statistics->count() > 0 && all->options.statistics.empty();
    chosen = [all, has_database, checks, shows_nowhere, tokens] {
      if (shows_nowhere) throw failure("--statistics '' is no path of a socket: name one, or leave it out");
      if (has_database && all->options.database.empty()) {  // libpq would choose one
        throw failure("--store '' is no database: write postgresql://HOST/NAME");
      }
      if (tokens->count() > 0 && all->options.tokens.empty()) {  // nobody must have access by mistake
        throw failure("--tokens '' is no file: name one, or leave it out");
      }
      all->options.client_timeout = client_timeout(all->client_timeout);
      expect_rate_of_burst(all->options);
      if (checks) return check(*all, has_database);
      if (all->migrates) return migrate_database(all->options.database);
      if (has_database) {
        choose_database(*all);
        return serve(all->options);
      }
      if (all->in_memory) {
        all->options.folder.clear();
      } else if (all->options.folder.empty()) {  // not in memory by mistake, as where a variable is not set
        throw failure("--data '' is no folder: name one, or add --memory");
      }
      all->options.sync_every = sync_period(all->sync);
      choose_listeners(*all);
      if (!all->options.beanstalk && all->options.http.empty()) {
        throw failure(
            "--beanstalk off leaves no way to reach the jobs: name an address there or with --http, or keep the jobs "
            "in a database with --store, where SQL is a way");
      }
      serve(all->options);
    };
  });
}

}  // namespace foliot::program
