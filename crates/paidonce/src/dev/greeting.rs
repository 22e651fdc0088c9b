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
    entry(
        "provider",
        &format!("{base_url}/stripe/  (test cards only)"),
    );
    entry(
        "tokens",
        &format!("form {}   staff {}", tokens.form, tokens.staff),
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
        "\nThen open the pay link from the text at {base_url}/_local/messages, or from the console, \
         and pay with 4242 4242 4242 4242.\nA day passes with: curl -s {base_url}/_local/clock -d \
         '{{\"advance_s\": 86400}}'\nCtrl-C ends it.\n"
    );
    terminal.print(&next);
}

pub(crate) fn print_end(dev: &Dev, state: Option<&Path>) {
    let what = match state {
        Some(folder) => format!("Stopped. Everything is kept in {}.", folder.display()),
        None => "Stopped. Nothing is kept; --state DIR would.".to_owned(),
    };
    dev.terminal.print(&format!("\n{what}"));
}
