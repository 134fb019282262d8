// Takes the secrets of access tokens out of texts for people. A user may have passed a token where its id or a file was
// meant, or have pasted one into a file. "foliot_4f7k2m9q_…" is left, by which it can be revoked.
//
// What begins as a token does, and is about as long, counts as one, so that a mistyped one loses its secret, too. A
// piece of a token that is too short for that lacks at least 70 bits of the secret.
//
// Thread safety: a pure function. O(length).
#pragma once

#include <string>
#include <string_view>

namespace foliot::program {

/// The text without secrets. Throws std::bad_alloc.
[[nodiscard]] std::string without_secrets(std::string_view text);

}  // namespace foliot::program
