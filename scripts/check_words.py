"""Checks that the project speaks only of itself: no machine's paths, no registry's hosts, no stubs.

Looks at every file that git has or would add. Prints each place and exits 1 if there is any.
"""

import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent

# A letter in brackets keeps a pattern from finding itself.
EVERYWHERE = {
    "a path of somebody's machine": r"(?<![\w.])/(?:wor[k]|far[m]|roo[t]|hom[e]|User[s])/",
    "a build folder of somebody's machine": r"/tm[p]/\w+/target",
    "a folder outside the project": r"\bshare[d]/\w+\.md|\.librar[y]\b",
    "a registry's host": r"(?:static|index)\.crates\.i[o]|(?:pypi|pythonhosted|npmjs)\.or[g]",
}
IN_RUST = {
    "a stub": r"\b(?:todo|unimplemented)!\(",
    "a test that never runs": r"#\[ignor[e]\b",
    "a note to do something later": r"\b(?:TOD[O]|FIXM[E]|HAC[K])\b",
}
WITHOUT_PROSE = {"Cargo.lock"}


def files():
    listed = subprocess.run(
        ["git", "ls-files", "--cached", "--others", "--exclude-standard", "-z"],
        cwd=ROOT,
        capture_output=True,
        check=True,
    )
    names = sorted(set(listed.stdout.decode().split("\0")) - WITHOUT_PROSE - {""})
    return [ROOT / name for name in names if (ROOT / name).is_file()]


def complaints_of(path):
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except UnicodeDecodeError:
        return
    patterns = {**EVERYWHERE, **(IN_RUST if path.suffix == ".rs" else {})}
    for number, line in enumerate(lines, start=1):
        for what, pattern in patterns.items():
            if re.search(pattern, line):
                yield f"{path.relative_to(ROOT)}:{number}: {what}: {line.strip()[:100]}"


def main():
    found = [complaint for path in files() for complaint in complaints_of(path)]
    print("\n".join(found) if found else "the project speaks only of itself")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
