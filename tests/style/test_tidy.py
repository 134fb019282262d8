"""Canaries for tools/tidy.py: for each rule something that it must report, and the same thing
written well, which it must leave alone.

Run: PYTHONPATH=tools python3 tests/style/test_tidy.py
"""
import subprocess
import sys
import unittest
from pathlib import Path

from tidy_test import HEAD, TOOLS, TidyTest, tidy, write_tree

# In pieces, as tidy.py reads this file too.
TO_DO_WORDS = ["TO" + "DO", "FIX" + "ME", "XX" + "X", "HA" + "CK"]
ALLOW = "tidy" + ": allow"


class LongFunctions(TidyTest):
    BODY = "  if (a) { b(); }\n"

    def expect(self, head, foot="}\n", line=1):
        """A function whose first line and last one are these may have 68 lines between them."""
        lines = 70 - head.count("\n") - foot.count("\n") + (line - 1)
        self.keeps("src/queue/a.cpp", head + self.BODY * lines + foot)
        self.breaks("long-function", "src/queue/a.cpp", head + self.BODY * (lines + 1) + foot, line)

    def test_in_cpp(self):
        for head in ["void f(int a) {\n", "auto f(int a) noexcept(noexcept(b())) -> std::vector<int> {\n",
                     "template <class T>\n  requires std::integral<T>\nvoid f(T a) {\n", "q::q(int a) : c_{1}, d_{2} {\n",
                     "q::q(int a) : c_{1}, d_(2) {\n", "bool q::operator()(int a) const & {\n", "TEST(a, b) {\n",
                     "const auto f = [](int a) {\n"]:
            self.expect(head)
        self.expect("namespace q {\nstruct r final : s {\n  void f(int a) {\n", "  }\n", 3)

    def test_what_is_no_function(self):
        for head in ["namespace q {\n", "class q final : public r<decltype(s())> {\n", "enum class q : int {\n",
                     'extern "C" {\n', "template <class T>\nstruct q {\n", "#if A\n#include B\n#else\nnamespace q {\n",
                     "MACRO(a, b)\nnamespace q {\n", "[[a(b)]] class q : public r {\n",
                     "template <class T>\n  requires(sizeof(T) <= 4)\nclass q {\n public:\n  struct r {\n"]:
            self.keeps("src/queue/a.cpp", head + "int f();\n" * 100 + "};\n")
        self.keeps("src/queue/a.cpp", "#define A(b) {\\\n" + "int b();\\\n" * 100 + "}\nint a;\n")
        self.keeps("src/queue/a.cpp", "const int a[] = {\n" + "  {1, 2},\n" * 100 + "};\n")

    def test_in_python(self):
        for head in ["def f(a):\n", "class A:\n    async def f(self):\n"]:
            line = head.count("\n")
            body = "        b()\n" if line == 2 else "    b()\n"
            self.keeps("tools/a.py", head + body * 69)
            self.breaks("long-function", "tools/a.py", head + body * 70, line)
        self.keeps("tools/a.py", "class A:\n    b = 1\n" + "    c = 1\n" * 100)


class PythonPath(TidyTest):
    def test_tests_and_commands_leave_it_alone(self):
        for line in ["sys.path.insert(0, str(HERE))\n", "sys.path[:0] = [HERE]\n", "if a:\n    sys.path.append(HERE)\n"]:
            for folder in ["bench", "scripts/lib", "tests/programs", "tools"]:
                self.breaks("python-path", f"{folder}/a.py", "import sys\n" + line, line.count("\n") + 1)
        self.keeps("tests/a.py", "print(sys.path)\nfrom kit import beanstalk_client\n")
        self.keeps("site/conf.py", "import sys\nsys.path.insert(0, HERE)\n")


