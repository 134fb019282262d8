// The events of the beanstalk parser as text, so that tests compare and show them.
#pragma once

#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "server/beanstalk/commands.hpp"

namespace foliot::program::beanstalk {

/// Writes each event: a command as a client would send it, a put with its times in milliseconds and its body in
/// brackets.
class event_text {
 public:
  static std::string of(const event& what) {
    return std::visit([](const auto& each) { return text(each); }, what);
  }

 private:
  template <class... Parts>
  static std::string words(std::string_view first, const Parts&... parts) {
    std::string out(first);
    ((out += ' ', out += part(parts)), ...);
    return out;
  }

  static std::string part(std::string_view text) { return std::string(text); }
  static std::string part(std::uint64_t number) { return std::to_string(number); }
  static std::string part(jobs::milliseconds time) { return std::to_string(time.count()); }
  static std::string part(const jobs::due_at& due) {
    const auto* const time = std::get_if<jobs::utc_time>(&due);
    return time ? "@" + part(time->time_since_epoch()) : part(std::get<jobs::milliseconds>(due));
  }
  static std::string part(const job_reference& job) {
    const auto* const key = std::get_if<std::string_view>(&job);
    return key ? "=" + part(*key) : part(std::get<jobs::job_id>(job));
  }
  static std::string part(jobs::on_existing existing) {
    return existing == jobs::on_existing::keep ? "keep" : existing == jobs::on_existing::replace ? "replace" : "refuse";
  }

  static std::uint64_t seconds(jobs::milliseconds time) { return static_cast<std::uint64_t>(time.count() / 1000); }

  static std::string text(const unknown_command&) { return "UNKNOWN_COMMAND"; }
  static std::string text(const bad_format& e) { return e.counted ? "BAD_FORMAT, counted" : "BAD_FORMAT"; }
  static std::string text(const http_request&) { return "HTTP"; }
  static std::string text(const tls_record&) { return "TLS"; }
  static std::string text(const put_line& e) {
    std::string out = words(e.extended ? "x-put-line" : "put-line", e.size) + (e.too_big ? ", too big" : "");
    if (e.fields != 0 || e.history != 0) out += words(", with", e.fields, e.history);
    return out;
  }
  static std::string text(const put& e) {
    const jobs::put& job = e.job;
    std::string out = words("put", job.priority, job.due, job.ttr);
    if (!job.key.empty() || job.existing != jobs::on_existing::keep)
      out = words(out, job.existing, std::string_view(job.key));
    out += " [" + job.body + "]" + job.tube;
    if (!job.fields.empty()) out += " fields [" + std::string(job.fields.bytes()) + "]";
    if (!job.history.empty()) out += " history [" + std::string(job.history.bytes()) + "]";
    return out;
  }
  static std::string text(const body_without_crlf&) { return "EXPECTED_CRLF"; }
  static std::string text(const body_discarded& e) {
    return e.why == body_discarded::reason::too_big ? "JOB_TOO_BIG" : "OUT_OF_MEMORY";
  }
  static std::string text(const use& e) { return words("use", e.tube); }
  static std::string text(const watch& e) { return words("watch", e.tube); }
  static std::string text(const ignore& e) { return words("ignore", e.tube); }
  static std::string text(const reserve&) { return "reserve"; }
  static std::string text(const reserve_with_timeout& e) { return words("reserve-with-timeout", e.seconds); }
  static std::string text(const reserve_job& e) { return words("reserve-job", e.id); }
  static std::string text(const delete_job& e) { return words("delete", e.id); }
  static std::string text(const release& e) { return words("release", e.id, e.priority, seconds(e.delay)); }
  static std::string text(const bury& e) { return words("bury", e.id, e.priority); }
  static std::string text(const touch& e) { return words("touch", e.id); }
  static std::string text(const peek& e) { return words("peek", e.id); }
  static std::string text(const peek_ready&) { return "peek-ready"; }
  static std::string text(const peek_delayed&) { return "peek-delayed"; }
  static std::string text(const peek_buried&) { return "peek-buried"; }
  static std::string text(const kick& e) { return words("kick", e.count); }
  static std::string text(const kick_job& e) { return words("kick-job", e.id); }
  static std::string text(const pause_tube& e) { return words("pause-tube", e.tube, seconds(e.length)); }
  static std::string text(const stats&) { return "stats"; }
  static std::string text(const stats_job& e) { return words("stats-job", e.id); }
  static std::string text(const stats_tube& e) { return words("stats-tube", e.tube); }
  static std::string text(const list_tubes&) { return "list-tubes"; }
  static std::string text(const list_tube_used&) { return "list-tube-used"; }
  static std::string text(const list_tubes_watched&) { return "list-tubes-watched"; }
  static std::string text(const quit&) { return "quit"; }
  static std::string text(const cancel& e) { return words("x-cancel", e.job); }
  static std::string text(const reschedule& e) { return words("x-reschedule", e.job, e.due); }
  static std::string text(const fire_now& e) { return words("x-fire", e.job); }
  static std::string text(const extended_stats_job& e) { return words("x-stats-job", e.job); }
  static std::string text(const list_due& e) {
    return "x-due " + std::to_string(e.count) + " @" + std::to_string(e.from.time_since_epoch().count()) + " " +
           std::to_string(e.after) + " " + (e.prefix.empty() ? "-" : std::string(e.prefix));
  }
};

using texts = std::vector<std::string>;

}  // namespace foliot::program::beanstalk
