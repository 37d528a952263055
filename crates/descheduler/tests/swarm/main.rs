//! The swarm: random clusters under random policies, in which everything goes wrong that can, with
//! checkers after every cycle that know nothing of how decisions are made (`checks.rs`). When things
//! have gone wrong for a while the world stands still, and a policy that moves pods only to better
//! places has to come to rest.
//!
//! A seed stands for a whole run. `SWARM_SEEDS` says how many are tried, `SWARM_FROM` which is the
//! first; `cargo xtask swarm` sets them. One that fails is made smaller and printed as a case, and
//! cases of `cases/` are played again.

mod actors;
mod broken;
mod checks;
mod faults;
mod lines;
mod product;
#[path = "../rules/mod.rs"]
mod rules;
mod run;
mod scenario;
mod server;
mod settings;
mod shrink;
mod world;
mod wrong;

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::{env, fs, thread};

use descheduler_testkit::Case;

use checks::Failure;
use product::{Product, Shipped};
use run::{Figures, run};
use scenario::{FORMAT, Scenario};

/// How many seeds are tried unless the environment says otherwise.
const SEEDS: u64 = 60;

#[test]
fn seeds() {
    let number = |name: &str, default: u64| match env::var(name) {
        Ok(text) => text.parse().unwrap_or_else(|_| panic!("{name} is a number")),
        Err(_) => default,
    };
    let first = number("SWARM_FROM", 1);
    let next = AtomicU64::new(first);
    let end = first + number("SWARM_SEEDS", SEEDS);
    let work = || {
        let mut figures = Figures::default();
        loop {
            let seed = next.fetch_add(1, Ordering::Relaxed);
            if seed >= end {
                return Ok(figures);
            }
            match played(&Scenario::random(seed), &Shipped) {
                Ok(more) => figures.add(more),
                Err(failure) => {
                    // The others need not go on.
                    next.store(end, Ordering::Relaxed);
                    return Err((seed, failure));
                }
            }
        }
    };
    let threads = thread::available_parallelism().map_or(1, usize::from);
    let outcomes: Vec<_> = thread::scope(|scope| {
        let threads: Vec<_> = (0..threads).map(|_| scope.spawn(work)).collect();
        threads.into_iter().map(|thread| thread.join().expect("it does not panic")).collect()
    });
    let mut all = Figures::default();
    for outcome in outcomes {
        match outcome {
            Ok(figures) => all.add(figures),
            Err((seed, failure)) => {
                let small = shrink::smallest(Scenario::random(seed), failure.check, |small| {
                    played(small, &Shipped)
                });
                let about = format!("Seed {seed} fails: {failure}.");
                panic!("\n{}", small.text(&about));
            }
        }
    }
    say(&format!("seeds {first} to {}: {all}", end - 1));
}

#[expect(clippy::print_stdout, reason = "the figures are for whoever asks for them")]
fn say(text: &str) {
    println!("{text}");
}

/// Plays a scenario; a panic is a failure like others.
fn played(scenario: &Scenario, product: &dyn Product) -> Result<Figures, Failure> {
    let outcome = catch_unwind(AssertUnwindSafe(|| run(scenario, product)));
    outcome.unwrap_or_else(|panic| {
        let text = panic.downcast_ref::<String>().cloned();
        let text = text.or_else(|| panic.downcast_ref::<&str>().map(|text| (*text).to_owned()));
        Err(Failure::new("panic", text.unwrap_or_default()))
    })
}

/// What has failed once does not fail again.
#[test]
fn cases() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/swarm/cases");
    let mut files: Vec<_> = fs::read_dir(&folder)
        .expect("the folder is there")
        .map(|entry| entry.expect("it can be listed").path())
        .collect();
    files.sort();
    assert!(!files.is_empty(), "there are no cases");
    for file in files {
        let text = fs::read_to_string(&file).expect("it can be read");
        let case = Case::parse(&text, FORMAT);
        let scenario = case.and_then(|case| Scenario::parse(&case));
        let scenario = scenario.unwrap_or_else(|error| panic!("{}: {error}", file.display()));
        if let Err(failure) = played(&scenario, &Shipped) {
            panic!("{}: {failure}", file.display());
        }
    }
}

/// A seed is the same run every time, and a scenario survives being written down.
#[test]
fn runs_are_repeatable() {
    for seed in 1..6 {
        let scenario = Scenario::random(seed);
        let figures = played(&scenario, &Shipped);
        assert_eq!(played(&Scenario::random(seed), &Shipped), figures);
        let text = scenario.text("As it was made.");
        let case = Case::parse(&text, FORMAT).expect("it is a case");
        let again = Scenario::parse(&case).expect("it is a scenario");
        assert_eq!(again.text("As it was made."), text);
        assert_eq!(played(&again, &Shipped), figures, "{text}");
    }
}
