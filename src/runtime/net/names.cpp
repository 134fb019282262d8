#include <foliot/runtime/net/names.hpp>

#include <netdb.h>

#include <chrono>
#include <cstddef>
#include <optional>
#include <string_view>
#include <system_error>
#include <utility>

#include <foliot/core/seam/names.hpp>
#include <foliot/runtime/after.hpp>
#include <foliot/runtime/channel.hpp>
#include <foliot/runtime/run.hpp>
#include <foliot/runtime/select.hpp>
#include <foliot/runtime/spawn.hpp>
#include <foliot/runtime/this_task.hpp>

#include "interleaved.hpp"

namespace foliot::runtime {

namespace {

using detail::inner;

static_assert(static_cast<int>(name_errc::not_found) == EAI_NONAME &&
              static_cast<int>(name_errc::try_again) == EAI_AGAIN && static_cast<int>(name_errc::failed) == EAI_FAIL &&
              static_cast<int>(name_errc::no_address) == EAI_NODATA);

using addresses = std::vector<address>;
using lookup_result = or_error<addresses>;

/// RFC 8305, "Connection Attempt Delay".
constexpr duration between_attempts = std::chrono::milliseconds(250);

lookup_result look_up(const std::string& host, std::uint16_t port) {
  const auto found = seam::addresses_of(host, port);
  if (!found) return std::unexpected(found.error());
  return addresses(found->begin(), found->end());
}

std::error_code no_memory() noexcept { return std::make_error_code(std::errc::not_enough_memory); }

/// A task of its own, so that the task that asks can go on without it.
task<> look_up_apart(std::string host, std::uint16_t port, channel<lookup_result> to) {
  lookup_result found;
  try {
    auto call = [&] { return look_up(host, port); };
    found = co_await inner(blocking(call));
  } catch (const std::bad_alloc&) {
    found = std::unexpected(no_memory());
  } catch (const std::system_error& error) {  // there is no thread
    found = std::unexpected(error.code());
  }
  static_cast<void>(to.try_send(std::move(found)));  // there is room
}

/// The connections that are tried at once. Those that have not answered are given up with it.
class attempts {
 public:
  explicit attempts(std::size_t most) : results_(most) {}
  attempts(const attempts&) = delete;
  attempts& operator=(const attempts&) = delete;
  ~attempts() {
    for (const join_handle<>& each : running_) each.request_stop();
  }

  void begin(const address& to, instant deadline) {
    running_.push_back(spawn(try_one(to, deadline, results_), "connects to a host"));
  }
  [[nodiscard]] channel<or_error<stream>>& results() noexcept { return results_; }

 private:
  /// Without memory it says so: the task that waits for it must not wait for ever.
  static task<> try_one(address to, instant deadline, channel<or_error<stream>> results) {
    or_error<stream> made = std::unexpected(no_memory());
    try {
      made = co_await inner(stream::connect(to, deadline));
    } catch (const std::bad_alloc&) {
    }
    static_cast<void>(results.try_send(std::move(made)));  // there is room for each
  }

  channel<or_error<stream>> results_;
  std::vector<join_handle<>> running_;
};

}  // namespace

task<or_error<addresses>> resolve(std::string host, std::uint16_t port, instant deadline) {
  if (host.empty() || host.find('\0') != std::string::npos) {
    co_return std::unexpected(std::make_error_code(std::errc::invalid_argument));
  }
  if (const auto number = seam::socket_address::from_ip(host, port)) co_return addresses{address(*number)};
  const bool may_be_late = !deadline.is_never();
  const duration left = may_be_late ? deadline - now() : duration::zero();
  if (may_be_late && left <= duration::zero()) {  // a lookup would keep a thread, and its answer might come first
    co_return std::unexpected(make_error_code(io_errc::deadline_exceeded));
  }
  channel<lookup_result> answers(1);
  spawn(look_up_apart(std::move(host), port, answers), "looks up a host");
  auto chosen = co_await inner(select(answers.receive(), when(may_be_late, after(left))));
  if (chosen.index() != 0) co_return std::unexpected(make_error_code(io_errc::deadline_exceeded));
  std::optional<lookup_result> found = chosen.get<0>();
  co_return std::move(*found);
}

task<or_error<stream>> connect_to_any(addresses to, instant deadline) {
  std::error_code first_failure = std::make_error_code(std::errc::invalid_argument);
  attempts running(to.size());
  std::size_t begun = 0;
  const auto begin_next = [&] {
    if (begun < to.size()) running.begin(to[begun++], deadline);
  };
  begin_next();
  for (std::size_t failed = 0; failed < to.size();) {
    const bool has_more = begun < to.size();
    auto chosen = co_await inner(select(running.results().receive(), when(has_more, after(between_attempts))));
    if (chosen.index() == 1) {
      begin_next();
      continue;
    }
    std::optional<or_error<stream>> made = chosen.get<0>();
    if (*made) co_return std::move(*made);
    if (failed++ == 0) first_failure = made->error();
    begin_next();
  }
  co_return std::unexpected(first_failure);
}

task<or_error<stream>> connect_to_host(std::string host, std::uint16_t port, instant deadline) {
  auto found = co_await inner(resolve(std::move(host), port, deadline));
  if (!found) co_return std::unexpected(found.error());
  auto made = co_await inner(connect_to_any(detail::interleaved(*found), deadline));
  co_return made;
}

}  // namespace foliot::runtime