class Includes(TidyTest):
    ALLOWED = {"core": "core", "queue": "core queue", "service": "core queue service",
               "runtime": "core queue runtime", "adapters": "core queue adapters"}

    def test_layers(self):
        for layer, allowed in self.ALLOWED.items():
            for other in self.ALLOWED:
                for name in [f"<foliot/{other}/a.hpp>", f"<foliot/{other}.hpp>", f'"{other}/a.hpp"']:
                    for path in [f"src/{layer}/b.cpp", f"src/{layer}/deep/b.cpp"]:
                        if other in allowed.split():
                            self.keeps(path, f"#include {name}")
                        else:
                            self.breaks("includes", path, f"#include {name}")

    def test_public_headers_and_umbrellas(self):
        self.breaks("includes", "include/foliot/queue/a.hpp", HEAD + "#include <foliot/service/b.hpp>", 3)
        self.breaks("includes", "include/foliot/queue.hpp", HEAD + "#include <foliot/service.hpp>", 3)
        self.keeps("include/foliot/queue.hpp", HEAD + "#include <foliot/queue/b.hpp>")
        self.breaks("includes", "src/core/a.cpp", "#include <foliot/foliot.hpp>")
        self.keeps("src/core/a.cpp", "#include <foliot/version.hpp>")

    def test_a_public_header_includes_only_what_is_installed(self):
        first = HEAD + "#include <foliot/core/b.hpp>\n"
        self.keeps("include/foliot/jobs/a.hpp", first + "#include <foliot/jobs/b.hpp>")
        self.breaks("includes", "include/foliot/jobs/a.hpp", first + '#include "jobs/b.hpp"', 4, {"src/jobs/b.hpp": HEAD})

    def test_files_beside_and_above(self):
        self.keeps("src/queue/a.cpp", '#include "b.hpp"', {"src/queue/b.hpp": HEAD})
        self.breaks("includes", "src/queue/a.cpp", '#include "service/b.hpp"', 1, {"src/service/b.hpp": HEAD})
        for path in ["src/queue/a.cpp", "server/core/a.cpp", "programs/foliot/a.cpp", "tests/queue/a.cpp"]:
            self.breaks("includes", path, '#include "../b.hpp"')

    def test_the_server_and_its_texts(self):
        for name in ["server/core/b.hpp", "text/b.hpp", "foliot/jobs.hpp", "foliot/tls.hpp", "foliot/runtime.hpp"]:
            self.keeps("server/beanstalk/a.cpp", f'#include "{name}"')
        for name in ["service/b.hpp", "foliot/service.hpp", "foliot/adapters/b.hpp"]:
            self.breaks("includes", "server/beanstalk/a.cpp", f'#include "{name}"')
        self.breaks("includes", "src/jobs/a.cpp", '#include "server/core/b.hpp"')
        self.breaks("includes", "src/jobs/a.cpp", '#include "text/b.hpp"')
        self.breaks("includes", "src/text/a.cpp", '#include "server/core/b.hpp"')

    def test_everything_may_be_used_above_the_layers(self):
        for folder in ["programs", "examples", "bench", "tests"]:
            self.keeps(f"{folder}/a.cpp", "#include <foliot/service.hpp>\n#include <foliot/adapters/b.hpp>")

    def test_core_knows_only_the_standard_library(self):
        self.keeps("src/core/a.cpp", "#include <vector>\n#include <cstdint>")
        for name in ["<unistd.h>", "<linux/futex.h>", "<time.h>", "<boost/a.hpp>", '"boost/a.hpp"']:
            self.breaks("includes", "src/core/a.cpp", f"#include {name}")
        self.keeps("src/core/seam/a.cpp", "#include <unistd.h>\n#include <sys/epoll.h>\n#include <linux/futex.h>")
        self.breaks("includes", "src/core/seam/a.cpp", "#include <boost/a.hpp>")

    def test_libraries_of_programs_and_tests(self):
        for name in ["CLI/CLI.hpp", "fmt/format.h", "nlohmann/json.hpp", "zlib.h", "bzlib.h", "lzma.h", "zstd.h"]:
            self.breaks("includes", "src/service/a.cpp", f"#include <{name}>")
            for folder in ["programs", "tests", "bench"]:
                self.keeps(f"{folder}/a.cpp", f"#include <{name}>")
        for name in ["gtest/gtest.h", "gmock/gmock.h", "rapidcheck.h", "rapidcheck/state.h", "benchmark/benchmark.h"]:
            self.breaks("includes", "programs/a.cpp", f"#include <{name}>")
            self.keeps("tests/a.cpp", f"#include <{name}>")
            self.keeps("bench/a.cpp", f"#include <{name}>")

    def test_text_that_only_looks_like_an_include(self):
        self.keeps("src/core/a.cpp", 'auto a = R"(\n#include <fmt/format.h>\n)";\n// #include <fmt/format.h>\n'
                                     "/*\n#include <fmt/format.h>\n*/")


