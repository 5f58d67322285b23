//! The activity of locks, in OpenMetrics.

use super::subject::{Subject, Totals};
use crate::problem::Problem;
use prometheus_client::collector::Collector;
use prometheus_client::encoding::{DescriptorEncoder, text::encode};
use prometheus_client::encoding::{EncodeCounterValue, EncodeMetric};
use prometheus_client::metrics::MetricType;
use prometheus_client::metrics::counter::ConstCounter;
use prometheus_client::metrics::gauge::ConstGauge;
use prometheus_client::registry::{Registry, Unit};
use std::fmt::Error;

/// A name and a value.
type Labels = Vec<(&'static str, String)>;

/// The locks of all processes at one moment.
#[derive(Debug)]
struct Snapshot(Vec<(Labels, Totals)>);

impl Snapshot {
    fn counter<N: EncodeCounterValue>(
        &self,
        encoder: &mut DescriptorEncoder,
        (name, help, unit): (&str, &str, Option<&Unit>),
        value: impl Fn(&Totals) -> Option<N>,
    ) -> Result<(), Error> {
        let mut family = encoder.encode_descriptor(name, help, unit, MetricType::Counter)?;
        for (labels, totals) in &self.0 {
            if let Some(value) = value(totals) {
                ConstCounter::new(value).encode(family.encode_family(labels)?)?;
            }
        }
        Ok(())
    }
}

impl Collector for Snapshot {
    fn encode(&self, mut encoder: DescriptorEncoder) -> Result<(), Error> {
        let encoder = &mut encoder;
        let waits = (
            "cohort_lock_wait",
            "Thread-seconds of waiting for the lock",
            Some(&Unit::Seconds),
        );
        self.counter(encoder, waits, |totals| Some(totals.waited))?;
        let acquisitions = ("cohort_lock_acquisitions", "Acquisitions of the lock", None);
        self.counter(encoder, acquisitions, |totals| totals.acquired)?;
        let contended = (
            "cohort_lock_contended",
            "Contended acquisitions of the lock",
            None,
        );
        self.counter(encoder, contended, |totals| totals.contended)?;
        let (name, help) = (
            "cohort_lock_waiters",
            "Threads currently waiting for the lock",
        );
        let mut family = encoder.encode_descriptor(name, help, None, MetricType::Gauge)?;
        for (labels, totals) in &self.0 {
            let waiters = i64::try_from(totals.waiters).unwrap_or(i64::MAX);
            ConstGauge::new(waiters).encode(family.encode_family(labels)?)?;
        }
        Ok(())
    }
}

/// The metrics of these processes.
///
/// # Errors
/// None is known.
pub fn text(subjects: &[Subject]) -> Result<String, Problem> {
    let rows = subjects.iter().flat_map(|subject| {
        subject.locks.totals.iter().map(|((kind, name), totals)| {
            let labels = vec![
                ("lock", name.clone()),
                ("kind", (*kind).to_owned()),
                ("program", subject.program.clone()),
                ("process", subject.process().to_string()),
            ];
            (labels, totals.clone())
        })
    });
    written(Snapshot(rows.collect()))
}

fn written(snapshot: Snapshot) -> Result<String, Problem> {
    let mut registry = Registry::default();
    registry.register_collector(Box::new(snapshot));
    let mut text = String::new();
    encode(&mut text, &registry)
        .map_err(|error| Problem::refused(format!("cannot write metrics: {error}")))?;
    Ok(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_snapshot_is_openmetrics() {
        let labels = vec![("lock", "a \"b\" \\ c".to_owned())];
        let totals = Totals {
            waited: 1.5,
            acquired: Some(7),
            contended: None,
            waiters: 2,
        };
        let text = written(Snapshot(vec![(labels, totals)])).unwrap();
        for line in [
            "# TYPE cohort_lock_wait_seconds counter",
            "# UNIT cohort_lock_wait_seconds seconds",
            "cohort_lock_wait_seconds_total{lock=\"a \\\"b\\\" \\\\ c\"} 1.5",
            "cohort_lock_acquisitions_total{lock=\"a \\\"b\\\" \\\\ c\"} 7",
            "# TYPE cohort_lock_contended counter",
            "cohort_lock_waiters{lock=\"a \\\"b\\\" \\\\ c\"} 2",
        ] {
            assert!(text.lines().any(|found| found == line), "{line}\n{text}");
        }
        assert!(
            !text.contains("contended_total") && text.ends_with("# EOF\n"),
            "{text}"
        );
    }
}
