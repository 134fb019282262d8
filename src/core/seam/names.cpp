#include <foliot/core/seam/names.hpp>

#include <netdb.h>
#include <sys/socket.h>

#include <cerrno>
#include <cstring>
#include <memory>

namespace foliot::inline core::seam {

namespace {

class category final : public std::error_category {
 public:
  [[nodiscard]] const char* name() const noexcept override { return "foliot names"; }
  [[nodiscard]] std::string message(int what) const override { return ::gai_strerror(what); }
};

struct free_list {
  void operator()(addrinfo* list) const noexcept { ::freeaddrinfo(list); }
};

}  // namespace

const std::error_category& name_category() noexcept {
  static const category only;
  return only;
}

std::expected<std::vector<socket_address>, std::error_code> addresses_of(const std::string& host, std::uint16_t port) {
  addrinfo wanted{};
  wanted.ai_family = AF_UNSPEC;
  wanted.ai_socktype = SOCK_STREAM;
  wanted.ai_flags = AI_NUMERICSERV;
  addrinfo* list = nullptr;
  errno = 0;
  const int failed = ::getaddrinfo(host.c_str(), std::to_string(port).c_str(), &wanted, &list);
  if (failed == EAI_MEMORY) throw std::bad_alloc();
  if (failed == EAI_SYSTEM) return std::unexpected(std::error_code(errno, std::generic_category()));
  // Without a descriptor for /etc/hosts and a socket the system says that it does not know the name.
  const bool lacks = errno == EMFILE || errno == ENFILE || errno == ENOMEM || errno == ENOBUFS;
  if (failed != 0 && lacks) return std::unexpected(std::error_code(errno, std::generic_category()));
  if (failed != 0) return std::unexpected(std::error_code(failed, name_category()));
  const std::unique_ptr<addrinfo, free_list> owned(list);
  std::vector<socket_address> found;
  for (const addrinfo* each = list; each != nullptr; each = each->ai_next) {
    if (each->ai_addrlen > socket_address::capacity) continue;
    socket_address& one = found.emplace_back();
    std::memcpy(one.data(), each->ai_addr, each->ai_addrlen);
    one.set_size(each->ai_addrlen);
  }
  if (found.empty()) return std::unexpected(std::error_code(EAI_NONAME, name_category()));
  return found;
}

}  // namespace foliot::inline core::seam
