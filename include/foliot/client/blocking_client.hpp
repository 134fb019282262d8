// A job_client for plain threads: each operation blocks its thread until the answer is there.
//
//   client::client_options options;
//   options.server = client::endpoint_at("localhost", 11300);
//   client::blocking_client jobs(options);
//
//   const auto put = jobs.ask(jobs::put{.tube = "mail", .key = "order-17", .body = "hello"});
//   if (!put) std::puts(put.error().text.c_str());
//
//   const auto got = jobs.ask(client::reserve{{"mail"}, 10s});
//   if (got && got->job) jobs.ask(jobs::finish{got->job->token});
//
// All that the head of job_client.hpp says holds here. The client has a thread of its own, which runs its runtime
// (runtime/background_runtime.hpp).
//
// Thread safety: any thread, but no task of a runtime, which would block a processor. Operations of several threads are
// executed one after the other. No thread may use the object while it is destroyed.
#pragma once

#include <memory>
#include <optional>
#include <utility>

#include <foliot/client/job_client.hpp>
#include <foliot/runtime/background_runtime.hpp>
#include <foliot/runtime/runtime_handle.hpp>

namespace foliot::client {

/// See the head of this file. Neither copied nor moved.
class FOLIOT_EXPORT blocking_client {
 public:
  /// Starts its thread; does not connect yet. Throws std::invalid_argument without a server, and std::system_error if a
  /// thread or a file descriptor cannot be had.
  explicit blocking_client(client_options options);
  ~blocking_client();
  blocking_client(const blocking_client&) = delete;
  blocking_client& operator=(const blocking_client&) = delete;

  /// Has the server execute the operation, and returns its answer, or why there is none. Throws std::bad_alloc, and
  /// runtime_ended in the child of a fork.
  template <operation Operation>
  result_of<Operation> ask(Operation what) {
    return handle_.call(client_->ask(std::move(what)), "asks the server");
  }
  /// The same with another patience.
  template <operation Operation>
  result_of<Operation> ask(Operation what, duration patience) {
    return handle_.call(client_->ask(std::move(what), patience), "asks the server");
  }

  /// Whether the reservation is still held as far as this client knows: its connection lives. Its TTR may have ended.
  /// Not while another thread asks.
  [[nodiscard]] bool holds(const jobs::reservation& token) const;

 private:
  runtime::background_runtime background_;
  runtime::runtime_handle handle_;
  std::unique_ptr<job_client> client_;
};

}  // namespace foliot::client
