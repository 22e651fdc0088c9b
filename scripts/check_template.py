"""Checks template.yaml: the linters that exist, and the rules in template_rules.py that they lack.

    check_template.py [--rules-only] [TEMPLATE]

Prints every complaint and exits 1 if there is any. Needs scripts/requirements.txt, no account and
no network.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
from collections import Counter
from pathlib import Path

import template_rules
from template_model import Template, TransformError

ROOT = Path(__file__).resolve().parent.parent

# What the tools want to see before they read a file; nothing is called with them.
PRETENCE = {
    "AWS_ACCESS_KEY_ID": "none",
    "AWS_SECRET_ACCESS_KEY": "none",
    "AWS_DEFAULT_REGION": "eu-west-2",
    "SAM_CLI_TELEMETRY": "0",
}


def run(name, command):
    """Returns the output of a linter as one complaint, or nothing if it was content."""
    tool = Path(sys.executable).parent / command[0]
    done = subprocess.run(
        [str(tool), *command[1:]],
        env={**os.environ, **PRETENCE},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
    )
    if done.returncode == 0:
        return []
    return [f"{name}: {done.stdout.strip()} {done.stderr.strip()}".strip()]


def lint(path, template):
    """Runs cfn-lint on both forms of the template, since each hides faults that the other shows."""
    complaints = run("cfn-lint", ["cfn-lint", "-t", str(path)])
    with tempfile.TemporaryDirectory() as folder:
        transformed = Path(folder) / "transformed.json"
        transformed.write_text(json.dumps(template.transformed, indent=1))
        complaints += run("cfn-lint, transformed", ["cfn-lint", "-t", str(transformed)])
    complaints += run("sam validate", ["sam", "validate", "--lint", "-t", str(path)])
    return complaints


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--rules-only", action="store_true")
    parser.add_argument("template", nargs="?", type=Path, default=ROOT / "template.yaml")
    options = parser.parse_args()

    try:
        template = Template.read(options.template)
    except TransformError as error:
        print(f"transform: {error}")
        return 1
    complaints = template_rules.check(template, ROOT)
    if not options.rules_only:
        complaints += lint(options.template, template)
    for complaint in complaints:
        print(complaint)
    kinds = Counter(resource["Type"] for resource in template.resources.values())
    print(
        f"{sum(kinds.values())} resources of {len(kinds)} types, {len(template.body())} bytes, "
        f"{len(template_rules.RULES)} rules, {len(complaints)} complaints"
    )
    return 1 if complaints else 0


if __name__ == "__main__":
    sys.exit(main())