class Seams(TidyTest):
    def everywhere_but_the_seams(self, rule, code):
        for path in ["src/queue/a.cpp", "src/core/a.cpp", "programs/a.cpp", "tests/a.cpp", "bench/micro/a.cpp"]:
            self.breaks(rule, path, code)
        for path in ["src/core/seam/a.cpp", "tests/simulation/a.cpp"]:
            self.keeps(path, code)

    def in_the_product(self, rule, code):
        for path in ["src/service/a.cpp", "src/core/a.cpp", "programs/a.cpp", "bench/a.cpp"]:
            self.breaks(rule, path, code)
        for path in ["src/core/seam/a.cpp", "tests/simulation/a.cpp", "tests/a.cpp", "bench/micro/a.cpp", "examples/a.cpp"]:
            self.keeps(path, code)

    def test_atomics(self):
        for code in ["std::atomic<int> a;", "std::atomic_flag f;", "std::atomic_thread_fence(order);",
                     "std::atomic_ref<int> r{x};", "__atomic_load_n(&a, 0);"]:
            self.in_the_product("seam-atomic", code)
        self.keeps("src/queue/a.cpp", "foliot::seam::atomic<int> a; a.load(std::memory_order_acquire);")

    def test_locks(self):
        for code in ["std::mutex m;", "std::shared_mutex m;", "std::recursive_timed_mutex m;", "std::lock_guard l{m};",
                     "std::unique_lock l{m};", "std::scoped_lock l{m};", "std::call_once(f, g);"]:
            self.in_the_product("seam-mutex", code)
        self.keeps("src/service/a.cpp", "foliot::mutex m; foliot::lock l{m};")

    def test_notes(self):
        for code in ["std::condition_variable c;", "std::condition_variable_any c;", "std::binary_semaphore s{0};"]:
            self.in_the_product("seam-note", code)
        self.keeps("src/service/a.cpp", "foliot::note n; foliot::condition c;")

    def test_threads(self):
        for code in ["std::thread t{f};", "std::jthread t{f};", "std::this_thread::yield();"]:
            self.in_the_product("seam-thread", code)
        self.keeps("src/service/a.cpp", "foliot::seam::thread t; auto& me = seam::this_thread();")

    def test_sleep(self):
        for code in ["std::this_thread::sleep_for(1ms);", "std::this_thread::sleep_until(t);", "usleep(1);",
                     "::usleep(1);", "nanosleep(&a, &b);", "clock_nanosleep(c, 0, &a, &b);", "sleep(1);",
                     "::sleep(seconds);", "::poll(nullptr, 0, 10);", "static_cast<void>(::poll(nullptr, 0, pause));",
                     "::ppoll(nullptr, 0, &pause, nullptr);", "select(0, nullptr, nullptr, nullptr, &pause);"]:
            self.everywhere_but_the_seams("seam-sleep", code)
        self.keeps("src/runtime/a.cpp", "void f() { ::poll(&asked, 1, left); ::poll(all.data(), n, 0); }")
        self.keeps("src/runtime/a.cpp", "task<void> sleep(duration d);\nauto f() { return foliot::sleep(1); }")

    def test_clocks(self):
        for code in ["auto n = std::chrono::steady_clock::now();", "clock_gettime(CLOCK_MONOTONIC, &t);",
                     "using c = std::chrono::high_resolution_clock;"]:
            self.in_the_product("seam-clock", code)
        for code in ["auto n = std::chrono::system_clock::now();", "gettimeofday(&t, 0);", "auto n = time(nullptr);",
                     "auto n = std::time(0);", "auto n = ::time(&t);"]:
            self.everywhere_but_the_seams("seam-clock", code)
        self.keeps("src/queue/a.cpp", "auto n = foliot::monotonic_clock{}.now();\n"
                                        "auto t = event.time(0); seam::clock_gettime(0);")

    def test_system_calls(self):
        for code in ["syscall(SYS_gettid);", "epoll_wait(a, b, c, d);", "::epoll_create1(0);",
                     "timerfd_settime(a, 0, b, c);", "eventfd(0, 0);", "int op = FUTEX_WAIT;"]:
            self.in_the_product("seam-system", code)
        self.keeps("src/service/a.cpp", "epoll_heap queue(1); auto h = epoll_heap(2); seam::epoll_wait(1);")

    def test_randomness(self):
        for code in ["std::random_device d;", "int r = rand();", "std::srand(1);", "std::mt19937 g(clock.now());"]:
            self.everywhere_but_the_seams("seam-random", code)
        self.keeps("tests/a.cpp", "std::mt19937 g(seed); foliot::random_stream s{seed}; int operand(int);")

    def test_comments_and_strings_are_not_code(self):
        self.keeps("src/queue/a.cpp", '// std::atomic\n/* std::mutex\n std::thread */\nauto a = "std::atomic";\n'
                                      "auto b = R\"x(std::mutex \" )\" std::thread)x\"; char c = '\"';\n"
                                      "int d = 1'000'000;\n"
                                      'auto e = u8"\\"std::atomic"; // it\'s std::rand()')
        self.breaks("seam-atomic", "src/queue/a.cpp",
                    "int d = 1'000; /* ' */ auto s = \"//\"; std::atomic<int> a; // '")


