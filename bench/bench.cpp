#include <algorithm>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "bench_options.hpp"
#include "choice.hpp"
#include "measure.hpp"
#include "outputs.hpp"
#include "report.hpp"
#include "report/report.hpp"
#include "roster.hpp"
#include "text/failure.hpp"

namespace foliot::program::bench {

namespace {

/// Throws failure if all contestants were left out, so that there is nothing to write.
void check_figures(const results& all) {
  if (!all.records.empty()) return;
  std::vector<std::string> reasons;
  for (const absence& each : all.left_out) reasons.push_back(fmt::format("{}: {}", each.name, each.reason));
  throw failure(fmt::format("nothing was measured, for all contestants were left out: {}", fmt::join(reasons, "; ")));
}

/// Adds the chosen contestants and workloads that are not measured. No absence is added twice.
void add(results& all, const gaps& missing) {
  for (const absence& each : missing.contestants) {
    if (std::ranges::find(all.left_out, each) == all.left_out.end()) all.left_out.push_back(each);
  }
  all.not_measured = missing.workloads;
}

}  // namespace

void run_bench(const bench_options& options) {
  outputs to(options.files);
  roster chosen = select(all_contestants(), options.contestants);
  const gaps missing = gaps_in(options, chosen);
  if (const auto warning = build_warning()) report(*warning);
  if (options.names_workloads) {  // otherwise the contestants were asked for, in all that they take part in
    for (const std::string& each : messages_about(missing)) report(each);
  }
  results all = [&] {
    progress_line shown;
    return measure(
        options, std::move(chosen),
        [&shown](const std::string& what, std::uint64_t done, std::uint64_t count) { shown.show(what, done, count); });
  }();
  add(all, missing);
  check_figures(all);
  to.publish([&all] { return results_text(all); }, [&all] { return results_json(all); },
             [&all] { return report_page(all); });
}

}  // namespace foliot::program::bench
