// `foliot job` with --data: looks into the folder of a stopped server, which stays as it is.
//
// Thread safety: none, one thread.
#include "job/job_line.hpp"
#include "text/failure.hpp"

#if defined(FOLIOT_HAS_EMBEDDED_STORE)

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <foliot/jobs/job_store.hpp>
#include <foliot/jobs/stopped_folder.hpp>

#include "job/job_text.hpp"
#include "job/requests.hpp"
#include "job/time_words.hpp"
#include "output_file.hpp"
#include "report.hpp"
#include "server/actions/action.hpp"
#include "server/http/job_requests.hpp"
#include "server/http/times.hpp"
#include "text/nearest.hpp"

namespace foliot::program::terminal {

namespace {

using nlohmann::ordered_json;

/// A server has locked its folder. That the lock is free now means nothing for later: the look takes it.
void refuse_running(const std::string& folder) {
  const int opened = ::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (opened < 0) return;  // the store says why
  const bool is_locked = ::flock(opened, LOCK_SH | LOCK_NB) != 0 && errno == EWOULDBLOCK;
  ::close(opened);
  if (is_locked)
    throw failure(fmt::format(
        "--data: '{}' is in use by a server, or by another look: ask the server, by --server, or stop it first",
        folder));
}

class folder_look {
 public:
  explicit folder_look(const job_line& line) : line_(line), folder_(line.folder), style_{local_now(), line.is_exact} {}

  void get() { show_job(line_, http::shown(find(), style_.now, true), style_.now); }
  void why();
  void list();
  void tubes();

 private:
  [[nodiscard]] jobs::job find() const;
  [[nodiscard]] bool wants(std::string_view tube) const {
    const job_filter& which = line_.filter;
    return which.tube ? tube == *which.tube : tube.starts_with(which.prefix.value_or(""));
  }
  /// `listed`: without its body.
  [[nodiscard]] bool wants(const jobs::job& listed) const;
  void add_row(const ordered_json& row, void (*add)(text_table&, const ordered_json&, const time_style&));
  void end_list();

  const job_line& line_;
  const jobs::stopped_folder folder_;
  const time_style style_;
  text_table table_{{}};
  std::uint64_t shown_ = 0;
  bool has_more_ = false;
};

/// The number; 0, which no job has, if it is larger than that of any job. Precondition: the text is of digits.
jobs::job_id id_of(std::string_view digits) noexcept {
  jobs::job_id id = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), id);
  return error == std::errc() ? id : 0;
}

/// Throws failure, as a server says no.
void check_state(std::string_view text) {
  if (text.empty()) return;
  for (const auto each :
       {jobs::job_state::ready, jobs::job_state::delayed, jobs::job_state::reserved, jobs::job_state::buried}) {
    if (http::text_of(each) == text) return;
  }
  throw failure(fmt::format("--state: '{}' is no state of a job: it is ready, delayed, reserved or buried", text));
}

jobs::job folder_look::find() const {
  const names_and_values name = name_of_job(line_);
  auto found = name.size() == 1 ? folder_.find(id_of(name[0].second), style_.now)
                                : folder_.find(name[0].second, name[1].second, style_.now);
  if (found) return *std::move(found);
  throw failure(fmt::format("there is no such job in '{}': it has ended, or never was", line_.folder),
                exit_code::bad_input);
}

void folder_look::why() {
  const jobs::job found = find();
  ordered_json answer = ordered_json::object();
  answer["id"] = std::to_string(found.id);
  answer["tube"] = found.tube;
  answer["state"] = http::text_of(found.state);
  answer["waits"] = found.state == jobs::job_state::delayed  ? "due_later"
                    : found.state == jobs::job_state::buried ? "buried"
                                                             : "no_server";
  if (found.state == jobs::job_state::delayed) answer["until"] = http::time_text(found.due);
  print(line_.as_json ? json_line(answer) : why_text(answer, style_));
}

void folder_look::add_row(const ordered_json& row, void (*add)(text_table&, const ordered_json&, const time_style&)) {
  ++shown_;
  if (line_.as_json) return print(json_line(row));
  add(table_, row, style_);
}

void folder_look::end_list() {
  if (!table_.empty()) print(table_.text());
  if (has_more_) report(fmt::format("more follow than these {}: --count shows more", shown_));
  if (shown_ > 0) return;
  if (line_.filter.tube) {
    std::vector<std::string> names;
    for (const auto& [name, counts] : folder_.tubes()) names.push_back(name);
    if (std::ranges::find(names, *line_.filter.tube) == names.end()) {
      const auto meant = nearest(*line_.filter.tube, names);
      throw failure(fmt::format("tube '{}' has no jobs{}", *line_.filter.tube,
                                meant ? fmt::format(": the nearest that has some is '{}'", *meant) : ""),
                    exit_code::bad_input);
    }
  }
  if (!line_.as_json)
    report(line_.what == job_command::tubes ? "there are no tubes with jobs" : "there are no such jobs");
}

bool folder_look::wants(const jobs::job& listed) const {
  const job_filter& which = line_.filter;
  if (!wants(listed.tube) || !listed.key.starts_with(which.key_prefix)) return false;
  if (!which.state.empty() && http::text_of(listed.state) != which.state) return false;
  if (which.text.empty()) return true;
  const auto whole = folder_.find(listed.id, style_.now);
  return whole && std::string_view(whole->body).substr(0, searched_of_body).contains(which.text);
}

void folder_look::list() {
  check_state(line_.filter.state);
  if (line_.is_due_next) {
    table_ = due_table();
    auto due = folder_.due_next([this](std::string_view tube) { return wants(tube); }, line_.count + 1);
    for (const auto& each : due) {
      has_more_ = shown_ == line_.count;
      if (has_more_) break;
      ordered_json row = ordered_json::object();
      row["id"] = std::to_string(each.id);
      row["tube"] = each.tube;
      row["due"] = http::time_text(each.due);
      add_row(row, &add_due);
    }
    return end_list();
  }
  table_ = jobs_table();
  folder_.walk(style_.now, [this](const jobs::job& each) {
    if (!wants(each)) return true;
    has_more_ = shown_ == line_.count;
    if (!has_more_) add_row(http::shown(each, style_.now, false), &add_job);
    return !has_more_;
  });
  end_list();
}

void folder_look::tubes() {
  table_ = tubes_table();
  for (const auto& [name, counts] : folder_.tubes()) {
    if (!wants(name)) continue;
    has_more_ = shown_ == line_.count;
    if (has_more_) break;
    ordered_json row = ordered_json::object();
    row["tube"] = name;
    row["ready"] = counts.ready;
    row["urgent"] = counts.urgent;
    row["reserved"] = counts.reserved;
    row["delayed"] = counts.delayed;
    row["buried"] = counts.buried;
    add_row(row, &add_tube);
  }
  end_list();
}

}  // namespace

void look_into_folder(const job_line& line) {
  refuse_running(line.folder);
  try {
    folder_look look(line);
    switch (line.what) {
      case job_command::get: return look.get();
      case job_command::why: return look.why();
      case job_command::tubes: return look.tubes();
      default: return look.list();
    }
  } catch (const jobs::store_failure& why) {
    throw failure(why.what());
  }
}

}  // namespace foliot::program::terminal

#else

namespace foliot::program::terminal {

void look_into_folder(const job_line&) {
  throw failure("--data: this program was built without the store of folders: build it with RocksDB");
}

}  // namespace foliot::program::terminal

#endif
