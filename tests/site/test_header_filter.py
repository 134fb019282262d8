"""What doxygen reads of a header: its contract as the description of the file, and the names that users write."""
import tempfile
import unittest
from pathlib import Path

from header_filter import c_header, cpp_header, with_parts


class CppHeader(unittest.TestCase):
    def test_head_is_the_description_of_the_file(self):
        self.assertEqual(cpp_header("// A timer.\n//\n//   timer t;\n#pragma once\n"),
                         "/** @file\n * A timer.\n * \n *      timer t;\n */\n#pragma once\n")

    def test_terms_in_a_column_are_a_list(self):
        self.assertEqual(cpp_header("//   stop(node)   Makes it idle.\n//   reset(node, due)\n//                Starts it.\n//\n"),
                         "/** @file\n * - `stop(node)`: Makes it idle.\n * - `reset(node, due)`:\n *   Starts it.\n * \n */\n")

    def test_code_is_no_list(self):
        self.assertEqual(cpp_header("//   timer t;\n//                // idle\n"),
                         "/** @file\n *      timer t;\n *                   // idle\n */\n")

    def test_inline_namespaces_are_left_out(self):
        self.assertEqual(cpp_header("namespace foliot::inline core {\n"), "namespace foliot {\n")
        self.assertEqual(cpp_header("namespace foliot::runtime {\n"), "namespace foliot::runtime {\n")

    def test_contracts_have_no_commands(self):
        self.assertEqual(cpp_header("/// As \\n, to a@b.\nint a;  ///< \\x\n"),
                         "/// As \\\\n, to a\\@b.\nint a;  ///< \\\\x\n")
        self.assertEqual(cpp_header('const char* a = "\\n";\n'), 'const char* a = "\\n";\n')

    def test_parts_stand_where_they_are_included(self):
        with tempfile.TemporaryDirectory() as folder:
            (Path(folder) / "foliot").mkdir()
            (Path(folder) / "foliot" / "part.ipp").write_text("/// A.\nclass a;\n", encoding="utf-8")
            self.assertEqual(with_parts("namespace b {\n#include <foliot/part.ipp>\n}\n#include <foliot/c.hpp>\n", Path(folder)),
                             "namespace b {\n/// A.\nclass a;\n}\n#include <foliot/c.hpp>\n")

    def test_aliases_of_namespaces_are_left_out(self):
        self.assertEqual(cpp_header("namespace asio = ::asio;\nint a;\n"), "\nint a;\n")

    def test_what_doxygen_cannot_read_is_left_out_line_by_line(self):
        self.assertEqual(cpp_header("template <>\nstruct std::hash<a> {\n  int b;\n};\nint c;\n"), "\n\n\n\nint c;\n")
        self.assertEqual(cpp_header("template <>\nstruct std::is_error<a> : std::true_type {};\nint c;\n"), "\n\nint c;\n")
        self.assertEqual(cpp_header("  template <class>\n  friend class b;\nint c;\n"), "\n\nint c;\n")
        self.assertEqual(cpp_header("using a = wheel<1'000'000>;\n"), "using a = wheel<1000000>;\n")


class CHeader(unittest.TestCase):
    def test_comments_are_contracts(self):
        self.assertEqual(c_header("/* foliot for C.\n *\n *   a();\n */\n/* Does a. */\nvoid a(void);\n"),
                         "/** @file\n * foliot for C.\n * \n *      a();\n * \n */\n/** Does a. */\nvoid a(void);\n")

    def test_each_enumeration_has_one_name(self):
        self.assertEqual(c_header("typedef enum a {\n  B = 0, /* b */\n  C = 1 /* c */\n} a;\n"),
                         "/** @file\n */\nenum a {\n  B = 0, /**< b */\n  C = 1 /**< c */\n};\n")

    def test_rules_between_parts_are_no_contracts(self):
        self.assertEqual(c_header(f"/* C. */\n/* {'-' * 60} errors */\nint a;\n/* clang-format off */\n"),
                         "/** @file\n * C. \n */\n\nint a;\n\n")


if __name__ == "__main__":
    unittest.main()
