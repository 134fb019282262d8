// What different operations have in common: the reservation that they show, the job that they name, the jobs that they
// have brought.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string_view>
#include <variant>

#include <foliot/jobs/operations.hpp>

namespace foliot::jobs::detail {

/// The largest number of reservations that a batch gives back besides its operations: more would delay these.
inline constexpr std::size_t most_given_back = 512;

/// The reservation that the operation shows; a default one if it shows none.
[[nodiscard]] inline reservation token_of(const operation& it) {
  return std::visit(
      []<class Operation>(const Operation& what) {
        if constexpr (facts_of<Operation>().target == operation_target::by_token) {
          return what.token;
        } else {
          return reservation{};
        }
      },
      it);
}

/// The job that the operation would change, if it names one by its id or its reservation; else 0.
[[nodiscard]] inline job_id job_named_by(const operation& it) {
  if (facts_of(it).effect == operation_effect::looks) return 0;
  return std::visit(
      []<class Operation>(const Operation& what) -> job_id {
        if constexpr (facts_of<Operation>().target == operation_target::by_token) {
          return what.token.id;
        } else if constexpr (requires { job_id(what.id); }) {
          return what.id;
        } else if constexpr (requires { job_name(what.name); }) {
          const job_id* const id = std::get_if<job_id>(&what.name);
          return id == nullptr ? 0 : *id;
        } else {
          return 0;
        }
      },
      it);
}

/// A key, and its tube.
struct key_view {
  std::string_view tube;
  std::string_view key;
};

/// Calls `visit(key_view)` for each key that the operation would give to a job, or by which it names the one that it
/// would change.
template <class Visit>
void for_each_key(const operation& it, Visit visit) {
  if (facts_of(it).effect == operation_effect::looks) return;
  const auto take = [&visit](const auto& of) {
    if (!of.key.empty()) visit(key_view{of.tube, of.key});
  };
  std::visit(
      [&](const auto& what) {
        if constexpr (requires { std::string_view(what.key); }) {
          take(what);
        } else if constexpr (requires { job_name(what.name); }) {
          if (const job_key* const by = std::get_if<job_key>(&what.name)) visit(key_view{by->tube, by->key});
        } else if constexpr (requires { what.puts; }) {
          for (const put& each : what.puts) take(each);
        }
      },
      it);
}

/// The puts of the operation; none if it is another one.
[[nodiscard]] inline std::span<const put> puts_of(const operation& it) {
  if (const put* const one = std::get_if<put>(&it)) return {one, 1};
  if (const put_all* const all = std::get_if<put_all>(&it)) return all->puts;
  return {};
}

/// Calls `visit(job_id)` for each job that the operation would change, and names by its id or by a reservation.
template <class Visit>
void for_each_job_named(const operation& it, Visit visit) {
  if (const job_id id = job_named_by(it); id != 0) visit(id);
  for (const put& each : puts_of(it)) {
    if (each.holder) visit(each.holder->id);
  }
}

/// Calls `visit(reservation)` for each one that the operation shows, and that has ended with its job, as this answer
/// tells: put::holder.
template <class Visit>
void for_each_replaced(const operation& it, const answer& got, Visit visit) {
  const auto look = [&visit](const put& what, const put_answer& done) {
    if (what.holder && done.what == put_answer::kind::replaced) visit(*what.holder);
  };
  const std::span<const put> puts = puts_of(it);
  if (const auto* const one = std::get_if<put_answer>(&got)) {
    if (puts.size() == 1) look(puts.front(), *one);
  } else if (const auto* const all = std::get_if<put_all_answer>(&got)) {
    for (std::size_t i = 0; i < puts.size() && i < all->puts.size(); ++i) look(puts[i], all->puts[i]);
  }
}

/// The jobs that an operation with this answer has reserved.
[[nodiscard]] inline std::span<const claimed_job> jobs_claimed_by(const answer& got) {
  const auto* const claimed = std::get_if<claim_answer>(&got);
  return claimed == nullptr ? std::span<const claimed_job>() : std::span(claimed->jobs);
}

}  // namespace foliot::jobs::detail
