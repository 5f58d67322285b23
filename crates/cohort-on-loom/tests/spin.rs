//! Abstract models under Spin; each lists what it leaves out.
//!
//! They cover the step of a composition (`spin/clof.pml`) and the locks for cohorts that are no
//! compositions (`spin/hmcs.pml` and so on), since only Spin checks for starvation. They also cover
//! releases by a plain store (`spin/quick.pml`) with store buffers: loom orders its two fences more
//! strongly than hardware does.
//!
//! Each injected fault must break its property, and the other properties listed with it must hold.
//! So a failure has the intended cause.

use libtest_mimic::{Arguments, Failed, Trial};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Arc, OnceLock};

#[path = "spin/numa.rs"]
mod numa;

/// The environment variable that adds models of minutes if its value is `full`.
const TIER: &str = "COHORT_TIER";

/// A verified property.
#[derive(Clone, Copy, Debug)]
enum Property {
    /// No two threads inside at once, no context in two uses, no deadlock.
    Safety,
    /// A thread alone in its cohort acquires whenever it tries (under weak fairness).
    Lonely,
    /// A thread that shares its cohort acquires (under weak fairness).
    Shared,
    /// Threads with few acquisitions finish: every wait ends.
    Ends,
}

use Property::{Ends, Lonely, Safety, Shared};

/// A variant of the model.
struct Variant {
    model: &'static str,
    name: &'static str,
    defines: &'static [&'static str],
    holds: &'static [Property],
    /// The properties that must fail, and the verifier's message for each.
    fails: &'static [(Property, &'static str)],
}

const STARVES: &str = "acceptance cycle";

/// A thread sleeps forever.
const STUCK: &str = "invalid end state";

static VARIANTS: &[Variant] = &[
    Variant {
        model: "clof",
        name: "sound",
        defines: &[],
        holds: &[Safety, Lonely, Shared],
        fails: &[],
    },
    Variant {
        model: "clof",
        name: "one_hand_off",
        defines: &["HAND_OFFS=1"],
        holds: &[Safety, Lonely, Shared],
        fails: &[],
    },
    Variant {
        model: "clof",
        name: "finite",
        defines: &["ROUNDS=2"],
        holds: &[Safety, Ends],
        fails: &[],
    },
    Variant {
        model: "clof",
        name: "hurried",
        defines: &["HURRIED"],
        holds: &[Safety, Lonely, Shared],
        fails: &[],
    },
    Variant {
        model: "clof",
        name: "hurried_finite",
        defines: &["HURRIED", "ROUNDS=2"],
        holds: &[Safety, Ends],
        fails: &[],
    },
    // A cohort that returns would find the high lock where it left it.
    Variant {
        model: "clof",
        name: "hurried_blindly",
        defines: &["HURRIED", "BLINDLY", "ROUNDS=2"],
        holds: &[],
        fails: &[(Safety, STUCK)],
    },
    Variant {
        model: "clof",
        name: "unfair",
        defines: &["UNFAIR"],
        holds: &[Safety],
        fails: &[(Lonely, STARVES), (Shared, STARVES)],
    },
    // Unfair locks cannot starve a thread with finishing rivals (Chehab et al. 2021 §4.2.1).
    Variant {
        model: "clof",
        name: "unfair_finite",
        defines: &["UNFAIR", "ROUNDS=2"],
        holds: &[Safety, Ends],
        fails: &[],
    },
    Variant {
        model: "clof",
        name: "no_bound",
        defines: &["NO_BOUND"],
        holds: &[Safety, Shared],
        fails: &[(Lonely, STARVES)],
    },
    Variant {
        model: "clof",
        name: "low_first",
        defines: &["LOW_FIRST"],
        holds: &[],
        fails: &[(Safety, "in_use[mine]")],
    },
    Variant {
        model: "clof",
        name: "no_clear",
        defines: &["NO_CLEAR"],
        holds: &[],
        fails: &[(Safety, "inside==1")],
    },
    Variant {
        model: "quick",
        name: "flag",
        defines: &["THREADS=2"],
        holds: &[Safety, Ends],
        fails: &[],
    },
    Variant {
        model: "quick",
        name: "flag_three",
        defines: &["ROUNDS=1"],
        holds: &[Safety],
        fails: &[],
    },
    Variant {
        model: "quick",
        name: "flag_no_barrier",
        defines: &["THREADS=2", "NO_BARRIER"],
        holds: &[],
        fails: &[(Safety, STUCK)],
    },
    Variant {
        model: "quick",
        name: "flag_no_second_look",
        defines: &["THREADS=2", "NO_SECOND_LOOK"],
        holds: &[],
        fails: &[(Safety, STUCK)],
    },
    Variant {
        model: "quick",
        name: "flag_alone",
        defines: &["ALONE"],
        holds: &[],
        fails: &[(Safety, STUCK)],
    },
    Variant {
        model: "quick",
        name: "flag_hope",
        defines: &["THREADS=2", "HOPE"],
        holds: &[],
        fails: &[(Safety, STUCK)],
    },
    Variant {
        model: "quick",
        name: "flag_hurry",
        defines: &["HURRY"],
        holds: &[],
        fails: &[(Safety, STUCK)],
    },
    Variant {
        model: "quick",
        name: "ticket",
        defines: &["THREADS=2", "TICKET"],
        holds: &[Safety, Ends],
        fails: &[],
    },
    Variant {
        model: "quick",
        name: "ticket_three",
        defines: &["ROUNDS=1", "TICKET"],
        holds: &[Safety],
        fails: &[],
    },
    Variant {
        model: "quick",
        name: "ticket_no_barrier",
        defines: &["THREADS=2", "TICKET", "NO_BARRIER"],
        holds: &[],
        fails: &[(Safety, STUCK)],
    },
    Variant {
        model: "quick",
        name: "ticket_no_second_look",
        defines: &["THREADS=2", "TICKET", "NO_SECOND_LOOK"],
        holds: &[],
        fails: &[(Safety, STUCK)],
    },
    Variant {
        model: "quick",
        name: "ticket_alone",
        defines: &["TICKET", "ALONE"],
        holds: &[],
        fails: &[(Safety, STUCK)],
    },
    Variant {
        model: "quick",
        name: "ticket_hope",
        defines: &["THREADS=2", "TICKET", "HOPE"],
        holds: &[],
        fails: &[(Safety, STUCK)],
    },
];