class Allowances(TidyTest):
    def test_a_reason_excuses_the_line_and_the_rule(self):
        self.keeps("src/queue/a.cpp", "std::mutex m;  // tidy: allow(seam-mutex) guards a list of another library")
        self.keeps("tools/a.py", f"a = 1\t# {ALLOW}(whitespace) as the tool prints it")

    def test_no_reason(self):
        found = self.findings("src/queue/a.cpp", "std::mutex m;  // tidy: allow(seam-mutex)\n")
        self.assertEqual(found, {(1, "seam-mutex"), (1, "allow")})

    def test_another_rule_or_line(self):
        found = self.findings("src/queue/a.cpp", "std::mutex m;  // tidy: allow(seam-note) a reason\n")
        self.assertEqual(found, {(1, "seam-mutex"), (1, "allow")})
        self.breaks("allow", "src/queue/a.cpp", "int m;  // tidy: allow(seam-mutex) a reason")


class Files(TidyTest):
    def test_file_head(self):
        for folder in ["include/foliot/queue", "src/queue", "programs"]:
            self.keeps(f"{folder}/a.hpp", "\n" + HEAD)
            self.keeps(f"{folder}/a.hpp", "// One.\n//\n// Two.\n\n#pragma once\nint a;")
            self.breaks("file-head", f"{folder}/a.hpp", "#pragma once")
            self.breaks("file-head", f"{folder}/a.hpp", "// A comment.\nint a;\n#pragma once", 2)
            self.breaks("file-head", f"{folder}/a.hpp", "// A comment.")
        self.keeps("tests/a.hpp", "#pragma once")

    def test_todo(self):
        for word in TO_DO_WORDS:
            for comment in [f"{word}: later", f"{word} later", f"{word}(soon): later", f"{word}(two words): later"]:
                self.breaks("todo", "src/queue/a.cpp", f"// {comment}")
                self.breaks("todo", "scripts/a.sh", f"# {comment}")
            self.keeps("src/queue/a.cpp", f"// {word}(until g++ 13 is here): use the library's")
        self.keeps("scripts/a.sh", "mktemp /tmp/a.XXXXXX")

    def test_disabled_tests(self):
        self.breaks("disabled-test", "tests/a.cpp", "TEST(queue, DISABLED_start) {}")
        self.keeps("tests/a.cpp", "TEST(queue, start) {}  // was DISABLED_start")

    def test_paths_of_a_machine(self):
        for path in ["/wo" + "rk/main", "/fa" + "rm/a", "/tmp/bash" + "_jobs.0", "/ho" + "me/ada"]:
            for file in ["docs/a.md", "scripts/run", "src/queue/a.cpp", "data/a.txt", "CMakeLists.txt"]:
                self.breaks("machine-path", file, f"// see {path}/b")
        self.keeps("docs/a.md", "bench/wo" + "rk/a, ./wo" + "rk/a, $HOME/wo" + "rk/, /tmp/a")
        self.keeps("docs/a.md", "https://example.org/ho" + "me/a")

    def test_white_space(self):
        for path in ["src/queue/a.cpp", "tools/a.py", "scripts/a.sh", "CMakeLists.txt"]:
            if path != "CMakeLists.txt":
                self.breaks("whitespace", path, "a\tb")
                self.breaks("whitespace", path, "a\nb ", 2)
                self.breaks("whitespace", path, "a\r")
            self.assertEqual(self.findings(path, "a = 1"), {(1, "final-newline")})
            self.keeps(path, "a = 1\n\nb")
        self.breaks("whitespace", "scripts/run", "#!/usr/bin/env bash\n\ttrue", 2)
        self.breaks("whitespace", "tools/a", "#!/usr/bin/env python3\na\t", 2)
        self.assertEqual(self.findings("docs/a.md", "a"), {(1, "final-newline")})
        self.keeps("docs/a.md", "a  \nb\tc")
        self.keeps("data/a.txt", "a\t")

    def test_links(self):
        others = {"docs/b.md": "", "docs/c d.md": "", "README.md": ""}
        for link in ["[a](b.md)", "[a](./b.md#part)", "[a](../README.md)", "[a](/README.md)", "![a](<c d.md>)",
                     "[a](c%20d.md)", "[a](https://example.org/no)", "[a](#part)", "[a](mailto:a@b.c)", '[a](b.md "title")',
                     "[a]: b.md", "`[a](no.md)`", "```\n[a](no.md)\n```", "[a](..)"]:
            self.keeps("docs/a.md", link, others)
        for link in ["[a](no.md)", "text [a](b.md) and [b](no.md#part)", "![a](no.png)", "[a](../no.md)", "[a](/no.md)",
                     "[a]: no.md", "[a](../..)"]:
            self.breaks("link", "docs/a.md", link, 1, others)


