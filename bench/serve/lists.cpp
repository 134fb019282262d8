// The time and the cost of a page of each list over HTTP, at a server that stores many tubes and jobs.
#include <algorithm>
#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <foliot/core/clock.hpp>

#include "bench/workloads/quick_random.hpp"
#include "http_protocol.hpp"
#include "load_generator.hpp"
#include "serve_workload.hpp"
#include "text/failure.hpp"

namespace foliot::program::bench {

namespace {

/// Half of the jobs are in one tube, the others are spread evenly over the other tubes. Of each tube half are ready,
/// and half are due within a day.
struct stored_tubes {
  std::size_t tubes = 0;  ///< at least 3
  std::size_t jobs = 0;   ///< at least 16, and 2 for each tube: so no list is empty
};

constexpr stored_tubes quick_size{.tubes = 20, .jobs = 2000};
constexpr stored_tubes usual_size{.tubes = 10'000, .jobs = 100'000};
constexpr stored_tubes full_size{.tubes = 100'000, .jobs = 10'000'000};
constexpr std::size_t least_jobs = 16;
constexpr std::size_t connections = 4;  // of the puts
constexpr std::size_t puts_at_once = 1000;
constexpr std::size_t reserves_at_once = 100;
constexpr std::size_t most_reserved = 3000;
constexpr std::size_t reserved_share = 8;    // at most one of so many jobs
constexpr std::size_t pages_of_a_list = 19;  // and one before, which is not measured
constexpr std::uint64_t hour = 3600;         // no job is due while this measures
constexpr std::uint64_t day = 86'400;
constexpr const char* large_tube = "foliot-bench";

/// A list, and what its column in the table says.
struct asked_list {
  std::string name;
  std::string head;
  std::string target;
};

std::string small_tube(std::size_t number) { return fmt::format("t{:07}", number); }

class lists_run {
 public:
  lists_run(const stored_tubes& stored, const server_process& server)
      : stored_(stored), server_(server), clients_(server.place(), connections) {}

  std::vector<serve_figure> measure() {
    put_all();
    reserve_some();
    std::vector<serve_figure> figures;
    for (const asked_list& each : lists()) add_figures(figures, each);
    return figures;
  }

 private:
  /// The job of this number, from 0 on, as a batch names it.
  std::string job(std::size_t number) {
    const std::size_t small_tubes = stored_.tubes - 1;
    const std::size_t in_half = number / 2;
    const bool is_in_large = number % 2 == 0;
    const std::size_t in_tube = is_in_large ? in_half : in_half / small_tubes;
    const std::uint64_t delay = in_tube % 2 == 0 ? 0 : hour + upper_below(random_.next(), day);
    return fmt::format(R"({{"tube":"{}","delay":"{}s","ttr":"1h","text":"0123456789"}})",
                       is_in_large ? large_tube : small_tube(in_half % small_tubes), delay);
  }

  void put_all() {
    std::size_t sent = 0;
    const auto send_one = [&](std::size_t client) {
      std::string all = R"({"jobs":[)";
      const std::size_t end = std::min(sent + puts_at_once, stored_.jobs);
      for (const std::size_t first = sent; sent < end; ++sent) all += (sent == first ? "" : ",") + job(sent);
      clients_.send(client, http_.request("POST", "/v1/batch", "application/json", all + "]}"));
    };
    clients_.send_all((stored_.jobs + puts_at_once - 1) / puts_at_once, connections, 1, send_one,
                      [](const reply& got) { expect_reply(got, reply_kind::ok, "a batch of puts"); });
  }

  void reserve_some() {
    const std::size_t wanted = std::min(most_reserved, stored_.jobs / reserved_share);
    for (std::size_t reserved = 0; reserved < wanted; reserved += reserves_at_once) {
      const std::size_t count = std::min(reserves_at_once, wanted - reserved);
      const std::string target = fmt::format("/v1/reserve?tube={}&count={}", large_tube, count);
      clients_.send(0, http_.request("POST", target, "", ""));
      clients_.finish([](std::size_t, const reply& got) { expect_reply(got, reply_kind::reserved, "reserve"); });
    }
  }

  /// The body of the answer. Throws failure unless it is a page with an entry.
  std::string page(const std::string& target) {
    std::string body;
    clients_.send(0, http_.request("GET", target, "", ""));
    clients_.finish([&](std::size_t, const reply& got) {
      const bool has_entry = got.body.find(":[{") != std::string_view::npos;
      if (got.kind != reply_kind::ok || !has_entry) throw_unexpected(got, target);
      body = got.body;
    });
    return body;
  }

  /// The page of tubes that begins in the middle of all.
  std::string middle_tubes() const {
    return fmt::format("/v1/tubes?count=100&cursor={}", small_tube(stored_.tubes / 2 - 1));
  }

  std::vector<asked_list> lists() const {
    const std::string of_large = fmt::format("/v1/tubes/{}/jobs", large_tube);
    const std::string of_small = fmt::format("/v1/tubes/{}/jobs", small_tube(0));
    const std::string ten_tubes = small_tube(0).substr(0, small_tube(0).size() - 1);
    return {{"tubes", "tubes", "/v1/tubes?count=100"},
            {"middle-tubes", "middle", middle_tubes()},
            {"1000-tubes", "1,000 tubes", "/v1/tubes?count=1000"},
            {"due", "due", "/v1/due?count=100"},
            {"delayed", "delayed", of_large + "?count=100&state=delayed"},
            {"ready", "ready", of_large + "?count=100&state=ready"},
            {"reserved", "reserved", "/v1/reservations?count=100"},
            {"jobs", "jobs", "/v1/jobs?count=100"},
            {"1000-jobs", "1,000 jobs", "/v1/jobs?count=1000"},
            {"small-tube", "small tube", of_small + "?count=100"},
            {"small-tube-ready", "its ready", of_small + "?count=100&state=ready"},
            {"prefix", "prefix", fmt::format("/v1/jobs?count=100&prefix={}", ten_tubes)}};
  }

  void add_figures(std::vector<serve_figure>& to, const asked_list& list) {
    page(list.target);
    std::array<duration, pages_of_a_list> lengths{};
    std::array<duration, pages_of_a_list> processor_times{};
    for (std::size_t i = 0; i < pages_of_a_list; ++i) {
      const duration used = server_.usage().processor_time;
      const instant began = monotonic_clock::instance().now();
      page(list.target);
      lengths[i] = monotonic_clock::instance().now() - began;
      processor_times[i] = server_.usage().processor_time - used;
    }
    const auto add = [&](std::string name, const char* unit, std::array<duration, pages_of_a_list>& all) {
      std::ranges::sort(all);
      const double median = static_cast<double>(all[all.size() / 2].count()) / 1e6;
      to.push_back({.name = std::move(name), .unit = unit, .head = list.head, .amount = median});
    };
    add(list.name, "ms", lengths);
    add("server-cpu-" + list.name, "ms/page", processor_times);
  }

  const stored_tubes stored_;
  const server_process& server_;
  const http_protocol http_;
  load_generator clients_;
  quick_random random_{1};
};

/// Starts a server, puts the jobs, reserves some, and asks for pages of each list, one after the other. Throws failure.
std::vector<serve_figure> measure_lists(const stored_tubes& stored, const server_ground& ground) {
  const server_process server(ground.kind, ground.folder, ground.settings);
  return lists_run(stored, server).measure();
}

/// What the workload stores. Throws failure if there are too few jobs for the tubes.
stored_tubes size_of_lists(const serve_scale& scale) {
  stored_tubes made = scale.quick ? quick_size : scale.full ? full_size : usual_size;
  if (scale.tubes > 0) made.tubes = scale.tubes;
  if (scale.jobs > 0) made.jobs = scale.jobs;
  if (made.jobs < std::max(least_jobs, 2 * made.tubes)) {
    throw failure(fmt::format("--jobs: {} jobs are too few for {} tubes: name at least {} with --jobs", made.jobs,
                              made.tubes, std::max(least_jobs, 2 * made.tubes)));
  }
  return made;
}

}  // namespace

void add_lists(serve_workloads& to, const serve_scale& scale) {
  const stored_tubes stored = size_of_lists(scale);
  to.push_back({.family = "lists",
                .title = fmt::format("a page of each list, with {} tubes and {} jobs stored: the time in ms",
                                     stored.tubes, stored.jobs),
                .parameters = {{"tubes", stored.tubes}, {"jobs", stored.jobs}},
                .most_repetitions = 1,
                .takes_part =
                    [](const server_kind& kind) {
                      return kind.speaks == spoken_protocol::http && !kind.has_tls && !kind.has_token;
                    },
                .measure_own = [stored](const server_ground& ground) { return measure_lists(stored, ground); }});
}

}  // namespace foliot::program::bench
