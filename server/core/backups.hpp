// Backups of the store of a running server, one at a time, on threads of their own.
//
// Thread safety: begin() is called by one task. Outlives the runtime, which at its end waits for the backup that is
// under way.
#pragma once

#include <foliot/core/seam/sync.hpp>
#include <foliot/jobs/job_store.hpp>
#include <foliot/runtime/task.hpp>

#include "serve_options.hpp"
#include "server_log.hpp"

namespace foliot::program {

class backups {
 public:
  backups(jobs::job_store& of, const serve_options& options, const server_log& log)
      : store_(of), options_(options), log_(log) {}

  /// Begins a backup, unless one is under way or there is no memory for its task. Logs its name when it has been made,
  /// or why it was not.
  void begin() noexcept;

 private:
  class one_at_a_time;

  task<> make(one_at_a_time);
  void make_one();

  jobs::job_store& store_;
  const serve_options& options_;
  const server_log& log_;
  seam::atomic<bool> busy_{false};  // orders nothing
};

}  // namespace foliot::program
