// The cases of others' reports, each by its name: ../shared/reference/webhook-cases.tsv, which FOLIOT_REFERENCE_DIR
// names. Where the file is missing, the tests that need it are skipped.
#pragma once

#include <algorithm>
#include <fstream>
#include <regex>
#include <stdexcept>
#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace foliot::program::webhooks::test {

struct reference_case {
  std::string id, kind, text, expected, remark;
};

inline std::vector<reference_case> reference_cases() {
  std::ifstream file(std::string(FOLIOT_REFERENCE_DIR) + "/webhook-cases.tsv");
  std::vector<reference_case> all;
  std::string line;
  std::getline(file, line);
  while (std::getline(file, line)) {
    std::vector<std::string> cells;
    for (std::size_t begin = 0; begin <= line.size();) {
      const std::size_t end = std::min(line.find('\t', begin), line.size());
      cells.push_back(line.substr(begin, end - begin));
      begin = end + 1;
    }
    if (cells.size() != 6) throw std::runtime_error("a case has not six cells: " + line);
    all.push_back({cells[0], cells[2], cells[3], cells[4], cells[5]});
  }
  return all;
}

/// What stands behind a label, up to the next semicolon or the end; "" without the label.
inline std::string part_of(const std::string& text, const std::string& label) {
  const auto begin = text.find(label);
  if (begin == std::string::npos) return {};
  const auto from = begin + label.size();
  return text.substr(from, text.find(';', from) - from);
}

/// The URLs in a text.
inline std::vector<std::string> urls_in(const std::string& text) {
  static const std::regex form(R"((https?|file|gopher|ftp|dict|ldap):/[^ ,']*)");
  std::vector<std::string> urls;
  for (std::sregex_iterator each(text.begin(), text.end(), form), end; each != end; ++each) urls.push_back(each->str());
  return urls;
}

/// The addresses in a text, each as it stands there.
inline std::vector<std::string> addresses_in(const std::string& text) {
  static const std::regex form(R"([0-9a-f]*(:[0-9a-f]*){2,}|\d+\.\d+\.\d+\.\d+)");
  std::vector<std::string> addresses;
  for (std::sregex_iterator each(text.begin(), text.end(), form), end; each != end; ++each)
    addresses.push_back(each->str());
  return addresses;
}

class ReferenceCases : public testing::Test {
 protected:
  void SetUp() override {
    all_ = reference_cases();
    if (all_.empty()) GTEST_SKIP() << "there is no " << FOLIOT_REFERENCE_DIR << "/webhook-cases.tsv";
  }

  const reference_case& at(const std::string& id) const {
    const auto found = std::ranges::find(all_, id, &reference_case::id);
    if (found == all_.end()) throw std::runtime_error("there is no case " + id);
    return *found;
  }
  const std::vector<reference_case>& all() const noexcept { return all_; }

 private:
  std::vector<reference_case> all_;
};

}  // namespace foliot::program::webhooks::test
