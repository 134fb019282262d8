"""Canaries for tools/tidy_coroutines.py, which is installed as foliot-check-coroutines: what it must report in the
coroutines of users, what it must leave alone, and how it says so.

Run: PYTHONPATH=tools python3 tests/style/test_coroutines.py
"""
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

from tidy_test import TOOLS, write_tree
import tidy_coroutines

CHECK = TOOLS / "tidy_coroutines.py"
ALLOW = "foliot-check-coroutines" + ": allow"
JOB = "#include <string>\nstruct job {\n  std::string text;\n  int priority = 0;\n};\n"


class Coroutines(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = Path(folder.name).resolve()

    def check(self, *places, files=None):
        write_tree(self.root, files or {})
        return subprocess.run([sys.executable, CHECK, *(places or [self.root])], cwd=self.root,
                              capture_output=True, text=True, check=False)

    def lines(self, body, declared=""):
        """The lines, from 1, of the body of a coroutine that are reported."""
        text = f"{declared}task<> f() {{\n{body}\n}}\n"
        code = tidy_coroutines.without_comments_and_strings(text)
        skipped = declared.count("\n") + 1
        return {line - skipped for line, _ in tidy_coroutines.breaches_of(text, code, {})}

    def breach(self, body, declared=""):
        with self.subTest(body):
            self.assertEqual(self.lines(body, declared), {1})

    def fine(self, body, declared=""):
        with self.subTest(body):
            self.assertEqual(self.lines(body, declared), set())

    def test_the_forms_that_the_compiler_was_tried_with(self):
        forms = Path(__file__).with_name("coroutine_forms.cpp")
        expected = [number for number, line in enumerate(forms.read_text().split("\n"), 1)
                    if line.startswith("TWICE(")]
        self.assertGreater(len(expected), 15)
        reported = [int(line.split(":")[1]) for line in self.check(forms).stdout.splitlines()]
        self.assertEqual(reported, expected)

    def test_a_struct_that_is_made_in_the_expression(self):
        self.breach('co_await jobs.send(job{"a", 1});', JOB)
        self.breach('co_await jobs.send(app::job{"a"});', JOB)
        self.breach('co_await jobs.send(job("a", 1));', JOB)
        self.breach('const auto sent = co_await select(jobs.send(job{"a"}), after(1s));', JOB)
        self.breach("co_await jobs.send(elsewhere{1});")
        self.breach("co_await jobs.send(std::array<std::string, 2>{a, b});")
        self.fine('job next{"a", 1}; co_await jobs.emplace(std::move(next));', JOB)
        self.fine('co_await jobs.emplace("a", 1);', JOB)
        self.fine('auto next = job{"a", 1};\nco_await jobs.send(next);', JOB)
        self.fine('co_return job{"a", 1};', JOB)
        self.fine('const auto x = co_await jobs.receive();\nanswer(job{"a", 1});', JOB)
        self.fine("co_await sleep(std::chrono::milliseconds{5});\nco_await sleep(foliot::duration{5});")
        self.fine("co_await f(std::string{a}, int{3}, std::size_t{4});")

    def test_classes_that_are_destroyed_once(self):
        self.fine("co_await f(point{1, 2});", "struct point {\n  int x;\n  double y = 0;\n};\n")
        self.fine("co_await f(point{1, p});", "struct point {\n  const std::uint64_t x;\n  const job* next;\n};\n")
        self.fine("co_await f(both{point{1}});", "enum class point : int {};\nstruct both {\n  point a;\n};\n")
        self.fine("co_await f(job{s});", "struct job {\n  explicit job(std::string t);\n  std::string text;\n};\n")
        self.fine("co_await f(job{s});", "class job {\n public:\n  job(std::string t);\n};\n")
        self.fine("co_await f(number{3});", "using number = std::uint32_t;\n")
        self.fine("co_await f(both{1});", "struct both {\n  std::optional<int> a;\n  std::array<char, 4> b;\n};\n")
        self.fine("co_await f(point{1});", "struct point {\n  ~point() = default;\n  int x;\n};\n")
        self.breach("co_await f(point{1});", "struct point {\n  ~point();\n  int x;\n};\n")
        self.breach("co_await f(both{1});", JOB + "struct both {\n  std::pair<int, std::optional<job>> a;\n};\n")
        self.breach("co_await f(both{j});", JOB + "struct both {\n  job a;\n};\n")
        self.breach("co_await f(other{j});", JOB + "using other = job;\n")
        self.breach("co_await f(more{j});", JOB + "struct more : job {\n  int x;\n};\n")
        self.breach("co_await f(job{s});", "struct job {\n  ~job();\n  std::string text;\n  void g() { job(1); }\n};\n")

    def test_braces_as_an_argument(self):
        self.breach('co_await submit({"a", reply});')
        self.breach("co_await submit(1, {});")
        self.breach("co_await submit({.text = a});")
        self.fine("submit({1, reply});\nco_await work();")
        self.fine("const job next{1, reply};\nco_await submit(next);")

    def test_closures_that_capture_by_copy(self):
        self.breach("co_await blocking([file] { return read(file); });")
        self.breach("co_await blocking([&x, file = open(name)] { return read(file, x); });")
        self.breach("co_await blocking([=] { return read(file); });")
        self.breach("co_await blocking([*this] { return read(); });")
        self.breach("co_await with_timeout([job]() -> foliot::task<> { co_await job.run(); }(), 1s);")
        self.fine("co_await blocking([] { return 1; });")
        self.fine("co_await blocking([&] { return read(file); });")
        self.fine("co_await blocking([this, &file, &g = h] { return read(file); });")
        self.fine("auto read = [file] { return get(file); };\nco_await blocking(std::move(read));")
        self.fine("auto t = spawn([file]() -> task<> { co_await g(); }());")
        self.fine("co_await f(a[i], all[last]);")

    def test_a_class_of_another_file(self):
        body = "task<> f() { co_await g(job{s}); }\n"
        with_constructor = "struct job {\n  job(std::string);\n  std::string text;\n};\n"
        result = self.check(files={"a.cpp": body, "deep/job.hpp": with_constructor})
        self.assertEqual((result.returncode, result.stdout), (0, ""))
        self.assertRegex(self.check("a.cpp").stdout,
                         r"\Aa.cpp:1: .*job.*, unless its class has a constructor: no file that was read declares it: ")
        self.check(files={"deep/job.hpp": JOB})
        self.assertNotIn("unless", self.check().stdout)

    def test_headers_are_looked_for(self):
        body = "task<> f() { co_await g(job{s}); }\n"
        self.check(files={"src/a.cpp": '#include "job.hpp"\n' + body, "src/job.hpp": "  # include <app/part.hpp>\n",
                          "include/app/part.hpp": "struct job {\n  job(std::string);\n};\ntask<> h() { co_await g({}); }\n"})
        self.assertIn("a.cpp:2: ", self.check("src/a.cpp").stdout)
        result = self.check("src/a.cpp", "-I", "include", "-I", "nowhere")
        self.assertEqual((result.returncode, result.stdout), (0, ""))
        self.assertEqual(result.stderr, "foliot-check-coroutines: 1 file, 0 breaches\n")
        self.check(files={"include/app/part.hpp": '#include "../../src/job.hpp"\n' + JOB})
        self.assertRegex(self.check("src/a.cpp", "-Iinclude").stdout, r"\Asrc/a.cpp:2: .*this job.*, twice: ")

    def test_what_is_not_known_is_told(self):
        unless = "unless all its members are plain: no file that was read declares their classes: "
        body = "task<> f() { co_await g(both{1}); }\n"
        self.assertIn(unless, self.check(files={"a.cpp": "struct both {\n  their::id x;\n};\n" + body}).stdout)
        self.assertNotIn("unless", self.check(files={"a.cpp": "struct both {\n  their::id x;\n  std::string s;\n};\n"
                                                               + body}).stdout)
        ours = "namespace our::inline v1 {\nstruct job {\n  std::string s;\n};\n}\n"
        told = {name: self.check(files={"a.cpp": ours + f"task<> f() {{ co_await g({name}{{s}}); }}\n"}).stdout
                for name in ("job", "our::job", "::our::v1::job", "their::job")}
        self.assertIn("unless its class has a constructor", told.pop("their::job"))
        for text in told.values():
            self.assertRegex(text, r"a.cpp:6: .*job.*, twice: ")
        theirs = "namespace their {\nstruct job {\n  job(int);\n};\n}\n"
        result = self.check(files={"b.hpp": theirs, "a.cpp": ours + "task<> f() { co_await g(their::job{s}); }\n"})
        self.assertEqual(result.stdout, "")

    def test_a_name_without_a_scope_is_of_the_nearest_namespace(self):
        def reported(code):
            return "a.cpp" in self.check("a.cpp", files={"a.cpp": code}).stdout
        safe, twice = "struct job {\n  job(int);\n};\n", "struct job {\n  std::string s;\n};\n"
        use = "task<> f() { co_await g(job{s}); }\n"
        for outer, inner, expected in ((safe, twice, True), (twice, safe, False)):
            with self.subTest(expected=expected):
                self.assertEqual(reported(f"{outer}namespace our {{\n{inner}{use}}}\n"), expected)
                self.assertEqual(reported(f"{outer}namespace our::inline v1 {{\n{inner}{use}}}\n"), expected)
                self.assertEqual(reported(f"{outer}namespace our {{\ninline namespace v1 {{\n{inner}}}\n{use}}}\n"), expected)
                self.assertEqual(reported(f"namespace their {{\n{outer}}}\nnamespace our {{\n{inner}}}\n"
                                          f"namespace our {{\n{use}}}\n"), expected)
                self.assertEqual(reported(f"namespace their {{\n{outer}}}\n{inner}namespace our {{\n{use}}}\n"), expected)
        self.assertTrue(reported(f"namespace their {{\n{twice}}}\nusing namespace their;\n{safe}{use}"))
        self.assertTrue(reported(f"struct server {{\n{twice}}};\n{safe}{use}"), "f may be a member of server")
        self.assertTrue(reported(f"namespace their {{\n{twice}}}\n{use}"))

    def test_aliases_and_enumerations_have_scopes(self):
        def told(code):
            return self.check("a.cpp", files={"a.cpp": code}).stdout
        use = "task<> f() { co_await g(their::job{s}); }\n"
        self.assertIn("no file that was read declares it", told("namespace our {\nenum class job { a };\n}\n" + use))
        self.assertIn("no file that was read declares it", told("namespace our {\nusing job = int;\n}\n" + use))
        self.assertEqual(told("namespace their {\nenum class job { a };\n}\n" + use), "")
        self.assertEqual(told("namespace their {\nusing job = int;\n}\n" + use), "")
        inner = "struct part {\n  std::string s;\n};\nusing job = part;\n"
        self.assertNotIn("unless", told(f"struct part {{\n  part(int);\n}};\nnamespace their {{\n{inner}}}\n{use}"))

    def test_it_counts_right(self):
        one = "task<> f() { co_await g({1}); }\n"
        result = self.check(files={"a.cpp": one})
        self.assertEqual(result.returncode, 1)
        self.assertEqual(result.stderr, "foliot-check-coroutines: 1 file, 1 breach\n")
        result = self.check(files={"b.hpp": one + one, ".git/c.cpp": one, "d.txt": one})
        self.assertEqual(result.stderr, "foliot-check-coroutines: 2 files, 3 breaches\n")
        result = self.check("a.cpp", files={"a.cpp": "int a;\n"})
        self.assertEqual((result.returncode, result.stderr), (0, "foliot-check-coroutines: 1 file, 0 breaches\n"))

    def test_quiet(self):
        result = self.check("--quiet", "a.cpp", files={"a.cpp": "int a;\n"})
        self.assertEqual((result.returncode, result.stdout, result.stderr), (0, "", ""))
        result = self.check("--quiet", "a.cpp", files={"a.cpp": "task<> f() { co_await g({1}); }\n"})
        self.assertEqual((result.returncode, result.stderr), (1, "foliot-check-coroutines: 1 file, 1 breach\n"))

    def test_what_is_not_there(self):
        one = "task<> f() { co_await g({1}); }\n"
        write_tree(self.root, {"a.cpp": one})
        (self.root / ".#b.cpp").symlink_to("user@host:1")  # an editor's lock
        self.assertEqual(self.check().stderr, "foliot-check-coroutines: 1 file, 1 breach\n")
        result = self.check("--skip-missing", "generated.cpp", "a.cpp")
        self.assertEqual((result.returncode, result.stderr), (1, "foliot-check-coroutines: 1 file, 1 breach\n"))
        result = subprocess.run([sys.executable, CHECK, "--skip-missing"], cwd=self.root, capture_output=True, text=True,
                                check=False)
        self.assertEqual((result.returncode, result.stderr), (0, "foliot-check-coroutines: 0 files, 0 breaches\n"))

    def test_lines_that_are_allowed(self):
        line = "task<> f() { co_await g({1}); }"
        result = self.check(files={"a.cpp": f"{line}  // {ALLOW} g takes a pair\n"})
        self.assertEqual((result.returncode, result.stdout), (0, ""))
        self.assertIn("a.cpp:1: a reason is missing", self.check(files={"a.cpp": f"{line}  // {ALLOW}\n"}).stdout)
        self.assertIn("a.cpp:1: nothing is wrong here",
                      self.check(files={"a.cpp": f"task<> f() {{ co_await g(); }}  // {ALLOW} why\n"}).stdout)

    def test_wrong_arguments(self):
        result = self.check("nowhere")
        self.assertEqual(result.returncode, 2)
        self.assertIn("nowhere: no such file or folder", result.stderr)
        self.assertEqual(self.check("--no-such").returncode, 2)
        self.assertIn("g++ 12", self.check("--help").stdout)


if __name__ == "__main__":
    unittest.main()
