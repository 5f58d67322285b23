//! The figures of a machine file that can be measured, and their places in the file.

use crate::probe::Sample;
use cohort_machine::description::{
    Cycles, Figure, Machine, Megahertz, Nanoseconds, Ratio, Ratios, Source, Transfer,
};

/// A figure; distances go by the name of their level.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum What {
    /// The clock, in MHz.
    Clock,
    /// A spin hint.
    Pause,
    /// A fence.
    Fence,
    /// A load of an own line.
    HitLoad,
    /// A store to one.
    HitStore,
    /// A read-modify-write of one.
    HitRmw,
    /// A hand-over, which no file holds: two threads increment a counter in turn.
    HandOver(String),
    /// A load of a modified line.
    Load(String),
    /// A load of an unmodified line.
    Clean(String),
    /// A read-modify-write of a modified line.
    Rmw(String),
    /// The invalidation of a line that this CPU loaded.
    Invalidate(String),
    /// The invalidation of a line that both CPUs loaded, which no file holds.
    Shared(String),
    /// A load from another node's memory.
    Remote(String),
    /// A further sharer.
    Each,
    /// A load from the own node's memory.
    Local,
    /// A load from the last-level cache.
    Refill,
    /// The slowdown by so many running siblings.
    Slowdown(usize),
    /// The share of it by a polling one.
    Spinning,
    /// The time in which every runnable thread runs once.
    Period,
    /// How long a thread runs.
    Slice,
    /// A switch.
    Switch,
    /// A system call.
    SystemCall,
    /// Falling asleep.
    Sleep,
    /// Waking a sleeper.
    Wake,
    /// Its delay.
    WakeLatency,
    /// A yield.
    YieldAlone,
}