class Words(TidyTest):
    def test_using_namespace(self):
        self.breaks("using-namespace", "include/foliot/queue/a.hpp", HEAD + "using namespace std;", 3)
        self.breaks("using-namespace", "tests/a.hpp", "using namespace foliot;")
        self.keeps("tests/a.cpp", "using namespace foliot;")

    def test_assert(self):
        self.breaks("assert", "src/queue/a.cpp", "assert(a);")
        self.keeps("src/queue/a.cpp", "static_assert(a); FOLIOT_ASSERT(a); my_assert(a);")
        self.keeps("include/foliot/core/contract.hpp", HEAD + "/// Checks.\ninline void f() { assert(true); }")

    def test_language(self):
        language = "#include <foliot/core/language.hpp>\n"
        path = "include/foliot/queue/a.hpp"
        self.breaks("language", path, HEAD + "#include <vector>", 3)
        self.breaks("language", path, HEAD + "namespace foliot::inline queue {}", 1)
        self.breaks("language", path, HEAD + "#include <vector>\n\n" + language, 3)
        self.breaks("language", path, HEAD + "#include <coroutine>\n#include <foliot/queue/b.hpp>", 3,
                    {"include/foliot/queue/b.hpp": ""})
        self.keeps(path, HEAD + language + "\n#include <vector>")
        self.keeps(path, HEAD + "#include <vector>\n\n#include <foliot/queue/b.hpp>")
        self.keeps("include/foliot/version.hpp", HEAD + "#define A")

    def test_build_type(self):
        self.breaks("build-type", "include/foliot/queue/a.hpp", HEAD + "#ifdef NDEBUG\n#endif", 3)
        self.breaks("build-type", "tests/queue/a.cpp", "#if !defined(NDEBUG)\n#endif")
        self.keeps("include/foliot/queue/a.hpp", HEAD + "// NDEBUG decides nothing.\n#if FOLIOT_ASSERTIONS\n#endif")

    def test_console(self):
        for stream in ["std::cout", "std::cerr"]:
            self.breaks("console", "src/service/a.cpp", f"{stream} << 1;")
            for folder in ["programs", "examples", "tests", "bench"]:
                self.keeps(f"{folder}/a.cpp", f"{stream} << 1;")

    def test_null(self):
        self.breaks("null", "tests/a.cpp", "int* a = NULL;")
        self.keeps("include/foliot/foliot.h", "#define NOTHING {0, NULL}")
        self.keeps("tests/a.cpp", "int* a = nullptr; int NULLABLE; // NULL")


