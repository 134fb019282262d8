"""Leaves in doxygen's XML what the reference shows: what users may call."""
import copy
import re
import xml.etree.ElementTree as ElementTree
from pathlib import Path

# What contracts say of what is public, but not for users: other parts of foliot call it, or it only explains a mistake.
NOT_FOR_USERS = ("For foliot itself", "does not compile, and the message says")
NAMED_CLASS = re.compile(r"^\.\. doxygen(?:class|struct|union):: (\S+)$", re.M)


class Reference:
    def __init__(self, folder: Path):
        self.folder = folder
        self.files = {path.stem: path for path in folder.glob("*.xml") if path.stem not in ("index", "Doxyfile")}
        self.trees = {name: ElementTree.parse(path) for name, path in self.files.items()}
        self.compounds = {name: compound for name, tree in self.trees.items()
                          if (compound := tree.getroot().find("compounddef")) is not None}

    def tidy(self) -> None:
        for compound in self.compounds.values():
            if compound.get("kind") == "namespace":
                self.give_to_files(compound)
        for name, compound in self.compounds.items():
            leave_out_private(compound)
            for derived in compound.findall("derivedcompoundref"):
                compound.remove(derived)
            say_requirements(compound)
            if compound.get("kind") == "file":
                leave_out_details(compound)
            elif not is_detail(compound.findtext("compoundname", "")):
                self.take_over_bases(name, compound)
        for name, tree in self.trees.items():
            tree.write(self.files[name], encoding="utf-8", xml_declaration=True)
        leave_out_of_index(self.folder / "index.xml")

    def give_to_files(self, namespace: ElementTree.Element) -> None:
        """Functions and other members of a namespace become members of the header that declares them, with the names
        that they have for users."""
        if is_detail(namespace.findtext("compoundname", "")):
            return
        files = {compound.find("location").get("file"): compound for compound in self.compounds.values()
                 if compound.get("kind") == "file"}
        for section in namespace.findall("sectiondef"):
            for member in section.findall("memberdef"):
                given = ElementTree.Element("sectiondef", section.attrib)
                given.append(copy.deepcopy(member))
                given.find("memberdef/name").text = member.findtext("qualifiedname")
                add_section(given, files[member.find("location").get("file")])

    def take_over_bases(self, name: str, compound: ElementTree.Element) -> None:
        """A base in a namespace `detail` is not shown. Its public members become those of the class."""
        for base in compound.findall("basecompoundref"):
            if is_detail(base.text or ""):
                compound.remove(base)
                self.take_over(name, compound, base)

    def take_over(self, name: str, compound: ElementTree.Element, base: ElementTree.Element) -> None:
        found = self.compounds.get(base.get("refid", ""))
        if found is None or base.get("prot") != "public":
            return
        present = {member.findtext("name") for member in compound.iter("memberdef")}
        for section in found.findall("sectiondef"):
            taken = copy.deepcopy(section)
            for member in taken.findall("memberdef"):
                if member.findtext("name") in present or is_special(member, found) or not contract_of(member):
                    taken.remove(member)
                member.set("id", name + "_1" + member.get("id", "").rpartition("_1")[2])
            add_section(taken, compound)
        for further in found.findall("basecompoundref"):
            self.take_over(name, compound, further)


def leave_out_of_index(path: Path) -> None:
    """Breathe goes through all of the index for each header. There the classes of a header are found by their numbers, and
    without the index; the others are those that a page names."""
    pages = Path(__file__).resolve().parent / "reference"
    named = {name for page in pages.glob("*.rst") for name in NAMED_CLASS.findall(page.read_text(encoding="utf-8"))}
    tree = ElementTree.parse(path)
    for compound in tree.getroot().findall("compound"):
        if compound.get("kind") in ("class", "struct", "union") and compound.findtext("name") not in named:
            tree.getroot().remove(compound)
    tree.write(path, encoding="utf-8", xml_declaration=True)


def add_section(section: ElementTree.Element, compound: ElementTree.Element) -> None:
    if section.find("memberdef") is None:
        return
    for present in compound.findall("sectiondef"):
        if present.get("kind") == section.get("kind"):
            present.extend(section.findall("memberdef"))
            return
    compound.insert(list(compound).index(compound.find("briefdescription")), section)


def is_special(member: ElementTree.Element, owner: ElementTree.Element) -> bool:
    """Whether it is a constructor, a destructor or an assignment."""
    name = member.findtext("name", "")
    own = owner.findtext("compoundname", "").partition("<")[0].rpartition("::")[2].strip()
    return name in (own, "~" + own, "operator=")


def is_detail(name: str) -> bool:
    return "detail::" in name or name.endswith("::detail")


def contract_of(member: ElementTree.Element) -> str:
    return "".join("".join(member.find(part).itertext()) for part in ("briefdescription", "detaileddescription")).strip()


def leave_out_private(compound: ElementTree.Element) -> None:
    for section in compound.findall("sectiondef"):
        kind = section.get("kind", "")
        for member in section.findall("memberdef"):
            contract = contract_of(member)
            if any(words in contract for words in NOT_FOR_USERS) or (kind == "define" and not contract):
                section.remove(member)
        if kind.startswith(("private", "protected")) or section.find("memberdef") is None:
            compound.remove(section)


def leave_out_details(compound: ElementTree.Element) -> None:
    """A file shows its public classes, without a namespace around them."""
    for inner in compound.findall("innernamespace"):
        compound.remove(inner)
    for inner in compound.findall("innerclass"):
        if is_detail(inner.text or "") or inner.get("prot") in ("private", "protected"):
            compound.remove(inner)


def say_requirements(compound: ElementTree.Element) -> None:
    """Breathe does not show the requirements of templates: they become a sentence."""
    for owner in compound.iter():
        clause = owner.find("requiresclause")
        if clause is None or owner.tag not in ("compounddef", "memberdef"):
            continue
        sentence = ElementTree.SubElement(owner.find("detaileddescription"), "para")
        sentence.text = "Requires "
        code = ElementTree.SubElement(sentence, "computeroutput")
        code.text = " ".join("".join(clause.itertext()).split())
        code.tail = "."
        owner.remove(clause)
