// Where the peers in other languages come from, and where they are built: outside of the source tree.
#pragma once

#include <filesystem>
#include <initializer_list>
#include <string_view>

namespace foliot::program::bench {

/// The sources of one peer: a folder of this name in $FOLIOT_BENCH_PEERS, or in the source tree that this
/// program was built from. Throws failure if it is not there, as with an installed program.
[[nodiscard]] std::filesystem::path peer_source(std::string_view name);

/// A folder to build this peer in, made if it is missing: in $XDG_CACHE_HOME/foliot or $HOME/.cache/foliot.
/// Throws failure.
[[nodiscard]] std::filesystem::path peer_build_folder(std::string_view name);

/// A program in $PATH, or else in one of these folders ("~/" is $HOME). Throws failure if it is in none.
[[nodiscard]] std::filesystem::path toolchain(std::string_view program,
                                              std::initializer_list<std::string_view> folders = {});

}  // namespace foliot::program::bench
