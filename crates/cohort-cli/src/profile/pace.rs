//! The cost of profiling, and the rates of samples and looks that limit it.

use super::figures::Durations;
use cohort::records::{AT_HAND, AtHand, Drawn, Sample, TurnOver};
use std::time::Duration;

/// The initial and the longest time between two looks.
const TICK: Duration = Duration::from_millis(1);
const LONGEST_TICK: Duration = Duration::from_millis(8);

/// The highest and the lowest number of samples per second.
const MOST_SAMPLES: f64 = 20_000.0;
const FEWEST_SAMPLES: f64 = 500.0;

/// The cost of counting is ignored before it has been measured at this many acquisitions: the first
/// ones find the records uncached.
const ENOUGH: u64 = 4 * AT_HAND as u64;

/// If counting alone reaches the limit, the part of the limit that everything else may cost.
const PART: f64 = 0.1;

/// Work done for a profile.
#[derive(Clone, Copy, Debug, Default)]
pub struct Work {
    /// Counted acquisitions.
    pub acquired: u64,
    /// Those that displaced another lock's counter.
    pub turned_over: u64,
    /// Samples that were drawn.
    pub drawn: u64,
    /// Nanoseconds in which threads copied stacks, and measured the cost of counting.
    pub aside: f64,
    /// Nanoseconds of the command's CPU time while the program ran, and the part for one-time work:
    /// reading the program's files.
    pub looking: f64,
    pub once: f64,
}

impl Work {
    /// The work since then, without one-time work.
    fn since(&self, before: &Self) -> Self {
        let once = self.once - before.once;
        Self {
            acquired: self.acquired.saturating_sub(before.acquired),
            drawn: self.drawn - before.drawn,
            turned_over: self.turned_over.saturating_sub(before.turned_over),
            aside: (self.aside - before.aside).max(0.0),
            looking: (self.looking - before.looking - once).max(0.0),
            once: 0.0,
        }
    }
}

/// Costs for the program, in nanoseconds.
#[derive(Clone, Copy, Debug, Default)]
struct Prices {
    /// For each acquisition with its release, and for displacing another lock's counter.
    each: f64,
    turn_over: f64,
    /// For a sample, in addition.
    drawn: f64,
}

impl Prices {
    /// The cost of counting.
    fn of_counting(&self, work: &Work) -> f64 {
        work.acquired as f64 * self.each + work.turned_over as f64 * self.turn_over
    }
}

/// Cost of profiling, in per cent of a program's CPU time.
#[derive(Clone, Copy, Debug, Default)]
pub struct Costs {
    /// Counting all acquisitions, independent of the rates.
    pub counting: f64,
    /// The command itself.
    pub looking: f64,
    /// Samples and their stacks.
    pub samples: f64,
}

impl Costs {
    /// The part that lower rates reduce.
    fn by_pace(&self) -> f64 {
        self.looking + self.samples
    }

    /// The total.
    pub fn all(&self) -> f64 {
        self.counting + self.by_pace()
    }
}

/// Apparent nanoseconds of a wait and of a hold that are due to recording.
#[derive(Clone, Copy, Debug, Default)]
pub struct Records {
    pub waits: f64,
    pub holds: f64,
}

/// Work done, and its costs.
#[derive(Default)]
pub struct Spent {
    /// The total work, and its state at the last check.
    pub work: Work,
    before: Work,
    /// Durations of many counted acquisitions, and of as many uncounted ones.
    counted: Durations,
    plain: Durations,
    /// Durations of a timed acquisition, of its apparently empty hold, and of reading the clock.
    timed: Durations,
    empty: Durations,
    reads: Durations,
    /// Durations of copying a stack.
    stacks: Durations,
    /// Durations of displacing another lock's counter, and of reading the clock there.
    turn_overs: Durations,
    reads_there: Durations,
}

impl Spent {
    /// Records an entry of a thread's samples.
    pub fn add(&mut self, drawn: &Drawn) {
        match drawn {
            Drawn::Sample(sample) => self.add_sample(sample),
            Drawn::AtHand(AtHand {
                counted,
                plain,
                timed,
                empty,
                read,
                ..
            }) => {
                self.counted.add((*counted).into(), 1);
                self.plain.add((*plain).into(), 1);
                self.reads.add((*read).into(), 1);
                if *timed != 0 {
                    self.timed.add((*timed).into(), 1);
                    self.empty.add((*empty).into(), 1);
                }
            }
            Drawn::TurnOver(TurnOver {
                spent, read, of, ..
            }) => {
                self.turn_overs.add((*spent).into(), *of);
                self.reads_there.add((*read).into(), *of);
            }
            Drawn::HandOver(_) => {}
        }
    }

