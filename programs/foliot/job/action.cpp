// Changes of many jobs at once, by a filter: an action of the server (docs/serve/actions.md), which counts first. The
// user sees the exact number and is asked, unless the line says that it is sure.
//
// Ctrl-C while the server counts, or at the question, changes nothing. While the action runs it is stopped: what is
// done stays done, and the numbers are shown.
//
// Thread safety: none, one thread.
#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <string>
#include <string_view>
#include <utility>

#include <fmt/format.h>
#include <foliot/core/clock.hpp>
#include <nlohmann/json.hpp>
#include <poll.h>
#include <unistd.h>

#include "grouped.hpp"
#include "interruption.hpp"
#include "job/api_client.hpp"
#include "job/job_line.hpp"
#include "job/job_text.hpp"
#include "job/problems.hpp"
#include "job/requests.hpp"
#include "job/time_words.hpp"
#include "output_file.hpp"
#include "progress.hpp"
#include "report.hpp"
#include "text/failure.hpp"
#include "text/printable.hpp"

namespace foliot::program::terminal {

namespace {

using nlohmann::ordered_json;

using jobs::milliseconds;

constexpr int first_pause = 5;  // ms between two looks at an action; each is twice as long as the last
constexpr int longest_pause = 500;
constexpr int most_tries_to_forget = 8;

struct verb {
  const char* asks;      ///< of the interface
  std::string_view now;  ///< for the question
  std::string_view done;
};

verb verb_of(job_command what) noexcept {
  switch (what) {
    case job_command::cancel: return {"cancel", "cancel", "cancelled"};
    case job_command::move: return {"reschedule", "move", "moved"};
    case job_command::fire: return {"fire", "make ready", "made ready"};
    default: return {"kick", "kick", "kicked"};
  }
}

std::string jobs_words(std::uint64_t count) { return count == 1 ? "1 job" : grouped(count) + " jobs"; }

/// The answer of the user at the terminal. Throws interrupted.
bool is_agreed(const std::string& question) {
  static_cast<void>(!::write(STDERR_FILENO, question.data(), question.size()));
  std::string answer;
  for (char c = 0; c != '\n';) {
    // A signal that comes right before the call does not end it: so it ends by itself.
    pollfd terminal{.fd = STDIN_FILENO, .events = POLLIN, .revents = 0};
    const int ready = ::poll(&terminal, 1, longest_pause);
    throw_if_interrupted();
    if (ready <= 0) continue;
    const ssize_t got = ::read(STDIN_FILENO, &c, 1);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) break;
    if (c != '\n' && answer.size() < 10) answer += c;
  }
  return answer == "y" || answer == "Y" || answer == "yes";
}

class action_run {
 public:
  action_run(const job_line& line, api_client& server) : line_(line), server_(server), verb_(verb_of(line.what)) {}

  /// Counts and asks. Returns whether to go on: not if the user has interrupted it.
  [[nodiscard]] bool prepare();
  /// Runs the action, and shows what has become of the jobs.
  void finish();

 private:
  void make();
  void count();
  void ask();
  void run();
  void start();
  void follow();
  void show();
  /// Forgets the action. What goes wrong is dropped: the server forgets it by itself, later.
  void forget() noexcept;
  [[nodiscard]] std::string path(std::string_view more = "") const {
    return fmt::format("/v1/actions/{}{}", percent_encoded(text_in(action_, "id")), more);
  }
  void look();
  void stop();
  void wait_for_end();
  [[nodiscard]] bool is_in(std::string_view state) const { return text_in(action_, "state") == state; }
  [[nodiscard]] std::uint64_t outcome(const char* word) const {
    const auto all = action_.find("outcomes");
    return all != action_.end() ? number_in(*all, word) : 0;
  }

