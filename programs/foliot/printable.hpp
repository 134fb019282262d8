// Text of strangers (names of files, answers of sockets) as it may be shown on a terminal, where control
// characters would be obeyed: "a\x1b[2Jb" instead of a cleared screen.
//
// Thread safety: a pure function. O(length).
#pragma once

#include <string>
#include <string_view>

namespace foliot::program {

/// UTF-8 stays as it is. Control characters, those of Unicode too (U+0080 to U+009F, and the ones that turn the
/// direction of text), and bytes that are no UTF-8 become \xNN, byte by byte.
[[nodiscard]] std::string printable(std::string_view text);

}  // namespace foliot::program