    fn add_sample(&mut self, sample: &Sample) {
        if sample.stack != 0 {
            self.stacks.add(sample.spent_on_stack.into(), 1);
        }
        if sample.doubled.is_some() {
            self.work.drawn += 1;
        }
    }

    /// Nanoseconds in which threads copied stacks, and measured the cost of counting, without
    /// preemptions: they cost the program nothing.
    fn aside(&self) -> f64 {
        let all = |spent: &Durations| spent.samples() as f64 * spent.unbroken_mean();
        // Each measurement of counting runs twice.
        2.0 * (all(&self.counted) + all(&self.plain)) + all(&self.timed) + all(&self.stacks)
    }

    /// The number of acquisitions in the measurements of counting.
    pub fn measured(&self) -> u64 {
        self.counted.samples() * u64::from(AT_HAND) + self.turn_overs.samples()
    }

    /// A sample's recording time that appears in a wait and in a hold.
    pub fn records(&self) -> Records {
        Records {
            waits: self.reads.median() as f64,
            holds: self.empty.median() as f64,
        }
    }

    fn prices(&self) -> Prices {
        let many = self.counted.unbroken_mean() - self.plain.unbroken_mean();
        let each = (many / f64::from(AT_HAND)).max(0.0);
        let turn_over = self.turn_overs.unbroken_mean() - self.reads_there.unbroken_mean();
        Prices {
            each,
            turn_over: turn_over.max(0.0),
            drawn: (self.timed.unbroken_mean() - each).max(0.0),
        }
    }

    /// Additional nanoseconds of a counted acquisition with its release, on average.
    pub fn each(&self) -> f64 {
        self.prices().of_counting(&self.work) / self.work.acquired.max(1) as f64
    }

    fn costs_of(work: &Work, prices: &Prices, cpu: f64) -> Costs {
        let of_all = |nanoseconds: f64| {
            if cpu > 0.0 {
                nanoseconds / (cpu * 1e9) * 100.0
            } else {
                0.0
            }
        };
        let samples = work.drawn as f64 * prices.drawn;
        Costs {
            counting: of_all(prices.of_counting(work)),
            looking: of_all(work.looking),
            samples: of_all(samples + work.aside),
        }
    }

    /// The cost of all work, relative to these CPU seconds.
    pub fn costs(&self, cpu: f64) -> Costs {
        let work = Work {
            aside: self.aside(),
            ..self.work
        };
        Self::costs_of(&work, &self.prices(), cpu)
    }

    /// The costs of all work, relative to `cpu` seconds, and of the work since the last call,
    /// relative to `lately` seconds; each as far as it is known.
    pub fn reckon(&mut self, cpu: f64, lately: f64) -> [Costs; 2] {
        let mut prices = self.prices();
        if self.measured() < ENOUGH {
            prices.each = 0.0;
            prices.turn_over = 0.0;
        }
        self.work.aside = self.aside();
        let since = self.work.since(&self.before);
        self.before = self.work;
        [(&self.work, cpu), (&since, lately)].map(|(work, cpu)| Self::costs_of(work, &prices, cpu))
    }
}

/// Rates of samples and looks.
#[derive(Debug)]
pub struct Pace {
    limit: f64,
    /// The wanted number of samples per second.
    pub wanted: f64,
    /// The time between two looks.
    pub tick: Duration,
}

impl Pace {
    /// The highest rates, to be reduced until the cost is below `limit` per cent.
    pub fn new(limit: f64) -> Self {
        Self {
            limit,
            wanted: MOST_SAMPLES,
            tick: TICK,
        }
    }

    /// Reduces or raises the rates, by the total and the recent cost.
    ///
    /// One-time work and an expensive start are compensated over time, as long as continuing costs
    /// less than half of the limit. Lower rates do not help against counting: where that alone
    /// reaches the limit, everything else may cost a part of the limit.
    pub fn adapt(&mut self, [all, lately]: [Costs; 2]) {
        let samples = lately.samples;
        let samples_are_dearer = samples > lately.looking;
        let (limit, all, lately) = if all.counting < self.limit {
            (self.limit, all.all(), lately.all())
        } else {
            (PART * self.limit, lately.by_pace(), lately.by_pace())
        };
        if all > 0.8 * limit && lately > 0.4 * limit {
            self.slow_down(samples_are_dearer, samples > PART * limit);
        } else if all < 0.8 * limit && lately < 0.4 * limit {
            self.double_rate(samples_are_dearer);
        }
    }

