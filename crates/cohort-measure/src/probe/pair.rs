//! Lines between CPUs.

use super::chain::{CAN_FLUSH, Chain};
use super::crew::{Crew, Job};
use super::{Effort, Sample, Stop, Watch};

/// Lines of a chain: few enough for every private cache.
const LINES: usize = 256;

/// Costs of a CPU's accesses to lines of another CPU, in memory near that one.
#[derive(Clone, Copy, Debug)]
pub struct Pair {
    /// A load of a line that the other modified.
    pub load: Sample,
    /// A load of a line that the other holds unmodified; none where lines cannot be flushed.
    pub clean: Option<Sample>,
    /// A read-modify-write of such a line.
    pub rmw: Sample,
    /// A read-modify-write of a line that the other modified and this CPU loaded since, less one of an
    /// own line. Almost nothing if the load takes a modified line away from its holder.
    pub invalidate: Sample,
    /// The same after the other has loaded the line again: both hold it.
    pub shared: Sample,
    /// A load of a line in the other's memory that no cache holds.
    pub memory: Option<Sample>,
}

/// Measures accesses of the CPU `one` to lines of the CPU `other`.
///
/// # Errors
/// A thread cannot be pinned, or a signal arrived.
pub fn pair(one: usize, other: usize, effort: Effort) -> Result<Pair, Stop> {
    let chain = Chain::near(other, LINES)?;
    let chain = &chain;
    Crew::run(one, &[other], chain, |crew| {
        let watch = Watch::new();
        let load = || watch.each(LINES, || chain.load(LINES));
        let add = || watch.each(LINES, || chain.add(LINES));
        let [mut loads, mut cleans, mut memories] = [const { Vec::new() }; 3];
        let [mut rmws, mut invalidates, mut shared] = [const { Vec::new() }; 3];
        effort.repeat(|| {
            crew.all(Job::Write)?;
            loads.push(load());
            if CAN_FLUSH {
                crew.all(Job::LoadClean)?;
                cleans.push(load());
                chain.flush();
                memories.push(load());
            }
            crew.all(Job::Write)?;
            rmws.push(add());
            crew.all(Job::Write)?;
            chain.load(LINES);
            let once = add();
            invalidates.push((once - add()).max(0.0));
            crew.all(Job::Write)?;
            chain.load(LINES);
            crew.all(Job::Load)?;
            let both = add();
            shared.push((both - add()).max(0.0));
            Ok(())
        })?;
        let sample = |values: &[f64]| {
            Sample::of(values).ok_or_else(|| Stop::Failed("no sample was taken".to_owned()))
        };
        Ok(Pair {
            load: sample(&loads)?,
            clean: Sample::of(&cleans),
            rmw: sample(&rmws)?,
            invalidate: sample(&invalidates)?,
            shared: sample(&shared)?,
            memory: Sample::of(&memories),
        })
    })
}

/// The cost of further sharers.
#[derive(Clone, Copy, Debug)]
pub struct Sharers {
    /// Sharers beyond the first.
    pub further: usize,
    /// The invalidation of all, less that of the first, for each further one.
    pub each: Sample,
}

/// Measures read-modify-writes of the CPU `one`: of lines shared by the first of `others`, and by all.
/// None with fewer than two others.
///
/// # Errors
/// A thread cannot be pinned, or a signal arrived.
pub fn sharers(one: usize, others: &[usize], effort: Effort) -> Result<Option<Sharers>, Stop> {
    let Some((first, rest)) = others.split_first().filter(|(_, rest)| !rest.is_empty()) else {
        return Ok(None);
    };
    let chain = Chain::near(*first, LINES)?;
    let by = |others: &[usize]| {
        let chain = &chain;
        Crew::run(one, others, chain, |crew| {
            let watch = Watch::new();
            let mut times = Vec::new();
            effort.repeat(|| {
                chain.write();
                crew.all(Job::Load)?;
                chain.load(LINES);
                crew.all(Job::Load)?;
                times.push(watch.each(LINES, || chain.add(LINES)));
                Ok(())
            })?;
            Ok(times)
        })
    };
    let few = by(&others[..1])?;
    let many = by(others)?;
    let Some(few) = Sample::of(&few) else {
        return Ok(None);
    };
    let each = |all: &f64| ((all - few.median) / rest.len() as f64).max(0.0);
    let each: Vec<f64> = many.iter().map(each).collect();
    Ok(Sample::of(&each).map(|each| Sharers {
        further: rest.len(),
        each,
    }))
}
