"""What the mutator changes, and what it passes over."""
import unittest

from mutations import blanked, mutations_of


def changes(source):
    return [(each.kind, each.after) for each in mutations_of(source)]


class Mutations(unittest.TestCase):
    def test_each_kind(self):
        for source, kind, after in [
                ("if (a < b) run();", "operator", "if (a <= b) run();"),
                ("if (a < b) run();", "negated condition", "if (!(a < b)) run();"),
                ("while (is_due()) {", "negated condition", "while (!(is_due())) {"),
                ("return a && b;", "operator", "return a || b;"),
                ("  ++count_;", "operator", "--count_;"),
                ("  count_--;", "operator", "count_++;"),
                ("word_.load(seam::acquire);", "memory order", "word_.load(seam::relaxed);"),
                ("word_.exchange(open, seam::acq_rel)", "memory order", "word_.exchange(open, seam::relaxed)"),
                ("const int n = 7;", "constant", "const int n = 8;"),
                ("const int n = 7;", "constant", "const int n = 6;"),
                ("  is_done_ = true;", "removed assignment", ";"),
                ("  is_done_ = true;", "word", "is_done_ = false;"),
                ("  one->next = other;", "removed assignment", ";"),
                ("  lock_.unlock();", "removed call", ";"),
                ("  co_await sleep();", "removed call", ";"),
                ("    return;", "removed return", ";"),
                ("return std::min(a, b);", "word", "return std::max(a, b);")]:
            with self.subTest(source=source, kind=kind):
                self.assertIn((kind, after), changes(source))

    def test_what_is_passed_over(self):
        for source in ["// if (a < b) ++c;", "/* a + 1\n a && b */", '"a < b && 1"', "#if A > 1 && \\\n B < 2",
                       "template <class T, int n = 3>", "FOLIOT_ASSERT(a < b, \"1\");", "std::vector<int> all;",
                       "std::map<int, std::vector<long>> all_;", "auto operator<=>(const it&) const = default;",
                       "check_result check() const {\n  if (a < b) return 1;\n  return 2;\n}", "int32_t x2;", "0x1F", "1'000"]:
            with self.subTest(source=source):
                self.assertEqual(changes(source), [])

    def test_a_declaration_is_not_removed(self):
        for source in ["  const lock held(lock_);", "  std::size_t left = count;", "  bool is_first = true;", "  guard one(two);"]:
            with self.subTest(source=source):
                self.assertFalse([kind for kind, _ in changes(source) if kind.startswith("removed")])

    def test_the_code_behind_a_check_is_changed_again(self):
        self.assertTrue(changes("check_result check() const {\n  return {};\n}\nint f() { return 1; }\n"))

    def test_a_condition_over_lines(self):
        mutants = mutations_of("if (a() &&\n    b()) {\n}\n")
        self.assertIn("if (!(a() &&\n    b())) {\n}\n", [each.applied("if (a() &&\n    b()) {\n}\n") for each in mutants])

    def test_blanks_keep_offsets(self):
        source = 'a = "x // y";  // z\n#include <a>\nb = \'"\';\n'
        self.assertEqual(len(blanked(source)), len(source))
        self.assertEqual(blanked(source).count("\n"), source.count("\n"))
        self.assertNotIn("z", blanked(source))

    def test_each_changes_the_text(self):
        source = "int f(int a) {\n  if (a > 1 || a == -1) return 0;\n  run(a);\n  b = a + 1;\n  return b;\n}\n"
        mutants = mutations_of(source)
        self.assertGreater(len(mutants), 12)
        for each in mutants:
            self.assertNotEqual(each.applied(source), source)
            self.assertEqual(len({(one.begin, one.end, one.text) for one in mutants}), len(mutants))


if __name__ == "__main__":
    unittest.main()
