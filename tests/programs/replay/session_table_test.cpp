#include "replay/session_table.hpp"

#include <memory>
#include <string>
#include <unordered_map>

#include <foliot/core/seam/random.hpp>
#include <gtest/gtest.h>

#include "text_hash.hpp"

namespace foliot::program {
namespace {

/// Random additions and removals; each look-up is compared with a std::map. `hash_of` may be a bad hash.
template <class Hash>
void compare_with_a_map(Hash hash_of, std::uint64_t clients, int rounds) {
  random_stream random(8);
  session_table table;
  std::unordered_map<std::string, const live_session*> model;
  for (int round = 0; round < rounds; ++round) {
    const std::string client = std::to_string(random.below(clients));
    live_session* found = table.find(client, hash_of(client));
    const auto expected = model.find(client);
    ASSERT_EQ(found, expected == model.end() ? nullptr : expected->second);
    if (found == nullptr) {
      auto fresh = std::make_unique<live_session>();
      fresh->client = client;
      fresh->hash = hash_of(client);
      model[client] = &table.add(std::move(fresh));
    } else if (random.below(2) == 0) {
      EXPECT_EQ(table.take(*found)->client, client);
      model.erase(client);
    }
    ASSERT_EQ(table.size(), model.size());
  }
}

TEST(SessionTable, AgreesWithAMap) { compare_with_a_map(text_hash, 5'000, 100'000); }

TEST(SessionTable, AgreesWithAMapWhenHashesCollide) {
  compare_with_a_map([](std::string_view client) { return text_hash(client) % 40; }, 300, 50'000);
  // Around the end of the table, where probing wraps.
  compare_with_a_map([](std::string_view client) { return 1020 + text_hash(client) % 8; }, 300, 50'000);
}

TEST(SessionTable, OwnsWhatIsLeft) {
  session_table table;
  auto fresh = std::make_unique<live_session>();
  fresh->client = "a client whose name is on the heap, for the leak checker";
  table.add(std::move(fresh));
}

}  // namespace
}  // namespace foliot::program
