#include "copy/copy.hpp"

#include <chrono>
#include <string>
#include <string_view>
#include <utility>

#include <fmt/format.h>
#include <foliot/core/clock.hpp>
#include <foliot/runtime/run.hpp>
#include <foliot/runtime/sleep.hpp>
#include <unistd.h>

#include "copy/copier.hpp"
#include "grouped.hpp"
#include "output_file.hpp"
#include "progress.hpp"
#include "report.hpp"
#include "text/failure.hpp"

namespace foliot::program {

namespace {

using namespace std::chrono_literals;

constexpr duration between_looks = 100ms;
/// Of the jobs that stay, so many are named.
constexpr std::size_t most_named = 20;

std::string jobs_text(std::uint64_t count) { return fmt::format("{} {}", grouped(count), count == 1 ? "job" : "jobs"); }

progress::writer report_unless_terminal() {
  if (::isatty(STDERR_FILENO) != 0) return [](std::string_view) {};
  return [](std::string_view line) { report(line); };
}

class copy_run {
 public:
  explicit copy_run(const copy_options& options)
      : options_(options),
        copier_(
            options.from, options.to, [this] { show_progress(); },
            [this](const std::string& sentence) { name_refused(sentence); }),
        progress_(monotonic_clock::instance(), 0, standard_error_if_terminal(), "jobs"),
        logged_(monotonic_clock::instance(), report_unless_terminal(), "moved", "jobs") {}

  task<> run() {
    auto connecting = copier_.connect();
    co_await connecting;
    has_begun_ = true;
    jobs::job_counts left;
    bool is_last = false;  // no job was reserved when the pass began
    for (;;) {
      auto moving = copier_.move_all();
      co_await moving;
      auto counting = copier_.left();
      left = co_await counting;
      if (!options_.waits || left.all() == 0) break;
      if (left.reserved > 0) {
        is_last = false;
        show_progress();
        co_await runtime::sleep(between_looks);
      } else if (std::exchange(is_last, true)) {
        break;
      }
    }
    end(left);
  }

  /// Whether both servers have answered.
  [[nodiscard]] bool has_begun() const noexcept { return has_begun_; }

  void print_moved() {
    progress_.wipe();
    const copying::copy_counts& all = copier_.counts();
    std::string text = fmt::format("moved {} from {} to {}: {} ready, {} delayed, {} buried\n", jobs_text(all.moved()),
                                   options_.from.name, options_.to.name, grouped(all.ready), grouped(all.delayed),
                                   grouped(all.buried));
    if (all.taken_back > 0)
      text += fmt::format("took {} back from the target: workers of the source had them meanwhile\n",
                          jobs_text(all.taken_back));
    if (all.twice > 0)
      text += fmt::format("{} had gone from the target before they could be taken back, and may be done twice\n",
                          jobs_text(all.twice));
    if (copier_.refused() > most_named)
      text += fmt::format("{} more stay at the source\n", jobs_text(copier_.refused() - most_named));
    print(text);
  }

 private:
  void end(const jobs::job_counts& left) {
    print_moved();
    if (left.all() == 0) return;
    throw failure(
        fmt::format("{} at {}: {} reserved by workers, {} ready, {} delayed, {} buried; run the command again "
                    "to move what can be moved by then{}",
                    left.all() == 1 ? "1 job is still" : fmt::format("{} are still", jobs_text(left.all())),
                    options_.from.name, grouped(left.reserved), grouped(left.ready), grouped(left.delayed),
                    grouped(left.buried), left.reserved > 0 ? ", or add --wait" : ""),
        exit_code::bad_input);
  }

  void show_progress() {
    progress_.update(0, copier_.counts().moved());
    logged_.update(copier_.counts().moved());
  }

  void name_refused(const std::string& sentence) {
    progress_.wipe();
    if (copier_.refused() <= most_named) report(sentence);
  }

  const copy_options& options_;
  copying::copier copier_;
  progress progress_;
  logged_progress logged_;
  bool has_begun_ = false;
};

}  // namespace

void copy(const copy_options& options) {
  if (options.from.name == options.to.name)
    throw failure(fmt::format("FROM and TO are both {}: name two servers", options.from.name));
  copy_run all(options);
  runtime::run_options how;
  how.processors = 1;
  try {
    runtime::run(all.run(), how);
  } catch (const failure& error) {
    if (error.code() == exit_code::bad_input || !all.has_begun()) throw;
    all.print_moved();
    throw failure(fmt::format("{}; no job is lost: run the command again to go on", error.what()));
  }
}

}  // namespace foliot::program
