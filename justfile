# What there is to run.
default:
    @just --list

# Format, lints, licences and advisories, docs, template.
check: lint-template
    cargo fmt --all --check
    cargo clippy --workspace --all-targets -- -D warnings
    cargo deny check
    RUSTDOCFLAGS="-D warnings" cargo doc --workspace --no-deps

# Every test, then the examples in the docs.
test:
    cargo nextest run --workspace
    cargo test --workspace --doc

# The linters and our own rules over template.yaml.
lint-template: venv
    .venv/bin/python scripts/check_template.py
    cd scripts && ../.venv/bin/python -m unittest --buffer test_check_template

# The whole fleet in one process, no account and no network.
dev *arguments:
    cargo run -p paidonce -- dev {{ arguments }}

# Benchmarks.
bench *arguments:
    cargo bench --workspace {{ arguments }}

# Deploy a stage: dev, staging or prod. See docs/runbooks/deploy.md.
deploy stage:
    scripts/deploy.sh {{ stage }}

# Searches for inputs that break a parser: all targets, or those named, for so many seconds each.
fuzz *arguments:
    scripts/fuzz.sh {{ arguments }}

# Whether a unit test of core notices each small mistake in its money and state. See docs/mutants.md.
mutants *arguments:
    cargo mutants --package paidonce-core {{ arguments }}

# What a push is judged by.
ci:
    .ci/run

[private]
venv:
    test -d .venv || python3 -m venv .venv
    .venv/bin/python -m pip install --quiet --disable-pip-version-check --requirement scripts/requirements.txt
