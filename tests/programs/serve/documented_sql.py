"""The SQL and the commands of a page for users, so that a test executes what the page says."""
import re
from pathlib import Path

DOCS = Path(__file__).resolve().parents[3] / "docs"


def all_grants(page, role):
    """The blocks of this page that grant something to the role, in their order; at least one."""
    blocks = [block for block in re.findall(r"^```sql\n(.*?)^```$", (DOCS / page).read_text(), re.M | re.S)
              if f" TO {role};" in block]
    if not blocks:
        raise ValueError(f"{page} has no SQL that grants something to {role}")
    return blocks


def grants(page, role, to=None):
    """The only one of these blocks: for the role `to`."""
    block, = all_grants(page, role)
    return block.replace(f" TO {role};", f" TO {to or role};")


def commands(page, with_text):
    """The block of commands of this page that has this text."""
    found = [block for block in re.findall(r"^```sh\n(.*?)^```$", (DOCS / page).read_text(), re.M | re.S) if with_text in block]
    if len(found) != 1:
        raise ValueError(f"{page} has {len(found)} blocks of commands with {with_text}")
    return found[0]