/// A figure's place in a machine.
enum FigureOf<'a> {
    Clock(&'a mut Figure<Megahertz>),
    Cycles(&'a mut Figure<Cycles>),
    Nanoseconds(&'a mut Figure<Nanoseconds>),
    Ratio(&'a mut Figure<Ratio>),
    Ratios(&'a mut Figure<Ratios>, usize),
}

/// A file's figure in the unit of a measured one.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Known {
    /// The value.
    pub value: f64,
    /// Its source.
    pub source: Source,
    /// The step between two values that a file can hold.
    pub step: f64,
}

impl What {
    /// Its name, as `cohort machines show` prints it.
    #[must_use]
    pub fn name(&self) -> String {
        let within = |level: &str, key: &str| format!("transfer within {level}: {key}");
        match self {
            Self::Clock => "clock".to_owned(),
            Self::Pause => "costs pause".to_owned(),
            Self::Fence => "costs fence".to_owned(),
            Self::HitLoad => "hit load".to_owned(),
            Self::HitStore => "hit store".to_owned(),
            Self::HitRmw => "hit rmw".to_owned(),
            Self::HandOver(level) => format!("hand-over within {level}"),
            Self::Load(level) => within(level, "load"),
            Self::Clean(level) => within(level, "clean"),
            Self::Rmw(level) => within(level, "rmw"),
            Self::Invalidate(level) => within(level, "invalidate"),
            Self::Shared(level) => format!("both sharing within {level}"),
            Self::Remote(level) => within(level, "memory"),
            Self::Each => "invalidation each".to_owned(),
            Self::Local => "memory local".to_owned(),
            Self::Refill => "cache refill".to_owned(),
            Self::Slowdown(others) => format!("smt slowdown, {} running", others + 1),
            Self::Spinning => "smt spinning".to_owned(),
            Self::Period => "scheduler period".to_owned(),
            Self::Slice => "scheduler slice".to_owned(),
            Self::Switch => "scheduler switch".to_owned(),
            Self::SystemCall => "scheduler system-call".to_owned(),
            Self::Sleep => "scheduler sleep".to_owned(),
            Self::Wake => "scheduler wake".to_owned(),
            Self::WakeLatency => "scheduler wake-latency".to_owned(),
            Self::YieldAlone => "scheduler yield-alone".to_owned(),
        }
    }

    /// How it is measured.
    #[must_use]
    pub const fn how(&self) -> &'static str {
        match self {
            Self::Clock => "dependent additions, one a cycle",
            Self::Pause | Self::Fence => "a run of 200",
            Self::HitLoad => "a chain of own lines",
            Self::HitStore => "a run of 2000 stores to one line",
            Self::HitRmw => "a chain of own lines, by fetch_add",
            Self::HandOver(_) => "two threads increment a counter in turn",
            Self::Load(_) => "a chain of 256 lines that the other CPU has written",
            Self::Clean(_) => "a chain of 256 lines that the other CPU has loaded from memory",
            Self::Rmw(_) => "the chain of the load, by fetch_add",
            Self::Invalidate(_) => "fetch_add after the chain of the load, less a hit",
            Self::Shared(_) => "fetch_add on lines that both CPUs have loaded since, less a hit",
            Self::Remote(_) => "a chain of flushed lines in the other CPU's memory",
            Self::Each => "fetch_add on lines of all CPUs, less on lines of two",
            Self::Local => "a chain of flushed lines",
            Self::Refill => "a chain larger than the private cache",
            Self::Slowdown(_) => "the same work beside running siblings and alone",
            Self::Spinning => "the same work beside a polling sibling",
            Self::Period => "0 if eight threads on one CPU run as long as two",
            Self::Slice => "runs of eight threads on one CPU",
            Self::Switch => "yields of two threads on one CPU, less the calls",
            Self::SystemCall => "a futex wake without a sleeper",
            Self::Sleep => "a futex hand-over on one CPU, less wake-up, call and switch",
            Self::Wake => "a futex wake of a thread on another CPU, less the call",
            Self::WakeLatency => "from the end of the wake-up until the sleeper runs",
            Self::YieldAlone => "a run of 20",
        }
    }

    /// The unit of a sample.
    #[must_use]
    pub const fn unit(&self) -> &'static str {
        match self {
            Self::Clock => "MHz",
            Self::Slowdown(_) | Self::Spinning => "",
            _ => "ns",
        }
    }

    /// The level of a distance.
    #[must_use]
    pub fn within(&self) -> Option<&str> {
        match self {
            Self::HandOver(level)
            | Self::Load(level)
            | Self::Clean(level)
            | Self::Rmw(level)
            | Self::Invalidate(level)
            | Self::Shared(level)
            | Self::Remote(level) => Some(level),
            _ => None,
        }
    }

    /// The same at another distance.
    #[must_use]
    pub fn at(&self, level: &str) -> Self {
        let level = level.to_owned();
        match self {
            Self::HandOver(_) => Self::HandOver(level),
            Self::Load(_) => Self::Load(level),
            Self::Clean(_) => Self::Clean(level),
            Self::Rmw(_) => Self::Rmw(level),
            Self::Invalidate(_) => Self::Invalidate(level),
            Self::Shared(_) => Self::Shared(level),
            Self::Remote(_) => Self::Remote(level),
            other => other.clone(),
        }
    }

    /// Its place in a file: the table, and the place within it.
    pub(super) const fn order(&self) -> [usize; 2] {
        match self {
            Self::Clock => [0, 0],
            Self::Pause => [1, 0],
            Self::Fence => [1, 1],
            Self::HitLoad => [2, 0],
            Self::HitStore => [2, 1],
            Self::HitRmw => [2, 2],
            Self::HandOver(_) => [3, 0],
            Self::Load(_) => [3, 1],
            Self::Clean(_) => [3, 2],
            Self::Rmw(_) => [3, 3],
            Self::Invalidate(_) => [3, 4],
            Self::Shared(_) => [3, 5],
            Self::Remote(_) => [3, 6],
            Self::Each => [4, 0],
            Self::Local => [5, 0],
            Self::Refill => [6, 0],
            Self::Slowdown(others) => [7, *others],
            Self::Spinning => [8, 0],
            Self::Period => [9, 0],
            Self::Slice => [9, 1],
            Self::Switch => [9, 2],
            Self::SystemCall => [9, 3],
            Self::Sleep => [9, 4],
            Self::Wake => [9, 5],
            Self::WakeLatency => [9, 6],
            Self::YieldAlone => [9, 7],
        }
    }

    fn place<'a>(&self, machine: &'a mut Machine) -> Option<FigureOf<'a>> {
        let scheduler = &mut machine.scheduler;
        let transfers = &mut machine.transfers;
        let cycles = match self {
            Self::Clock => return Some(FigureOf::Clock(&mut machine.clock)),
            Self::HandOver(_) | Self::Shared(_) => return None,
            Self::Pause => &mut machine.costs.pause,
            Self::Fence => &mut machine.costs.fence,
            Self::HitLoad => &mut machine.hit.load,
            Self::HitStore => &mut machine.hit.store,
            Self::HitRmw => &mut machine.hit.rmw,
            Self::Load(level) => &mut within(transfers, level)?.load,
            Self::Clean(level) => {
                let transfer = within(transfers, level)?;
                transfer.clean.get_or_insert_with(|| transfer.load.clone())
            }
            Self::Rmw(level) => &mut within(transfers, level)?.rmw,
            Self::Invalidate(level) => &mut within(transfers, level)?.invalidate,
            Self::Remote(level) => within(transfers, level)?.memory.as_mut()?,
            Self::Each => &mut machine.invalidation.each,
            Self::Local => &mut machine.memory.local,
            Self::Refill => &mut machine.cache.refill,
            Self::Slowdown(others) => {
                let slowdown = &mut machine.smt.as_mut()?.slowdown;
                return Some(FigureOf::Ratios(slowdown, *others));
            }
            Self::Spinning => return Some(FigureOf::Ratio(&mut machine.smt.as_mut()?.spinning)),
            Self::Period => return Some(FigureOf::Nanoseconds(&mut scheduler.period)),
            Self::Slice => return Some(FigureOf::Nanoseconds(&mut scheduler.slice)),
            Self::Switch => return Some(FigureOf::Nanoseconds(&mut scheduler.switch)),
            Self::SystemCall => return Some(FigureOf::Nanoseconds(&mut scheduler.system_call)),
            Self::Sleep => return Some(FigureOf::Nanoseconds(&mut scheduler.sleep)),
            Self::Wake => return Some(FigureOf::Nanoseconds(&mut scheduler.wake)),
            Self::WakeLatency => return Some(FigureOf::Nanoseconds(&mut scheduler.wake_latency)),
            Self::YieldAlone => return Some(FigureOf::Nanoseconds(&mut scheduler.yield_alone)),
        };
        Some(FigureOf::Cycles(cycles))
    }

    /// The machine's figure, in the unit of a sample.
    #[must_use]
    pub fn of(&self, machine: &Machine) -> Option<Known> {
        let cycle = 1e3 / machine.clock.value as f64;
        let mut machine = machine.clone();
        let (value, source, step) = match self.place(&mut machine)? {
            FigureOf::Clock(figure) => (figure.value as f64, figure.source, 1.0),
            FigureOf::Cycles(figure) => (figure.value as f64 * cycle, figure.source, cycle),
            FigureOf::Nanoseconds(figure) => (figure.value as f64, figure.source, 1.0),
            FigureOf::Ratio(figure) => (figure.value, figure.source, 0.01),
            FigureOf::Ratios(figure, at) => {
                let last = figure.value.len() - 1;
                (figure.value[at.min(last)], figure.source, 0.01)
            }
        };
        Some(Known {
            value,
            source,
            step,
        })
    }

    /// Writes a sample as the machine's figure; nothing if the machine has no such figure.
    pub(super) fn put(&self, machine: &mut Machine, sample: Sample) {
        let per_nanosecond = machine.clock.value as f64 / 1e3;
        let note = format!("{}; {}", text(sample, self.unit()), self.how());
        let whole = |value: f64| value.round().max(0.0) as u64;
        match self.place(machine) {
            None => {}
            Some(FigureOf::Clock(figure)) => {
                figure.value = whole(sample.median).max(1);
                mark(figure, note);
            }
            Some(FigureOf::Cycles(figure)) => {
                figure.value = whole(sample.median * per_nanosecond);
                mark(figure, note);
            }
            Some(FigureOf::Nanoseconds(figure)) => {
                figure.value = whole(sample.median);
                mark(figure, note);
            }
            Some(FigureOf::Ratio(figure)) => {
                figure.value = hundredths(sample.median);
                mark(figure, note);
            }
            Some(FigureOf::Ratios(figure, at)) => {
                figure.value.truncate(at);
                let last = figure.value.last().copied().unwrap_or(1.0);
                // More siblings never speed a CPU up.
                figure.value.push(hundredths(sample.median).max(last));
                mark(figure, note);
            }
        }
    }
}

