#include <foliot/schedule/zone.hpp>

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <optional>
#include <utility>
#include <vector>

namespace foliot::schedule {

namespace {

constexpr const char* system_folder = "/usr/share/zoneinfo";
constexpr std::size_t longest_name = 64;
constexpr std::uintmax_t largest_file = 1'000'000;

std::optional<std::string> contents_of(const std::filesystem::path& file) {
  std::error_code none;
  if (!std::filesystem::is_regular_file(file, none) || std::filesystem::file_size(file, none) > largest_file)
    return std::nullopt;
  std::ifstream opened(file, std::ios::binary);
  if (!opened) return std::nullopt;
  return std::string(std::istreambuf_iterator<char>(opened), {});
}

/// Whether names may begin so: not those of folders that hold every zone once more, and not those of files that stand
/// for whatever the machine is set to.
bool is_of_the_data_base(std::string_view name) noexcept {
  return !name.starts_with("posix/") && !name.starts_with("right/") && name != "localtime" && name != "posixrules" &&
         name != "Factory";
}

/// Whether it is a relative path of letters, digits and + - _ that stays in the folder.
bool is_a_name(std::string_view name) noexcept {
  if (name.empty() || name.size() > longest_name || name.starts_with('/') || name.ends_with('/') ||
      name.find("//") != std::string_view::npos)
    return false;
  return std::ranges::all_of(name, [](unsigned char each) {
    return (each < 128 && std::isalnum(each) != 0) || each == '+' || each == '-' || each == '_' || each == '/';
  });
}

/// How many characters must be added, left out or exchanged, without regard to case.
std::size_t distance(std::string_view one, std::string_view other) {
  std::vector<std::size_t> row(other.size() + 1);
  for (std::size_t j = 0; j < row.size(); ++j) row[j] = j;
  for (std::size_t i = 0; i < one.size(); ++i) {
    std::size_t corner = std::exchange(row[0], i + 1);
    for (std::size_t j = 0; j < other.size(); ++j) {
      const bool is_same =
          std::tolower(static_cast<unsigned char>(one[i])) == std::tolower(static_cast<unsigned char>(other[j]));
      const std::size_t exchanged = corner + (is_same ? 0 : 1);
      corner = row[j + 1];
      row[j + 1] = std::min({exchanged, corner + 1, row[j] + 1});
    }
  }
  return row.back();
}

/// The zone whose name, or whose last part, is nearest to what somebody wrote; "" if none is near.
std::string nearest_zone(const std::filesystem::path& folder, std::string_view typed) {
  std::string nearest;
  std::size_t least = typed.size() / 3 + 1;
  std::error_code wrong;
  std::filesystem::recursive_directory_iterator all(folder, wrong);
  for (; !wrong && all != std::filesystem::recursive_directory_iterator(); all.increment(wrong)) {
    std::string name = all->path().lexically_relative(folder).generic_string();
    if (name == "posix" || name == "right") all.disable_recursion_pending();  // each has all zones once more
    if (!is_of_the_data_base(name + "/") || !is_of_the_data_base(name)) continue;
    std::error_code none;
    if (!all->is_regular_file(none) || !std::ranges::all_of(name, [](char each) { return each != '.'; })) continue;
    std::size_t far = distance(typed, name);
    if (typed.find('/') == std::string_view::npos)
      far = std::min(far, distance(typed, name.substr(name.rfind('/') + 1)));
    if (far > least || (far == least && (nearest.empty() || name > nearest))) continue;
    least = far;
    nearest = std::move(name);
  }
  return nearest;
}

}  // namespace

zone_directory::zone_directory() : folder_(system_folder) {}
zone_directory::zone_directory(std::string folder) : folder_(std::move(folder)) {}

std::string zone_directory::version() const {
  std::ifstream list(std::filesystem::path(folder_) / "tzdata.zi");
  std::string line;
  constexpr std::string_view before = "# version ";
  if (std::getline(list, line) && line.starts_with(before)) return line.substr(before.size());
  std::ifstream file(std::filesystem::path(folder_) / "+VERSION");
  if (std::getline(file, line) && line.size() < longest_name) return line;
  return {};
}

std::expected<zone, std::string> zone_directory::find(std::string_view name) const {
  if (name == "UTC") return zone();
  const std::filesystem::path folder(folder_);
  if (is_a_name(name) && is_of_the_data_base(name)) {
    // New data may come between the reads: then they are read again.
    constexpr int attempts = 3;
    for (int left = attempts; left > 0; --left) {
      const std::string before = version();
      const auto bytes = contents_of(folder / name);
      if (bytes && bytes->starts_with("TZif") && (left == 1 || version() == before))
        return zone::read(name, before, *bytes);
    }
  }
  std::error_code none;
  if (!std::filesystem::is_directory(folder, none))
    return std::unexpected("there are no data of time zones in '" + folder_ + "': install them (Debian: tzdata)");
  std::string sentence = "there is no time zone '" + std::string(name.substr(0, longest_name)) + "'";
  const std::string nearest = name.size() > longest_name ? std::string() : nearest_zone(folder, name);
  sentence += nearest.empty() ? ": names are such as Europe/Berlin, or UTC" : ": the nearest is '" + nearest + "'";
  return std::unexpected(std::move(sentence));
}

}  // namespace foliot::schedule
