//! Stripe's own Python client: subscriptions, invoices, declines, keys, the portal and signatures.
//! Then, through the same client, what another imitation of the provider makes of one story.

use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::serve::{DUNNING_SECRET, serve};

const SCRIPTS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/oracles");

/// The interpreter of `PAIDONCE_PYTHON`, or that of the checks.
#[expect(
    clippy::disallowed_methods,
    reason = "which interpreter there is is the machine's, not the fleet's"
)]
fn python() -> PathBuf {
    let checks = Path::new(env!("CARGO_MANIFEST_DIR")).join("../.venv/bin/python");
    std::env::var_os("PAIDONCE_PYTHON").map_or(checks, PathBuf::from)
}

/// Whether the interpreter has these modules. If not, it is said where the harness can't hide it.
fn has(modules: &str) -> bool {
    let python = python();
    let imported = Command::new(&python)
        .args(["-c", &format!("import {modules}")])
        .output();
    let there = imported.is_ok_and(|output| output.status.success());
    if !there {
        let _ = writeln!(
            std::io::stderr(),
            "\nSKIPPED: `{} -c 'import {modules}'` does not work, so this oracle is not asked.\n\
             Install scripts/requirements.txt there, or name another in PAIDONCE_PYTHON.\n",
            python.display()
        );
    }
    there
}

/// Runs a script against a new sandbox, and returns the last line that it printed.
async fn told_by(script: &str) -> String {
    let address = serve().await;
    let script = Path::new(SCRIPTS).join(script);
    let run = move || {
        Command::new(python())
            .arg(script)
            .args([&format!("http://{address}"), DUNNING_SECRET])
            .env("PYTHONDONTWRITEBYTECODE", "1")
            .output()
            .unwrap()
    };
    let output = tokio::task::spawn_blocking(run).await.unwrap();
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    let (told, problem) = (text(&output.stdout), text(&output.stderr));
    assert!(output.status.success(), "{told}\n{problem}");
    told.lines().last().unwrap_or_default().to_owned()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_providers_own_client_is_content_with_the_sandbox() {
    if has("stripe, requests") {
        assert_eq!(told_by("stripe_client.py").await, "10 stories passed");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn another_imitation_of_the_provider_tells_the_same_of_a_card_that_is_replaced() {
    if has("stripe, requests, localstripe") {
        assert_eq!(told_by("localstripe.py").await, "the same story");
    }
}
