// The word of a wait, in one thread: what it answers in each of its states. tests/model has its races.
#include <foliot/runtime/detail/wait_word.hpp>

#include <gtest/gtest.h>

namespace foliot::runtime::detail {
namespace {

using claim_result = wait_word::claim_result;
using commit_result = wait_word::commit_result;
using interrupts = wait_word::interrupts;

TEST(WaitWord, IsParkedFromItsCommitToItsEnd) {
  for (const interrupts how : {interrupts::heeded, interrupts::deferred}) {
    wait_word word;
    EXPECT_FALSE(word.is_parked());
    const wait_word::ticket wait = word.begin();
    EXPECT_FALSE(word.is_parked()) << "its sources get the ticket";
    EXPECT_EQ(word.commit(how), commit_result::parked);
    EXPECT_TRUE(word.is_parked());
    EXPECT_EQ(word.claim(wait, 7), claim_result::to_resume);
    EXPECT_FALSE(word.is_parked());
  }
}

TEST(WaitWord, TellsWhichSourceHasEndedIt) {
  wait_word word;
  const wait_word::ticket wait = word.begin();
  EXPECT_FALSE(word.settled_by(0)) << "it is not over";
  EXPECT_EQ(word.commit(), commit_result::parked);
  EXPECT_FALSE(word.settled_by(0));
  EXPECT_EQ(word.claim(wait, wait_word::most_sources), claim_result::to_resume);
  EXPECT_EQ(word.claim(wait, 3), claim_result::late);
  EXPECT_EQ(word.winner(), wait_word::most_sources);
  EXPECT_TRUE(word.settled_by(wait_word::most_sources));
  EXPECT_FALSE(word.settled_by(3));
  const wait_word::ticket next = word.begin();
  EXPECT_FALSE(word.settled_by(wait_word::most_sources)) << "that was another wait";
  EXPECT_EQ(word.claim(next, 3), claim_result::noticed);
  EXPECT_EQ(word.commit(), commit_result::over);
  EXPECT_TRUE(word.settled_by(3));
}

}  // namespace
}  // namespace foliot::runtime::detail
