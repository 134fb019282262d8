#include "writer.hpp"

#include <array>
#include <charconv>
#include <concepts>
#include <utility>

namespace foliot::program::beanstalk {
namespace {

constexpr std::string_view crlf = "\r\n";

template <std::integral Number>
void append(std::string& out, Number number) {
  std::array<char, 24> digits;
  const auto end = std::to_chars(digits.data(), digits.data() + digits.size(), number).ptr;
  out.append(digits.data(), end);
}

/// A number with zeros in front, so that it has `width` digits.
void append_padded(std::string& out, std::uint64_t number, std::size_t width, int base) {
  std::array<char, 24> digits;
  const auto end = std::to_chars(digits.data(), digits.data() + digits.size(), number, base).ptr;
  const auto size = static_cast<std::size_t>(end - digits.data());
  if (size < width) out.append(width - size, '0');
  out.append(digits.data(), size);
}

std::string_view text_of(numbered_reply word) {
  switch (word) {
    case numbered_reply::inserted: return "INSERTED ";
    case numbered_reply::buried: return "BURIED ";
    case numbered_reply::watching: return "WATCHING ";
    case numbered_reply::kicked: return "KICKED ";
    case numbered_reply::kept: return "KEPT ";
    case numbered_reply::replaced: return "REPLACED ";
    case numbered_reply::exists: return "EXISTS ";
    case numbered_reply::is_reserved: return "IS_RESERVED ";
    case numbered_reply::cancelled: return "CANCELLED ";
    case numbered_reply::rescheduled: return "RESCHEDULED ";
    case numbered_reply::fired: return "FIRED ";
  }
  std::unreachable();
}

std::string_view text_of(jobs::job_state state) {
  switch (state) {
    case jobs::job_state::delayed: return "delayed";
    case jobs::job_state::ready: return "ready";
    case jobs::job_state::reserved: return "reserved";
    case jobs::job_state::buried: return "buried";
  }
  std::unreachable();
}

void append_job_line(std::string& out, std::string_view word, jobs::job_id id, std::size_t body_size) {
  out += word;
  append(out, id);
  out += ' ';
  append(out, body_size);
  out += crlf;
}

void append_job(std::string& out, std::string_view word, jobs::job_id id, std::string_view body) {
  constexpr std::size_t rest = 64;  // of the line, and the end
  out.reserve(out.size() + body.size() + rest);
  append_job_line(out, word, id, body.size());
  out += body;
  out += crlf;
}

/// Replies `OK` with a text, which ends with a newline. The CR LF behind it is not counted.
void append_ok(std::string& out, std::string_view text) {
  out += "OK ";
  append(out, text.size());
  out += crlf;
  out += text;
  out += crlf;
}

/// Collects the lines of a dictionary.
class dictionary {
 public:
  template <std::integral Number>
  void add(std::string_view key, Number value) {
    begin(key);
    append(text_, value);
    text_ += '\n';
  }

  void add(std::string_view key, std::chrono::seconds value) { add(key, value.count()); }

  /// Seconds with six decimal places.
  void add(std::string_view key, std::chrono::microseconds value) {
    begin(key);
    append(text_, value.count() / 1'000'000);
    text_ += '.';
    append_padded(text_, static_cast<std::uint64_t>(value.count() % 1'000'000), 6, 10);
    text_ += '\n';
  }

  void add_word(std::string_view key, std::string_view value) {
    begin(key);
    text_ += value;
    text_ += '\n';
  }

  void add_quoted(std::string_view key, std::string_view value) {
    begin(key);
    append_quoted(text_, value);
    text_ += '\n';
  }

  /// The encoding in hexadecimal; no line if there are no fields.
  void add(std::string_view key, const jobs::job_fields& fields) {
    if (fields.empty()) return;
    begin(key);
    for (const char each : fields.bytes()) append_padded(text_, static_cast<unsigned char>(each), 2, 16);
    text_ += '\n';
  }

  void add_hexadecimal(std::string_view key, std::uint64_t value) {
    begin(key);
    append_padded(text_, value, 16, 16);
    text_ += '\n';
  }