class Coroutines(TidyTest):
    def breach(self, body, line=2):
        self.breaks("coroutine", "src/runtime/a.cpp", f"task<int> f(int n) {{\n{body}\n}}", line)

    def fine(self, body):
        self.keeps("src/runtime/a.cpp", f"task<int> f(int n) {{\n{body}\n}}")

    def test_one_await_in_a_full_expression(self):
        self.breach("co_return co_await a() + co_await b();")
        self.breach("co_await g(co_await a());")
        self.breach("auto x = h(co_await a(),\n           co_await b());", 3)
        self.breach("if (co_await a() == co_await b()) n = 1;")
        self.fine("auto x = co_await a();\nauto y = co_await b();\nco_return x + y;")
        self.fine("if (co_await a()) co_await b();")
        self.fine("while (co_await a()) {\nco_await b();\n}")
        self.fine("for (int i = co_await a(); i < co_await b(); ++i) co_await c();")
        self.fine("if (n) {\nco_await a();\n} else {\nco_await b();\n}\nco_await c();")
        self.fine("switch (co_await a()) {\ncase 1: co_await b(); break;\ndefault: co_await c();\n}")

    def test_no_await_in_a_branching_expression(self):
        self.breach("auto x = n ? co_await a() : 0;")
        self.breach("auto x = n && co_await a();")
        self.breach("if (co_await a() || n) n = 1;")
        self.breach("auto x = n and co_await a();")
        self.breach("auto x = n &&\n         co_await a();", 3)
        self.fine("if (n && n > 1) co_await a();")
        self.fine("auto&& x = co_await a();\nT&& y = co_await b();")
        self.fine("auto x = co_await a(n && true);")
        self.fine("auto x = n ? 1 : 0;\nco_await a();")

    def test_no_await_in_an_initialiser_s_braces(self):
        self.breach("auto x = point{1, co_await a()};")
        self.breach("g({co_await a()});")
        self.breach("g({{co_await a()}});")
        self.fine("auto x = co_await a(options(1));\nauto y = point{x, x};")
        self.fine("auto x = point{1, 2};\nco_await a(x);")

    def test_lambdas_have_statements_of_their_own(self):
        self.fine("co_await spawn([]() -> task<void> { co_await a(); });")
        self.fine("auto g = [] { return b(); };\nco_await a();")
        self.fine("spawn([](int i) mutable noexcept -> task<void> {\nco_await a();\nco_await b();\n}, n && true);")
        self.breach("spawn([]() -> task<void> { co_await a(co_await b()); });")

    def test_other_declarations(self):
        self.keeps("src/runtime/a.cpp", 'namespace a::b {\nclass GUARD("x") c final : public d<int> {\npublic:\n'
                   "auto operator co_await() const && noexcept { return e{1, n && f}; }\n"
                   "auto g() const -> task<int> { co_await h(); }\n};\n}")

    def test_only_files_with_coroutines(self):
        self.keeps("src/runtime/a.cpp", "// co_await\nauto x = a ? b && c : d{e || f};")


    def test_awaiters_of_the_library(self):
        path = "include/foliot/runtime/detail/a.hpp"
        suspend = "  bool await_suspend(std::coroutine_handle<P> task) { return f({}); }\n"
        language = "#include <foliot/core/language.hpp>\n"
        for head in ["class sleeps {", "template <class T>\nclass sleeps final : public base<T> {", "struct sleeps {"]:
            text = HEAD + language + f"{head}\n public:\n  template <class P>\n{suspend}}};"
            self.breaks("awaiter", path, text, 6 + head.count("\n"))
        for head in ["class sleeps : public task_awaiter {",
                     "class sleeps final : public base, private detail::task_awaiter {"]:
            self.keeps(path, HEAD + language + f"namespace foliot {{\n{head}\n{suspend}}};\n}}")
        self.keeps(path, HEAD + language + "// A class with `await_suspend`.\nclass sleeps {};")
        self.keeps("tests/a.cpp", f"class sleeps {{\n{suspend}}};")
        for path in ["src/jobs/a.cpp", "src/tls/a.cpp", "server/core/a.cpp"]:
            self.breaks("awaiter", path, f"class sleeps {{\n{suspend}}};", 2)


