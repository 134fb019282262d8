// The server that jobs are taken from.
//
// Jobs are found without a list of them, which the protocol lacks: `peek` names the first job of a state, and others
// have ids near it. Delayed and buried jobs are only looked at. Ready jobs are reserved, so that no worker of the
// source begins them meanwhile; they are given back when the connection ends. No delayed job is ever reserved: if the
// connection ended then, the job would be ready too early.
//
// Thread safety: none, one task at a time. Throws failure, as server_link does.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <foliot/jobs/job.hpp>
#include <foliot/runtime/task.hpp>

#include "copy/job_record.hpp"
#include "copy/server_link.hpp"

namespace foliot::program::copying {

/// What became of a job that was to be deleted.
struct removal {
  enum class kind : std::uint8_t {
    deleted,
    gone,     ///< a worker has it, or it has ended
    refused,  ///< the server has not deleted it; `reply` says why
    unknown,  ///< the server may have deleted it; `reply` is what it answered
  };
  kind what = kind::gone;
  std::string reply;
  /// The job right before its end, if it could be seen.
  std::optional<job_record> last;
};

/// The most bytes of bodies that are in memory together, unless one body has more.
inline constexpr std::uint64_t most_room = std::uint64_t{64} << 20;

class source {
 public:
  explicit source(client::endpoint at) : link_(std::move(at)) {}

  task<> connect();
  /// The same where another connection has asked what the server is.
  task<> connect(server_facts known);
  /// Gives back what is reserved, and closes the connection.
  task<> quit() { return link_.quit(); }

  task<std::vector<std::string>> tubes();
  /// Of the whole server.
  task<jobs::job_counts> counts();
  /// All zero if there is no such tube.
  task<jobs::job_counts> counts(std::string tube);
  /// The id of the tube's first job in the state, which is not `reserved`; 0 if there is none.
  task<jobs::job_id> first(std::string tube, jobs::job_state state);
  /// The jobs with the ids from `begin` to before `end`, in all states.
  task<std::vector<job_record>> look(jobs::job_id begin, jobs::job_id end);
  /// Adds the bodies, at most `room` bytes; with most_room, the first one may have more. Jobs that have gone meanwhile
  /// are left out, and those for which there was no room.
  task<std::vector<full_job>> read(std::vector<job_record> found, std::uint64_t room);
  /// Reserves the next ready jobs of the tube, at most `count`, in the order in which workers get them. The connection
  /// must be used for this tube alone. Jobs for which there was no room are left out; they stay reserved.
  task<std::vector<full_job>> reserve(std::string tube, std::size_t count, std::uint64_t room);
  /// Reserves this job, if it is ready. None of a paused tube is reserved otherwise.
  task<std::vector<full_job>> reserve_one(jobs::job_id id);
  /// Deletes the jobs. The answers are in the same order.
  task<std::vector<removal>> remove(std::vector<jobs::job_id> ids);

  /// Larger bodies are not wanted: their jobs come without them.
  void set_largest_body(std::uint64_t bytes) noexcept { largest_body_ = bytes; }
  /// Whether the latest read() or reserve() has left out jobs for want of room.
  [[nodiscard]] bool lacked_room() const noexcept { return lacked_room_; }
  /// For replies that cannot both be true.
  [[nodiscard]] failure contradiction(std::string_view how) const { return link_.contradiction(how); }

  [[nodiscard]] const server_facts& facts() const noexcept { return facts_; }
  [[nodiscard]] const std::string& name() const noexcept { return link_.name(); }

 private:
  [[nodiscard]] jobs::job_counts counts_in(const server_reply& reply, const std::string& request) const;
  [[nodiscard]] removal::kind end_by(std::string_view reply) const noexcept;
  task<std::vector<job_record>> look_at(std::vector<jobs::job_id> ids);
  task<std::vector<full_job>> with_records(std::vector<server_reply> reserved);
  [[nodiscard]] wanted_replies bodies_in(std::uint64_t room) const noexcept;
  /// Whether the body of the job was dropped although it is wanted.
  [[nodiscard]] bool is_left_out(const server_reply& job) const noexcept;

  server_link link_;
  server_facts facts_;
  std::string watched_ = "default";
  std::uint64_t largest_body_ = 0;
  bool lacked_room_ = false;
};

}  // namespace foliot::program::copying
