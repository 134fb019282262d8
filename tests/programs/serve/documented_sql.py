"""The SQL and the commands of a page for users, so that a test executes what the page says."""
import re
from pathlib import Path

DOCS = Path(__file__).resolve().parents[3] / "docs"


def grants(page, role, to=None):
    """The block of this page that grants something to the role: for the role `to`."""
    for block in re.findall(r"^```sql\n(.*?)^```$", (DOCS / page).read_text(), re.M | re.S):
        if f" TO {role};" in block:
            return block.replace(f" TO {role};", f" TO {to or role};")
    raise ValueError(f"{page} has no SQL that grants something to {role}")


def commands(page, with_text):
    """The block of commands of this page that has this text."""
    found = [block for block in re.findall(r"^```sh\n(.*?)^```$", (DOCS / page).read_text(), re.M | re.S) if with_text in block]
    if len(found) != 1:
        raise ValueError(f"{page} has {len(found)} blocks of commands with {with_text}")
    return found[0]
