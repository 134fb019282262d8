#include "processor_timers.hpp"

#include <algorithm>
#include <array>
#include <stdexcept>
#include <string>

#include "core/seam/probes.hpp"
#include "foliot_timers.hpp"
#include "processor_heaps.hpp"

namespace foliot::runtime::detail {

void processor_timers::count_fired(instant deadline, instant now) noexcept {
  fired_.store(fired() + 1, seam::relaxed);  // one thread at a time writes it
  if (lateness_ != nullptr) [[unlikely]]
    lateness_->record(now - deadline);
  foliot::detail::probes::due(processor_, deadline, now);
}

namespace {

/// The kinds of timers, by name. A new kind is one line in `kinds`.
struct kind {
  std::string_view name;
  std::unique_ptr<processor_timers> (*make)(const run_options& options, std::uint32_t processor, instant now);
};

/// The seed for the order of timers that are due at the same instant.
std::uint64_t seed_of(const run_options& options, std::uint32_t processor) noexcept {
  return ~options.seed * 257 + processor;
}

constexpr std::array kinds{
    kind{"foliot",
         [](const run_options& options, std::uint32_t processor, instant now) -> std::unique_ptr<processor_timers> {
           if (options.shuffles_ties)
             return std::make_unique<foliot_timers>(processor, now, seed_of(options, processor));
           return std::make_unique<foliot_timers>(processor, now);
         }},
    kind{"processor-heaps",
         [](const run_options&, std::uint32_t processor, instant) -> std::unique_ptr<processor_timers> {
           return std::make_unique<processor_heaps>(processor, adjusting::when_due);
         }},
    kind{"processor-heaps-1.14",
         [](const run_options&, std::uint32_t processor, instant) -> std::unique_ptr<processor_timers> {
           return std::make_unique<processor_heaps>(processor, adjusting::by_count);
         }},
};

}  // namespace

void check_timers_name(std::string_view name) {
  if (std::ranges::find(kinds, name, &kind::name) != kinds.end()) return;
  std::string message = "foliot: a runtime has no timers '" + std::string(name) + "'; it has:";
  for (const kind& each : kinds) (message += ' ') += each.name;
  throw std::invalid_argument(message);
}

std::unique_ptr<processor_timers> make_timers(const run_options& options, std::uint32_t processor, instant now) {
  return std::ranges::find(kinds, options.timers, &kind::name)->make(options, processor, now);
}

}  // namespace foliot::runtime::detail
