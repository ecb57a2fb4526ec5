#!/usr/bin/env python3
"""Lists rules of docs/language.md without a check in the sources or without a test.

A rule is `**label**` at the head of a list item. Its check is a comment with the label in
frontend/ or ir/; its test is a TEST with the label in its name, or a file of errors/ that
starts with it.
"""

import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parents[3]
LABEL = r"[a-z0-9]+_c\d+"


def text_of(files):
    return "\n".join(path.read_text() for path in files)


def main():
    labels = re.findall(rf"^- \*\*({LABEL})\*\*:", (ROOT / "docs/language.md").read_text(), re.M)
    sources = [p for folder in ("frontend", "ir") for p in (ROOT / folder).glob("*.cpp")]
    sources += (ROOT / "frontend").glob("*.h")
    comments = re.findall(r"//.*", text_of(sources))
    checked = set(re.findall(LABEL, "\n".join(comments)))
    tests = sorted((ROOT / "tests/unit").rglob("*.cpp"))
    names = re.findall(r"TEST(?:_F|_P)?\(\s*\w+,\s*(\w+)", text_of(tests))
    names += [p.stem for p in (ROOT / "tests/unit/frontend/errors").glob("*.attn")]
    # Labels follow each other in names: div_c1_mod_c1_Random.
    tested = {label for name in names for label in re.findall(r"[a-z0-9]+_c\d+", name)}

    problems = [f"{label} is defined twice" for label in set(labels) if labels.count(label) > 1]
    for label in labels:
        if label not in checked:
            problems.append(f"{label} has no check: no comment in frontend/ or ir/ names it")
        if label not in tested:
            problems.append(f"{label} has no test and no file in tests/unit/frontend/errors")
    own = text_of(p for p in sources if p.parent.name == "frontend")
    own = set(re.findall(LABEL, "\n".join(re.findall(r"//.*", own))))
    here = text_of((ROOT / "tests/unit/frontend").glob("*.cpp"))
    own |= {label for name in re.findall(r"TEST(?:_F|_P)?\(\s*\w+,\s*(\w+)", here)
            for label in re.findall(r"[a-z0-9]+_c\d+", name)}
    for label in sorted(own - set(labels)):
        problems.append(f"{label} is named in the sources or tests but not in docs/language.md")
    print("\n".join(problems) or f"{len(labels)} rules, each with a check and a test")
    return bool(problems)


if __name__ == "__main__":
    sys.exit(main())
