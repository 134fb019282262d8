// Shows a server to other processes, at the path of a local socket: what its runtime does, as a
// runtime_statistics_socket, and behind that what jobs there are (job_figures.hpp). `foliot top PATH` reads it.
//
// The thread is none of the runtime's, so it answers also while all workers are stuck. It asks for the jobs in a task,
// and goes without them where they are not there within half a second, or where the store does not answer: in an outage
// a look must not add an operation that the end of the server would wait for. Nor does it ask before the brokers run.
//
// Cost of a look: a batch of two operations, of which one lists the tubes that have jobs, in O(tubes) time and memory;
// and over a store of this server alone a second one that counts the jobs of at most a hundred of them.
//
// Thread safety: one task, but for the socket's own thread.
#pragma once

#include <memory>
#include <string>

#include <foliot/core/annotations.hpp>
#include <foliot/core/sync/mutex.hpp>
#include <foliot/core/text_socket.hpp>
#include <foliot/jobs/broker.hpp>
#include <foliot/runtime/runtime_handle.hpp>
#include <foliot/runtime/spawn.hpp>
#include <foliot/runtime/task.hpp>

#include "text/job_figures.hpp"
#include "watched_store.hpp"

namespace foliot::program {

class shown_server {
 public:
  /// Answers from the return on, without the jobs until begin(). `at` executes the batches of `store`; both must
  /// outlive this. Throws as text_socket does. Inside of the runtime.
  shown_server(jobs::broker& at, const watched_store& store, const std::string& path);
  shown_server(const shown_server&) = delete;
  shown_server& operator=(const shown_server&) = delete;

  /// From now on a look asks for the jobs. To be called when the broker runs.
  void begin();
  /// From now on no look asks for the jobs; returns when none does any more. To be awaited before the end of the
  /// broker, also if that has not begun to run.
  [[nodiscard]] task<> end();

 private:
  struct look;

  static task<> count(jobs::broker& at, const watched_store& store, std::shared_ptr<look> into);
  std::string text();
  job_figures figures();

  jobs::broker& at_;
  const watched_store& store_;
  const runtime::runtime_handle runtime_;
  mutex lock_{lock_rank::context};  // held while a task is spawned, which locks objects
  bool asks_ FOLIOT_GUARDED_BY(lock_) = false;
  runtime::join_handle<> counting_ FOLIOT_GUARDED_BY(lock_);  // the latest look
  text_socket socket_;                                        // last: its thread uses the others
};

}  // namespace foliot::program
