#include "server_metrics.hpp"

#include <fcntl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <memory>
#include <string_view>

#include <foliot/jobs/job_store.hpp>
#include <foliot/jobs/policy_store.hpp>
#include <foliot/runtime/run.hpp>
#include <foliot/version.hpp>

#include "server/core/access.hpp"
#include "server/core/held_memory.hpp"
#include "server/core/opened_stores.hpp"
#include "server/core/rate_limits.hpp"
#include "server/core/tls_certificates.hpp"
#include "server/schedules/schedule_figures.hpp"

namespace foliot::program {

namespace {

constexpr std::string_view gauge = "gauge";
constexpr std::string_view counter = "counter";

std::uint64_t number_of(bool is_so) noexcept { return is_so ? 1 : 0; }

/// A time of the wall clock, in seconds since 1970.
duration since_1970(std::chrono::sys_seconds time) noexcept {
  return std::max(duration::zero(), duration(time.time_since_epoch()));
}

/// The counts of one state: of each tube that has series of its own, and with an empty name of all others.
void append_counts(exposition& to, const surveyed& seen, std::string_view name, std::string_view help,
                   std::uint64_t jobs::job_counts::* state) {
  to.family(name, gauge, help);
  for (const surveyed_tube& each : seen.shown) to.sample({{"tube", each.name}}, each.counted.counts.*state);
  if (seen.rest) to.sample({{"tube", ""}}, (*seen.rest).*state);
}

void append_times(exposition& to, const surveyed& seen) {
  to.family("ready_overdue_seconds", gauge, "How long ago the ready job was due that the next worker gets.");
  for (const surveyed_tube& each : seen.shown) {
    if (each.ready_overdue) to.sample({{"tube", each.name}}, *each.ready_overdue);
  }
  if (seen.rest_overdue) to.sample({{"tube", ""}}, *seen.rest_overdue);
  to.family("paused_seconds_left", gauge, "Of the pause of a tube.");
  const instant now = runtime::now();
  for (const surveyed_tube& each : seen.shown) {
    if (each.counted.paused_until == instant::never()) continue;
    to.sample({{"tube", each.name}}, std::max(duration::zero(), each.counted.paused_until - now));
  }
  if (seen.next_due) to.single("next_due_seconds", gauge, "Until the next delayed job is due.", *seen.next_due);
  if (seen.overdue) {
    to.single("delayed_overdue_seconds", gauge, "For how long a due job has not been made ready.", *seen.overdue);
  }
}

void append_store(exposition& to, const jobs::broker_counters& now, const opened_stores* stores) {
  to.single("store_available", gauge, "Whether the store has executed the latest batch.",
            number_of(!now.is_unavailable));
  to.single("store_has_room", gauge, "Whether another job has room.", number_of(!now.lacks_room));
  to.single("store_operations_total", counter, "Operations that the store was asked for.", now.operations);
  to.single("store_refused_batches_total", counter, "Batches that no database has executed.", now.unavailable);
  to.single("store_refused_operations_total", counter, "Operations of other batches that were refused.", now.refused);
  to.single("store_no_space_total", counter, "Operations for which there was no room.", now.no_space);
  to.single("store_queued_operations", gauge, "Operations that wait for the next batch.", std::uint64_t{now.queued});
  to.single("store_queued_bytes", gauge, "Bytes that these bring.", std::uint64_t{now.queued_bytes});
  if (stores == nullptr) return;
  to.distribution("store_batch_seconds", "How long the store has taken for a batch, with its commit.",
                  stores->batches());
  const jobs::store_figures of_store = stores->first_watched().figures();
  if (of_store.syncs) {
    to.distribution("store_sync_seconds", "How long a sync of the disk has taken.", *of_store.syncs);
  }
  const auto bound = [&to](std::string_view name, std::string_view help, const std::optional<std::uint64_t>& value) {
    if (value) to.single(name, gauge, help, *value);
  };
  bound("disk_free_bytes", "Where the jobs are.", of_store.disk_free);
  bound("disk_reserve_bytes", "With fewer free bytes new jobs are refused.", of_store.disk_reserve);
  bound("jobs_max", "The limit of --max-jobs.", of_store.most_jobs);
  bound("jobs_bytes", "Of the jobs in memory.", of_store.bytes);
  bound("jobs_bytes_max", "The limit of --max-memory.", of_store.most_bytes);
}

void append_flow(exposition& to, const jobs::job_flow& flow) {
  to.single("jobs_put_total", counter, "New jobs.", flow.put);
  to.single("jobs_reserved_total", counter, "Reservations.", flow.reserved);
  to.single("jobs_finished_total", counter, "Reservations that ended because the job was done.", flow.finished);
  to.single("jobs_released_total", counter, "Reservations whose workers gave the job back.", flow.released);
  to.single("jobs_buried_total", counter, "Reservations whose workers set the job aside.", flow.buried);
  to.single("jobs_timed_out_total", counter, "Reservations whose TTR has ended.", flow.expired);
  to.distribution("job_lateness_seconds", "From the due time of a job to its reservation.", flow.lateness);
  to.distribution("job_work_seconds", "From the reservation of a job to its finish.", flow.work);
}

void append_policies(exposition& to, const jobs::policy_counters& now) {
  to.single("jobs_retried_total", counter, "Failed tries behind which a policy gives another one.", now.retried);
  to.single("jobs_last_try_buried_total", counter, "Jobs that a policy has buried behind their last try.", now.buried);
  to.single("jobs_dead_letters_total", counter, "Jobs that a policy has moved to the dead letters.", now.dead_letters);
  to.single("jobs_expired_total", counter, "Jobs that have ended because they were of no use any more.", now.expired);
  to.single("jobs_parked_total", counter, "Times that a job was postponed because its group was full.", now.parked);
}

void append_connections(exposition& to, const jobs::broker_counters& now, const metrics_sources& from) {
  to.single("clients_waiting", gauge, "Clients that wait for a job.", std::uint64_t{now.waiting});
  to.single("tubes_in_use", gauge, "Tubes that a client uses or watches.", std::uint64_t{now.tubes});
  if (from.door != nullptr) {
    const access_refusals refused = from.door->refusals();
    to.single("connections", gauge, "Connections that are open.", std::uint64_t{from.door->count()});
    to.single("connections_max", gauge, "The limit of --max-connections.", std::uint64_t{from.door->limits().all});
    to.single("connections_total", counter, "Connections that have come in.", from.door->come());
    to.family("connections_refused_total", counter, "Connections that a limit has kept out.");
    to.sample({{"limit", "all"}}, refused.by_all);
    to.sample({{"limit", "address"}}, refused.by_address);
    to.sample({{"limit", "token"}}, refused.by_token);
  }
  if (from.rates != nullptr) {
    to.family("requests_held_back_total", counter, "Requests and commands that a rate limit has refused or delayed.");
    to.sample({{"limit", "address"}}, from.rates->of_address.held_back());
    to.sample({{"limit", "token"}}, from.rates->of_token.held_back());
  }
  if (from.memory != nullptr) {
    to.single("buffered_bytes", gauge, "What waits to be sent to clients or to be executed.",
              std::uint64_t{from.memory->bytes()});
    to.single("buffered_bytes_max", gauge, "The limit of --max-buffered.", std::uint64_t{from.memory->most()});
    to.single("buffered_waiting", gauge, "Connections that wait for room in it.",
              std::uint64_t{from.memory->waiting()});
    to.single("buffered_closed_total", counter, "Connections that were closed because they held most of it.",
              from.memory->closed());
  }
  if (from.slow_clients != nullptr) {
    to.single("slow_clients_total", counter, "Connections that were closed because their clients did not go on.",
              from.slow_clients->load(seam::relaxed));
  }
}

void append_locks(exposition& to, const server_status& now, const metrics_sources& from) {
  if (from.certificates != nullptr) {
    const tls_figures seen = from.certificates->figures();
    to.single("tls_certificate_expiry_timestamp_seconds", gauge, "When the certificate in use ends.",
              since_1970(seen.ends));
    to.single("tls_files_are_good", gauge, "Whether the files of TLS can be used.", number_of(!seen.is_refused));
    to.single("tls_failed_handshakes_total", counter, "Handshakes that have failed.", seen.failed);
  }
  if (now.tokens_are_good) {
    to.single("tokens_file_is_good", gauge, "Whether the file of access tokens has no mistake.",
              number_of(*now.tokens_are_good));
  }
}

/// How many files the process has open, if the system tells without a list of them (Linux from 6.2 on).
std::uint64_t open_files() noexcept {
  struct stat seen{};
  return ::stat("/proc/self/fd", &seen) == 0 && seen.st_size > 0 ? static_cast<std::uint64_t>(seen.st_size) : 0;
}

/// What the process has in memory; 0: it is not known.
std::uint64_t resident_bytes() noexcept {
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> file(std::fopen("/proc/self/statm", "re"), &std::fclose);
  unsigned long long all = 0;
  unsigned long long resident = 0;
  if (file == nullptr || std::fscanf(file.get(), "%llu %llu", &all, &resident) != 2) return 0;
  return resident * static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
}

duration length_of(const timeval& time) {
  return std::chrono::seconds(time.tv_sec) + std::chrono::microseconds(time.tv_usec);
}

}  // namespace

void append_jobs(exposition& to, const std::optional<surveyed>& seen) {
  if (!seen) return;
  append_counts(to, *seen, "jobs_ready", "Jobs that wait for a worker.", &jobs::job_counts::ready);
  append_counts(to, *seen, "jobs_delayed", "Jobs that are due later.", &jobs::job_counts::delayed);
  append_counts(to, *seen, "jobs_reserved", "Jobs that workers have.", &jobs::job_counts::reserved);
  append_counts(to, *seen, "jobs_buried", "Jobs that were set aside.", &jobs::job_counts::buried);
  append_times(to, *seen);
}

void append_schedules(exposition& to, const std::optional<surveyed_schedules>& seen, const schedule_figures* figures) {
  if (seen && seen->standings) {
    to.family("schedules", gauge, "Schedules, by what they do.");
    for (std::size_t i = 0; i < names_of_standings.size(); ++i) {
      to.sample({{"state", names_of_standings[i]}}, (*seen->standings)[i]);
    }
  }
  if (seen && seen->next_due) {
    to.single("schedules_next_due_seconds", gauge, "Until the next schedule has something to do.", *seen->next_due);
  }
  if (seen) {
    to.single("schedules_overdue_seconds", gauge, "For how long the first schedule waits whose turn has come.",
              seen->overdue);
  }
  if (figures == nullptr) return;
  const schedule_figures::counts counted = figures->seen();
  to.family("schedule_occurrences_total", counter, "Jobs that the turns of schedules have put.");
  for (std::size_t i = 0; i < names_of_reasons.size(); ++i) {
    to.sample({{"reason", names_of_reasons[i]}}, counted.made[i]);
  }
  to.single("schedule_refused_turns_total", counter, "Turns whose plan could not be followed.", counted.refused);
  to.distribution("schedule_lateness_seconds", "From the instant of an occurrence to the commit of its job.",
                  counted.lateness);
}

void append_webhooks(exposition& to, const delivery_figures& now) {
  to.family("webhook_deliveries_total", counter, "Deliveries of this node that have ended.");
  to.sample({{"outcome", "delivered"}}, now.delivered);
  to.sample({{"outcome", "rejected"}}, now.rejected);
  to.sample({{"outcome", "gone"}}, now.gone);
  to.sample({{"outcome", "not_sent"}}, now.not_sent);
  to.sample({{"outcome", "unknown"}}, now.unknown);
  to.sample({{"outcome", "forbidden"}}, now.forbidden);
  to.single("webhook_deliveries", gauge, "Deliveries under way.", std::uint64_t{now.under_way});
  to.single("webhook_targets", gauge, "Tubes that have a target.", std::uint64_t{now.targets});
  to.single("webhook_targets_disabled", gauge, "Those that get nothing until somebody enables them.",
            std::uint64_t{now.disabled});
  to.single("webhook_targets_hindered", gauge, "Those whose rule or secret is missing.", std::uint64_t{now.hindered});
  to.single("webhook_circuits_open", gauge, "Those that seem to be down.", std::uint64_t{now.open_circuits});
}

void append_server(exposition& to, const server_status& now, const metrics_sources& from) {
  to.family("build_info", gauge, "The version of the server.");
  to.sample({{"version", FOLIOT_VERSION}}, std::uint64_t{1});
  to.single("draining", gauge, "Whether new jobs are refused until the next start.", number_of(now.is_draining));
  append_flow(to, now.flow);
  append_store(to, now.counters, from.stores);
  if (from.stores != nullptr) append_policies(to, from.stores->policies());
  append_connections(to, now.counters, from);
  append_locks(to, now, from);
}

void append_process(exposition& to) {
  rusage used{};
  ::getrusage(RUSAGE_SELF, &used);
  to.single("process_cpu_seconds_total", counter, "Of the processors.",
            length_of(used.ru_utime) + length_of(used.ru_stime));
  if (const std::uint64_t bytes = resident_bytes()) {
    to.single("process_resident_memory_bytes", gauge, "What the process has in memory.", bytes);
  }
  if (const std::uint64_t files = open_files()) {
    to.single("process_open_fds", gauge, "Files that are open.", files);
  }
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY) {
    to.single("process_max_fds", gauge, "How many there may be.", std::uint64_t{limit.rlim_cur});
  }
}

}  // namespace foliot::program
