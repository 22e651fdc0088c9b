//! Oracles are processes of this machine: which there are, and what they say.

use std::ffi::OsStr;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

const PACKAGE: &str = env!("CARGO_MANIFEST_DIR");

fn project() -> PathBuf {
    Path::new(PACKAGE).join("..")
}

/// An interpreter, and the modules that the oracle's script needs of it.
pub(crate) struct Oracle {
    /// Set to use another interpreter than the one that `.ci/run` makes.
    variable: &'static str,
    interpreter: &'static str,
    /// What shows that the modules are there.
    probe: [&'static str; 2],
    /// Whether `.ci/run` installs it.
    installed: bool,
}

impl Oracle {
    /// Of `scripts/requirements.txt`; `probe` is a program that imports what is needed.
    pub(crate) const fn python(probe: &'static str) -> Self {
        Self {
            variable: "PAIDONCE_PYTHON",
            interpreter: ".venv/bin/python",
            probe: ["-c", probe],
            installed: true,
        }
    }

    /// Of `scripts/requirements-clouds.txt`, whose pins don't go together with those of the checks.
    pub(crate) const fn clouds(probe: &'static str) -> Self {
        Self {
            variable: "PAIDONCE_CLOUDS_PYTHON",
            interpreter: ".oracles/clouds/bin/python",
            probe: ["-c", probe],
            installed: true,
        }
    }

    /// Of `scripts/node/package.json`.
    pub(crate) const fn node(probe: &'static str) -> Self {
        Self {
            variable: "PAIDONCE_NODE",
            interpreter: "node",
            probe: ["-e", probe],
            installed: true,
        }
    }

    /// One that `.ci/run` does not install.
    pub(crate) const fn optional(self) -> Self {
        Self {
            installed: false,
            ..self
        }
    }

    #[expect(
        clippy::disallowed_methods,
        reason = "which interpreter there is is the machine's, not the fleet's"
    )]
    fn interpreter(&self) -> PathBuf {
        let own = match self.interpreter.contains('/') {
            true => project().join(self.interpreter),
            false => PathBuf::from(self.interpreter),
        };
        std::env::var_os(self.variable).map_or(own, PathBuf::from)
    }

    fn command(&self) -> Command {
        let mut command = Command::new(self.interpreter());
        command
            .env("PYTHONDONTWRITEBYTECODE", "1")
            .env("NODE_PATH", project().join(".oracles/node/node_modules"));
        command
    }

    /// Whether it can be asked. If not, it is said where the harness can't hide it, and a run of all
    /// checks fails: there everything was installed a moment ago.
    #[expect(
        clippy::disallowed_methods,
        reason = "whether this is a run of all checks is the machine's to say"
    )]
    fn is_there(&self) -> bool {
        let probed = self.command().args(self.probe).output();
        let there = probed.is_ok_and(|output| output.status.success());
        if !there {
            let why = format!(
                "`{} {}` does not work, so this oracle is not asked; {} names another interpreter.",
                self.interpreter().display(),
                self.probe.join(" "),
                self.variable,
            );
            let all_checks = std::env::var_os("CI").is_some();
            assert!(!(self.installed && all_checks), "{why}");
            let _ = writeln!(std::io::stderr(), "\nSKIPPED: {why}\n");
        }
        there
    }

    /// Runs a script of this folder, and returns what it printed; nothing if it can't be asked.
    ///
    /// `input` is its standard input.
    pub(crate) fn ask(&self, script: &str, arguments: &[&OsStr], input: &[u8]) -> Option<String> {
        if !self.is_there() {
            return None;
        }
        let mut child = self
            .command()
            .arg(Path::new(PACKAGE).join("tests/oracles").join(script))
            .args(arguments)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut sink = child.stdin.take().unwrap();
        let output = std::thread::scope(|threads| {
            // One that ends early does not read it all; its status tells why.
            threads.spawn(move || sink.write_all(input));
            child.wait_with_output().unwrap()
        });
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        let (told, problem) = (text(&output.stdout), text(&output.stderr));
        assert!(output.status.success(), "{told}\n{problem}");
        Some(told)
    }
}

/// What a script says last to one who serves it something at `address`; nothing if it can't be asked.
pub(crate) async fn last_word(
    oracle: Oracle,
    script: &'static str,
    arguments: Vec<String>,
) -> Option<String> {
    let ask = move || {
        let arguments: Vec<&OsStr> = arguments.iter().map(OsStr::new).collect();
        oracle.ask(script, &arguments, b"")
    };
    let told = tokio::task::spawn_blocking(ask).await.unwrap()?;
    Some(told.lines().last().unwrap_or_default().to_owned())
}
