//! `paidonce simulate`: whether the fleet keeps its promises in a world that breaks it.

mod teeth;

use std::io::{IsTerminal, Write};
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Mutex;
use std::time::{Duration, Instant};

use clap::Args;
use paidonce_core::planted::Defect;
use simulator::{Campaign, Kind, Matrix, MatrixReport, Plan, Report, Story, System, shrink};

use crate::ops::{Failure, say};
use teeth::Planted;

const EXAMPLES: &str = "\
Examples:
  paidonce simulate --seeds 10000            ten thousand lives
  paidonce simulate --seed 4711 --trace      one life, every call of it
  paidonce simulate --without crash-after    all kinds of faults but one
  paidonce simulate --matrix                 every call and every fault, one by one
  paidonce simulate --plant event-before-work
                                             must find a defect that is put in on purpose";

/// Actions in a life, at most, unless somebody says otherwise.
const STEPS: usize = 6;
/// How many lives there are if that is not said.
const LIVES: usize = 1_000;
/// How many of each system are searched for a defect if that is not said.
const SEARCHED: usize = 10_000;
/// How often a long campaign says how far it is.
const PROGRESS_EVERY: Duration = Duration::from_secs(10);

#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct SimulateArguments {
    /// How many lives; a thousand if not said, and where a planted defect is searched for at most ten
    /// thousand of each system.
    #[arg(long, value_name = "N")]
    seeds: Option<usize>,
    /// The first seed.
    #[arg(long, value_name = "SEED", default_value_t = 0)]
    from: u64,
    /// One life alone.
    #[arg(long, value_name = "SEED", conflicts_with_all = ["seeds", "from"])]
    seed: Option<u64>,
    /// At most so many actions in a life.
    #[arg(long, value_name = "M", default_value_t = STEPS)]
    steps: usize,
    /// `booking` or `dunning`; both if not said.
    #[arg(long, value_name = "NAME", value_parser = system)]
    system: Option<System>,
    /// Only these kinds of faults; `--list` has their names.
    #[arg(long, value_name = "KIND", value_parser = kind)]
    only: Vec<Kind>,
    /// All kinds of faults but these.
    #[arg(long, value_name = "KIND", value_parser = kind, conflicts_with = "only")]
    without: Vec<Kind>,
    /// Plants a defect, and succeeds if it is found: by a life, or by an order of two parties' calls. `all` searches for each of them, and says on a line what finds it.
    #[arg(long, value_name = "NAME", value_parser = planted)]
    plant: Option<Planted>,
    /// Prints the whole trace of `--seed`.
    #[arg(long, requires = "seed")]
    trace: bool,
    /// Writes the report to a file, too.
    #[arg(long, value_name = "FILE")]
    report: Option<PathBuf>,
    /// Instead of lives by chance: every call of every handler in ten stories, and every fault.
    #[arg(long, conflicts_with_all = ["seeds", "from", "seed", "plant", "only", "without"])]
    matrix: bool,
    /// Of the matrix, all ordered pairs of faults on the calls that money hangs on. Takes long.
    #[arg(long, requires = "matrix")]
    pairs: bool,
    /// Of the matrix, only stories whose name has this.
    #[arg(long, value_name = "WORDS", requires = "matrix")]
    story: Option<String>,
    /// How many threads live; as many as there are processors if not said.
    #[arg(long, value_name = "N")]
    threads: Option<usize>,
    /// Lists the kinds of faults and the defects that can be planted.
    #[arg(long)]
    list: bool,
}

fn system(name: &str) -> Result<System, String> {
    System::named(name).ok_or_else(|| "the systems are `booking` and `dunning`".to_owned())
}

fn kind(name: &str) -> Result<Kind, String> {
    Kind::named(name).ok_or_else(|| "no such kind of fault; --list has them".to_owned())
}

fn planted(names: &str) -> Result<Planted, String> {
    if !paidonce_core::planted::POSSIBLE {
        return Err("this is a release build, which can have no defect planted".to_owned());
    }
    let defect =
        |name| Defect::named(name).ok_or_else(|| "no such defect; --list has them".to_owned());
    if names == "all" {
        return Ok(Planted::Many(Defect::ALL.to_vec()));
    }
    let mut defects: Vec<Defect> = names.split(',').map(defect).collect::<Result<_, _>>()?;
    Ok(match defects.as_slice() {
        [one] => Planted::One(*one),
        _ => Planted::Many(std::mem::take(&mut defects)),
    })
}

