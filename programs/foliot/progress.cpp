#include "progress.hpp"

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <string>
#include <utility>

#include <fmt/format.h>
#include <unistd.h>

#include "grouped.hpp"

namespace foliot::program {

using namespace std::chrono_literals;

namespace {

constexpr std::size_t bar_width = 20;
constexpr duration between_lines = 10s;
constexpr std::string_view to_line_start_and_clear = "\r\033[K";

std::string bar(std::uint64_t done, std::uint64_t total) {
  const double share = std::min(1.0, static_cast<double>(done) / static_cast<double>(total));
  const auto filled = static_cast<std::size_t>(share * static_cast<double>(bar_width));
  return fmt::format("{:3.0f}% [{}{}]  ", share * 100, std::string(filled, '#'), std::string(bar_width - filled, '.'));
}

}  // namespace

progress::progress(const clock& time, std::uint64_t total_bytes, writer write, std::string_view unit)
    : time_(time),
      total_bytes_(total_bytes),
      write_(std::move(write)),
      unit_(unit),
      start_(time.now()),
      next_(start_ + 1s) {}

progress::~progress() { wipe(); }

void progress::update(std::uint64_t bytes, std::uint64_t lines) {
  const instant now = time_.now();
  if (now < next_) return;
  next_ = now + 100ms;
  shown_ = true;
  const double seconds = static_cast<double>((now - start_).count()) / 1e9;
  const auto rate = static_cast<std::uint64_t>(static_cast<double>(lines) / seconds);
  write_(fmt::format("{}{}{} {}, {} a second", to_line_start_and_clear,
                     total_bytes_ > 0 ? bar(bytes, total_bytes_) : std::string(), grouped(lines), unit_,
                     grouped(rate)));
}

void progress::wipe() {
  if (std::exchange(shown_, false)) write_(to_line_start_and_clear);
}

logged_progress::logged_progress(const clock& time, progress::writer write, std::string_view done,
                                 std::string_view unit)
    : time_(time),
      write_(std::move(write)),
      done_(done),
      unit_(unit),
      start_(time.now()),
      next_(start_ + between_lines) {}

void logged_progress::update(std::uint64_t count) {
  const instant now = time_.now();
  if (now < next_) return;
  next_ = now + between_lines;
  const double seconds = static_cast<double>((now - start_).count()) / 1e9;
  write_(fmt::format("{} {} {} so far, {} a second", done_, grouped(count), unit_,
                     grouped(static_cast<std::uint64_t>(static_cast<double>(count) / seconds))));
}

progress::writer standard_error_if_terminal() {
  if (::isatty(STDERR_FILENO) == 0) return [](std::string_view) {};
  return [](std::string_view text) {
    // An error is ignored: the terminal is gone.
    static_cast<void>(!::write(STDERR_FILENO, text.data(), text.size()));
  };
}

}  // namespace foliot::program
