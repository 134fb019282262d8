"""The script that makes a release, in small repositories of the tests' own."""
import hashlib
import json
import os
import pathlib
import shutil
import subprocess
import tempfile
import unittest

SOURCE = pathlib.Path(__file__).resolve().parents[2]
NOTES = "# Changes\n\n## 1.2.3, 2026-11-30\n\n- runs\n- faster\n\n## 1.2.2, 2026-10-01\n\n- first\n"


class Release(unittest.TestCase):
    def setUp(self):
        scratch = tempfile.TemporaryDirectory(prefix="foliot-release-")
        self.addCleanup(scratch.cleanup)
        self.scratch = pathlib.Path(scratch.name)
        self.root = self.scratch / "root"
        self.environment = os.environ | {
            "HOME": str(self.scratch), "GIT_CONFIG_NOSYSTEM": "1", "GNUPGHOME": str(self.scratch / "keys"),
            "GIT_AUTHOR_NAME": "a", "GIT_AUTHOR_EMAIL": "a@b", "GIT_COMMITTER_NAME": "a", "GIT_COMMITTER_EMAIL": "a@b"}
        for each in ("scripts/release", "scripts/lib/say.sh", "scripts/lib/packages.sh", "scripts/lib/bill_of_materials.py"):
            (self.root / each).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(SOURCE / each, self.root / each)
        self.write("include/foliot/version.hpp", '#define FOLIOT_VERSION "1.2.3"\n')
        self.write("CHANGELOG.md", NOTES)
        (self.root / "link").symlink_to("CHANGELOG.md")
        self.git("init", "--quiet", "--initial-branch=main")
        self.commit()

    def write(self, name, text):
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)

    def git(self, *arguments):
        subprocess.run(["git", "-C", self.root, *arguments], check=True, env=self.environment)

    def commit(self):
        self.git("add", "--all")
        self.git("commit", "--quiet", "--message", "a change")

    def release(self, *arguments):
        return subprocess.run([self.root / "scripts/release", "--tests", "none", *arguments], env=self.environment,
                              capture_output=True, text=True, cwd=self.scratch)

    def expect_done(self, *arguments):
        done = self.release(*arguments)
        self.assertEqual(done.returncode, 0, done.stderr)
        return done

    def expect_error(self, sentence, *arguments, code=1):
        done = self.release(*arguments)
        self.assertEqual(done.returncode, code, done.stderr)
        self.assertIn(sentence, done.stderr.splitlines()[-1])
        self.assertFalse((self.scratch / "made").exists())

    def test_has_the_files_and_their_sums(self):
        done = self.expect_done("made")
        made = self.scratch / "made"
        self.assertEqual(sorted(each.name for each in made.iterdir()),
                         ["SHA256SUMS", "foliot-1.2.3.cdx.json", "foliot-1.2.3.md", "foliot-1.2.3.tar.gz"])
        self.assertEqual((made / "foliot-1.2.3.md").read_text(), "## 1.2.3, 2026-11-30\n\n- runs\n- faster\n\n")
        subprocess.run(["sha256sum", "--quiet", "--check", "SHA256SUMS"], cwd=made, check=True)
        listed = subprocess.run(["tar", "-tzf", made / "foliot-1.2.3.tar.gz"], check=True, capture_output=True, text=True)
        self.assertIn("foliot-1.2.3/link\n", listed.stdout)
        self.assertIn("git tag --sign v1.2.3", done.stderr)

    def test_the_bill_of_materials(self):
        self.expect_done("made")
        made = self.scratch / "made"
        bill = json.loads((made / "foliot-1.2.3.cdx.json").read_text())
        self.assertEqual((bill["bomFormat"], bill["specVersion"]), ("CycloneDX", "1.5"))
        release = bill["metadata"]["component"]
        self.assertEqual((release["name"], release["version"]), ("foliot", "1.2.3"))
        self.assertEqual(release["hashes"][0]["content"],
                         hashlib.sha256((made / "foliot-1.2.3.tar.gz").read_bytes()).hexdigest())
        components = {each["name"]: each for each in bill["components"]}
        packages = subprocess.run(["bash", "-c", 'root=. && . "$0" && printf "%s\\n" "${run_packages[@]}"',
                                   SOURCE / "scripts/lib/packages.sh"], check=True, capture_output=True, text=True).stdout
        self.assertEqual(sorted(components), sorted(packages.split()))
        self.assertEqual(components["librocksdb-dev"]["scope"], "required")
        self.assertEqual(components["g++"]["scope"], "excluded")
        for name, each in components.items():
            self.assertTrue(each["purl"].startswith("pkg:deb/debian/" + name.replace("+", "%2B")), each["purl"])
            asked = subprocess.run(["dpkg-query", "-W", "-f", "${Version}\n", name], capture_output=True, text=True).stdout
            self.assertIn(each.get("version", ""), asked.split() or [""])  # of several architectures
        used, = bill["dependencies"]
        self.assertIn("libssl-dev", used["dependsOn"])
        self.assertNotIn("cmake", used["dependsOn"])

    def test_a_package_that_the_bill_does_not_know(self):
        path = self.root / "scripts/lib/packages.sh"
        path.write_text(path.read_text().replace("run_packages=(", "run_packages=(\n    liburanium-dev", 1))
        self.commit()
        done = self.release("made")
        self.assertNotEqual(done.returncode, 0)
        self.assertIn("liburanium-dev is in none of the lists", done.stderr)

    def test_is_the_same_bytes_again(self):
        self.expect_done("one")
        for each in self.root.rglob("*"):
            if not each.is_symlink():
                os.utime(each, (0, 0))
        self.expect_done("two")
        self.assertEqual((self.scratch / "one/SHA256SUMS").read_bytes(), (self.scratch / "two/SHA256SUMS").read_bytes())

    def test_the_script_of_tests_is_that_of_the_archive(self):
        self.write("scripts/test", '#!/bin/sh\npwd -P >"$SEEN"; echo "$@" >>"$SEEN"; dirname "$0" >>"$SEEN"; exit "$STATUS"\n')
        (self.root / "scripts/test").chmod(0o755)
        self.commit()
        seen = self.scratch / "seen"
        for how, arguments, status in (("all", "all", "0"), ("release", "", "1")):
            self.environment |= {"SEEN": str(seen), "STATUS": status}
            done = self.release("--tests", how, "made")
            self.assertEqual(str(done.returncode), status, done.stderr)
            _, got, where = seen.read_text().splitlines()
            self.assertEqual(got, arguments)
            self.assertTrue(where.endswith("/foliot-1.2.3/scripts"), where)
            self.assertFalse(where.startswith(str(self.root)))
            self.assertFalse(pathlib.Path(where).exists())

    def test_is_signed(self):
        if shutil.which("gpg") is None:
            self.skipTest("GnuPG is not installed")
        (self.scratch / "keys").mkdir(mode=0o700)
        gpg = ["gpg", "--batch", "--quiet"]
        subprocess.run([*gpg, "--passphrase", "", "--quick-generate-key", "Tester <t@example.com>", "ed25519", "sign"],
                       check=True, env=self.environment)
        self.addCleanup(subprocess.run, ["gpgconf", "--kill", "all"], env=self.environment)
        self.expect_done("--sign", "t@example.com", "made")
        made = self.scratch / "made"
        subprocess.run([*gpg, "--verify", made / "SHA256SUMS.asc", made / "SHA256SUMS"], check=True,
                       env=self.environment, capture_output=True)
        self.expect_done("made")
        self.assertFalse((made / "SHA256SUMS.asc").exists(), "the signature of other files")

    def test_what_is_not_committed(self):
        self.write("notes", "x\n")
        self.expect_error("not committed, so not in the release: ?? notes", "made")

    def test_another_version_in_the_notes(self):
        self.write("CHANGELOG.md", NOTES.replace("1.2.3", "1.2.4"))
        self.commit()
        self.expect_error("CHANGELOG.md begins with '## 1.2.4, 2026-11-30': it should begin with '## 1.2.3, ", "made")

    def test_notes_that_are_further_down(self):
        self.write("CHANGELOG.md", NOTES.replace("# Changes", "# Changes\n\n## 1.3.0, unreleased\n\n- more"))
        self.commit()
        self.expect_error("CHANGELOG.md begins with '## 1.3.0, unreleased'", "made")

    def test_notes_that_say_nothing(self):
        self.write("CHANGELOG.md", NOTES.replace("- runs\n- faster\n", ""))
        self.commit()
        self.expect_error("CHANGELOG.md says nothing of 1.2.3", "made")

    def test_an_unreleased_version_is_a_draft(self):
        self.write("CHANGELOG.md", NOTES.replace("2026-11-30", "unreleased"))
        self.commit()
        self.expect_error("CHANGELOG.md has '## 1.2.3, unreleased': write the date of the release, or use --draft", "made")
        self.assertNotIn("git tag", self.expect_done("--draft", "made").stderr)

    def test_another_version_in_the_changelog_of_debian(self):
        self.write("debian/changelog", "foliot (1.2.2-1) unstable; urgency=medium\n")
        self.commit()
        self.expect_error("debian/changelog begins with the version '1.2.2': it should begin with 'foliot (1.2.3-1)'", "made")
        self.write("debian/changelog", "foliot (1.2.3-2) unstable; urgency=medium\n")
        self.commit()
        self.expect_done("made")

    def test_a_tag_of_another_commit(self):
        self.git("tag", "v1.2.3")
        self.expect_done("first")
        self.write("more", "x\n")
        self.commit()
        self.expect_error("v1.2.3 is the tag of another commit", "made")

    def test_outside_of_a_repository(self):
        shutil.rmtree(self.root / ".git")
        self.expect_error("a release is made in a clone of the repository, with git", "made")

    def test_wrong_arguments(self):
        self.expect_error("there is no option '--drift'", "--drift", code=2)
        self.expect_error("--sign has no value", "--sign", code=2)
        self.expect_error("--tests: 'some' is unknown: write all, release or none", "--tests", "some", code=2)
        self.expect_error("one folder, not 'a' and 'b'", "a", "b", code=2)

    def test_help(self):
        self.assertIn("SHA256SUMS.asc", self.expect_done("--help").stdout)


if __name__ == "__main__":
    unittest.main()
