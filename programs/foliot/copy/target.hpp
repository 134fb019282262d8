// The server that jobs are put into.
//
// A job that goes to foliot gets a key, if it has none: the source's instance and the id there. A copy that was killed
// between a put and the deletion at the source is started again, and puts the same job with the same key: this replaces
// the job that the run before has put, unless a worker has that one. If the worker has ended it when it is asked for,
// the job is done, and counts as placed. The number of the instance is in the key because another process of the source
// may give the same ids to other jobs. The key stays with the job: clients of beanstalkd never see it.
//
// The fields of a job are copied with it. If the target takes no fields, the job stays at the source, because its
// workers may need them. A history that the target cannot take is dropped, as the counters of a job always are.
//
// A job that is buried at the source is put with a delay of 136 years, reserved by its id, and buried; the two last
// requests leave together, so that no worker sees the job unless a server ends between them.
//
// A job counts as placed only where every answer is one that the server can give to this request, for this job: the
// source deletes it then. Anything else throws.
//
// Thread safety: none, one task at a time. Throws failure, as server_link does.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include <foliot/jobs/job.hpp>
#include <foliot/runtime/task.hpp>

#include "copy/job_record.hpp"
#include "copy/server_link.hpp"

namespace foliot::program::copying {

/// What became of a job that was to be put.
struct placement {
  enum class kind : std::uint8_t {
    placed,   ///< it is there, as `id`
    refused,  ///< this job cannot be there; `reason` says why
    stopped,  ///< no job can be put now; `reason` says why
  };
  kind what = kind::stopped;
  std::string reason;
  jobs::job_id id = 0;
  /// Whether the target had the job under a key that its own client chose, so that this copy must not delete it.
  bool is_foreign = false;
};

class target {
 public:
  explicit target(client::endpoint at) : link_(std::move(at)) {}

  task<> connect();

  /// Puts the jobs of the source with this instance, in this order. The answers are in the same order. No two jobs of
  /// one tube may have the same key.
  task<std::vector<placement>> place(const std::vector<full_job>& jobs, const std::string& instance);
  /// Puts the job once more, because a client of the source has changed it since it was placed as `before`. The job is
  /// not at the source any more, so the old copy ends when the new one is there, or stays if a worker has it. Returns
  /// whether workers may get both.
  task<bool> place_again(const full_job& job, const std::string& instance, jobs::job_id before);
  /// Deletes copies. Returns how many of them were not there, or with a worker.
  task<std::size_t> take_back(std::vector<jobs::job_id> ids);

  [[nodiscard]] const server_facts& facts() const noexcept { return facts_; }
  [[nodiscard]] const std::string& name() const noexcept { return link_.name(); }

 private:
  struct buried_copy {
    const job_record* job;
    placement* copy;
  };

  [[nodiscard]] std::string refusal(const full_job& job) const;
  void add_put(std::string& requests, const full_job& job, const std::string& instance, std::string_view policy) const;
  [[nodiscard]] placement placed(const full_job& job, const server_reply& reply, std::string_view policy) const;
  task<std::string> use(std::string tube);
  task<> check_reserved(const full_job& job, const std::string& instance, jobs::job_id id);
  task<> compare(const full_job& job, placement& kept);
  task<> bury(std::vector<buried_copy> copies);

  server_link link_;
  server_facts facts_;
};

}  // namespace foliot::program::copying
