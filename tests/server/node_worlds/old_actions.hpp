// What turns of actions did before they were repaired, for canaries: old_actions_test is linked with a text of
// server/actions/action_turn.cpp that looks at these switches (CMakeLists.txt). All off: it does what is shipped.
//
// A world runs on one thread.
#pragma once

namespace foliot::program::old_actions {

/// A job of a piece that was cut off is looked at again: the node that has lost the piece may still change it.
inline bool looks_again_in_cut_pieces = false;
/// So is a job whose change may have happened, because the answer to it was lost.
inline bool looks_again_behind_lost_answers = false;
/// Such a change is not tried again.
inline bool leaves_changes_in_doubt = false;

}  // namespace foliot::program::old_actions
