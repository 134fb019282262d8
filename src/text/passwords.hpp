// Wipes the passwords of databases out of the arguments of a program. When it has copied
// them: other users of the machine can read the arguments in the list of processes (`ps`) for as long as the program
// runs.
//
// A password is what libpq takes for one in a connection string: `password=…` or `sslpassword=…`, in the form
// `keyword = value` and in that of a URI, and what stands between the name of the user and the last `@` of a URI. An
// argument that only looks so loses a few characters of its display, and nothing else.
//
// Thread safety: pure functions, but for the text that they change.
#pragma once

#include <span>

namespace foliot::program {

/// Replaces each character of a password in this argument by `x`. O(length).
void hide_passwords(std::span<char> argument) noexcept;
/// The same in the arguments of a program. No one may read them at the same time.
void hide_passwords(std::span<char* const> arguments) noexcept;

}  // namespace foliot::program
