//! What profiling costs a program, and how often is sampled and looked so that it does not cost too much.

use super::figures::Durations;
use cohort::records::{AT_HAND, AtHand, Drawn, READS, READS_OF_SECOND, READS_WITHIN, Sample};
use std::time::Duration;

/// How far two looks are apart at first, and at most.
const TICK: Duration = Duration::from_millis(1);
const LONGEST_TICK: Duration = Duration::from_millis(8);

/// How many samples a second are wanted at most, and at least.
const MOST_SAMPLES: f64 = 2_000.0;
const FEWEST_SAMPLES: f64 = 50.0;

/// The price of counting is of no account before it was measured at so many acquisitions: the first ones
/// meet with caches that have nothing of the records yet.
const ENOUGH: u64 = 16;

/// Where counting alone costs the limit or more, the part of the limit that all else may cost.
const PART: f64 = 0.1;

/// What was done for a profile.
#[derive(Clone, Copy, Debug, Default)]
pub struct Work {
    /// Acquisitions that were counted.
    pub acquired: u64,
    /// Samples that were drawn, and second ones behind these.
    pub drawn: u64,
    pub seconds: u64,
    /// Nanoseconds in which threads copied stacks, and measured what counting takes at hand.
    pub aside: f64,
    /// Nanoseconds of CPU time that the command took while the program ran, and those of them in which
    /// it did what comes once: reading the program's files.
    pub looking: f64,
    pub once: f64,
}

impl Work {
    /// What was done since then, but for what comes once.
    fn since(&self, before: &Self) -> Self {
        let once = self.once - before.once;
        Self {
            acquired: self.acquired.saturating_sub(before.acquired),
            drawn: self.drawn - before.drawn,
            seconds: self.seconds - before.seconds,
            aside: self.aside - before.aside,
            looking: (self.looking - before.looking - once).max(0.0),
            once: 0.0,
        }
    }
}

/// Nanoseconds that a program loses.
#[derive(Clone, Copy, Debug, Default)]
struct Prices {
    /// By each acquisition with its release.
    each: f64,
    /// By a sample beside that, and by a second one.
    drawn: f64,
    second: f64,
}

/// What profiling costs, in per cent of a program's CPU time.
#[derive(Clone, Copy, Debug, Default)]
pub struct Costs {
    /// All acquisitions are counted, at any pace.
    pub counting: f64,
    /// The command itself.
    pub looking: f64,
    /// Samples and their stacks.
    pub samples: f64,
}

impl Costs {
    /// What a slower pace makes less.
    fn by_pace(&self) -> f64 {
        self.looking + self.samples
    }

    /// All together.
    pub fn all(&self) -> f64 {
        self.counting + self.by_pace()
    }
}

/// What was done, and what that takes.
#[derive(Default)]
pub struct Spent {
    /// All that was done, and what had been done when this was last reckoned up.
    pub work: Work,
    before: Work,
    /// How long records took, of samples that were drawn and of second ones, and reading the clock there.
    drawn: Durations,
    seconds: Durations,
    reads: Durations,
    at_hand: Measured,
}

/// What counting takes where all that it needs is at hand: what a sample says of it and of a read of the clock, and
/// how long many acquisitions take with it and without.
#[derive(Default)]
struct Measured {
    spent: Durations,
    reads: Durations,
    counted: Durations,
    plain: Durations,
}

impl Measured {
    fn add(&mut self, at_hand: &AtHand) {
        let AtHand {
            spent,
            read,
            counted,
            plain,
            ..
        } = *at_hand;
        self.spent.add(spent.into(), 1);
        self.reads.add(read.into(), 1);
        self.counted.add(counted.into(), 1);
        self.plain.add(plain.into(), 1);
    }

    /// Nanoseconds of records among the program's instructions, and how many fewer these are than a sample says;
    /// 0 if nobody has measured.
    fn price(&self) -> (f64, f64) {
        let pairs = self.counted.unbroken_mean() - self.plain.unbroken_mean();
        let price = (pairs / f64::from(AT_HAND)).max(0.0);
        let reads = f64::from(READS_WITHIN) * self.reads.unbroken_mean();
        let told = self.spent.unbroken_mean() - reads;
        (price, (told - price).max(0.0))
    }
}

impl Spent {
    /// Takes note of what a thread has put among its samples.
    pub fn add(&mut self, drawn: &Drawn) {
        match drawn {
            Drawn::Sample(sample) => self.add_sample(sample),
            Drawn::AtHand(at_hand) => {
                self.at_hand.add(at_hand);
                let AtHand {
                    spent,
                    counted,
                    plain,
                    ..
                } = *at_hand;
                // Each of them was done three times.
                let once = f64::from(spent) + f64::from(counted) + f64::from(plain);
                self.work.aside += 3.0 * once;
            }
            Drawn::HandOver(_) => {}
        }
    }

