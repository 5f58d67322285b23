use super::*;
use crate::probe::Pair;
use cohort_machine::description::{Atomics, Machine, Protocol, Source};
use std::sync::Arc;

fn sample(median: f64) -> Sample {
    Sample {
        median,
        low: median * 0.9,
        high: median * 1.2,
        count: 7,
    }
}

/// The figures of a pair: a load takes that long.
fn pair(load: f64) -> (Pair, Option<Sample>) {
    let pair = Pair {
        load: sample(load),
        clean: Some(sample(load * 0.9)),
        rmw: sample(load * 1.2),
        invalidate: sample(load * 0.7),
        shared: sample(load * 1.5),
        memory: Some(sample(load * 2.0)),
    };
    (pair, Some(sample(load * 2.0)))
}

/// Two nodes of two cores with two hardware threads; CPU n and n + 4 share a core.
fn nodes() -> Shape {
    let by = |of: fn(usize) -> usize| (0..8).map(of).collect();
    Shape::told(&Topology::new(
        (0..8).collect(),
        vec![
            ("core".to_owned(), by(|cpu| cpu % 4)),
            ("numa".to_owned(), by(|cpu| cpu % 4 / 2)),
            ("system".to_owned(), by(|_| 0)),
        ],
    ))
}

fn facts() -> Facts {
    Facts {
        model: "AMD EPYC 9454P 48-Core Processor".to_owned(),
        line: Some(64),
        private: Some(facts::Cache {
            bytes: 1 << 20,
            cpus: vec![0, 4],
        }),
        shared: Some(facts::Cache {
            bytes: 32 << 20,
            cpus: vec![0, 1, 4, 5],
        }),
        protocol: Some(Protocol::Moesi),
        atomics: Some(Atomics::Native),
    }
}

/// A clock of 2 GHz, and a load of 10 ns within a core, 50 within a node, 200 between nodes.
fn measured() -> Measured {
    let mut measured = Measured::new(nodes(), facts());
    measured.add(What::Clock, Some(sample(2000.0)));
    measured.add(What::HitLoad, Some(sample(2.0)));
    measured.pairs("core", &[pair(10.0)]);
    measured.pairs("numa", &[pair(40.0), pair(50.0), pair(55.0)]);
    measured.pairs("system", &[pair(200.0)]);
    measured.add(What::Each, Some(sample(1.5)));
    measured.add(What::Slowdown(1), Some(sample(1.43)));
    measured.add(What::Spinning, Some(sample(0.25)));
    measured.add(What::Switch, Some(sample(812.4)));
    measured
}

fn written(measured: &Measured, like: &str) -> Machine {
    let like = shipped::find(like).unwrap();
    let text = file::text(measured, "mine", &like).unwrap();
    Machine::parse(&text).unwrap_or_else(|complaint| panic!("{complaint}\n{text}"))
}

/// Known hand-overs and loads give a known file: cycles are nanoseconds by the clock.
#[test]
fn known_figures_give_a_known_file() {
    let machine = written(&measured(), "epyc-7352x2");
    assert_eq!(machine.hierarchy.notation(), "numa:2 core:2 pu:2");
    assert_eq!(
        machine.hierarchy.nearest_common(1, 5),
        machine.hierarchy.level("core")
    );
    assert_eq!(machine.clock.value, 2000);
    let loads: Vec<(&str, u64, u64, u64)> = machine
        .transfers
        .iter()
        .map(|t| (&*t.within, t.load.value, t.rmw.value, t.invalidate.value))
        .collect();
    assert_eq!(
        loads,
        [
            ("core", 20, 24, 14),
            ("numa", 100, 120, 70),
            ("system", 400, 480, 280)
        ]
    );
    let far = &machine.transfers[2];
    assert_eq!(far.store.value, far.rmw.value);
    assert_eq!(far.memory.as_ref().map(|cost| cost.value), Some(800));
    assert_eq!(machine.transfers[1].memory, None, "within a node");
    assert_eq!(machine.hit.load.value, 4);
    assert_eq!(machine.invalidation.each.value, 3);
    let smt = machine.smt.as_ref().unwrap();
    assert_eq!(
        (smt.slowdown.value.as_slice(), smt.spinning.value),
        (&[1.0, 1.43][..], 0.25)
    );
    assert_eq!(machine.scheduler.switch.value, 812);
    // Half of a core's cache for each of its threads.
    assert_eq!(machine.cache.private.value, (1 << 20) / 64 / 2);
    assert_eq!(
        (&*machine.cache.shared_by, &*machine.memory.of),
        ("numa", "numa")
    );
    let note = &machine.transfers[1].load.note;
    assert!(
        note.starts_with("measured: median 50.0 ns (p10 36.0 ns to p90 66.0 ns) of 21"),
        "{note}"
    );
}

