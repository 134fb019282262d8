"""Canaries for the rules of tools/tidy.py about words: the names and terms of comments, and contracts.

Run: PYTHONPATH=tools python3 tests/style/test_tidy_words.py
"""
import unittest

from tidy_test import HEAD, TidyTest


class Names(TidyTest):
    def test_names_in_comments(self):
        for comment in ["Calls `made_up`.", "See `queue::made_up(node)`.", "made_up() does it.", "The rest is made_up.",
                        "`made_up` and `expire`."]:
            for path in ["include/foliot/queue/detail/a.h", "src/queue/a.cpp", "programs/a.cpp"]:
                self.breaks("name", path, f"void expire();\n// {comment}", 2)
            self.breaks("name", "src/queue/a.cpp", f"void expire();\n/* One.\n * {comment} */", 3)
        self.keeps("tests/a.cpp", "// `made_up`")

    def test_names_that_exist(self):
        others = {"src/queue/b.cpp": 'auto engine = "quad-heap";', "tools/run_all.py": "", "scripts/all": "--dry-run"}
        for comment in ["`expire(node)`, `expire()` and expire() are one.", "`quad-heap`, src/queue/b.cpp",
                        "`scripts/all --dry-run`", "`std::made_up`, std::made::up()", "after io_uring",
                        "   made_up(an_example);", "/*made_up=*/"]:
            self.keeps("src/queue/a.cpp", f"void expire(int node);\n// {comment}", others)
        self.keeps("src/queue/a.cpp", 'auto a = "`made_up`";')


class Terms(TidyTest):
    GLOSSARY = ("# Words\n\nA `handle` is retired nowhere.\n\n## Retired terms\n\n| not | but |\n|---|---|\n"
                "| `hand_over()`, `give_in` | `release` |\n| `put away` | postpone |\n| `own_` | the owner |\n"
                "| `lane` | connection | `src/jobs`, `tests/jobs` |\n"
                "\n| term | meaning |\n|---|---|\n| `kept` | a word |\n")

    def test_retired_terms(self):
        others = {"docs/glossary.md": self.GLOSSARY}
        for text in ["hand_over(1);", "// It will hand_over () all.", "give_in = 1;", "// Put away.", "// is put away",
                     "a.own_ = 1;"]:
            for path in ["include/foliot/queue/detail/a.h", "src/queue/a.cpp", "programs/a.cpp", "tests/a.cpp",
                         "tools/a.py", "scripts/a.sh", "docs/a.md", "README.md"]:
                self.breaks("retired", path, text, 1, others)
        self.breaks("retired", "docs/a.md", "The timer is put\naway.", 1, others)
        self.keeps("src/queue/a.cpp", "int hand_over, forgive_in, down_, my_own_, own, kept;  // put it away", others)
        self.keeps("docs/glossary.md", self.GLOSSARY + "give_in")
        self.keeps("CHANGELOG.md", "give_in", others)

    def test_retired_between_underscores(self):
        others = {"docs/glossary.md": self.GLOSSARY}
        for text in ["my_give_in = 1;", "give_in_again();", "int may_give_in_;", "// Reads `will_Give_in_soon`."]:
            self.breaks("retired", "tests/a.cpp", text, 1, others)
        self.keeps("tests/a.cpp", "int forgive_in, give_inn, give_in2;", others)

    def test_retired_in_some_folders(self):
        others = {"docs/glossary.md": self.GLOSSARY}
        for path in ["src/jobs/a.cpp", "src/jobs/postgresql/a.cpp", "tests/jobs/a.cpp"]:
            self.breaks("retired", path, "struct lane_failure;", 1, others)
        self.keeps("src/queue/a.cpp", "struct lane;", others)
        self.keeps("src/jobs/a.cpp", "struct plane;", others)

    def test_no_glossary(self):
        self.keeps("src/queue/a.cpp", "give_in")


class Contracts(TidyTest):
    PATH = "include/foliot/queue/a.hpp"
    START = HEAD + "#include <foliot/core/language.hpp>\n\nnamespace foliot::queue {\n\n"  # six lines

    def contract(self, body, line):
        self.breaks("contract", self.PATH, self.START + body + "\n}", 6 + line)

    def no_contract(self, body):
        self.keeps(self.PATH, self.START + body + "\n}")

    def test_classes_and_functions_need_a_contract(self):
        self.contract("class clock {};", 1)
        self.contract("// A clock.\nclass FOLIOT_EXPORT clock final : public base {};", 2)
        self.contract("template <class T>\nstruct clock {\n};", 1)
        self.contract("enum class unit { second };", 1)
        self.contract("[[nodiscard]] FOLIOT_EXPORT int now() noexcept;", 1)
        self.contract("template <class T>\n  requires std::integral<T>\nconstexpr T half(T whole) { return whole; }", 1)
        self.contract("/// A clock.\nclass clock {\n public:\n  explicit clock(int start) : now_{start} {}\n\n"
                      " private:\n  int now_;\n};", 4)
        self.contract("/// A clock.\nstruct clock {\n  /// Now.\n  int now() const;\n\n"
                      "  int now(int zone) const;\n};", 6)
        self.contract("/// Adds.\nint operator+(int a, int b);\n\nint operator-(int a, int b);", 4)

    def test_contracts_where_they_belong(self):
        self.no_contract("/// A clock.\ntemplate <class T>\nclass clock {};")
        self.no_contract("/// A clock.\nstruct clock {\n  /// Now.\n  int now() const;\n  int now(int zone) const;\n};")
        self.no_contract("int now();  ///< The time in ns.")
        self.no_contract("/// Now.\n// relaxed: publishes nothing.\nint now();")
        self.no_contract("/// Adds.\nint operator+(int a, int b);\nint operator-(int a, int b);")
        self.no_contract("template <>\nstruct std::hash<clock> {};\ntemplate <class T>\nclass wheel<T>::slot {};")

    def test_no_contract_is_needed(self):
        self.no_contract("class clock;\nusing time = int;\ninline constexpr int zero = half(0);\nFOLIOT_CHECK(1);")
        self.no_contract("/// A clock.\nclass clock : public base {\n  int hidden();\n\n public:\n"
                         "  clock() = default;\n"
                         "  clock(clock&& other) noexcept : a_(other.a_) {}\n  clock& operator=(const clock& other);\n"
                         "  ~clock() { stop(1); }\n  int now() const override;\n  bool operator==(const clock&) const;"
                         "\n  friend void swap(clock&, clock&);\n\n private:\n"
                         "  int get() { return f({1}); }\n  int a_;\n};")
        self.no_contract("namespace detail {\nclass clock {\n public:\n  int now();\n};\n}\n"
                         "inline int clock::now() { return 1; }")
        self.no_contract("/// Fast.\ntemplate <class T>\nconcept fast = requires(T a) { a.run(); };")
        for path in ["include/foliot/queue/detail/a.hpp", "include/foliot/core/seam/a.hpp"]:
            self.keeps(path, self.START + "class clock {};\n}")
        self.keeps("src/queue/a.hpp", HEAD + "class clock {};")


if __name__ == "__main__":
    unittest.main()
