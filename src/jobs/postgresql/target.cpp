#include "target.hpp"

#include <libpq-fe.h>

#include <algorithm>
#include <memory>
#include <new>
#include <string_view>
#include <utility>

#include <foliot/jobs/job_store.hpp>

namespace foliot::jobs::detail {

namespace {

std::vector<std::string> split(const std::string& list) {
  std::vector<std::string> parts(1);
  for (const char each : list) {
    if (each == ',') {
      parts.emplace_back();
    } else {
      parts.back() += each;
    }
  }
  return parts;
}

std::string joined(const std::vector<std::string>& parts) {
  std::string list;
  for (std::size_t i = 0; i < parts.size(); ++i) list += (i == 0 ? "" : ",") + parts[i];
  return list;
}

[[noreturn]] void refuse(const std::string& why) {
  throw store_failure("the connection string of the database cannot be read" + why +
                      ": write postgresql://user@host/database, or host=… dbname=… user=…");
}

/// The reason that libpq gives for a string that it cannot read, in parentheses. Leaves out what libpq quotes, which
/// may be a piece of a password.
std::string shown_reason(std::string_view text) {
  while (text.ends_with('\n')) text.remove_suffix(1);
  // A translated text may quote in other ways, so it is not shown at all.
  const bool is_plain = std::ranges::none_of(text, [](char each) { return static_cast<unsigned char>(each) > 127; });
  if (text.empty() || !is_plain) return "";
  constexpr std::string_view missing = "missing \"=\"";
  const std::size_t first = text.find('"', text.starts_with(missing) ? missing.size() : 0);
  if (first == std::string_view::npos) return " (" + std::string(text) + ")";
  // Up to the last quotation mark, because the quoted text may have some itself.
  return " (" + std::string(text.substr(0, first)) + "\"…" + std::string(text.substr(text.rfind('"'))) + ")";
}

bool is_uri(std::string_view database) {
  return database.starts_with("postgresql://") || database.starts_with("postgres://");
}

/// Whether a piece of a password may be in the hosts, the ports or the name of the database, which are shown to people.
/// That happens if the password has an "@" or a "/" that is not escaped: libpq ends the password of a URI at the first
/// "@", and the hosts at the first "/".
bool may_hold_a_password(const std::string& database, const std::vector<std::string>& hosts,
                         const std::vector<std::string>& ports, std::string_view name) {
  const auto is_number = [](std::string_view port) {
    return std::ranges::all_of(port, [](char each) { return each >= '0' && each <= '9'; });
  };
  // A host that begins with "@" is a socket in the abstract name space.
  return std::ranges::any_of(hosts, [](const std::string& each) { return each.find('@', 1) != std::string::npos; }) ||
         !std::ranges::all_of(ports, is_number) || (is_uri(database) && name.find('@') != name.npos) || is_uri(name) ||
         name.find('=') != name.npos;  // a connection string in place of a name
}

std::string value_in(const target::options& of, std::string_view keyword) {
  const auto found = std::ranges::find(of, keyword, [](const auto& each) { return each.first; });
  return found == of.end() ? "" : found->second;
}

/// The hosts, or their addresses if they have no names. An empty string stands for libpq's default.
std::vector<std::string> hosts_in(const target::options& of) {
  const std::string names = value_in(of, "host");
  return split(names.empty() ? value_in(of, "hostaddr") : names);
}

/// The options that have a value; with `except_defaults`, without those whose value is the one that libpq was compiled
/// with.
target::options options_in(const PQconninfoOption* from, bool except_defaults) {
  target::options found;
  for (const PQconninfoOption* each = from; each->keyword != nullptr; ++each) {
    if (each->val == nullptr) continue;
    const bool is_default = each->compiled != nullptr && std::string_view(each->compiled) == each->val;
    if (!is_default || !except_defaults) found.emplace_back(each->keyword, each->val);
  }
  return found;
}

/// The options that libpq would use if it was given these: with those of the service file and of the environment, and
/// without its own defaults. libpq shows its options only for a connection. So this begins a connection with an invalid
/// `sslmode`, which fails before anything is sent. Empty if an option cannot be read, for instance because there is no
/// such service: then each connection fails, and tells why.
target::options resolved(target::options given) {
  constexpr std::string_view impossible = "none: the options are read";
  std::erase_if(given, [](const auto& each) { return each.first == "sslmode" || each.first == "password"; });
  given.emplace_back("sslmode", impossible);
  given.emplace_back("password", "-");  // without one, libpq reads the file of passwords, and may warn about it
  const target::arguments with(std::move(given));
  const std::unique_ptr<PGconn, decltype(&PQfinish)> begun(PQconnectStartParams(with.keywords(), with.values(), 0),
                                                           &PQfinish);
  if (begun == nullptr) throw std::bad_alloc();
  const std::unique_ptr<PQconninfoOption, decltype(&PQconninfoFree)> all(PQconninfo(begun.get()), &PQconninfoFree);
  if (all == nullptr) throw std::bad_alloc();
  target::options found = options_in(all.get(), true);
  if (value_in(found, "sslmode") != impossible) found.clear();
  return found;
}

}  // namespace

target::target(const std::string& database) {
  char* error = nullptr;
  const std::unique_ptr<PQconninfoOption, decltype(&PQconninfoFree)> parsed(PQconninfoParse(database.c_str(), &error),
                                                                            &PQconninfoFree);
  const std::unique_ptr<char, decltype(&PQfreemem)> owned(error, &PQfreemem);
  if (parsed == nullptr) refuse(shown_reason(error == nullptr ? "" : error));
  options_ = options_in(parsed.get(), false);
  std::string name = value("dbname");
  if (may_hold_a_password(database, hosts_in(options_), split(value("port")), name)) {
    refuse(
        " (invalid host, port or database name: in postgresql://… write %40 for \"@\" and %2F for \"/\" in a "
        "password)");
  }
  const options all = resolved(options_);
  add_hosts(all);
  if (name.empty() && !may_hold_a_password("", {}, {}, value_in(all, "dbname"))) name = value_in(all, "dbname");
  describe(name);

  const auto unless_given = [&](const char* keyword, const char* text) {
    if (value(keyword).empty()) options_.emplace_back(keyword, text);
  };
  const std::string kind_of_server = value_in(all, "target_session_attrs");
  unless_given("target_session_attrs", kind_of_server.empty() ? "read-write" : kind_of_server.c_str());
  unless_given("fallback_application_name", "foliot");
  unless_given("connect_timeout", "2");
  unless_given("tcp_user_timeout", "3000");
  unless_given("keepalives_idle", "5");
  unless_given("keepalives_interval", "1");
  unless_given("keepalives_count", "3");
  std::erase_if(options_, [](const auto& each) { return each.first == "client_encoding"; });
  options_.emplace_back("client_encoding", "UTF8");
}

void target::add_hosts(const options& resolved) {
  for (const char* const keyword : {"host", "hostaddr", "port"}) {
    if (!value(keyword).empty() || value_in(resolved, keyword).empty()) continue;
    std::erase_if(options_, [&](const auto& each) { return each.first == keyword; });  // an empty one
    options_.emplace_back(keyword, value_in(resolved, keyword));
  }
  if (may_hold_a_password("", hosts_in(options_), split(value("port")), "")) {
    refuse(" (PGHOST, PGPORT or the service file has an invalid host or port)");
  }
  hosts_ = hosts_in(options_).size();
}

void target::describe(const std::string& name) {
  const std::vector<std::string> hosts = hosts_in(options_);
  const std::vector<std::string> ports = split(value("port"));
  for (std::size_t i = 0; i < hosts.size(); ++i) {
    text_ += i == 0 ? "" : ",";
    const bool is_ipv6 = hosts[i].find(':') != std::string::npos;
    text_ += hosts[i].empty() ? "localhost" : is_ipv6 ? "[" + hosts[i] + "]" : hosts[i];
    const std::string& port = ports[std::min(i, ports.size() - 1)];
    if (!port.empty()) text_ += ":" + port;
  }
  if (!name.empty()) text_ += "/" + name;
}

std::string target::value(std::string_view keyword) const { return value_in(options_, keyword); }

template <typename Change>
target::arguments target::with_hosts(const Change& change) const {
  options given = options_;
  for (auto& [keyword, list] : given) {
    if (keyword != "host" && keyword != "hostaddr" && keyword != "port") continue;
    std::vector<std::string> parts = split(list);
    if (parts.size() != hosts_) continue;  // one port for all hosts
    change(parts);
    list = joined(parts);
  }
  return arguments(std::move(given));
}

target::arguments target::next() {
  arguments made = with_hosts([&](std::vector<std::string>& parts) {
    std::ranges::rotate(parts, parts.begin() + static_cast<std::ptrdiff_t>(first_));
  });
  first_ = (first_ + 1) % hosts_;
  return made;
}

target::arguments target::only(std::size_t host) const {
  // The host stands there twice: an empty value makes libpq look elsewhere, whereas "," means two default hosts.
  return with_hosts([&](std::vector<std::string>& parts) { parts = {parts[host], parts[host]}; });
}

target::arguments::arguments(options given) : options_(std::move(given)) {
  for (const auto& [keyword, text] : options_) {
    keywords_.push_back(keyword.c_str());
    values_.push_back(text.c_str());
  }
  keywords_.push_back(nullptr);
  values_.push_back(nullptr);
}

}  // namespace foliot::jobs::detail