fn main() {
    let arguments = Arguments::from_args();
    let missing = ["spin", "cc"].into_iter().find(|tool| !is_installed(tool));
    if let Some(tool) = missing {
        eprintln!("skipped: {tool} is not installed (Debian packages spin, gcc)");
    }
    let full = std::env::var(TIER).is_ok_and(|tier| tier == "full");
    let deep = if full { numa::DEEP } else { &[] };
    let variants = VARIANTS.iter().chain(numa::QUICK).chain(deep);
    let trials = variants.flat_map(|variant| {
        let verifiers = Arc::new(Verifiers::of(variant));
        let trial = move |property: Property, reason: Option<&'static str>| {
            let verb = reason.map_or("holds", |_| "fails");
            let Variant { model, name, .. } = variant;
            let test = format!("spin::{model}::{name}::{property:?}::{verb}").to_lowercase();
            let verifiers = Arc::clone(&verifiers);
            Trial::test(test, move || verify(&verifiers, property, reason))
                .with_ignored_flag(missing.is_some())
        };
        let holds = variant.holds.iter().map(|holds| (*holds, None));
        let fails = variant
            .fails
            .iter()
            .map(|(fails, reason)| (*fails, Some(*reason)));
        holds
            .chain(fails)
            .map(move |(property, reason)| trial(property, reason))
    });
    libtest_mimic::run(&arguments, trials.collect()).exit();
}

fn is_installed(tool: &str) -> bool {
    let path = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&path).any(|folder| folder.join(tool).is_file())
}

/// A variant's verifiers, each compiled at first use.
struct Verifiers {
    variant: &'static Variant,
    /// For safety only; a verifier with formulas checks the first of them instead.
    safety: OnceLock<Result<PathBuf, Failed>>,
    /// For all formulas.
    formulas: OnceLock<Result<PathBuf, Failed>>,
}

impl Verifiers {
    const fn of(variant: &'static Variant) -> Self {
        Self {
            variant,
            safety: OnceLock::new(),
            formulas: OnceLock::new(),
        }
    }

    /// The verifier for that property.
    fn of_property(&self, property: Property) -> Result<PathBuf, Failed> {
        let verifier = match property {
            Safety => self
                .safety
                .get_or_init(|| self.compile("safety", &["-DNOCLAIM"])),
            Lonely | Shared | Ends => self.formulas.get_or_init(|| self.compile("formulas", &[])),
        };
        verifier.clone()
    }

    fn compile(&self, what: &str, options: &[&str]) -> Result<PathBuf, Failed> {
        let Variant { model, name, .. } = self.variant;
        let folder = folder(&format!("{model}-{name}-{what}"))?;
        let model = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join(format!("spin/{model}.pml"));
        let mut spin = Command::new("spin");
        spin.args(
            self.variant
                .defines
                .iter()
                .map(|define| format!("-D{define}")),
        );
        run(spin.arg("-a").arg(model), &folder)?;
        let mut compile = Command::new("cc");
        compile.args(["-O0", "-w", "-o", "pan", "pan.c"]);
        compile.args(["-DNFAIR=3", "-DVECTORSZ=2048"]);
        run(compile.args(options), &folder)?;
        Ok(folder.join("pan"))
    }
}

/// A folder for files of these tests.
fn folder(name: &str) -> Result<PathBuf, Failed> {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("spin-{name}"));
    fs::create_dir_all(&folder)?;
    Ok(folder)
}

/// Verifies that the property holds, or fails for `reason`.
fn verify(verifiers: &Verifiers, property: Property, reason: Option<&str>) -> Result<(), Failed> {
    let Variant { model, name, .. } = verifiers.variant;
    // The working directory, where the verifier writes an error trail.
    let folder = folder(&format!("{model}-{name}-{property:?}"))?;
    let mut pan = Command::new(verifiers.of_property(property)?);
    // Most models are small, and the table of states grows.
    pan.args(["-m2000000", "-w20"]);
    match property {
        Safety => &mut pan,
        Lonely => pan.args(["-a", "-f", "-N", "lonely"]),
        Shared => pan.args(["-a", "-f", "-N", "shared"]),
        Ends => pan.args(["-a", "-f", "-N", "ends"]),
    };
    let output = run(&mut pan, &folder)?;
    let says = |text: &str| output.contains(text);
    let complete = says("State-vector") && !says("max search depth too small");
    let as_expected = match reason {
        None => complete && says("errors: 0"),
        Some(reason) => says("errors: 1") && says(reason),
    };
    if as_expected {
        return Ok(());
    }
    let expected = reason.unwrap_or("no errors");
    Err(Failed::from(format!("expected {expected}:\n{output}")))
}

fn run(command: &mut Command, folder: &Path) -> Result<String, Failed> {
    let output = command.current_dir(folder).output()?;
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    if output.status.success() {
        return Ok(text);
    }
    let errors = String::from_utf8_lossy(&output.stderr);
    Err(Failed::from(format!("{command:?}:\n{text}{errors}")))
}