    fn add_sample(&mut self, sample: &Sample) {
        let on_stack = f64::from(sample.spent_on_stack);
        if sample.of == 0 {
            self.work.aside += on_stack;
            return;
        }
        let records = if sample.is_second {
            self.work.seconds += 1;
            &mut self.seconds
        } else {
            self.work.drawn += 1;
            &mut self.drawn
        };
        if sample.spent != 0 {
            records.add(sample.spent.into(), sample.of);
        }
        if sample.stack != 0 {
            self.work.aside += on_stack;
        } else if sample.spent != 0 {
            // Between the clock reads around a stack that was not copied there is nothing else.
            self.reads.add(sample.spent_on_stack.into(), sample.of);
        }
    }

    /// By what the price of counting is known: by second samples, with their code at hand as that of
    /// an acquisition is that is only counted; by others as long as there is no second one.
    fn known_by(&self) -> &Durations {
        if self.seconds.samples() > 0 {
            &self.seconds
        } else {
            &self.drawn
        }
    }

    /// How many acquisitions that were.
    pub fn measured(&self) -> u64 {
        self.known_by().samples()
    }

    fn prices(&self) -> Prices {
        let read = self.reads.unbroken_mean();
        let records = self.known_by().unbroken_mean();
        // What is not at hand makes samples dearer, and those only.
        let waits = (self.drawn.unbroken_mean() - records).max(0.0);
        let told = (records - f64::from(READS_WITHIN) * read).max(0.0);
        // What has to be waited for takes as long as a sample says; the rest does not, and never less than at hand.
        let (at_hand, less) = self.at_hand.price();
        Prices {
            each: (told - less).max(at_hand.min(told)),
            drawn: waits + f64::from(READS) * read,
            second: f64::from(READS_OF_SECOND) * read,
        }
    }

    /// Nanoseconds by which an acquisition with its release takes longer, as it is counted.
    pub fn each(&self) -> f64 {
        self.prices().each
    }

    fn costs_of(work: &Work, prices: &Prices, cpu: f64) -> Costs {
        let of_all = |nanoseconds: f64| {
            if cpu > 0.0 {
                nanoseconds / (cpu * 1e9) * 100.0
            } else {
                0.0
            }
        };
        let samples = work.drawn as f64 * prices.drawn + work.seconds as f64 * prices.second;
        Costs {
            counting: of_all(work.acquired as f64 * prices.each),
            looking: of_all(work.looking),
            samples: of_all(samples + work.aside),
        }
    }

    /// What all that was done costs, in these CPU seconds.
    pub fn costs(&self, cpu: f64) -> Costs {
        Self::costs_of(&self.work, &self.prices(), cpu)
    }

    /// Reckons up: what all that was done costs, in `cpu` seconds, and what was done since the last
    /// time, in `lately` seconds; each as far as it is known.
    pub fn reckon(&mut self, cpu: f64, lately: f64) -> [Costs; 2] {
        let mut prices = self.prices();
        if self.measured() < ENOUGH {
            prices.each = 0.0;
        }
        let since = self.work.since(&self.before);
        self.before = self.work;
        [(&self.work, cpu), (&since, lately)].map(|(work, cpu)| Self::costs_of(work, &prices, cpu))
    }
}

/// How often is sampled and looked.
#[derive(Debug)]
pub struct Pace {
    limit: f64,
    /// How many samples a second are wanted.
    pub wanted: f64,
    /// How far two looks are apart.
    pub tick: Duration,
}

impl Pace {
    /// The quickest, which is slowed down until it costs less than `limit` per cent.
    pub fn new(limit: f64) -> Self {
        Self {
            limit,
            wanted: MOST_SAMPLES,
            tick: TICK,
        }
    }

    /// Goes slower or quicker, by what everything costs so far and by what it costs lately.
    ///
    /// What comes once, and a dear beginning, are made up for by time, in which it is enough to go on
    /// for less than half of the limit.  Nor does a slower pace help against counting, where that
    /// alone costs the limit: then all else may cost a part of the limit.
    pub fn adapt(&mut self, [all, lately]: [Costs; 2]) {
        let samples_are_dearer = lately.samples > lately.looking;
        let (limit, all, lately) = if all.counting < self.limit {
            (self.limit, all.all(), lately.all())
        } else {
            (PART * self.limit, lately.by_pace(), lately.by_pace())
        };
        if all > 0.8 * limit && lately > 0.4 * limit {
            self.slow_down(samples_are_dearer);
        } else if all < 0.8 * limit && lately < 0.4 * limit {
            self.quicken(samples_are_dearer);
        }
    }

    /// Half as many of the dearer, samples or looks; of the other if there are as few as may be.
    fn slow_down(&mut self, samples_are_dearer: bool) {
        let has_fewest = self.wanted <= FEWEST_SAMPLES;
        if self.tick >= LONGEST_TICK || samples_are_dearer && !has_fewest {
            self.wanted = (self.wanted / 2.0).max(FEWEST_SAMPLES);
        } else {
            self.tick = (self.tick * 2).min(LONGEST_TICK);
        }
    }

