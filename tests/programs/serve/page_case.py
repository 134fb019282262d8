"""Pages with programs: a section's program goes into a file, and its commands print what is shown behind them."""
import os
import re
import subprocess

from kit.beanstalk_client import PATIENCE
from kit.serve_case import ServeCase

PLACE = "localhost:11380"
BLOCK = re.compile(r"^```(\w*)\n(.*?)^```$", re.M | re.S)
INSTALLS = re.compile(r"^(pip|npm) install .*\n", re.M)


class PageCase(ServeCase):
    """PAGE is the page, a path."""

    def blocks_of(self, heading):
        """The blocks of a section of the page, in their order: language and text."""
        section = self.PAGE.read_text(encoding="utf-8").split(f"\n## {heading}\n")[1].split("\n## ")[0]
        return BLOCK.findall(section)

    def run_section(self, heading, program, more="", **environment):
        """Does what a section says. The commands of the page are run as they are, except those that install something.
        Returns what they write to the standard error. `more` is added to the program."""
        self.serve_http()
        complaints = []
        blocks = self.blocks_of(heading)
        for (language, text), (next_language, shown) in zip(blocks, [*blocks[1:], ("end", "")]):
            text = text.replace(PLACE, f"localhost:{self.port}")
            if language == "sh":
                done = self.run_here("bash", "-euo", "pipefail", "-c", INSTALLS.sub("", text), **environment)
                if not next_language:
                    self.assertEqual(done.stdout, shown)
                complaints.append(done.stderr)
            elif language:
                self.put(program, (text + more).encode())
        self.assertTrue(complaints, "the section has no commands")
        return "".join(complaints)

    def run_here(self, *command, **environment):
        """A command that succeeds, with its output."""
        done = subprocess.run(list(map(str, command)), cwd=self.here, stdin=subprocess.DEVNULL, capture_output=True, text=True,
                              timeout=PATIENCE, check=False, env=os.environ | environment)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        return done