  const job_line& line_;
  api_client& server_;
  const verb verb_;
  ordered_json action_ = ordered_json::object();
  bool was_interrupted_ = false;
};

void action_run::make() {
  const job_filter& which = line_.filter;
  if (!which.tube && !which.prefix && !which.all)
    throw failure("say in which tubes: by --tube, by --prefix, or by --all");
  ordered_json wanted = ordered_json::object();
  wanted["do"] = verb_.asks;
  if (which.tube) wanted["tube"] = *which.tube;
  if (which.prefix || which.all) wanted["prefix"] = which.prefix.value_or("");
  if (!which.state.empty()) wanted["state"] = which.state;
  if (!which.key_prefix.empty()) wanted["key_prefix"] = which.key_prefix;
  if (!which.text.empty()) wanted["text"] = which.text;
  for (const auto& [name, value] : due_of(line_, line_.what == job_command::move)) wanted[name] = value;
  action_ = value_of(server_.ask({.method = "POST",
                                  .path = "/v1/actions",
                                  .body = wanted.dump(-1, ' ', true, ordered_json::error_handler_t::replace),
                                  .content_type = "application/json"}),
                     server_);
  if (text_in(action_, "id").empty()) throw none_of_ours(server_.at(), "has no 'id'");
}

void action_run::look() { action_ = value_of(server_.ask({.path = path()}), server_); }

void action_run::count() {
  progress shown(monotonic_clock::instance(), 0, standard_error_if_terminal(), "jobs that fit");
  for (int pause = first_pause; is_in("counting"); pause = std::min(2 * pause, longest_pause)) {
    wait_for(milliseconds(pause));
    throw_if_interrupted();
    look();
    shown.update(0, number_in(action_, "counted"));
  }
  if (!is_in("counted")) {
    throw failure(fmt::format("the server has stopped to count: {}", text_in(action_, "reason")), exit_code::bad_input);
  }
  throw_if_interrupted();
  if (number_in(action_, "counted") == 0) throw failure("no job fits", exit_code::bad_input);
}

void action_run::ask() {
  if (line_.is_sure) return;
  const std::string number = jobs_words(number_in(action_, "counted"));
  const bool is_one = number_in(action_, "counted") == 1;
  if (::isatty(STDIN_FILENO) == 0 || ::isatty(STDERR_FILENO) == 0) {
    throw failure(fmt::format("{} {}, and nothing has changed: --yes changes {}", number, is_one ? "fits" : "fit",
                              is_one ? "it" : "them"));
  }
  const std::string question =
      fmt::format("{} {}: {} {}? [y/N] ", number, is_one ? "fits" : "fit", verb_.now, is_one ? "it" : "them");
  if (!is_agreed(question)) throw failure("nothing has changed", exit_code::bad_input);
}

void action_run::wait_for_end() {
  const std::uint64_t all = number_in(action_, "counted");
  progress shown(monotonic_clock::instance(), all, standard_error_if_terminal(), "jobs");
  for (int pause = first_pause; !is_in("done") && !is_in("stopped"); pause = std::min(2 * pause, longest_pause)) {
    wait_for(milliseconds(pause));
    throw_if_interrupted();
    look();
    std::uint64_t seen = 0;
    for (const char* const each : {"done", "gone", "reserved", "refused", "changed", "unknown"}) seen += outcome(each);
    shown.update(seen, seen);
  }
}

void action_run::stop() {
  try {
    action_ = value_of(server_.ask({.method = "POST", .path = path("/stop")}), server_);
    wait_for_end();
  } catch (const failure& why) {
    report(fmt::format("action {} may go on at the server ({}): 'POST {}' stops it", text_in(action_, "id"), why.what(),
                       path("/stop")));
    throw interrupted();
  }
}

void action_run::start() {
  ordered_json counted = ordered_json::object();
  counted["counted"] = number_in(action_, "counted");
  const api_answer started =
      server_.ask({.method = "POST", .path = path("/run"), .body = counted.dump(), .content_type = "application/json"});
  if (!started.is_success()) {
    const failure refused = refused_by(started, server_);
    forget();
    throw refused;
  }
  action_ = json_of(started, server_.at());
}

void action_run::follow() {
  try {
    wait_for_end();
  } catch (const interrupted&) {
    throw;
  } catch (const failure& why) {
    throw failure(fmt::format("{}; action {} goes on at the server: 'GET {}' shows what has become of it", why.what(),
                              text_in(action_, "id"), path()),
                  why.code());
  }
}

void action_run::run() {
  try {
    start();
    follow();
  } catch (const interrupted&) {
    was_interrupted_ = true;
    stop();
  }
}

void action_run::finish() {
  run();
  show();
  forget();
  if (was_interrupted_) return;
  if (is_in("stopped")) throw failure("the action was stopped at the server", exit_code::bad_input);
  const std::uint64_t left = outcome("reserved") + outcome("refused") + outcome("changed") + outcome("unknown");
  if (left > 0) throw failure(fmt::format("not all jobs were {}", verb_.done), exit_code::bad_input);
}

void action_run::show() {
  if (line_.as_json) return print(json_line(action_));
  std::string text =
      fmt::format("{} {} of {}\n", verb_.done, grouped(outcome("done")), jobs_words(number_in(action_, "counted")));
  const auto add = [&text, this](const char* word, std::string_view sentence) {
    if (const std::uint64_t count = outcome(word); count > 0)
      text += fmt::format("  {} {}\n", grouped(count), sentence);
  };
  add("gone", "had ended before their turn");
  add("reserved", "not changed: workers have them");
  add("refused", "not changed: their state does not allow it");
  add("changed", "not changed: the filter does not fit them any more");
  add("unknown", "may have been changed: their piece was cut off");
  if (is_in("stopped")) {
    const std::string reason = text_in(action_, "reason");
    text += fmt::format("the action was stopped{}: what is done stays done\n",
                        reason.empty() ? "" : " (" + printable(reason) + ")");
  }
  print(text);
}

void action_run::forget() noexcept {
  try {
    if (text_in(action_, "id").empty()) return;
    if (is_in("counting") || is_in("running"))
      static_cast<void>(server_.ask({.method = "POST", .path = path("/stop")}));
    for (int tries = 0; tries < most_tries_to_forget; ++tries) {  // it stops behind the piece that is under way
      if (server_.ask({.method = "DELETE", .path = path()}).status != 409) return;
      wait_for(milliseconds(first_pause << tries));
    }
  } catch (const std::exception&) {
    // It is kept for a day at most.
  }
}

bool action_run::prepare() {
  try {
    make();
    count();
    ask();
    throw_if_interrupted();
    return true;
  } catch (const interrupted&) {
    forget();
    report("nothing has changed");
    return false;
  } catch (const std::exception&) {
    forget();
    throw;
  }
}

}  // namespace

void change_many(const job_line& line, api_client& server) {
  try {
    const interruptible noted;
    action_run action(line, server);
    if (action.prepare()) action.finish();
  } catch (const interrupted&) {
    die_if_interrupted();
    throw;
  } catch (const failure& why) {  // also of what came to its end behind the signal
    if (has_been_interrupted()) report(why.what());
    die_if_interrupted();
    throw;
  }
  die_if_interrupted();
}

}  // namespace foliot::program::terminal
