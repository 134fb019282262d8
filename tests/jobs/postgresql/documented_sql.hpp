// The SQL of a page for users, so that a test executes what the page says.
#pragma once

#include <fstream>
#include <iterator>
#include <stdexcept>
#include <string>

namespace foliot_test {

/// The block of this page, such as "serve/sql.md", that grants something to `role`: for the role `to`.
inline std::string documented_grants(const std::string& page, const std::string& role, const std::string& to) {
  std::ifstream file(FOLIOT_DOCS "/" + page);
  const std::string text(std::istreambuf_iterator<char>(file), {});
  const std::string begins = "\n```sql\n";
  const std::string ends = "\n```\n";
  const std::string granted = " TO " + role + ";";
  for (std::size_t at = text.find(begins); at != std::string::npos; at = text.find(begins, at)) {
    at += begins.size();
    std::string block = text.substr(at, text.find(ends, at) - at);
    if (block.find(granted) == std::string::npos) continue;
    const std::string wanted = " TO " + to + ";";
    for (std::size_t i = 0; (i = block.find(granted, i)) != std::string::npos; i += wanted.size()) {
      block.replace(i, granted.size(), wanted);
    }
    return block;
  }
  throw std::runtime_error(page + " has no SQL that grants something to " + role);
}

}  // namespace foliot_test