class Program(TidyTest):
    def test_each_rule_has_a_canary(self):
        canaries = "".join(file.read_text() for file in Path(__file__).parent.glob("test_tidy*.py"))
        for rule in tidy.RULES:
            self.assertIn(f'"{rule.name}"', canaries)

    def run_tidy(self, *arguments):
        return subprocess.run([sys.executable, TOOLS / "tidy.py", *arguments],
                              capture_output=True, text=True, check=False)

    def test_clean_tree(self):
        write_tree(self.root, {"src/queue/a.cpp": "int a;\n", "a.bin": b"\xff\x00\t"})
        result = self.run_tidy("--root", self.root)
        self.assertEqual((result.returncode, result.stdout), (0, ""))

    def test_breaches_are_printed_with_place_and_rule(self):
        write_tree(self.root, {"src/queue/a.cpp": "int a;\nstd::mutex m;\n"})
        result = self.run_tidy("--root", self.root)
        self.assertEqual(result.returncode, 1)
        self.assertRegex(result.stdout, r"\Asrc/queue/a.cpp:2: seam-mutex: use foliot::mutex .*\n\Z")

    def test_wrong_arguments(self):
        self.assertEqual(self.run_tidy("--no-such").returncode, 2)
        self.assertEqual(self.run_tidy("--root", self.root / "none").returncode, 2)

    def test_report(self):
        body = "  if (a) { b(); }\n" * 60
        code = (f"namespace q {{\ntemplate <class T>\nint long_one(T a) {{\n{body}}}\n"
                "int short_one() {\n  return 1;\n}\n}\n")
        write_tree(self.root, {"src/queue/a.cpp": code,
                               "src/queue/b.cpp": "int a;\n" * 301})
        result = self.run_tidy("--root", self.root, "--report")
        self.assertEqual(result.returncode, 0)
        self.assertRegex(result.stdout, r"files \(past 300 lines: 1\)\n +301 src/queue/b.cpp\n")
        self.assertRegex(result.stdout, r"functions \(past 70 lines: 0\)\n +63 src/queue/a.cpp:2: long_one\n"
                                        r" +3 src/queue/a.cpp:65: short_one\n")

    def test_git_says_which_files(self):
        write_tree(self.root, {".gitignore": "build/\n", "build/a.cpp": "std::mutex m;\n", "tracked.cpp": "int a;\t\n",
                               "new.cpp": "int a;\t\n", "gone.cpp": ""})
        git = ["git", "-C", self.root]
        for command in [["init", "-q"], ["add", ".gitignore", "tracked.cpp", "gone.cpp"]]:
            subprocess.run(git + command, check=True)
        (self.root / "gone.cpp").unlink()
        lines = self.run_tidy("--root", self.root).stdout.splitlines()
        self.assertEqual({line.split(":")[0] for line in lines}, {"tracked.cpp", "new.cpp"})


if __name__ == "__main__":
    unittest.main()
