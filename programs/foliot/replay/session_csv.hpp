// Writes sessions as comma-separated values, as in RFC 4180 but with plain newlines:
//
//   client,start,last_request,requests,expired
//   192.0.2.7,2026-03-02T13:45:07Z,2026-03-02T13:52:40Z,12,2026-03-02T14:22:40Z
//
// Ordered by `expired`, then by `client`, byte by byte. Times are UTC.
//
// A client that a spreadsheet would run as a formula gets an apostrophe in front: `'=cmd|…`. So does one that begins
// with an apostrophe, so that a reader who removes the first apostrophe of a client always has its name. Names of hosts
// and addresses begin with none of these characters.
//
// Thread safety: none, one thread. Memory: the sessions that end at the same instant, which come in no order, are held
// back until time moves on.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "output_file.hpp"
#include "session_tracker.hpp"

namespace foliot::program {

/// Appends `field`, in quotes where that is needed; also if it contains a semicolon, which some spreadsheets take for a
/// separator.
void append_csv_field(std::string& to, std::string_view field);
/// Appends `client` as a field that no spreadsheet takes for a formula, by the rule above.
void append_csv_client(std::string& to, std::string_view client);

class session_csv {
 public:
  /// Writes the header. All members throw failure.
  explicit session_csv(output_file& out);

  /// Precondition: calls come in the order of `expired`.
  void add(ended_session&& session);
  /// No session follows: writes the sessions that were held back.
  void finish() { write_held_back(); }

 private:
  void write_held_back();

  output_file& out_;
  std::vector<ended_session> held_back_;
  std::string row_;
};

}  // namespace foliot::program
