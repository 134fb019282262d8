// The sessions as comma-separated values, as RFC 4180 has them (with plain newlines):
//
//   client,start,last_request,requests,expired
//   192.0.2.7,2026-03-02T13:45:07Z,2026-03-02T13:52:40Z,12,2026-03-02T14:22:40Z
//
// Ordered by `expired`, then by `client`, byte by byte. Times are UTC.
//
// A client that a spreadsheet would take for a formula, and run, has an apostrophe in front: `'=cmd|…`. So has
// one that begins with an apostrophe itself: whoever takes the first apostrophe of a client away has its
// name. Names of hosts and addresses begin with none of these characters.
//
// Thread safety: none, one thread. Memory: the sessions that end at one and the same instant are held
// back until time moves on, as they come in no order of their own.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "../output_file.hpp"
#include "session_tracker.hpp"

namespace foliot::program {

/// Appends `field`, in quotes if it has to be; also where it has a semicolon, at which some spreadsheets would
/// part it.
void append_csv_field(std::string& to, std::string_view field);
/// Appends `client` as a field that is no formula, by the rule above.
void append_csv_client(std::string& to, std::string_view client);

class session_csv {
 public:
  /// Begins with the header. Throws failure, as everything here.
  explicit session_csv(output_file& out);

  /// Precondition: sessions come in the order of `expired`.
  void add(ended_session&& session);
  /// No session follows: writes what is held back.
  void finish() { write_held_back(); }

 private:
  void write_held_back();

  output_file& out_;
  std::vector<ended_session> held_back_;
  std::string row_;
};

}  // namespace foliot::program
