// Makes text from outside (names of files, answers of sockets) safe for a terminal, which would obey control
// characters: "a\x1b[2Jb" instead of a cleared screen.
//
// Thread safety: a pure function. O(length).
#pragma once

#include <string>
#include <string_view>

namespace foliot::program {

/// Keeps UTF-8. Control characters, also those of Unicode (U+0080 to U+009F, and the ones that turn the direction of
/// text), and bytes that are not UTF-8 become \xNN, byte by byte.
[[nodiscard]] std::string printable(std::string_view text);

}  // namespace foliot::program