    /// Halves the rate of the more expensive of samples and looks, or of the other at its minimum.
    /// Cheap samples stay: fewer looks need more of them.
    fn slow_down(&mut self, samples_are_dearer: bool, samples_matter: bool) {
        let has_fewest = self.wanted <= FEWEST_SAMPLES;
        if self.tick < LONGEST_TICK && (has_fewest || !samples_are_dearer) {
            self.tick = (self.tick * 2).min(LONGEST_TICK);
        } else if samples_matter {
            self.wanted = (self.wanted / 2.0).max(FEWEST_SAMPLES);
        }
    }

    /// Doubles the rate of the cheaper one, or of the other at its maximum.
    fn double_rate(&mut self, samples_are_dearer: bool) {
        let has_most = self.wanted >= MOST_SAMPLES;
        if self.tick <= TICK || !samples_are_dearer && !has_most {
            self.wanted = (self.wanted * 2.0).min(MOST_SAMPLES);
        } else {
            self.tick = (self.tick / 2).max(TICK);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A sample with a stack that cost that much.
    fn sample(on_stack: u32) -> Drawn {
        Drawn::Sample(Sample {
            stack: 1,
            spent_on_stack: on_stack,
            doubled: Some(10),
            ..Sample::default()
        })
    }

    /// The duration of a timed acquisition.
    const TIMED: u32 = 400;

    /// Acquisitions with that additional duration when counted.
    fn at_hand(price: u32) -> Drawn {
        Drawn::AtHand(AtHand {
            counted: AT_HAND * (price + 10),
            plain: AT_HAND * 10,
            timed: TIMED,
            empty: 60,
            read: 20,
            watch: 0,
        })
    }

    fn turn_over(spent: u32, of: u32) -> Drawn {
        Drawn::TurnOver(TurnOver {
            spent: spent + 20,
            read: 20,
            of,
            watch: 0,
        })
    }

    fn spent(drawn: &[(Drawn, usize)]) -> Spent {
        let mut spent = Spent::default();
        spent.work.acquired = 1_000_000;
        for (drawn, times) in drawn {
            for _ in 0..*times {
                spent.add(drawn);
            }
        }
        spent
    }

    #[test]
    fn counting_costs_what_many_in_a_row_tell_and_a_sample_what_a_timed_one_takes() {
        let spent = spent(&[(sample(0), 400), (at_hand(30), 100)]);
        assert!((spent.each() - 30.0).abs() < 2.0, "{}", spent.each());
        let measured = 100 * u64::from(AT_HAND);
        assert_eq!((spent.measured(), spent.work.drawn), (measured, 400));
        let prices = spent.prices();
        let drawn = f64::from(TIMED) - 30.0;
        assert!((prices.drawn - drawn).abs() < 6.0, "{prices:?}");
        let records = spent.records();
        assert!((records.holds - 60.0).abs() < 1.0 && (records.waits - 20.0).abs() < 1.0);
    }

    #[test]
    fn a_lock_that_is_counted_in_the_place_of_another_costs_more() {
        let mut spent = spent(&[
            (at_hand(6), 10),
            (turn_over(90, 512), 8),
            (turn_over(50, 1), 9),
        ]);
        assert!((spent.each() - 6.0).abs() < 1.0, "{}", spent.each());
        spent.work.turned_over = spent.work.acquired / 10;
        assert!((spent.each() - 15.0).abs() < 1.5, "{}", spent.each());
        let counting = spent.costs(1.0).counting;
        assert!((counting - 1.5).abs() < 0.15, "{counting}");
    }

    #[test]
    fn a_thread_that_lost_its_cpu_does_not_make_all_acquisitions_dear() {
        let spent = spent(&[(at_hand(30), 999), (at_hand(4_000_000), 1)]);
        assert!(spent.each() < 33.0, "{}", spent.each());
        let aside = spent.costs(1.0).samples;
        assert!(aside < 1.0, "{aside}");
    }

    #[test]
    fn a_stack_alone_is_no_sample() {
        let mut spent = Spent::default();
        spent.add(&Drawn::Sample(Sample {
            stack: 3,
            spent_on_stack: 2_000,
            ..Sample::default()
        }));
        assert_eq!((spent.measured(), spent.work.drawn), (0, 0));
        assert!((spent.costs(1.0).samples - 0.0002).abs() < 2e-6);
        assert_eq!(spent.each(), 0.0);
    }

    /// A program that takes a lock so often in a second, with records that cost so much.
    struct Program {
        spent: Spent,
        pace: Pace,
        acquired: f64,
        price: u32,
        cpu: f64,
    }

    impl Program {
        fn new(acquired: f64, price: u32) -> Self {
            Self {
                spent: Spent::default(),
                pace: Pace::new(5.0),
                acquired,
                price,
                cpu: 0.0,
            }
        }

        /// Goes on for so many tenths of a second, in which a look costs the command 20 µs and a sample
        /// two for its stack; what everything costs then.
        fn go_on(&mut self, tenths: u32) -> Costs {
            for _ in 0..tenths {
                self.cpu += 0.1;
                let samples = self.pace.wanted * 0.1;
                let work = &mut self.spent.work;
                work.acquired += (self.acquired * 0.1) as u64;
                work.looking += 0.1 / self.pace.tick.as_secs_f64() * 20_000.0;
                for number in 0..samples as u32 {
                    self.spent.add(&sample(500));
                    if number % 64 == 0 {
                        self.spent.add(&at_hand(self.price));
                    }
                }
                let costs = self.spent.reckon(self.cpu, 0.1);
                self.pace.adapt(costs);
            }
            self.spent.costs(self.cpu)
        }
    }

    #[test]
    fn a_program_that_locks_little_is_sampled_as_often_as_ever() {
        let mut program = Program::new(1_000.0, 30);
        assert!(program.go_on(20).all() < 5.0);
        assert_eq!(program.pace.wanted, MOST_SAMPLES);
        assert_eq!(program.pace.tick, TICK);
    }

    #[test]
    fn the_pace_falls_until_the_cost_is_below_the_limit() {
        // Counting costs 3 %, and the quickest pace 2.5 %.
        let mut program = Program::new(1e6, 30);
        assert!(program.go_on(1).all() > 5.0);
        assert!(program.go_on(100).all() < 5.0);
        assert!(program.pace.wanted < MOST_SAMPLES);
    }

    #[test]
    fn the_pace_rises_again_when_the_cost_falls() {
        let mut program = Program::new(1.6e6, 30);
        program.go_on(50);
        let pace = &program.pace;
        assert!(pace.wanted < MOST_SAMPLES / 2.0 && pace.tick == LONGEST_TICK);
        program.acquired = 1_000.0;
        program.go_on(50);
        let pace = &program.pace;
        assert!(
            pace.wanted == MOST_SAMPLES && pace.tick <= TICK * 2,
            "{pace:?}"
        );
    }

    /// Its table rested on a hundred samples.
    #[test]
    fn where_counting_alone_is_too_dear_a_part_of_the_limit_goes_into_samples() {
        let mut program = Program::new(4e6, 35);
        let costs = program.go_on(30);
        assert!(costs.counting > 10.0);
        assert!(program.go_on(70).by_pace() < 0.6);
        let pace = &program.pace;
        assert!(pace.wanted >= 2.0 * FEWEST_SAMPLES, "{pace:?}");
    }

    #[test]
    fn what_comes_once_is_made_up_for_by_time() {
        let mut program = Program::new(1_000.0, 30);
        let work = &mut program.spent.work;
        work.looking += 2e8;
        work.once += 2e8;
        assert!(program.go_on(10).all() > 5.0);
        // Half of the limit is enough for all samples and half of the looks.
        let pace = &program.pace;
        assert!(
            pace.wanted >= MOST_SAMPLES / 2.0 && pace.tick <= TICK * 2,
            "{pace:?}"
        );
        assert!(program.go_on(90).all() < 5.0);
    }

    #[test]
    fn nobody_goes_by_the_first_few() {
        let mut spent = spent(&[(at_hand(3_000), ENOUGH as usize / AT_HAND as usize - 1)]);
        assert_eq!(spent.reckon(1.0, 1.0)[0].counting, 0.0);
        spent.add(&at_hand(3_000));
        assert!(spent.reckon(1.0, 1.0)[0].counting > 100.0);
        // What was reckoned up is not lately.
        assert_eq!(spent.reckon(1.0, 1.0)[1].counting, 0.0);
    }
}
