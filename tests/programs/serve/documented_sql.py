"""The SQL and the commands of a page for users, so that a test executes what the page says."""
import re
from pathlib import Path

DOCS = Path(__file__).resolve().parents[3] / "docs"


def all_grants(page, role):
    """The blocks of this page that grant something to the role, in their order; at least one."""
    blocks = [each for each in re.findall(r"^```sql\n(.*?)^```$", (DOCS / page).read_text(), re.M | re.S)
              if f" TO {role};" in each]
    if not blocks:
        raise ValueError(f"{page} has no SQL that grants something to {role}")
    return blocks


def grants(page, role, to=None):
    """The only one of these blocks: for the role `to`."""
    only, = all_grants(page, role)
    return only.replace(f" TO {role};", f" TO {to or role};")


def block(page, with_text, language="sql"):
    """The block of this page that has this text."""
    found = [each for each in re.findall(rf"^```{language}\n(.*?)^```$", (DOCS / page).read_text(), re.M | re.S)
             if with_text in each]
    if len(found) != 1:
        raise ValueError(f"{page} has {len(found)} blocks of {language} with {with_text}")
    return found[0]


def commands(page, with_text):
    return block(page, with_text, "sh")
