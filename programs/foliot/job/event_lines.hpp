// Reads a stream of server-sent events, in pieces as they come:
// https://html.spec.whatwg.org/multipage/server-sent-events.html
//
//   event_lines lines;
//   lines.feed(piece, [](const server_event& one) { … });
//
// Thread safety: none.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

namespace foliot::program::terminal {

struct server_event {
  std::string name;
  std::string data;
};

class event_lines {
 public:
  static constexpr std::size_t longest = std::size_t{1} << 20;  ///< of a line, and of the data of an event

  /// Calls `take` with each event that ends in this piece. Returns false if a line or an event is too long: then the
  /// stream is none of ours. May throw what `take` throws.
  [[nodiscard]] bool feed(std::string_view piece, const std::function<void(const server_event&)>& take);
  /// The stream begins anew: a line and an event that have not ended are dropped.
  void restart() noexcept;

  /// Of the last event; empty: there was none.
  [[nodiscard]] const std::string& last_id() const noexcept { return last_id_; }
  /// How long to wait before coming again, in ms, as the server has said.
  [[nodiscard]] std::optional<std::uint32_t> retry() const noexcept { return retry_; }

 private:
  bool take_line(const std::function<void(const server_event&)>& take);
  void take_field(std::string_view name, std::string_view value);

  std::string line_;
  std::string id_;  // of the event that is coming
  std::string last_id_;
  server_event event_;
  bool has_data_ = false;
  bool was_cr_ = false;
  std::optional<std::uint32_t> retry_;
};

}  // namespace foliot::program::terminal
