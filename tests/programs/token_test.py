"""`foliot token`: the file of access tokens is made, listed and changed, and never half written."""
import hashlib
import os
import re
import stat
import subprocess
import threading

from kit.program_case import ProgramCase, main

TOKEN = r"foliot_([a-z0-9]{8})_[0-9A-Za-z]{49}"
FINGERPRINT = ":".join(["3A", "12"] * 16)
BROKEN = "is not a scope: write some of put, reserve, look, change and administer"


class Token(ProgramCase):
    def make(self, *more, name="one", scopes="put", ends="never"):
        return self.expect_done("token", "make", "tokens", "--name", name, "--scopes", scopes, "--ends", ends, *more)

    def text(self):
        return (self.here / "tokens").read_text()

    def mode(self):
        return stat.S_IMODE((self.here / "tokens").stat().st_mode)

    def test_a_token_is_shown_once(self):
        shown = self.make("--tubes", "mail.,bill.", name="the shop", scopes="put,look", ends="2127-01-01T01:00:00+01:00")
        self.assertRegex(shown, rf"\A{TOKEN}\n\Z")
        token, id = shown[:-1], re.match(TOKEN, shown)[1]
        digest = hashlib.sha256(token.encode()).hexdigest()
        self.assertEqual(self.text(), f"[token {id}]\nname = the shop\nsha256 = {digest}\nscopes = put look\n"
                                      "tubes = bill. mail.\nends = 2127-01-01T00:00:00Z\n")
        self.assertNotIn(token, self.text())
        self.assertEqual(self.mode(), 0o600)
        self.assertEqual(self.names(), ["tokens"])

    def test_the_list_has_no_digests(self):
        first = re.match(TOKEN, self.make(name="the shop", scopes="put look"))[1]
        second = self.make("--certificate", FINGERPRINT, "--tubes", "b , a", name="cellar", scopes="reserve",
                           ends="2127-01-01T00:00:00Z")[:-1]
        self.put("tokens", self.text().replace("2127-01-01", "2020-01-01").encode())  # it ends with the years
        self.assertRegex(second, r"\A[a-z0-9]{8}\Z")
        self.assertEqual(self.expect_done("token", "list", "tokens"),
                         "ID        KIND         NAME      SCOPES    TUBES  ENDS\n"
                         f"{first}  token        the shop  put look  *      never\n"
                         f"{second}  certificate  cellar    reserve   a b    2020-01-01T00:00:00Z (ended)\n")
        self.assertIn(f"fingerprint = {FINGERPRINT.replace(':', '').lower()}\n", self.text())

    def test_a_duration_ends_from_now(self):
        self.make(ends="90d")
        self.assertRegex(self.text(), r"\nends = 2\d{3}-\d\d-\d\dT\d\d:\d\d:\d\dZ\n")

    def test_revoked_ones_are_gone_and_the_rest_stays_as_it_is(self):
        ids = [re.match(TOKEN, self.make(name=f"number {i}"))[1] for i in range(3)]
        text = "# Who may use the queue.\n" + self.text().replace(f"[token {ids[2]}]", f"# the last\n[ token  {ids[2]} ]")
        self.put("tokens", text.encode())
        os.chmod(self.here / "tokens", 0o644)
        self.expect_error("'tokens' has no entry with the id 'nobody'", "token", "revoke", "tokens", ids[0], "nobody")
        self.assertEqual(self.text(), text)
        self.assertEqual(self.expect_done("token", "revoke", "tokens", ids[1], ids[0]), "")
        self.assertEqual(self.text(), "# Who may use the queue.\n" + text[text.index("# the last"):])
        self.assertEqual(self.mode(), 0o640, "its group could read it: the server may be one of that")
        os.chmod(self.here / "tokens", 0o600)
        self.expect_done("token", "revoke", "tokens", ids[2])
        self.assertEqual(self.mode(), 0o600)
        self.assertEqual(self.text(), "# Who may use the queue.\n# the last\n")
        self.assertEqual(self.expect_done("token", "list", "tokens"), "ID  KIND  NAME  SCOPES  TUBES  ENDS\n")

    def test_a_link_stays_one(self):
        (self.here / "real").mkdir()
        os.symlink("real/tokens", self.here / "tokens")
        self.put("real/tokens", b"# ours\n")
        self.make()
        self.assertTrue((self.here / "tokens").is_symlink())
        self.assertRegex((self.here / "real/tokens").read_text(), r"\A# ours\n\n\[token ")

    def test_commands_at_once_wait_for_each_other(self):
        threads = [threading.Thread(target=self.make, kwargs={"name": f"number {i}"}) for i in range(8)]
        for each in threads:
            each.start()
        for each in threads:
            each.join()
        self.assertEqual(sorted(re.findall(r"name = (.*)", self.text())), [f"number {i}" for i in range(8)])
        self.assertEqual(self.names(), ["tokens"])

    def test_a_token_that_cannot_be_shown_is_taken_back(self):
        with open("/dev/full", "wb") as full:
            code, _, err = self.run_foliot("token", "make", "tokens", "--name", "one", "--scopes", "put", "--ends", "never",
                                           stdout=full)
        self.assertEqual(code, 2)
        self.assertIn("No space left on device", err)
        self.assertEqual(self.text(), "")

    def test_a_token_whose_reader_has_gone_is_taken_back(self):
        reader, writer = os.pipe()
        os.close(reader)
        try:
            code, _, err = self.run_foliot("token", "make", "tokens", "--name", "one", "--scopes", "put", "--ends", "never",
                                           stdout=writer)
        finally:
            os.close(writer)
        self.assertEqual(code, 2)
        self.assertIn("Broken pipe", err)
        self.assertEqual(self.text(), "")

    def test_prefixes_may_stand_in_lines(self):
        self.make("--tubes", "mail.\nbill.\n")
        self.assertIn("\ntubes = bill. mail.\n", self.text())
        self.expect_done("token", "list", "tokens")

    def test_one_that_others_can_read_is_warned_of(self):
        self.put("tokens", b"")
        os.chmod(self.here / "tokens", 0o604)
        code, out, err = self.run_foliot("token", "list", "tokens")
        self.assertEqual((code, err), (0, "foliot: others than its owner can use 'tokens': chmod 600 'tokens'\n"))

    def test_wrong_arguments_change_nothing(self):
        make = ["token", "make", "tokens", "--name", "one", "--scopes", "put", "--ends", "never"]
        for sentence, *more in [
                (f"--scopes: 'write' {BROKEN}", "--scopes", "put,write"),
                ("--tubes: 'mail*' has a *: ", "--tubes", "mail*"),
                ("--tubes: 'ma il' has a blank, as no name of a tube: write a comma between two beginnings", "--tubes", "ma il"),
                ("--tubes: 'b\\x09c' has a blank", "--tubes", "a, b\tc ,d"),
                ("--tubes: no name of a tube begins with 'mail:': it must have 1 to 200 of the characters A-Z a-z 0-9 - + / ; . "
                 "$ _ ( ) and not begin with -", "--tubes", "bill.,mail:"),
                ("--ends: 'soon' is not a time: write one such as 2027-01-01T00:00:00Z, or never, or a duration from now "
                 "such as 90d", "--ends", "soon"),
                ("--ends: ", "--ends", "70000d"),
                ("--ends: 2020-01-01T00:00:00Z has passed: write a time to come, a duration such as 90d, or never", "--ends",
                 "2020-01-01T00:00:00Z"),
                ("--ends: 1ns has passed: ", "--ends", "1ns"),  # ends have whole seconds
                ("--name: no name: say whose this is, and what for", "--name", ""),
                ("--name: the name has control characters", "--name", "a\nb"),
                ("--certificate: '3A:12' is not a SHA-256 fingerprint: ", "--certificate", "3A:12"),
                ("--certificate: the fingerprint is empty", "--certificate", "")]:
            with self.subTest(sentence):
                arguments = list(make)
                if more[0] in arguments:
                    at = arguments.index(more[0])
                    arguments[at:at + 2] = []
                self.expect_error(sentence, *arguments, *more)
        self.expect_error("--ends is required", *make[:-2])
        self.expect_error("A subcommand is required", "token")
        self.expect_error("cannot read 'tokens': No such file or directory", "token", "list", "tokens")
        self.expect_error("No such file or directory", "token", "revoke", "tokens", "aaaaaaaa")
        self.expect_error("No such file or directory", "token", "make", "missing/tokens", *make[3:])
        self.assertEqual(self.names(), [])

    def test_a_malformed_file_is_not_touched(self):
        self.put("tokens", b"[token aaaaaaaa]\nscopes = write\n")
        self.expect_error(f"tokens:2: 'write' {BROKEN} (and 4 more)", "token", "list", "tokens")
        self.expect_error("tokens:2: ", "token", "make", "tokens", "--name", "one", "--scopes", "put", "--ends", "never")
        self.assertEqual(self.text(), "[token aaaaaaaa]\nscopes = write\n")

    def test_a_certificate_has_one_entry(self):
        id = self.make("--certificate", FINGERPRINT)[:-1]
        before = self.text()
        self.expect_error(f"the certificate has an entry with the id '{id}': revoke that first", "token", "make", "tokens",
                          "--name", "again", "--scopes", "put", "--ends", "never", "--certificate", FINGERPRINT)
        self.assertEqual(self.text(), before)

    def test_a_change_that_is_killed_leaves_the_old_file_or_the_new_one(self):
        self.make()
        for i in range(20):
            before = self.text()
            child = self.start("token", "make", "tokens", "--name", f"number {i}", "--scopes", "put", "--ends", "never")
            with child:
                try:
                    child.wait(i / 1000)
                except subprocess.TimeoutExpired:
                    child.kill()
            self.assertTrue(self.text().startswith(before))
            self.expect_done("token", "list", "tokens")
            self.assertEqual(self.mode(), 0o600)


if __name__ == "__main__":
    main()