  void add(const jobs::job_counts& counts) {
    add("current-jobs-urgent", counts.urgent);
    add("current-jobs-ready", counts.ready);
    add("current-jobs-reserved", counts.reserved);
    add("current-jobs-delayed", counts.delayed);
    add("current-jobs-buried", counts.buried);
  }

  void add(const job_statistics& what) {
    add("id", what.id);
    add_quoted("tube", what.tube);
    add_word("state", text_of(what.state));
    add("pri", what.priority);
    add("age", what.age);
    add("delay", what.delay);
    add("ttr", what.ttr);
    add("time-left", what.time_left);
    add("file", what.file);
    add("reserves", what.counters.reserves);
    add("timeouts", what.counters.timeouts);
    add("releases", what.counters.releases);
    add("buries", what.counters.buries);
    add("kicks", what.counters.kicks);
  }

  [[nodiscard]] const std::string& text() const noexcept { return text_; }

 private:
  void begin(std::string_view key) {
    text_ += key;
    text_ += ": ";
  }

  std::string text_ = "---\n";
};

}  // namespace

void append_quoted(std::string& out, std::string_view text) {
  out += '"';
  for (const char each : text) {
    if (each == '"' || each == '\\') {
      out += '\\';
      out += each;
    } else if (each == '\n') {
      out += "\\n";
    } else if (const auto code = static_cast<unsigned char>(each); code < ' ' || code == 0x7f) {
      out += "\\x";
      append_padded(out, code, 2, 16);
    } else {
      out += each;
    }
  }
  out += '"';
}

void write_number(std::string& out, numbered_reply word, std::uint64_t number) {
  out += text_of(word);
  append(out, number);
  out += crlf;
}

void write_using(std::string& out, std::string_view tube) {
  out += "USING ";
  out += tube;
  out += crlf;
}

void write_reserved(std::string& out, jobs::job_id id, std::string_view body) {
  append_job(out, "RESERVED ", id, body);
}

void write_found(std::string& out, jobs::job_id id, std::string_view body) { append_job(out, "FOUND ", id, body); }

void write_reserved_line(std::string& out, jobs::job_id id, std::size_t body_size) {
  append_job_line(out, "RESERVED ", id, body_size);
}

constexpr std::string_view begin_of_text = "---\n";

void write_list_begin(std::string& out, std::size_t lines_size) {
  out += "OK ";
  append(out, begin_of_text.size() + lines_size);
  out += crlf;
  out += begin_of_text;
}

void write_tubes(std::string& out, std::span<const std::string> tubes) {
  std::string text(begin_of_text);
  for (const std::string& tube : tubes) {
    text += "- ";
    text += tube;
    text += '\n';
  }
  append_ok(out, text);
}

record_list::record_list(std::size_t room) {
  text_.reserve(begin_of_text.size() + room);
  text_ = begin_of_text;
}

void record_list::begin() {
  text_ += "- {";
  is_first_ = true;
}

void record_list::end() { text_ += "}\n"; }

void record_list::add(std::string_view key, std::uint64_t value) {
  begin_field(key);
  append(text_, value);
}

void record_list::add(std::string_view key, jobs::job_state value) {
  begin_field(key);
  text_ += text_of(value);
}

void record_list::add_quoted(std::string_view key, std::string_view value) {
  begin_field(key);
  append_quoted(text_, value);
}

void record_list::write(std::string& out) const { append_ok(out, text_); }

void record_list::begin_field(std::string_view key) {
  if (!std::exchange(is_first_, false)) text_ += ", ";
  text_ += key;
  text_ += ": ";
}

namespace {

void add_commands(dictionary& lines, const server_statistics& what) {
  for (std::size_t each = 0; each < verbs; ++each) {
    const std::string_view line = commands.at(each).shown_as;
    if (!line.empty()) lines.add(line, what.commands[each]);
  }
  lines.add("job-timeouts", what.job_timeouts);
  lines.add("total-jobs", what.total_jobs);
}

void add_connections(dictionary& lines, const server_statistics& what) {
  if (what.current_tubes) lines.add("current-tubes", *what.current_tubes);
  lines.add("current-connections", what.current_connections);
  lines.add("current-producers", what.current_producers);
  lines.add("current-workers", what.current_workers);
  lines.add("current-waiting", what.current_waiting);
  lines.add("total-connections", what.total_connections);
}

void add_store(dictionary& lines, const server_statistics& what) {
  lines.add("foliot-store-batches", what.store_batches);
  lines.add("foliot-store-operations", what.store_operations);
  lines.add("foliot-store-refused-batches", what.store_refused_batches);
  lines.add("foliot-store-refused-operations", what.store_refused_operations);
  lines.add("foliot-store-unavailable", what.store_unavailable ? 1 : 0);
  lines.add("foliot-buffered-bytes", what.buffered_bytes);
  lines.add("foliot-buffered-waiting", what.buffered_waiting);
  lines.add("foliot-buffered-closed", what.buffered_closed);
  lines.add("foliot-refused-connections", what.refused_connections);
  lines.add("foliot-refused-of-address", what.refused_of_address);
  lines.add("foliot-refused-of-token", what.refused_of_token);
  lines.add("foliot-slow-clients", what.slow_clients);
}

void add_tls(dictionary& lines, const tls_statistics& what) {
  lines.add("foliot-tls-ends", what.ends);
  lines.add("foliot-tls-seconds-left", what.left);
  lines.add("foliot-tls-taken", what.taken);
  lines.add("foliot-tls-refused", what.is_refused ? 1 : 0);
  lines.add("foliot-tls-failed", what.failed);
}

}  // namespace

void write_statistics(std::string& out, const server_statistics& what) {
  dictionary lines;
  if (what.counts) lines.add(*what.counts);
  if (what.tells_of_all_clients) add_commands(lines, what);
  lines.add("max-job-size", what.max_job_size);
  if (what.tells_of_all_clients) add_connections(lines, what);
  lines.add("pid", what.pid);
  lines.add_quoted("version", what.version);
  if (what.tells_of_all_clients) {
    lines.add("rusage-utime", what.user_time);
    lines.add("rusage-stime", what.system_time);
  }
  lines.add("uptime", what.uptime);
  lines.add("binlog-oldest-index", what.oldest_log);
  lines.add("binlog-current-index", what.current_log);
  lines.add("binlog-records-migrated", what.records_migrated);
  lines.add("binlog-records-written", what.records_written);
  lines.add("binlog-max-size", what.max_log_size);
  lines.add_word("draining", what.draining ? "true" : "false");
  lines.add_hexadecimal("id", what.instance);
  lines.add_quoted("hostname", what.hostname);
  lines.add_quoted("os", what.os);
  lines.add_quoted("platform", what.platform);
  if (what.tells_of_all_clients) add_store(lines, what);
  lines.add("foliot-field-bytes", jobs::most_field_bytes);
  if (what.tells_of_all_clients && what.tls) add_tls(lines, *what.tls);
  append_ok(out, lines.text());
}

void write_statistics(std::string& out, const tube_statistics& what) {
  dictionary lines;
  lines.add_quoted("name", what.name);
  if (what.counts) lines.add(*what.counts);
  lines.add("total-jobs", what.total_jobs);
  lines.add("current-using", what.using_it);
  lines.add("current-watching", what.watching_it);
  lines.add("current-waiting", what.waiting);
  lines.add("cmd-delete", what.deletes);
  lines.add("cmd-pause-tube", what.pauses);
  lines.add("pause", what.pause);
  lines.add("pause-time-left", what.pause_left);
  append_ok(out, lines.text());
}

void write_statistics(std::string& out, const job_statistics& what) {
  dictionary lines;
  lines.add(what);
  append_ok(out, lines.text());
}

void write_statistics(std::string& out, const extended_job_statistics& what) {
  dictionary lines;
  lines.add(what.job);
  lines.add_quoted("key", what.key);
  lines.add("due-ms", what.due.time_since_epoch().count());
  lines.add("ttr-ms", what.ttr.count());
  lines.add("fields", what.fields);
  lines.add("history", what.history);
  append_ok(out, lines.text());
}

}  // namespace foliot::program::beanstalk
