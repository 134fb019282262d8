#include "job/event_lines.hpp"

#include <charconv>
#include <system_error>
#include <utility>

namespace foliot::program::terminal {

bool event_lines::feed(std::string_view piece, const std::function<void(const server_event&)>& take) {
  for (const char c : piece) {
    const bool is_second_of_two = std::exchange(was_cr_, c == '\r') && c == '\n';
    if (is_second_of_two) continue;
    if (c != '\r' && c != '\n') {
      if (line_.size() == longest) return false;
      line_ += c;
    } else if (!take_line(take)) {
      return false;
    }
  }
  return true;
}

void event_lines::restart() noexcept {
  line_.clear();
  id_ = last_id_;
  event_ = {};
  has_data_ = false;
  was_cr_ = false;
}

bool event_lines::take_line(const std::function<void(const server_event&)>& take) {
  const std::string line = std::exchange(line_, {});
  if (line.empty()) {  // the end of an event
    last_id_ = id_;
    const server_event done = std::exchange(event_, {});
    if (std::exchange(has_data_, false)) take(done);
    return true;
  }
  const std::size_t colon = line.find(':');
  std::string_view value;
  if (colon != std::string::npos) value = std::string_view(line).substr(colon + 1);
  if (value.starts_with(' ')) value.remove_prefix(1);
  take_field(std::string_view(line).substr(0, colon), value);
  return event_.data.size() <= longest;
}

void event_lines::take_field(std::string_view name, std::string_view value) {
  if (name == "event") {
    event_.name = value;
  } else if (name == "data") {
    if (std::exchange(has_data_, true)) event_.data += '\n';
    event_.data += value;
  } else if (name == "id") {
    if (value.find('\0') == std::string_view::npos) id_ = value;
  } else if (name == "retry") {
    std::uint32_t length = 0;
    const auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), length);
    if (error == std::errc() && end == value.data() + value.size() && !value.empty()) retry_ = length;
  }
}

}  // namespace foliot::program::terminal
