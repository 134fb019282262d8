#include "forwarded.hpp"

#include <algorithm>
#include <cstddef>
#include <string_view>
#include <utility>
#include <vector>

#include "front_check.hpp"
#include "server/core/client_source.hpp"

namespace foliot::program::http {

namespace {

/// One proxy's part of the fields; what is not there, or malformed, is empty.
struct hop {
  std::string client;
  std::string host;
};

std::string_view without_blanks(std::string_view text) noexcept {
  while (text.starts_with(' ') || text.starts_with('\t')) text.remove_prefix(1);
  while (text.ends_with(' ') || text.ends_with('\t')) text.remove_suffix(1);
  return text;
}

/// Reads the values of `Forwarded` from the left. Each function takes what it has read off the front of `rest`.
class forwarded_reader {
 public:
  explicit forwarded_reader(std::string_view value) noexcept : rest_(value) {}

  /// The parts of all proxies; a value that is malformed anywhere is one part that says nothing, because it is not
  /// known where in it a quoted text ends.
  std::vector<hop> read() {
    std::vector<hop> all;
    hop current;
    for (bool goes_on = true; goes_on;) {
      skip_blanks();
      if (!at_end_of_pair() && !read_pair(current)) return {hop()};
      skip_blanks();
      const char next = rest_.empty() ? ',' : rest_.front();
      if (next != ',' && next != ';') return {hop()};
      goes_on = !rest_.empty();
      if (goes_on) rest_.remove_prefix(1);
      if (next == ',') all.push_back(std::exchange(current, hop()));
    }
    return all;
  }

 private:
  void skip_blanks() noexcept {
    while (rest_.starts_with(' ') || rest_.starts_with('\t')) rest_.remove_prefix(1);
  }
  [[nodiscard]] bool at_end_of_pair() const noexcept {
    return rest_.empty() || rest_.starts_with(',') || rest_.starts_with(';');
  }
  /// `name=value`, of which the value may be quoted. Returns false if it is malformed.
  bool read_pair(hop& into) {
    const std::size_t equals = rest_.find('=');
    if (equals == std::string_view::npos || !is_token(rest_.substr(0, equals))) return false;
    const std::string_view name = rest_.substr(0, equals);
    rest_.remove_prefix(equals + 1);
    std::string value;
    if (rest_.starts_with('"')) {
      if (!read_quoted(value)) return false;
    } else {
      value = rest_.substr(0, std::min(rest_.find_first_of(",; \t"), rest_.size()));
      rest_.remove_prefix(value.size());
    }
    if (equal_in_any_case(name, "for")) into.client = std::move(value);
    if (equal_in_any_case(name, "host")) into.host = std::move(value);
    return true;
  }
  bool read_quoted(std::string& into) {
    rest_.remove_prefix(1);
    while (!rest_.empty()) {
      char next = rest_.front();
      rest_.remove_prefix(1);
      if (next == '"') return true;
      if (next == '\\') {
        if (rest_.empty()) return false;
        next = rest_.front();
        rest_.remove_prefix(1);
      }
      into += next;
    }
    return false;
  }

  std::string_view rest_;
};

/// The parts of a field `name`, in the order in which the proxies have written them.
template <class Read>
std::vector<hop> hops_of(const request& head, std::string_view name, Read read) {
  std::vector<hop> all;
  for (const field& each : head.fields) {
    if (each.name != name) continue;
    for (hop& one : read(each.value)) all.push_back(std::move(one));
  }
  return all;
}

std::vector<hop> hops_of_forwarded(const request& head) {
  return hops_of(head, "forwarded", [](std::string_view value) { return forwarded_reader(value).read(); });
}

std::vector<hop> hops_of_x_forwarded_for(const request& head) {
  return hops_of(head, "x-forwarded-for", [](std::string_view value) {
    std::vector<hop> all;
    for (bool goes_on = true; goes_on;) {
      const std::size_t comma = value.find(',');
      goes_on = comma != std::string_view::npos;
      all.push_back({std::string(without_blanks(value.substr(0, comma))), ""});
      if (goes_on) value.remove_prefix(comma + 1);
    }
    return all;
  });
}

/// An address, in brackets or not, perhaps with a port.
std::optional<runtime::address> address_in(std::string_view text) {
  if (auto alone = address_without_port(text)) return alone;
  const auto with_port = runtime::address::parse(std::string(text));
  if (!with_port || with_port->is_local()) return std::nullopt;
  return *with_port;
}

std::optional<runtime::address> client_by(const std::vector<hop>& hops, const runtime::address& peer,
                                          const named_proxies& proxies) {
  runtime::address in_hand = peer;
  for (std::size_t left = hops.size(); left > 0 && proxies.have(in_hand); --left) {
    const std::optional<runtime::address> before = address_in(hops[left - 1].client);
    if (!before) return std::nullopt;
    in_hand = *before;
  }
  return in_hand;
}

/// What the rightmost value of X-Forwarded-Host says.
std::string host_of_x_forwarded(const request& head) {
  std::string last;
  for (const field& each : head.fields) {
    if (each.name != "x-forwarded-host") continue;
    const std::string_view value = each.value;
    const std::size_t comma = value.rfind(',');
    last = without_blanks(comma == std::string_view::npos ? value : value.substr(comma + 1));
  }
  return last;
}

}  // namespace

std::optional<runtime::address> forwarded_client(const request& head, const runtime::address& peer,
                                                 const named_proxies& proxies) {
  const std::vector<hop> standard = hops_of_forwarded(head);
  const std::vector<hop> common = hops_of_x_forwarded_for(head);
  if (standard.empty()) return client_by(common, peer, proxies);
  const std::optional<runtime::address> told = client_by(standard, peer, proxies);
  if (common.empty() || !told) return told;
  const std::optional<runtime::address> told_otherwise = client_by(common, peer, proxies);
  if (!told_otherwise || address_bytes(*told) != address_bytes(*told_otherwise)) return std::nullopt;
  return told;
}

std::optional<std::string> forwarded_host(const request& head) {
  const std::vector<hop> standard = hops_of_forwarded(head);
  std::string by_standard = standard.empty() ? std::string() : standard.back().host;
  std::string by_common = host_of_x_forwarded(head);
  if (by_standard.empty() && by_common.empty()) return std::nullopt;
  if (by_standard.empty()) return by_common;
  if (by_common.empty() || equal_in_any_case(by_standard, by_common)) return by_standard;
  return "";
}

}  // namespace foliot::program::http
