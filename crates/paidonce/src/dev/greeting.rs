//! What is printed at the start and at the end.

use std::net::SocketAddr;
use std::path::Path;

use super::Dev;
use super::terminal::Look;

pub(crate) fn print(dev: &Dev, listen: SocketAddr) {
    let (fleet, terminal) = (&dev.fleet, &dev.terminal);
    let base_url = fleet.base_url();
    let tokens = fleet.tokens();
    let now = fleet.cloud.clock().now();
    let entry = |name: &str, text: &str| {
        terminal.print(&format!(
            "  {} {text}",
            terminal.paint(Look::Faint, &format!("{name:<9}"))
        ));
    };
    terminal.print(&terminal.paint(
        Look::Bold,
        &format!(
            "paidonce {}: the whole fleet on this machine",
            env!("CARGO_PKG_VERSION")
        ),
    ));
    if !listen.ip().is_loopback() {
        let warning = format!(
            "WARNING: {listen} can be reached by others. The tokens below are in every copy of the \
             source, and anyone may read all bookings and move the clock."
        );
        terminal.print(&terminal.paint(Look::Failure, &warning));
    }
    terminal.print("");
    entry("console", &format!("{base_url}/"));
    entry("intake", &fleet.url("bdc-intake"));
    entry("webhook", &fleet.url("bdc-webhook"));
    entry("cashier", &fleet.url("bdc-cashier"));
    entry("access", &fleet.url("dunr-gatekeeper"));
    entry(
        "provider",
        &format!("{base_url}/stripe/  (test cards only)"),
    );
    entry(
        "tokens",
        &format!(
            "form {}   staff {}   app {}",
            tokens.form,
            tokens.staff,
            fleet.gate_tokens().app
        ),
    );
    entry(
        "clock",
        &now.format("%a %-d %b %Y %H:%M:%S UTC").to_string(),
    );
    if let Some(example) = dev.example() {
        terminal.print("\nMake a booking:\n");
        let curl = example.curl(&fleet.url("bdc-intake"), &tokens.form);
        terminal.print(&terminal.paint(Look::Bold, &curl));
    }
    let next = format!(
        "\nOpen the pay link from the text at {base_url}/_local/messages, or from the console, \
         and pay with 4242 4242 4242 4242."
    );
    terminal.print(&next);
    print_renewal(dev);
    terminal.print("\nCtrl-C ends it.\n");
}

/// How to let a renewal fail, and what to do about it.
fn print_renewal(dev: &Dev) {
    let (base_url, terminal) = (dev.fleet.base_url(), &dev.terminal);
    let sandbox = format!("{base_url}/stripe/_sandbox/subscriptions");
    let story = [
        "SUB=$(curl -s ".to_owned()
            + &sandbox
            + " -d '{\"amount\": 2400}' | grep -o 'sub_[A-Za-z0-9]*')",
        format!("curl -s {sandbox}/$SUB/fail-renewal -d '{{\"decline\": \"insufficient_funds\"}}'"),
        format!("curl -s {base_url}/_local/clock -d '{{\"advance_s\": 86400}}'"),
    ];
    terminal.print(
        "\nSubscribe somebody, let the renewal fail, and let a day pass (again and again):\n",
    );
    for line in story {
        terminal.print(&terminal.paint(Look::Bold, &line));
    }
    terminal.print(
        "\nEach mail has a link to the page of another card; give 4000 0566 5566 5556 there, and it is \
         paid a minute later.",
    );
}

pub(crate) fn print_end(dev: &Dev, state: Option<&Path>) {
    let what = match state {
        Some(folder) => format!("Stopped. Everything is kept in {}.", folder.display()),
        None => "Stopped. Nothing is kept; --state DIR would.".to_owned(),
    };
    dev.terminal.print(&format!("\n{what}"));
}
