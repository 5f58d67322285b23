//! Instructions of locks' code, counted natively: a simulated machine sees accesses only.
//!
//! [`LOCKS`] describes one thread's acquisition and release of a free lock: the instructions of an
//! optimised build, single-stepped on x86-64, and the accesses of the same code on a simulated
//! machine. The instructions include the call through a table of functions, as of a library, but not
//! the workload's own. If a machine's file has `per-instruction`, their ratio is charged before each
//! access of the lock's code, waits and contended paths included. Other code, and locks with servers,
//! which are uncounted, have the machine's `instruction` before each access.
//!
//! `COHORT_WRITE=1 cargo test --release -p cohort-lab -- instructions` prints the table anew.

/// Lock, instructions of 64 pairs, and accesses of as many.
type Counted = (&'static str, u32, u32);

const LOCKS: &[Counted] = &[
    ("futex-hmcs", 4224, 320),
    ("futex", 3392, 256),
    ("tas", 2240, 128),
    ("ttas", 2496, 192),
    ("bo", 2496, 192),
    ("ticket", 3200, 256),
    ("ticket-apart", 3072, 256),
    ("ticket-delay", 3200, 256),
    ("ptl", 3776, 320),
    ("mcs", 2880, 320),
    ("clh", 4032, 512),
    ("clh-published", 4032, 640),
    ("k42", 2880, 192),
    ("hemlock", 2560, 192),
    ("hemlock-ctr", 2560, 192),
    ("anderson", 3712, 320),
    ("reciprocating", 3392, 448),
    ("malthusian", 4736, 448),
    ("glk", 6912, 704),
    ("glk-plus", 6912, 704),
    ("cna", 5056, 640),
    ("near", 5760, 576),
    ("fissile", 3776, 256),
    ("shfl", 3008, 256),
    ("hbo", 3904, 256),
    ("fc-mcs", 4160, 384),
    ("fc-mcs-published", 4288, 512),
    ("hclh", 4288, 640),
    ("hmcs-2", 9216, 1280),
    ("hmcs-3", 12160, 1920),
    ("hmcs-4", 16000, 2560),
    ("hmcs-4-package", 16000, 2560),
    ("hmcs-5", 18944, 3200),
    ("ahmcs-3", 7808, 704),
    ("ahmcs-4", 7936, 704),
    ("hmcs-t-1", 3328, 384),
    ("hmcs-t-2", 3712, 384),
    ("hmcs-t-3", 3712, 384),
    ("hmcs-t-4", 3776, 384),
    ("c-bo-bo", 7360, 832),
    ("c-tkt-tkt", 8448, 832),
    ("c-ptl-tkt", 8768, 896),
    ("c-bo-mcs", 7552, 768),
    ("c-tkt-mcs", 8128, 832),
    ("c-mcs-mcs", 8192, 896),
    ("a-c-bo-bo", 8192, 1088),
    ("a-c-bo-clh", 9536, 1472),
    ("clh-nb", 4928, 640),
    ("mcs-nb", 5568, 704),
    ("clh-try", 5376, 576),
    ("mcs-try", 4416, 320),
    ("cc-synch", 12096, 1024),
    ("fc", 17856, 3392),
    ("h-synch", 13824, 1344),
    ("oyama", 3776, 128),
    ("qd", 10048, 640),
    ("sanl", 9984, 1600),
    ("sanl-flat", 9664, 1600),
    ("sanl-distance-first", 9664, 1600),
    ("sanl+", 5184, 448),
];

/// The mean instructions of a lock's code before each of its accesses; none if uncounted.
pub(super) fn before_access(lock: &str) -> Option<f64> {
    let base = lock.split(['/', '@']).next()?;
    let known = |name: &str| LOCKS.iter().find(|(lock, ..)| *lock == name);
    let (_, instructions, accesses) = known(lock).or_else(|| known(base))?;
    Some(f64::from(*instructions) / f64::from(*accesses))
}

#[cfg(all(test, target_arch = "x86_64"))]
#[path = "../../../cohort/tests/support/step.rs"]
#[allow(dead_code, reason = "other tests stop after a step")]
mod step;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::world::native::{self, Host};
    use crate::world::simulated::{self, Simulator};
    use crate::world::{Actor as _, NO_LOCK, Placement, Tunings, Wait, World as _};
    use cohort::catalogue::{DELEGATES, LOCKS as ALL};
    use cohort_machine::Length;
    use cohort_machine::description::{Figure, Source, shipped};
    use std::sync::Arc;

    const PAIRS: u32 = 64;

    /// Pairs before the counted ones: the first create what later ones find.
    const BEFORE: u32 = 64;

    /// The instructions of [`PAIRS`] here, without those of the workload's call; none if the lock
    /// needs a server.
    #[cfg(target_arch = "x86_64")]
    fn instructions(host: &Host, lock: &str) -> Option<u32> {
        let call = with_call(host, NO_LOCK)?;
        Some(with_call(host, lock)?.saturating_sub(call))
    }

    #[cfg(target_arch = "x86_64")]
    fn with_call(host: &Host, lock: &str) -> Option<u32> {
        let mut world = host.world(native::Settings {
            seconds: 0.0,
            placement: Placement::Free,
            wait: Wait::natural(lock, false),
            background: 0,
            served: false,
            tunings: Tunings::USUAL,
        });
        let lock = world.lock(lock, 1)?;
        if lock.attended().is_some() {
            return None;
        }
        let pairs = |pairs| (0..pairs).for_each(|_| lock.run(0, &mut || {}));
        pairs(BEFORE);
        Some(step::steps_of(|| pairs(PAIRS)))
    }

    /// The accesses of so many pairs, and their cycles.
    fn simulated(simulator: &Arc<Simulator>, lock: &str, pairs: u32) -> Option<[u64; 2]> {
        let instructions = before_access(lock);
        let settings = simulated::Settings {
            length: Length::default(),
            placement: Placement::Compact,
            cpus: None,
            wait: Wait::natural(lock, false),
            background: 0,
            served: false,
            tunings: Tunings::USUAL,
            seed: 1,
            cohorts: Vec::new(),
        };
        let mut world = simulator.world(settings);
        let lock = world.lock(lock, 1)?;
        if lock.attended().is_some() {
            return None;
        }
        let body = move |_, mut actor: simulated::Fiber, took: &mut u64| {
            actor.executes(instructions);
            let began = actor.now();
            (0..pairs).for_each(|_| lock.run(0, &mut || {}));
            *took = actor.now() - began;
        };
        let played = world.play(1, body).unwrap();
        Some([played.simulated?.steps, played.parts[0]])
    }

    /// Those of the counted pairs alone.
    fn counted(simulator: &Arc<Simulator>, lock: &str) -> Option<[u64; 2]> {
        let before = simulated(simulator, lock, BEFORE)?;
        let all = simulated(simulator, lock, BEFORE + PAIRS)?;
        Some([all[0] - before[0], all[1] - before[1]])
    }

    fn counted_accesses(simulator: &Arc<Simulator>, lock: &str) -> Option<u32> {
        u32::try_from(counted(simulator, lock)?[0]).ok()
    }

    /// Of an uncontended pair, the accesses take the same time as before, and the code around them
    /// its counted instructions.
    #[test]
    fn a_pair_costs_its_accesses_and_its_instructions() {
        for (name, each) in [("opteron-6274x8", 1.0), ("xeon-e7-4850x4", 0.7)] {
            let flat = shipped::find(name).unwrap();
            let mut machine = flat.clone();
            machine.costs.per_instruction = Some(Figure {
                value: each,
                range: None,
                source: Source::Estimate,
                note: "a test's".to_owned(),
            });
            let uncounted = machine.costs.instruction.value;
            let [counted, flat] = [machine, flat].map(|machine| {
                let simulator = Arc::new(Simulator::new(machine));
                super::tests::counted(&simulator, "mcs").unwrap()
            });
            let (_, instructions, accesses) =
                LOCKS.iter().find(|(lock, ..)| *lock == "mcs").unwrap();
            assert_eq!([counted[0], flat[0]], [u64::from(*accesses); 2], "{name}");
            let expected = flat[1] as f64 - counted[0] as f64 * uncounted as f64
                + f64::from(*instructions) * each;
            // The clock's resolution is a sixteenth of a cycle.
            let allowed = counted[0] as f64 / 16.0 + 1.0;
            assert!(
                (counted[1] as f64 - expected).abs() <= allowed,
                "{name}: {counted:?} for {expected}, {flat:?} without"
            );
        }
    }

    #[test]
    fn the_table_has_the_accesses_of_the_code() {
        let machine = shipped::find("opteron-6274x8").unwrap();
        let simulator = Arc::new(Simulator::new(machine));
        for (lock, _, known) in LOCKS {
            assert_eq!(counted_accesses(&simulator, lock), Some(*known), "{lock}");
        }
    }

    /// Counts depend on the compiler, so a fifth is allowed. Other builds are not optimised.
    #[cfg(target_arch = "x86_64")]
    #[test]
    fn the_table_has_about_the_instructions_of_an_optimised_build() {
        if cfg!(debug_assertions) || !step::can_step() {
            eprintln!("skip: an optimised build counts, without a debugger");
            return;
        }
        let host = Host::look().unwrap();
        if std::env::var_os("COHORT_WRITE").is_some() {
            let machine = shipped::find("opteron-6274x8").unwrap();
            let simulator = Arc::new(Simulator::new(machine));
            let names = ALL.iter().map(|lock| lock.name);
            let names = names.chain(DELEGATES.iter().map(|lock| lock.name));
            for lock in names {
                let instructions = instructions(&host, lock);
                let accesses = counted_accesses(&simulator, lock);
                if let (Some(instructions), Some(accesses)) = (instructions, accesses) {
                    println!("    (\"{lock}\", {instructions}, {accesses}),");
                }
            }
            return;
        }
        for (lock, known, _) in LOCKS {
            let counted = f64::from(instructions(&host, lock).unwrap());
            let known = f64::from(*known);
            assert!(
                (0.8..1.2).contains(&(counted / known)),
                "{lock}: {counted} for {known}"
            );
        }
    }
}
