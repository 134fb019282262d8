// Time zones of the IANA data base, as the system has them in its TZif files (RFC 8536).
//
//   const foliot::schedule::zone_directory zones;
//   const auto berlin = zones.find("Europe/Berlin");
//   if (!berlin) tell(berlin.error());  // "there is no time zone 'Europe/Berln': the nearest is 'Europe/Berlin'"
//   const auto now = berlin->period_at(seconds_since_1970);
//
// A zone never changes: it is the data that were in the file when it was read, with their version. A package of the
// system may bring new data at any time. zone_directory keeps no copies, so find() returns the data that are there now,
// and version() names them: who keeps zones for long compares version() now and then, finds the zones again when it
// differs, and plans anew for those that are not equal to the old ones. An unknown name is an error, and never UTC.
//
// All times are between `earliest` and `latest`.
//
// Thread safety: a zone is an immutable value, and a zone_directory has no state but its name: any thread may use both.
#pragma once

#include <foliot/core/language.hpp>

#include <chrono>
#include <expected>
#include <memory>
#include <string>
#include <string_view>

#include <foliot/core/export.h>

namespace foliot::schedule {

namespace detail {
struct zone_data;
}  // namespace detail

/// The first instant of what a schedule may name: the year 1.
inline constexpr std::chrono::sys_seconds earliest = std::chrono::sys_days(std::chrono::year(1) / 1 / 1);
/// The end of what a schedule may name: the year 10000, the first that needs a fifth digit.
inline constexpr std::chrono::sys_seconds latest = std::chrono::sys_days(std::chrono::year(10000) / 1 / 1);

/// A time between two changes of a zone's clocks.
struct zone_period {
  /// The first instant. The first period of a zone begins a day before `earliest`.
  std::chrono::sys_seconds begin{};
  /// The first instant behind it. The last period of a zone ends a day after `latest`.
  std::chrono::sys_seconds end{};
  /// What is added to UTC.
  std::chrono::seconds offset{};
  /// "CEST".
  std::string abbreviation{};
};

/// A time zone.
class FOLIOT_EXPORT zone {
 public:
  /// UTC, which needs no data.
  zone();

  /// Reads the bytes of a TZif file. Returns a sentence on what is wrong with them.
  [[nodiscard]] static std::expected<zone, std::string> read(std::string_view name, std::string_view version,
                                                             std::string_view bytes);

  /// "Europe/Berlin".
  [[nodiscard]] const std::string& name() const noexcept;
  /// The version of the data: "2026f". "" for UTC, and where the system does not say it.
  [[nodiscard]] const std::string& version() const noexcept;
  /// The period that has this instant, which is taken for `earliest` or `latest` if it is beyond them. O(log changes).
  [[nodiscard]] zone_period period_at(std::chrono::sys_seconds time) const;

  /// Whether both have the same name and the same data. The versions may differ: most versions leave most zones alone.
  [[nodiscard]] bool operator==(const zone& other) const noexcept;

 private:
  explicit zone(std::shared_ptr<const detail::zone_data> data) noexcept;

  std::shared_ptr<const detail::zone_data> data_;  // never null
};

/// A folder with the files of time zones.
class FOLIOT_EXPORT zone_directory {
 public:
  /// The system's folder.
  zone_directory();
  /// A folder of the same form, for data of another version.
  explicit zone_directory(std::string folder);

  /// Reads the zone. "UTC" is there without a file. Returns a sentence that says what is wrong with the name, and names
  /// the nearest one that there is; names are compared with case, as the data base has them. Reads files: some 50 us.
  /// A name that there is not is compared with all that there are, which takes some milliseconds: who takes names from
  /// strangers limits how often they may ask.
  [[nodiscard]] std::expected<zone, std::string> find(std::string_view name) const;

  /// The version of the data that are there now, from the first line of tzdata.zi or from +VERSION: "2026f". "" if
  /// neither file is there.
  [[nodiscard]] std::string version() const;

  /// Its name.
  [[nodiscard]] const std::string& folder() const noexcept { return folder_; }

 private:
  std::string folder_;
};

}  // namespace foliot::schedule
