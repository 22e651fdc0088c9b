#![allow(clippy::print_stdout, clippy::unwrap_used, reason = "scratch")]
use simulator::{Kind, Plan, System, live};
#[global_allocator]
static GLOBAL: mimalloc::MiMalloc = mimalloc::MiMalloc;
fn main() {
    let args: Vec<String> = std::env::args().collect();
    let from: u64 = args[1].parse().unwrap();
    let to: u64 = args[2].parse().unwrap();
    let system = args.get(3).and_then(|it| System::named(it));
    let systems = system.map_or(System::ALL.to_vec(), |it| vec![it]);
    let started = std::time::Instant::now();
    let mut calls = 0;
    let mut bad = 0;
    for seed in from..to {
        let plan = Plan::new(
            seed,
            &systems,
            std::env::var("STEPS").map_or(10, |it| it.parse().unwrap()),
            Kind::ALL,
        );
        let life = live(&plan);
        calls += life.calls;
        if to - from == 1 {
            println!("{:?}\n{}", plan.system, life.trace.text());
        }
        if let Some(violation) = &life.violation {
            bad += 1;
            println!(
                "seed {seed} {:?} step {} {}: {}",
                plan.system, violation.step, violation.promise, violation.what
            );
            if false {
                println!("{}", life.trace.text());
            }
        }
    }
    let n = (to - from) as u32;
    println!(
        "{n} lives, {bad} bad, {} calls each, {:?} each",
        calls / u64::from(n),
        started.elapsed() / n
    );
}
