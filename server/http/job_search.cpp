#include "job_search.hpp"

#include <algorithm>
#include <deque>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <foliot/jobs/broker.hpp>
#include <foliot/jobs/limits.hpp>

namespace foliot::program::http {

namespace {

/// The bodies that are searched at once, together.
constexpr std::size_t searched_at_once = std::size_t{4} << 20;
/// A listed job without its name and key, and the same of one whose body is looked at.
constexpr std::size_t memory_of_listed = 1024;

std::size_t bodies_at_once(std::size_t largest_job) noexcept {
  return std::clamp<std::size_t>(searched_at_once / (largest_job + 1), 1, 50);
}

/// Leaves out the jobs whose bodies do not have the text, and those that have gone meanwhile.
task<> keep_those_with_text(authorized_client& by, std::vector<jobs::listed_job>& found, const job_filter& sought,
                            std::size_t largest_job) {
  const std::size_t at_once = bodies_at_once(largest_job);
  std::vector<jobs::listed_job> kept;
  for (std::size_t begin = 0; begin < found.size(); begin += at_once) {
    // The list is within the rights of the client, and the tube of a job never changes.
    std::deque<jobs::in_flight<jobs::peek>> looks;
    const std::size_t end = std::min(begin + at_once, found.size());
    for (std::size_t i = begin; i < end; ++i) {
      looks.emplace_back(by.connection_for_server(), jobs::peek{found[i].job.id});
    }
    for (std::size_t i = begin; i < end; ++i) {
      jobs::in_flight<jobs::peek>& one = looks[i - begin];
      const jobs::peek_answer seen = co_await one;
      if (seen.job && sought.matches_body(seen.job->body)) kept.push_back(std::move(found[i]));
    }
  }
  found = std::move(kept);
}

}  // namespace

job_filter read_sought(inputs& in) {
  job_filter sought;
  sought.key_prefix = in.text("key_prefix").value_or("");
  if (sought.key_prefix.size() > jobs::longest_key) {
    in.refuse("key_prefix", fmt::format("`key_prefix` must have at most {} bytes", jobs::longest_key));
  }
  if (std::optional<std::string> text = in.text("text")) {
    if (text->empty() || text->size() > longest_searched_text) {
      in.refuse("text", fmt::format("`text` must have from 1 to {} bytes", longest_searched_text));
    }
    sought.text = std::move(*text);
  }
  return sought;
}

std::size_t memory_of_search(const job_filter& sought, std::size_t largest_job) noexcept {
  if (!seeks(sought)) return 0;
  if (!sought.needs_body()) return jobs::most_listed * memory_of_listed;
  return most_bodies_of_list * memory_of_listed + bodies_at_once(largest_job) * largest_job;
}

task<jobs::jobs_answer> search_jobs(authorized_client& by, jobs::list_jobs page, const job_filter& sought,
                                    std::size_t largest_job) {
  const std::size_t wanted = page.count;
  page.count = sought.needs_body() ? most_bodies_of_list : jobs::most_listed;
  jobs::jobs_answer all;
  for (std::uint32_t lists = 0; lists < most_lists_of_search; ++lists) {
    auto listing = by.execute(page);
    jobs::jobs_answer listed = co_await listing;
    all.now = listed.now;
    all.next = listed.next;
    std::vector<jobs::listed_job>& found = listed.jobs;
    std::erase_if(found, [&](const jobs::listed_job& each) { return !each.job.key.starts_with(sought.key_prefix); });
    if (sought.needs_body()) {
      auto searching = keep_those_with_text(by, found, sought, largest_job);
      co_await searching;
    }
    const std::size_t taken = std::min(wanted - all.jobs.size(), found.size());
    for (std::size_t i = 0; i < taken; ++i) all.jobs.push_back(std::move(found[i]));
    if (taken < found.size()) all.next = all.jobs.back().place;
    if (all.jobs.size() == wanted || !listed.next) break;
    page.after = *listed.next;
  }
  co_return all;
}

}  // namespace foliot::program::http