    /// Twice as many of the cheaper; of the other if there are as many as may be.
    fn quicken(&mut self, samples_are_dearer: bool) {
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

    /// A sample for the records of which so much was spent, each read of the clock included.
    fn sample(is_second: bool, records: u32) -> Sample {
        const READ: u32 = 20;
        Sample {
            spent: records + READS_WITHIN * READ,
            spent_on_stack: READ,
            of: 1_000,
            is_second,
            ..Sample::default()
        }
    }

    fn spent(samples: &[(bool, u32, usize)]) -> Spent {
        let mut spent = Spent::default();
        for (is_second, records, times) in samples {
            for _ in 0..*times {
                spent.add(&Drawn::Sample(sample(*is_second, *records)));
            }
        }
        spent
    }

    #[test]
    fn counting_costs_what_second_samples_tell_and_not_what_rare_ones_wait_for() {
        let spent = spent(&[(false, 170, 400), (true, 30, 100)]);
        assert!((spent.each() - 30.0).abs() < 2.0, "{}", spent.each());
        assert_eq!(
            (spent.measured(), spent.work.drawn, spent.work.seconds),
            (100, 400, 100)
        );
        let prices = spent.prices();
        // The rest of it only samples lose, beside nine reads of the clock.
        assert!((prices.drawn - 140.0 - 180.0).abs() < 3.0, "{prices:?}");
        assert!((prices.second - 160.0).abs() < 3.0, "{prices:?}");
    }

    /// At hand a sample tells 40 ns of records that take 6.
    fn at_hand() -> Drawn {
        let Sample {
            spent,
            spent_on_stack,
            ..
        } = sample(true, 40);
        Drawn::AtHand(AtHand {
            spent,
            read: spent_on_stack,
            counted: AT_HAND * 16,
            plain: AT_HAND * 10,
            watch: 0,
        })
    }

    #[test]
    fn what_a_sample_tells_too_much_is_taken_off() {
        // By records that wait for memory, that are at hand, and that are so by chance.
        for (told, price) in [(140, 106.0), (40, 6.0), (20, 6.0), (3, 3.0)] {
            let mut spent = spent(&[(true, told, 100)]);
            assert!((spent.each() - f64::from(told)).abs() < 3.0, "{told}");
            spent.add(&at_hand());
            assert!(
                (spent.each() - price).abs() < 4.0,
                "{told}: {}",
                spent.each()
            );
        }
    }

    #[test]
    fn without_a_second_sample_the_others_tell() {
        let spent = spent(&[(false, 170, 5)]);
        assert!((spent.each() - 170.0).abs() < 3.0, "{}", spent.each());
        assert_eq!(spent.measured(), 5);
        assert_eq!(Spent::default().each(), 0.0);
    }

    #[test]
    fn a_thread_that_lost_its_cpu_does_not_make_all_acquisitions_dear() {
        let spent = spent(&[(true, 30, 999), (true, 4_000_000, 1)]);
        assert!(spent.each() < 33.0, "{}", spent.each());
    }

    #[test]
    fn waits_at_conditions_and_stacks_alone_tell_nothing_of_records() {
        let mut spent = Spent::default();
        spent.add(&Drawn::Sample(Sample {
            of: 9,
            waited: 5,
            ..Sample::default()
        }));
        spent.add(&Drawn::Sample(Sample {
            stack: 3,
            spent_on_stack: 2_000,
            ..Sample::default()
        }));
        assert_eq!((spent.measured(), spent.work.drawn), (0, 1));
        assert!((spent.costs(1.0).samples - 0.0002).abs() < 1e-9);
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
                work.aside += samples * 2_000.0;
                work.looking += 0.1 / self.pace.tick.as_secs_f64() * 20_000.0;
                for number in 0..samples as u32 {
                    self.spent
                        .add(&Drawn::Sample(sample(false, self.price + 140)));
                    if number % 4 == 0 {
                        self.spent.add(&Drawn::Sample(sample(true, self.price)));
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
        assert_eq!((pace.wanted, pace.tick), (FEWEST_SAMPLES, LONGEST_TICK));
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
        assert!(pace.wanted >= 4.0 * FEWEST_SAMPLES, "{pace:?}");
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
        assert_eq!((pace.wanted, pace.tick), (MOST_SAMPLES, TICK * 2));
        assert!(program.go_on(90).all() < 5.0);
    }

    #[test]
    fn nobody_goes_by_the_first_few() {
        let mut spent = spent(&[(true, 3_000, ENOUGH as usize - 1)]);
        spent.work.acquired = 1_000_000;
        assert_eq!(spent.reckon(1.0, 1.0)[0].counting, 0.0);
        spent.add(&Drawn::Sample(sample(true, 30)));
        assert!(spent.reckon(1.0, 1.0)[0].counting > 100.0);
        // What was reckoned up is not lately.
        assert_eq!(spent.reckon(1.0, 1.0)[1].counting, 0.0);
    }
}
