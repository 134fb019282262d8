// Where the sources of peers in other languages are, how they are built, and where the programs go.
//
// Thread safety: any thread; two threads must not build the same peer at once.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

#include "child_process.hpp"

namespace foliot::program::bench {

/// The sources of one peer: a folder of this name in $FOLIOT_BENCH_PEERS, or in the source tree that this program was
/// built from. Throws failure if it is not there, as with an installed program.
[[nodiscard]] std::filesystem::path source_of_peer(std::string_view name);

/// The folder in which one peer is built, outside of the source tree; made if it is missing. Throws failure.
[[nodiscard]] std::filesystem::path build_folder_of_peer(std::string_view name);

/// A program in $PATH, or else in `further`, a folder ("~/" is $HOME). Throws failure if it is in none.
[[nodiscard]] std::string find_tool(std::string_view program, std::string_view further = {});

/// Go's own program.
[[nodiscard]] std::string find_go();

/// Throws failure if the command fails, or takes more than ten minutes.
void build_peer(const child_command& command);

}  // namespace foliot::program::bench
