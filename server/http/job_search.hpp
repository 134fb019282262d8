// The jobs of a list that are sought by the beginning of their keys, or by a text in their bodies.
//
//   const job_filter sought = read_sought(in);
//   auto searching = search_jobs(by.client, std::move(page), sought, largest_job);
//   const jobs::jobs_answer found = co_await searching;
//
// A page looks at a bounded number of jobs, however many there are, and however few fit: then it ends, perhaps without
// one, and its `next` is the place of the last job that it has looked at. It reads lists of the store one after the
// other, each a batch of its own, so other clients wait for one of them at the most.
//
// Thread safety: one task.
#pragma once

#include <cstddef>
#include <cstdint>

#include <foliot/jobs/operations.hpp>
#include <foliot/runtime/task.hpp>

#include "inputs.hpp"
#include "server/access/authorized_client.hpp"
#include "server/actions/action.hpp"

namespace foliot::program::http {

/// A page reads so many lists of the store.
inline constexpr std::uint32_t most_lists_of_search = 10;
/// A list has so many jobs where bodies are searched, and jobs::most_listed where they are not.
inline constexpr std::uint32_t most_bodies_of_list = 100;

/// The `key_prefix` and the `text` of a request, alone. Throws wrong_input.
[[nodiscard]] job_filter read_sought(inputs& in);
/// Whether there is something to seek.
[[nodiscard]] inline bool seeks(const job_filter& what) noexcept {
  return !what.key_prefix.empty() || what.needs_body();
}
/// What a page holds in memory while it searches, beside the jobs that it shows, at the most.
[[nodiscard]] std::size_t memory_of_search(const job_filter& sought, std::size_t largest_job) noexcept;
/// Up to `page.count` jobs of the list that fit, without their bodies. `largest_job`: the most bytes of a body. Throws
/// what authorized_client::execute() throws.
[[nodiscard]] task<jobs::jobs_answer> search_jobs(authorized_client& by, jobs::list_jobs page, const job_filter& sought,
                                                  std::size_t largest_job);

}  // namespace foliot::program::http