impl SimulateArguments {
    fn campaign(&self) -> Campaign {
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        let allowed = |kind: &Kind| match self.only.as_slice() {
            [] => !self.without.contains(kind),
            only => only.contains(kind),
        };
        Campaign {
            from: self.seed.unwrap_or(self.from),
            seeds: match (self.seed, &self.plant) {
                (Some(_), _) => 1,
                (None, Some(_)) => self.seeds.unwrap_or(SEARCHED),
                (None, None) => self.seeds.unwrap_or(LIVES),
            },
            steps: self.steps,
            systems: self
                .system
                .map_or(System::ALL.to_vec(), |system| vec![system]),
            kinds: Kind::ALL.iter().copied().filter(allowed).collect(),
            threads: self.threads.unwrap_or(cores),
            defect: match &self.plant {
                Some(Planted::One(defect)) => Some(*defect),
                Some(Planted::Many(_)) | None => None,
            },
        }
    }

    /// The command that lives one seed of this campaign again.
    fn again(&self, seed: u64, system: Option<System>) -> String {
        let mut command = format!("paidonce simulate --seed {seed}");
        if self.steps != STEPS {
            command += &format!(" --steps {}", self.steps);
        }
        command += &system.map_or_else(String::new, |it| format!(" --system {}", it.name()));
        let kinds = |option: &str, kinds: &[Kind]| -> String {
            kinds
                .iter()
                .map(|kind| format!(" --{option} {}", kind.name()))
                .collect()
        };
        command += &kinds("only", &self.only);
        command += &kinds("without", &self.without);
        if let Some(Planted::One(defect)) = &self.plant {
            command += &format!(" --plant {}", defect.name());
        }
        command + " --trace"
    }
}

pub(crate) async fn run(arguments: SimulateArguments) -> Result<ExitCode, Failure> {
    // Each life makes a runtime of its own.
    tokio::task::spawn_blocking(move || simulate(&arguments)).await?
}

fn simulate(arguments: &SimulateArguments) -> Result<ExitCode, Failure> {
    if arguments.list {
        list();
        return Ok(ExitCode::SUCCESS);
    }
    match &arguments.plant {
        Some(Planted::Many(defects)) => return arguments.find_all(defects),
        Some(Planted::One(defect)) if arguments.seed.is_none() => {
            return Ok(arguments.find(*defect));
        }
        Some(Planted::One(_)) | None => {}
    }
    if arguments.matrix {
        return matrix(arguments);
    }
    let campaign = arguments.campaign();
    let tally = campaign.run(&progress());
    let report = Report {
        campaign: &campaign,
        tally: &tally,
    }
    .to_string();
    say(&report);
    if let Some(path) = &arguments.report {
        std::fs::write(path, &report)?;
    }
    if arguments.trace {
        let plan = campaign.plan(campaign.from);
        say(campaign.live(&plan).trace.text());
    }
    let is_planted = campaign.defect.is_some();
    let Some(failed) = tally.failed.first() else {
        return Ok(verdict(!is_planted));
    };
    let (plan, life): (Plan, _) = shrink(&campaign, failed);
    let command = arguments.again(failed.seed, arguments.system);
    say(&Story {
        plan: &plan,
        life: &life,
        command: &command,
    }
    .to_string());
    Ok(verdict(is_planted))
}

fn verdict(is_well: bool) -> ExitCode {
    match is_well {
        true => ExitCode::SUCCESS,
        false => ExitCode::FAILURE,
    }
}

fn matrix(arguments: &SimulateArguments) -> Result<ExitCode, Failure> {
    let matrix = Matrix {
        pairs: arguments.pairs,
        threads: arguments.campaign().threads,
        only: arguments.story.clone(),
    };
    let progress = progress();
    let tally = matrix.run(&|done, of| progress(done, of));
    let report = MatrixReport(&tally).to_string();
    say(&report);
    if let Some(path) = &arguments.report {
        std::fs::write(path, &report)?;
    }
    let Some((plan, life)) = tally.failed.first() else {
        return Ok(ExitCode::SUCCESS);
    };
    let command = "paidonce simulate --matrix";
    say(&Story {
        plan,
        life,
        command,
    }
    .to_string());
    Ok(ExitCode::FAILURE)
}

fn list() {
    say("Kinds of faults:");
    for kind in Kind::ALL {
        say(&format!("  {:<22} {}", kind.name(), kind.what()));
    }
    say("\nDefects that can be planted:");
    for defect in Defect::ALL {
        say(&format!("  {:<30} {}", defect.name(), defect.what()));
    }
}

/// Tells a person who watches how far it is, now and then.
#[expect(
    clippy::disallowed_methods,
    reason = "a person waits by the clock on the wall; no life is told of it"
)]
fn progress() -> impl Fn(usize, usize) + Sync {
    let told = Mutex::new(Instant::now());
    let watched = std::io::stderr().is_terminal();
    move |done, of| {
        let Ok(mut told) = told.try_lock() else {
            return;
        };
        if told.elapsed() >= PROGRESS_EVERY {
            *told = Instant::now();
            let end = if watched { "\r" } else { "\n" };
            // Nobody may be listening.
            let _ = write!(std::io::stderr(), "{done} of {of} lives{end}");
        }
    }
}
