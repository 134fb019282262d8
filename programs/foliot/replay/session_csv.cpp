#include "session_csv.hpp"

#include <algorithm>
#include <utility>

#include "../timestamp.hpp"

namespace foliot::program {

void append_csv_field(std::string& to, std::string_view field) {
  if (field.find_first_of(",\"\r\n") == std::string_view::npos) {
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

session_csv::session_csv(output_file& out) : out_(out) { out_.write("client,start,last_request,requests,expired\n"); }

void session_csv::add(ended_session&& session) {
  if (!held_back_.empty() && held_back_.front().expired != session.expired) write_held_back();
  held_back_.push_back(std::move(session));
}

void session_csv::write_held_back() {
  std::ranges::sort(held_back_, {}, &ended_session::client);
  for (const ended_session& session : held_back_) {
    row_.clear();
    append_csv_field(row_, session.client);
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
