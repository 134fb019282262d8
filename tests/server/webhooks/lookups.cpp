#include "server/webhooks/lookups.hpp"

#include <dlfcn.h>
#include <netdb.h>

#include <condition_variable>
#include <map>
#include <mutex>

namespace foliot::program::webhooks::test {

namespace {

struct lookup {
  std::vector<std::string> addresses;
  bool blocks = false;
  std::size_t count = 0;
};

struct lookups {
  std::mutex lock;
  std::condition_variable changed;
  std::map<std::string, lookup> all;
  std::size_t blocked = 0;
};

lookups& known() {
  static lookups& all = *new lookups;  // threads of libcurl may outlive the test
  return all;
}

using system_lookup = int (*)(const char*, const char*, const addrinfo*, addrinfo**);

system_lookup system_function() {
  static const auto found = reinterpret_cast<system_lookup>(::dlsym(RTLD_NEXT, "getaddrinfo"));
  return found;
}

int answer(const std::vector<std::string>& addresses, const char* service, const addrinfo* hints, addrinfo** result) {
  addrinfo* first = nullptr;
  addrinfo** end = &first;
  for (const std::string& each : addresses) {
    addrinfo numeric = hints != nullptr ? *hints : addrinfo{};
    numeric.ai_flags = AI_NUMERICHOST;
    if (system_function()(each.c_str(), service, &numeric, end) != 0) continue;  // of another family
    while (*end != nullptr) end = &(*end)->ai_next;
  }
  *result = first;
  return first != nullptr ? 0 : EAI_NONAME;
}

}  // namespace

void set_lookup(const std::string& name, std::vector<std::string> addresses) {
  const std::lock_guard held(known().lock);
  known().all[name] = {.addresses = std::move(addresses)};
}

void block_lookup(const std::string& name) {
  const std::lock_guard held(known().lock);
  known().all[name] = {.addresses = {}, .blocks = true};
}

void await_blocked_lookup() {
  std::unique_lock held(known().lock);
  known().changed.wait(held, [] { return known().blocked > 0; });
}

void release_lookups() {
  const std::lock_guard held(known().lock);
  for (auto& [name, each] : known().all) each.blocks = false;
  known().changed.notify_all();
}

std::size_t count_lookups(const std::string& name) {
  const std::lock_guard held(known().lock);
  return known().all[name].count;
}

}  // namespace foliot::program::webhooks::test

// libcurl's threads call this one instead of the C library's.
extern "C" __attribute__((visibility("default"))) int getaddrinfo(const char* node, const char* service,
                                                                  const addrinfo* hints, addrinfo** result) {
  using namespace foliot::program::webhooks::test;
  {
    auto& all = known();
    std::unique_lock held(all.lock);
    const auto found = node == nullptr ? all.all.end() : all.all.find(node);
    if (found != all.all.end()) {
      lookup& one = found->second;
      ++one.count;
      if (one.blocks) {
        ++all.blocked;
        all.changed.notify_all();
        all.changed.wait(held, [&] { return !one.blocks; });
        --all.blocked;
      }
      return answer(one.addresses, service, hints, result);
    }
  }
  return system_function()(node, service, hints, result);
}
