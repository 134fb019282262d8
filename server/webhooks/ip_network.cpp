#include "ip_network.hpp"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <algorithm>
#include <charconv>
#include <cstring>

namespace foliot::program::webhooks {

std::optional<ip_address> ip_address::parse(std::string_view text) noexcept {
  std::array<char, INET6_ADDRSTRLEN> terminated{};
  if (text.empty() || text.size() >= terminated.size()) return std::nullopt;
  std::ranges::copy(text, terminated.begin());
  ip_address read;
  read.is_v6_ = text.find(':') != std::string_view::npos;
  if (::inet_pton(read.is_v6_ ? AF_INET6 : AF_INET, terminated.data(), read.bytes_.data()) != 1) return std::nullopt;
  return read;
}

std::optional<ip_address> ip_address::of(const sockaddr& system) noexcept {
  ip_address read;
  if (system.sa_family == AF_INET) {
    sockaddr_in v4{};
    std::memcpy(&v4, &system, sizeof v4);
    std::memcpy(read.bytes_.data(), &v4.sin_addr, 4);
    return read;
  }
  if (system.sa_family != AF_INET6) return std::nullopt;
  sockaddr_in6 v6{};
  std::memcpy(&v6, &system, sizeof v6);
  std::memcpy(read.bytes_.data(), &v6.sin6_addr, 16);
  read.is_v6_ = true;
  return read;
}

std::string ip_address::to_string() const {
  std::array<char, INET6_ADDRSTRLEN> text{};
  ::inet_ntop(is_v6_ ? AF_INET6 : AF_INET, bytes_.data(), text.data(), text.size());
  return text.data();
}

ip_address ip_address::last_four_bytes() const noexcept {
  ip_address v4;
  std::copy_n(bytes_.begin() + 12, 4, v4.bytes_.begin());
  return v4;
}

std::optional<ip_address> ip_address::previous() const noexcept {
  ip_address before = *this;
  for (std::size_t i = size(); i-- > 0;) {
    if (before.bytes_[i]-- != 0) return before;
  }
  return std::nullopt;
}

std::optional<ip_address> ip_address::next() const noexcept {
  ip_address after = *this;
  for (std::size_t i = size(); i-- > 0;) {
    if (++after.bytes_[i] != 0) return after;
  }
  return std::nullopt;
}

std::optional<ip_network> ip_network::parse(std::string_view text) noexcept {
  const std::size_t slash = text.find('/');
  const auto address = ip_address::parse(text.substr(0, slash));
  if (!address) return std::nullopt;
  ip_network read;
  read.first_ = *address;
  read.prefix_ = address->bits();
  if (slash == std::string_view::npos) return read;
  const std::string_view digits = text.substr(slash + 1);
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), read.prefix_);
  const bool is_number =
      error == std::errc() && end == digits.data() + digits.size() && read.prefix_ <= address->bits();
  if (!is_number || (digits.size() > 1 && digits.front() == '0')) return std::nullopt;
  for (unsigned bit = read.prefix_; bit < address->bits(); ++bit) {
    if ((unsigned{read.first_.bytes_[bit / 8]} >> (7 - bit % 8) & 1U) != 0) return std::nullopt;
  }
  return read;
}

ip_address ip_network::last() const noexcept {
  ip_address end = first_;
  for (unsigned bit = prefix_; bit < end.bits(); ++bit)
    end.bytes_[bit / 8] = static_cast<unsigned char>(unsigned{end.bytes_[bit / 8]} | 1U << (7 - bit % 8));
  return end;
}

bool ip_network::contains(const ip_address& address) const noexcept {
  if (address.is_v6() != first_.is_v6()) return false;
  const std::size_t whole = prefix_ / 8;
  if (!std::equal(first_.bytes_.begin(), first_.bytes_.begin() + static_cast<std::ptrdiff_t>(whole),
                  address.bytes_.begin()))
    return false;
  const unsigned rest = prefix_ % 8;
  return rest == 0 || (unsigned{first_.bytes_[whole]} ^ unsigned{address.bytes_[whole]}) >> (8 - rest) == 0;
}

std::string ip_network::to_string() const { return first_.to_string() + "/" + std::to_string(prefix_); }

}  // namespace foliot::program::webhooks