/// What was not measured names its machine, and no measured figure is called an estimate.
#[test]
fn every_figure_has_its_source() {
    let measured = measured();
    let machine = written(&measured, "epyc-7352x2");
    for entry in machine.entries() {
        let is_measured = measured.figures.iter().any(|(what, _)| {
            what.name() == entry.figure
                || entry.figure == "smt slowdown"
                || what.name().starts_with(&entry.figure)
        });
        let from_kernel = [
            "line",
            "cache private",
            "cache shared",
            "atomics",
            "protocol",
        ];
        let expected = if is_measured
            || from_kernel
                .iter()
                .any(|name| entry.figure.starts_with(name))
        {
            assert_ne!(entry.source, Source::Estimate, "{entry:?}");
            continue;
        } else {
            Source::Estimate
        };
        assert_eq!(entry.source, expected, "{entry:?}");
        let origin = ["epyc-7352x2: ", "as the measured rmw"];
        let named = origin.iter().any(|origin| entry.note.starts_with(origin));
        assert!(named, "{entry:?}");
    }
}

/// A larger distance costs more in the file if it was measured so, whatever the other machine says.
#[test]
fn distances_keep_their_order() {
    for like in names() {
        let machine = written(&measured(), like);
        for pair in machine.transfers.windows(2) {
            assert!(pair[0].load.value < pair[1].load.value, "{like}");
            assert!(pair[0].occupancy.value <= pair[0].load.value, "{like}");
        }
    }
}

#[test]
fn one_cpu_has_a_file_too() {
    let shape = Shape::told(&Topology::new(
        vec![3],
        vec![("system".to_owned(), vec![0])],
    ));
    let mut measured = Measured::new(shape, Facts::default());
    measured.pairs("system", &[]);
    measured.add(What::HitLoad, Some(sample(1.0)));
    let like = shipped::find("i5-12500").unwrap();
    let text = file::text(&measured, "one", &like).unwrap();
    let machine = Machine::parse(&text).unwrap();
    assert_eq!((machine.hierarchy.cpus(), machine.transfers.len()), (1, 0));
    assert!(text.contains("one CPU has no other's lines"), "{text}");
    assert!(
        text.contains("# CPUs 0 to 0 are the machine's CPUs 3."),
        "{text}"
    );
    // The clock is i5-12500's.
    assert_eq!(machine.hit.load.value, 5);
}

#[test]
fn the_nearest_machine_has_the_model_s_words() {
    let near = |model: &str, shape: &Shape| {
        let facts = Facts {
            model: model.to_owned(),
            ..facts()
        };
        nearest(&facts, shape).name
    };
    assert_eq!(
        near("AMD EPYC 9454P 48-Core Processor", &nodes()),
        "epyc-9454p"
    );
    assert_eq!(
        near("AMD EPYC 7352 24-Core Processor", &nodes()),
        "epyc-7352x2"
    );
    assert_eq!(
        near("12th Gen Intel(R) Core(TM) i5-12500", &nodes()),
        "i5-12500"
    );
    assert_eq!(
        near("Intel(R) Xeon(R) CPU E5-2680 v3 @ 2.50GHz", &nodes()),
        "haswell-ep-2s"
    );
}

/// A file agrees with the figures that it was made of, except for what a file rounds.
#[test]
fn a_file_agrees_with_its_own_figures() {
    let measured = measured();
    let machine = written(&measured, "epyc-7352x2");
    let rows = compare::compare(&measured, &machine).unwrap();
    assert_eq!(rows.len(), measured.figures.len());
    for row in &rows {
        if matches!(row.what, What::HandOver(_)) {
            assert!(row.file.is_some_and(|file| file > 0.0), "{row:?}");
            continue;
        }
        let is_there = !matches!(row.what, What::Shared(_));
        assert_eq!(row.agrees(), is_there.then_some(true), "{row:?}");
    }
    let mut other = machine.clone();
    other.transfers[1].load.value *= 2;
    let rows = compare::compare(&measured, &other).unwrap();
    let wrong: Vec<&str> = rows
        .iter()
        .filter(|row| row.agrees() == Some(false) && !matches!(row.what, What::HandOver(_)))
        .map(|row| &*row.name)
        .collect();
    assert_eq!(wrong, ["transfer within numa: load"]);
}

/// CPUs of one cache group are compared with a cache group.
#[test]
fn what_shares_a_cache_is_as_near_as_a_cache_group() {
    let shape = Shape::told(&Topology::new(
        vec![0, 1],
        vec![("system".to_owned(), vec![0, 0])],
    ));
    let facts = Facts {
        shared: Some(facts::Cache {
            bytes: 32 << 20,
            cpus: vec![0, 1],
        }),
        ..facts()
    };
    let mut measured = Measured::new(shape, facts);
    measured.pairs("system", &[pair(13.0)]);
    let like = shipped::find("epyc-9454p").unwrap();
    let rows = compare::compare(&measured, &like).unwrap();
    let load = rows
        .iter()
        .find(|row| matches!(row.what, What::Load(_)))
        .unwrap();
    assert_eq!(load.name, "transfer within cache: load");
    assert_eq!(load.agrees(), Some(true), "{load:?}");
}

/// The simulated hand-over of a file that was measured is found by discovery too.
#[test]
fn a_measured_file_runs() {
    let machine = written(&measured(), "epyc-7352x2");
    let simulator = Arc::new(crate::world::simulated::Simulator::new(machine));
    let found = discover::there(&simulator, true, &mut Progress::new(0, false)).unwrap();
    let names: Vec<&str> = found.levels.iter().map(discover::Found::label).collect();
    assert_eq!(names, ["core", "numa"]);
}
