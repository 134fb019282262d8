#include "target.hpp"

#include <libpq-fe.h>

#include <algorithm>
#include <memory>
#include <string_view>

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

}  // namespace

target::target(const std::string& database) {
  char* error = nullptr;
  const std::unique_ptr<PQconninfoOption, decltype(&PQconninfoFree)> parsed(PQconninfoParse(database.c_str(), &error),
                                                                            &PQconninfoFree);
  const std::unique_ptr<char, decltype(&PQfreemem)> owned(error, &PQfreemem);
  if (parsed == nullptr) {
    // The text of libpq may quote the string, which may have a password.
    throw store_failure(
        "foliot: the connection string of the database cannot be read: write postgresql://user@host/database, or "
        "host=… dbname=… user=…");
  }
  for (const PQconninfoOption* each = parsed.get(); each->keyword != nullptr; ++each) {
    if (each->val != nullptr) options_.emplace_back(each->keyword, each->val);
  }
  const auto unless_given = [&](const char* keyword, const char* text) {
    if (value(keyword).empty()) options_.emplace_back(keyword, text);
  };
  unless_given("target_session_attrs", "read-write");
  unless_given("fallback_application_name", "foliot");
  unless_given("connect_timeout", "2");
  unless_given("tcp_user_timeout", "3000");
  unless_given("keepalives_idle", "5");
  unless_given("keepalives_interval", "1");
  unless_given("keepalives_count", "3");
  std::erase_if(options_, [](const auto& each) { return each.first == "client_encoding"; });
  options_.emplace_back("client_encoding", "UTF8");

  const std::string names = value("host").empty() ? value("hostaddr") : value("host");
  const std::vector<std::string> hosts = split(names);
  const std::vector<std::string> ports = split(value("port"));
  hosts_ = hosts.size();
  for (std::size_t i = 0; i < hosts.size(); ++i) {
    text_ += i == 0 ? "" : ",";
    text_ += hosts[i].empty() ? "localhost" : hosts[i];
    const std::string& port = ports[std::min(i, ports.size() - 1)];
    if (!port.empty()) text_ += ":" + port;
  }
  if (const std::string name = value("dbname"); !name.empty()) text_ += "/" + name;
}

std::string target::value(const std::string& keyword) const {
  const auto found = std::ranges::find(options_, keyword, [](const auto& each) { return each.first; });
  return found == options_.end() ? "" : found->second;
}

target::arguments target::next() {
  auto options = options_;
  for (auto& [keyword, list] : options) {
    if (keyword != "host" && keyword != "hostaddr" && keyword != "port") continue;
    std::vector<std::string> parts = split(list);
    if (parts.size() != hosts_) continue;  // one port for all hosts
    std::ranges::rotate(parts, parts.begin() + static_cast<std::ptrdiff_t>(first_));
    list = joined(parts);
  }
  first_ = (first_ + 1) % hosts_;
  return arguments(std::move(options));
}

target::arguments::arguments(std::vector<std::pair<std::string, std::string>> options) : options_(std::move(options)) {
  for (const auto& [keyword, text] : options_) {
    keywords_.push_back(keyword.c_str());
    values_.push_back(text.c_str());
  }
  keywords_.push_back(nullptr);
  values_.push_back(nullptr);
}

}  // namespace foliot::jobs::detail
