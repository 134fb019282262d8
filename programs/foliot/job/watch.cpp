// `foliot job watch`: what happens to jobs, from the stream of events of a server (docs/serve/events.md). When the
// stream ends, it is opened again, behind the last event that was seen; what was left out is told.
//
// Thread safety: none, one thread.
#include <algorithm>
#include <cstdint>
#include <exception>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "grouped.hpp"
#include "job/api_client.hpp"
#include "job/event_lines.hpp"
#include "job/job_line.hpp"
#include "job/job_text.hpp"
#include "job/problems.hpp"
#include "job/requests.hpp"
#include "job/text_table.hpp"
#include "job/time_words.hpp"
#include "output_file.hpp"
#include "report.hpp"
#include "text/failure.hpp"

namespace foliot::program::terminal {

namespace {

using nlohmann::ordered_json;

constexpr std::uint32_t usual_pause = 2000;  // ms
constexpr std::uint32_t least_pause = 100;
constexpr std::uint32_t most_pause = 60'000;

class event_watch {
 public:
  event_watch(const job_line& line, api_client& server) : line_(line), server_(server) {}

  void run();

 private:
  /// Follows the stream once. Returns whether it may be opened again.
  bool follow();
  /// Returns whether the stream is to be opened again. Throws failure where that would meet the same.
  bool goes_on_after(const api_answer& answer);
  void tell_away();
  void end_with_error();
  bool take(std::string_view piece) noexcept;

  const job_line& line_;
  api_client& server_;
  event_lines lines_;
  std::uint64_t shown_ = 0;
  std::exception_ptr error_;  // of what take() has done
  std::string unwritten_;     // that has failed to be written
  bool has_begun_ = false;    // the server has streamed once
  bool is_away_ = false;      // that was told
};

bool event_watch::take(std::string_view piece) noexcept {
  try {
    if (std::exchange(is_away_, false)) report("the server is there again");
    has_begun_ = true;
    const bool is_right = lines_.feed(piece, [this](const server_event& one) {
      if (line_.count != 0 && shown_ == line_.count) return;
      unwritten_ = event_text(one.name, lines_.last_id(), one.data, line_.as_json);
      print(unwritten_);
      unwritten_.clear();
      ++shown_;
    });
    if (!is_right) throw failure(fmt::format("the stream of {} is not one of events", server_.at().name));
    return line_.count == 0 || shown_ < line_.count;
  } catch (...) {
    error_ = std::current_exception();
    return false;
  }
}

/// Throws what take() has met.
void event_watch::end_with_error() {
  // libcurl ignores SIGPIPE while it runs. Here a reader that has gone ends this program as it ends others.
  if (!unwritten_.empty()) print(unwritten_);
  std::rethrow_exception(error_);
}

void event_watch::tell_away() {
  if (!std::exchange(is_away_, true))
    report(fmt::format("the connection with {} is lost: it is tried again", server_.at().name));
}

bool event_watch::goes_on_after(const api_answer& answer) {
  if (answer.status == 200) {
    if (!is_event_stream(answer.content_type)) throw none_of_ours(server_.at(), "is no stream of events");
    return line_.count == 0 || shown_ < line_.count;
  }
  const bool is_for_now = answer.status == 429 || answer.status == 502 || answer.status == 503 || answer.status == 504;
  if (!has_begun_ || !is_for_now) throw refused_by(answer, server_);
  tell_away();
  return true;
}

bool event_watch::follow() {
  api_request what{.path = "/v1/events", .query = listed_by(line_.filter)};
  if (!lines_.last_id().empty()) what.fields.emplace_back("Last-Event-ID", lines_.last_id());
  lines_.restart();
  std::optional<api_answer> answer;
  try {
    answer = server_.stream(what, [this](std::string_view piece) { return take(piece); });
  } catch (const no_answer&) {
    if (!has_begun_) throw;
    tell_away();
    return true;
  }
  if (error_) end_with_error();
  return goes_on_after(*answer);
}

void event_watch::run() {
  while (follow()) {
    const std::uint32_t pause = std::clamp(lines_.retry().value_or(usual_pause), least_pause, most_pause);
    wait_for(jobs::milliseconds(pause));
  }
}

}  // namespace

void watch_events(const job_line& line, api_client& server) { event_watch(line, server).run(); }

}  // namespace foliot::program::terminal
