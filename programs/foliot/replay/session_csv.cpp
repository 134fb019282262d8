#include "session_csv.hpp"

#include <algorithm>
#include <utility>

#include "text/timestamp.hpp"

namespace foliot::program {

namespace {

/// Whether a spreadsheet may take the client for a formula, or it begins with the apostrophe that guards against that.
/// (OWASP, "CSV Injection".)
bool needs_guard(std::string_view client) noexcept {
  if (client == "-") return false;  // an unknown client, as logs have it
  // The last four are their full-width forms: = + - @.
  for (const std::string_view start :
       {"=", "+", "-", "@", "\t", "\r", "\n", "'", "\xef\xbc\x9d", "\xef\xbc\x8b", "\xef\xbc\x8d", "\xef\xbc\xa0"}) {
    if (client.starts_with(start)) return true;
  }
  return false;
}

}  // namespace

void append_csv_field(std::string& to, std::string_view field) {
  if (field.find_first_of(",;\"\r\n") == std::string_view::npos) {
    to += field;
    return;
  }
  to += '"';
  for (const char c : field) {
    if (c == '"') to += '"';
    to += c;
  }
  to += '"';
}

void append_csv_client(std::string& to, std::string_view client) {
  if (!needs_guard(client)) return append_csv_field(to, client);
  std::string guarded("'");
  guarded += client;
  append_csv_field(to, guarded);
}

session_csv::session_csv(output_file& out) : out_(out) { out_.write("client,start,last_request,requests,expired\n"); }

void session_csv::add(ended_session&& session) {
  if (!held_back_.empty() && held_back_.front().expired != session.expired) write_held_back();
  held_back_.push_back(std::move(session));
}

void session_csv::write_held_back() {
  std::ranges::sort(held_back_, {}, &ended_session::client);
  for (const ended_session& session : held_back_) {
    row_.clear();
    append_csv_client(row_, session.client);
    row_ += ',';
    append_iso_time(row_, session.start);
    row_ += ',';
    append_iso_time(row_, session.last_request);
    row_ += ',';
    row_ += std::to_string(session.requests);
    row_ += ',';
    append_iso_time(row_, session.expired);
    row_ += '\n';
    out_.write(row_);
  }
  held_back_.clear();
}

}  // namespace foliot::program
