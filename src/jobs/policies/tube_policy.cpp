#include <foliot/jobs/tube_policy.hpp>

#include <algorithm>
#include <cmath>
#include <cstdio>

#include <foliot/jobs/limits.hpp>

namespace foliot::jobs {
namespace {

using problem = std::optional<std::string>;

problem bad_number(std::string_view member, std::uint64_t value, std::uint64_t least, std::uint64_t most) {
  if (value >= least && value <= most) return std::nullopt;
  return std::string(member) + " must be from " + std::to_string(least) + " to " + std::to_string(most) + ", got " +
         std::to_string(value);
}

problem bad_time(std::string_view member, milliseconds value, milliseconds most) {
  if (value >= milliseconds(0) && value <= most) return std::nullopt;
  return std::string(member) + " must be from 0 ms to " + std::to_string(most.count()) + " ms, got " +
         std::to_string(value.count()) + " ms";
}

problem bad_part(std::string_view member, double value, int least, int most) {
  if (value >= least && value <= most) return std::nullopt;  // which no NaN is
  char text[32];
  std::snprintf(text, sizeof text, "%g", value);
  std::string wrong(member);
  wrong += " must be from " + std::to_string(least) + " to " + std::to_string(most);
  wrong += ", got ";
  wrong += text;
  return wrong;
}

problem bad_tube_name(std::string_view member, std::string_view name) {
  const bool has_zero = name.find('\0') != std::string_view::npos;
  if (!name.empty() && name.size() <= longest_tube_name && !has_zero) return std::nullopt;
  return std::string(member) + " must have 1 to " + std::to_string(longest_tube_name) +
         " bytes, none of them zero; got " + std::to_string(name.size()) + (has_zero ? " with a zero byte" : "");
}

problem mistake_in(const retry_delay& it) {
  if (it.listed.size() > most_listed_delays) {
    return "delay.listed must have up to " + std::to_string(most_listed_delays) + " delays, got " +
           std::to_string(it.listed.size());
  }
  for (std::size_t i = 0; i < it.listed.size(); ++i) {
    problem found = bad_time("delay.listed[" + std::to_string(i) + "]", it.listed[i], longest_retry_delay);
    if (found) return found;
  }
  if (problem found = bad_time("delay.first", it.first, longest_retry_delay)) return found;
  if (problem found = bad_part("delay.factor", it.factor, 1, 100)) return found;
  if (problem found = bad_time("delay.most", it.most, longest_retry_delay)) return found;
  return bad_part("delay.jitter", it.jitter, 0, 1);
}

problem mistake_in_numbers(const tube_policy& it) {
  struct bound {
    std::string_view member;
    std::uint32_t value;
  };
  for (const auto& [member, value] :
       {bound{"tries", it.tries}, bound{"most_reserved", it.most_reserved},
        bound{"most_reserved_of_group", it.most_reserved_of_group}, bound{"most_per_second", it.most_per_second}}) {
    if (problem found = bad_number(member, value, 0, greatest_policy_bound)) return found;
  }
  if (it.most_per_second != 0) return bad_number("burst", it.burst, 1, greatest_policy_bound);
  return std::nullopt;
}

problem mistake_in_dead_letters(std::string_view tube, const tube_policy& it) {
  if (it.dead_letters.empty()) return std::nullopt;
  if (it.dead_letters == tube) return "dead_letters must be another tube than the policy's own, got " + it.dead_letters;
  if (it.tries == 0) return "dead_letters needs tries from 1 on, as no try is the last one with 0";
  return bad_tube_name("dead_letters", it.dead_letters);
}

milliseconds within(milliseconds value) noexcept { return std::clamp(value, milliseconds(0), longest_retry_delay); }

/// From 0 to 1, evenly spread over the jobs and their tries: the finalizer of SplitMix64.
double part_of(job_id id, std::uint32_t failed) noexcept {
  std::uint64_t digest = id * 0x9e3779b97f4a7c15U + failed;
  digest = (digest ^ (digest >> 30U)) * 0xbf58476d1ce4e5b9U;
  digest = (digest ^ (digest >> 27U)) * 0x94d049bb133111ebU;
  digest ^= digest >> 31U;
  return static_cast<double>(digest >> 11U) * 0x1p-53;
}

}  // namespace

std::optional<std::string> mistake_in(std::string_view tube, const tube_policy& it) {
  if (problem found = bad_tube_name("the tube's name", tube)) return found;
  if (problem found = mistake_in_numbers(it)) return found;
  if (problem found = mistake_in(it.delay)) return found;
  if (problem found = bad_time("expires", it.expires, longest_time)) return found;
  return mistake_in_dead_letters(tube, it);
}

milliseconds delay_behind(const retry_delay& by, job_id id, std::uint32_t failed) noexcept {
  const std::uint32_t number = std::max(failed, std::uint32_t{1});
  milliseconds delay{};
  if (!by.listed.empty()) {
    delay = within(by.listed[std::min<std::size_t>(number, by.listed.size()) - 1]);
  } else if (by.first > milliseconds(0)) {
    const auto most = static_cast<double>(within(by.most).count());
    const double grown = static_cast<double>(within(by.first).count()) * std::pow(std::max(by.factor, 1.0), number - 1);
    delay = milliseconds(static_cast<std::int64_t>(std::min(grown, most)));  // infinity is above `most`
  }
  const double jitter = std::clamp(by.jitter, 0.0, 1.0) * part_of(id, number);
  return delay + milliseconds(static_cast<std::int64_t>(static_cast<double>(delay.count()) * jitter));
}

}  // namespace foliot::jobs
