// One operation at a time on a store, with the answer's own type:
//
//   foliot::jobs::memory_store store;
//   const put_answer added = execute_one(store, jobs::put{.tube = "mail", .body = "hello", .due = 30s});
//   const claim_answer mine = execute_one(store, jobs::claim{.tubes = {"mail"}});
//
// A program with many tasks uses the broker instead, which shares the cost of a batch among them.
#pragma once

#include <foliot/core/language.hpp>

#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <utility>
#include <variant>

#include <foliot/jobs/job_store.hpp>
#include <foliot/jobs/limits.hpp>
#include <foliot/jobs/operations.hpp>

namespace foliot::jobs {
namespace detail {

/// What becomes of an answer that says that an operation was passed over, or that its database does not answer; none:
/// it is another answer.
inline std::optional<store_unavailable> refusal_in(const answer& it) {
  using kind = store_unavailable::kind;
  if (std::holds_alternative<passed_over_answer>(it)) {
    return store_unavailable(kind::not_executed,
                             "another program holds the job, its key or its tube in the database: try again later");
  }
  const auto* const lost = std::get_if<unavailable_answer>(&it);
  if (lost == nullptr) return std::nullopt;
  return store_unavailable(lost->is_in_doubt ? kind::in_doubt : kind::not_executed, lost->why);
}

}  // namespace detail

/// Executes `what` as a batch of its own and returns its answer. `ready_tubes` and `expired` of the batch are dropped.
/// Throws std::invalid_argument if validate() refuses `what`, and as job_store::execute(); store_unavailable also for a
/// passed_over_answer and an unavailable_answer.
template <class Operation>
answer_of<Operation> execute_one(job_store& store, Operation what, const job_limits& limits = {}) {
  operation only(std::move(what));
  if (const std::optional<std::string> wrong = validate(only, limits)) {
    throw std::invalid_argument("foliot: " + *wrong);
  }
  execution done = store.execute(std::span(&only, 1));
  if (const auto refused = detail::refusal_in(done.answers.front())) throw *refused;
  return std::get<answer_of<Operation>>(std::move(done.answers.front()));
}

}  // namespace foliot::jobs