/// The transfer within a level, over the fewest hops.
fn within<'a>(transfers: &'a mut [Transfer], level: &str) -> Option<&'a mut Transfer> {
    transfers
        .iter_mut()
        .find(|transfer| transfer.within == level)
}

/// `measured: median 27.9 ns (p10 27.2 ns to p90 28.9 ns) of 201`.
#[must_use]
pub fn text(sample: Sample, unit: &str) -> String {
    let amount = |value| amount(value, unit);
    format!(
        "measured: median {} (p10 {} to p90 {}) of {}",
        amount(sample.median),
        amount(sample.low),
        amount(sample.high),
        sample.count
    )
}

/// A value with its unit, and with three digits or more.
#[must_use]
pub fn amount(value: f64, unit: &str) -> String {
    let (value, unit) = match unit {
        "ns" if value >= 1e6 => (value / 1e6, "ms"),
        "ns" if value >= 1e4 => (value / 1e3, "µs"),
        unit => (value, unit),
    };
    let number = if value >= 99.95 || value == 0.0 {
        format!("{value:.0}")
    } else if value >= 9.995 {
        format!("{value:.1}")
    } else {
        format!("{value:.2}")
    };
    format!("{number} {unit}").trim_end().to_owned()
}

fn hundredths(value: f64) -> f64 {
    (value * 100.0).round() / 100.0
}

fn mark<U: cohort_machine::description::Unit>(figure: &mut Figure<U>, note: String) {
    figure.range = None;
    figure.source = Source::Measured;
    figure.note = note;
}
