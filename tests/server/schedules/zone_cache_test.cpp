#include "server/schedules/zone_cache.hpp"

#include <filesystem>
#include <fstream>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "zone_folder.hpp"

namespace foliot::program {
namespace {

using testing::HasSubstr;

TEST(ZoneCache, ReadsAZoneOnceUntilTheDataChange) {
  zone_folder data("2026a", {{"Europe/Berlin", "Europe/Berlin"}, {"Asia/Tokyo", "Asia/Tokyo"}});
  zone_cache zones(data.directory());
  EXPECT_EQ(zones.version(), "2026a");
  const auto berlin = zones.find("Europe/Berlin");
  ASSERT_TRUE(berlin) << berlin.error();
  EXPECT_EQ(berlin->version(), "2026a");
  EXPECT_FALSE(zones.look_again());
  data.replace("2026b", {{"Europe/Berlin", "America/New_York"}, {"Asia/Tokyo", "Asia/Tokyo"}});
  EXPECT_EQ(zones.find("Europe/Berlin"), *berlin) << "it is known, and nobody has looked";
  EXPECT_TRUE(zones.look_again());
  EXPECT_EQ(zones.version(), "2026b");
  const auto moved = zones.find("Europe/Berlin");
  ASSERT_TRUE(moved);
  EXPECT_EQ(moved->version(), "2026b");
  EXPECT_FALSE(*moved == *berlin);
  EXPECT_FALSE(zones.look_again());
}

/// A zone that is read behind the change is not taken for one of the data before.
TEST(ZoneCache, NewDataComeInWithTheNextLook) {
  zone_folder data("2026a", {{"Europe/Berlin", "Europe/Berlin"}});
  zone_cache zones(data.directory());
  data.replace("2026b", {{"Europe/Berlin", "Europe/Berlin"}});
  EXPECT_EQ(zones.find("Europe/Berlin").value().version(), "2026b");
  EXPECT_EQ(zones.version(), "2026a");
  EXPECT_TRUE(zones.look_again());
  EXPECT_EQ(zones.version(), "2026b");
}

TEST(ZoneCache, WithoutVersionsItComparesTheZones) {
  zone_folder data("", {{"Europe/Berlin", "Europe/Berlin"}});
  zone_cache zones(data.directory());
  EXPECT_EQ(zones.version(), "");
  ASSERT_TRUE(zones.find("Europe/Berlin"));
  EXPECT_FALSE(zones.look_again());
  data.replace("", {{"Europe/Berlin", "Asia/Tokyo"}});
  EXPECT_TRUE(zones.look_again());
  EXPECT_FALSE(zones.look_again());
}

TEST(ZoneCache, UnknownNamesAreErrorsWithTheNearest) {
  zone_folder data("2026a", {{"Europe/Berlin", "Europe/Berlin"}});
  zone_cache zones(data.directory());
  EXPECT_THAT(zones.find("Europe/Berln").error(), HasSubstr("Europe/Berlin"));
  EXPECT_TRUE(zones.find("UTC"));
  // It comes with new data.
  data.replace("2026b", {{"Europe/Berlin", "Europe/Berlin"}, {"Europe/Berln", "Europe/Berlin"}});
  EXPECT_TRUE(zones.look_again());
  EXPECT_TRUE(zones.find("Europe/Berln"));
}

/// While a package is unpacked a file may be missing: what is known stays.
TEST(ZoneCache, AZoneThatIsMissingStaysAsItWas) {
  zone_folder data("2026a", {{"Europe/Berlin", "Europe/Berlin"}});
  zone_cache zones(data.directory());
  const auto berlin = zones.find("Europe/Berlin");
  ASSERT_TRUE(berlin);
  data.replace("2026b", {});
  EXPECT_TRUE(zones.look_again()) << "the version has changed";
  EXPECT_EQ(zones.find("Europe/Berlin"), *berlin);
}

}  // namespace
}  // namespace foliot::program
