//! The step of a composition, abstractly, under Spin: the one checker that sees whether
//! somebody is passed over for ever.  `spin/clof.pml` says what is left out.
//!
//! Each flaw of the model has to make the property fail that it breaks, and the others
//! that are listed with it have to hold, so that a failure is for the right reason.

use libtest_mimic::{Arguments, Failed, Trial};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// What is verified.
#[derive(Clone, Copy, Debug)]
enum Property {
    /// Two threads are never inside at once, no context is used twice at once, and
    /// nobody is stuck.
    Safety,
    /// Whoever is alone in its cohort gets in, whenever it wants (under weak fairness).
    Lonely,
    /// Whoever shares its cohort does.
    Shared,
    /// Threads that acquire a few times come to their end: every wait ends.
    Ends,
}

use Property::{Ends, Lonely, Safety, Shared};

/// A variant of the model.
struct Variant {
    name: &'static str,
    defines: &'static [&'static str],
    holds: &'static [Property],
    /// What must fail, and what the verifier says then.
    fails: &'static [(Property, &'static str)],
}

const STARVES: &str = "acceptance cycle";

static VARIANTS: &[Variant] = &[
    Variant {
        name: "sound",
        defines: &[],
        holds: &[Safety, Lonely, Shared],
        fails: &[],
    },
    Variant {
        name: "one_hand_off",
        defines: &["HAND_OFFS=1"],
        holds: &[Safety, Lonely, Shared],
        fails: &[],
    },
    Variant {
        name: "finite",
        defines: &["ROUNDS=2"],
        holds: &[Safety, Ends],
        fails: &[],
    },
    Variant {
        name: "unfair",
        defines: &["UNFAIR"],
        holds: &[Safety],
        fails: &[(Lonely, STARVES), (Shared, STARVES)],
    },
    // Unfair locks starve nobody whose rivals come to an end (002 §4.2.1).
    Variant {
        name: "unfair_finite",
        defines: &["UNFAIR", "ROUNDS=2"],
        holds: &[Safety, Ends],
        fails: &[],
    },
    Variant {
        name: "no_bound",
        defines: &["NO_BOUND"],
        holds: &[Safety, Shared],
        fails: &[(Lonely, STARVES)],
    },
    Variant {
        name: "low_first",
        defines: &["LOW_FIRST"],
        holds: &[],
        fails: &[(Safety, "in_use[mine]")],
    },
    Variant {
        name: "no_clear",
        defines: &["NO_CLEAR"],
        holds: &[],
        fails: &[(Safety, "inside==1")],
    },
];

fn main() {
    let arguments = Arguments::from_args();
    let missing = ["spin", "cc"].into_iter().find(|tool| !is_installed(tool));
    if let Some(tool) = missing {
        eprintln!("skipped: {tool} is not installed (Debian packages spin, gcc)");
    }
    let trials = VARIANTS.iter().flat_map(|variant| {
        let trial = move |property: Property, reason: Option<&'static str>| {
            let verb = reason.map_or("holds", |_| "fails");
            let test = format!("spin::{}::{property:?}::{verb}", variant.name).to_lowercase();
            Trial::test(test, move || verify(variant, property, reason))
                .with_ignored_flag(missing.is_some())
        };
        let holds = variant.holds.iter().map(move |holds| trial(*holds, None));
        let fails = variant.fails.iter();
        holds.chain(fails.map(move |(fails, reason)| trial(*fails, Some(reason))))
    });
    libtest_mimic::run(&arguments, trials.collect()).exit();
}

fn is_installed(tool: &str) -> bool {
    let path = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&path).any(|folder| folder.join(tool).is_file())
}

/// Verifies that the property holds, or fails for that reason.
fn verify(variant: &Variant, property: Property, reason: Option<&str>) -> Result<(), Failed> {
    let folder = format!("spin-{}-{property:?}", variant.name);
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(folder);
    fs::create_dir_all(&folder)?;
    let model = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("spin/clof.pml");
    let mut spin = Command::new("spin");
    spin.args(variant.defines.iter().map(|define| format!("-D{define}")));
    run(spin.arg("-a").arg(model), &folder)?;

    let ltl = match property {
        Safety => None,
        Lonely => Some("lonely"),
        Shared => Some("shared"),
        Ends => Some("ends"),
    };
    let mut compile = Command::new("cc");
    compile.args([
        "-O0",
        "-w",
        "-o",
        "pan",
        "pan.c",
        "-DNFAIR=3",
        "-DVECTORSZ=2048",
    ]);
    // Without this the verifier looks for the model's first property.
    compile.args(ltl.is_none().then_some("-DNOCLAIM"));
    run(&mut compile, &folder)?;

    let mut pan = Command::new(folder.join("pan"));
    pan.arg("-m2000000");
    match ltl {
        None => &mut pan,
        Some(ltl) => pan.args(["-a", "-f", "-N", ltl]),
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
