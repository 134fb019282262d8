// The time zones that schedules use, by the data that are on the disk: read once, and looked at again when somebody
// asks for it, because a package of the system may bring new data at any time.
//
//   zone_cache zones;
//   const auto berlin = zones.find("Europe/Berlin");   // reads a file the first time
//   …each minute:
//   if (zones.look_again()) …                          // the data have changed: schedules are planned again
//
// A zone that was found before may have older data than find() returns now: zone::version() tells. Names that there are
// not are not remembered; so the cache has at most the zones of the folder, some 600.
//
// Thread safety: any thread. find() is O(log zones), and reads a file of some kilobytes (some 50 us) where the zone is
// not known; for a name that there is not it compares all names, which takes some milliseconds.
#pragma once

#include <expected>
#include <functional>
#include <map>
#include <string>
#include <string_view>

#include <foliot/core/sync/mutex.hpp>
#include <foliot/schedule/zone.hpp>

namespace foliot::program {

class zone_cache {
 public:
  /// Reads the version of the data, and no zone.
  explicit zone_cache(schedule::zone_directory from = {});
  zone_cache(const zone_cache&) = delete;
  zone_cache& operator=(const zone_cache&) = delete;

  /// The zone. Else a sentence on what is wrong with the name, which names the nearest one that there is.
  [[nodiscard]] std::expected<schedule::zone, std::string> find(std::string_view name);
  /// The version of the data at the last look; "" where the system does not say it.
  [[nodiscard]] std::string version() const;
  /// Compares the version of the data on the disk with that of the last look, and where they differ, or the system does
  /// not tell versions, reads the known zones again. Returns whether the version or one of these zones has changed. A
  /// zone that cannot be read any more stays as it was.
  bool look_again();

 private:
  const schedule::zone_directory from_;
  mutable mutex lock_{lock_rank::object};
  std::string version_ FOLIOT_GUARDED_BY(lock_);
  std::map<std::string, schedule::zone, std::less<>> known_ FOLIOT_GUARDED_BY(lock_);
};

}  // namespace foliot::program
