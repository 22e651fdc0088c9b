//! `paidonce`: the fleet on one machine, and what an operator does with a deployed one.

mod dev;
mod doctor;
mod ops;
mod simulate;

use std::process::ExitCode;

use clap::{Parser, Subcommand};

/// A simulation asks for memory all the time.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

const EXAMPLES: &str = "\
Examples:
  paidonce                       the fleet in memory, at http://127.0.0.1:8787/
  paidonce --state .paidonce     everything is kept over a restart
  paidonce --time-scale 3600     an hour passes each second";

/// Takes deposits for bookings, once each, however often the world repeats itself.
///
/// Without a command, this is `paidonce dev`.
#[derive(Debug, Parser)]
#[command(version, args_conflicts_with_subcommands = true, after_help = EXAMPLES)]
struct Arguments {
    #[command(subcommand)]
    command: Option<Command>,
    #[command(flatten)]
    dev: dev::DevArguments,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Run every function, the local cloud and a payment provider in this process.
    ///
    /// No account, no network, no real money, no real texts. Bookings, messages and the clock are
    /// at the address that is printed at the start; Ctrl-C ends it.
    Dev(dev::DevArguments),
    /// Look for what silently breaks dunning, here or in an account.
    ///
    /// Exit code 0: nothing does; 1: something does, and each line says what to do.
    Doctor(doctor::DoctorArguments),
    /// Books, requests to be forgotten, previews: what an operator does with a deployed fleet.
    Ops(ops::OpsArguments),
    /// Break the fleet in every way the world can, and check that it keeps its promises.
    ///
    /// Exit code 0: it does; 1: it does not, and a short story tells how. Each life comes from its
    /// seed: the same seed is the same life, to the byte.
    Simulate(simulate::SimulateArguments),
}

#[tokio::main]
async fn main() -> ExitCode {
    let arguments = Arguments::parse();
    let ended = match arguments.command {
        Some(Command::Ops(ops)) => ops::run(ops).await,
        Some(Command::Doctor(doctor)) => doctor::run(doctor).await,
        Some(Command::Simulate(simulate)) => simulate::run(simulate).await,
        Some(Command::Dev(dev)) => dev::run(dev).await.map(|()| ExitCode::SUCCESS),
        None => dev::run(arguments.dev).await.map(|()| ExitCode::SUCCESS),
    };
    match ended {
        Ok(code) => code,
        Err(error) => {
            dev::complain(error.as_ref());
            ExitCode::FAILURE
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dev_is_what_runs_without_a_command() {
        let bare = Arguments::parse_from(["paidonce", "--time-scale", "60"]);
        assert!(bare.command.is_none() && bare.dev.time_scale == 60);
        let named = Arguments::parse_from(["paidonce", "dev", "--listen", "127.0.0.1:1"]);
        assert!(matches!(named.command, Some(Command::Dev(dev)) if dev.listen.port() == 1));
        let days = ["--from", "2026-07-01", "--to", "2026-07-31"];
        let export = ["paidonce", "ops", "export"].into_iter().chain(days);
        let export = Arguments::parse_from(export);
        assert!(matches!(export.command, Some(Command::Ops(_))));
    }

    #[test]
    fn the_arguments_are_well_formed() {
        <Arguments as clap::CommandFactory>::command().debug_assert();
    }
}
