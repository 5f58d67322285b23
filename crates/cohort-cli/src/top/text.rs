//! Observed lock operations as text.

use super::Sort;
use super::frame::{Row, Seen, WaitSite};
use crate::page;
use crate::profile::merge::label;
use crate::profile::text::{count, seconds, share};
use comfy_table::Row as Cells;
use std::fmt::Write;

/// Frames shown of a site.
const FRAMES: usize = 8;

/// Sites shown of a lock.
const PLACES: usize = 5;

/// The locks in that order, filtered by name.
pub fn rows<'a>(seen: &'a Seen, sort: Sort, filter: &str) -> Vec<&'a Row> {
    let wanted = filter.to_lowercase();
    let has_them = |row: &&Row| row.name.to_lowercase().contains(&wanted);
    let mut rows: Vec<&Row> = seen.locks.iter().filter(has_them).collect();
    let of = |row: &Row| match sort {
        Sort::Lost => row.lost_per_second,
        Sort::Waiting => row.waiting as f64,
        Sort::Taken => row.taken_per_second.unwrap_or(0.0),
        Sort::Contended => row.contended.unwrap_or(0.0),
        Sort::Changes => f64::from(row.changes),
        Sort::Name => 0.0,
    };
    let besides = |row: &Row| match sort {
        Sort::Name => 0.0,
        _ => row.taken_per_second.unwrap_or(0.0),
    };
    rows.sort_by(|one, other| {
        (of(other), besides(other))
            .partial_cmp(&(of(one), besides(one)))
            .expect("rates are numbers")
            .then_with(|| (&one.name, one.kind).cmp(&(&other.name, other.kind)))
    });
    rows
}

/// The header about the process.
pub fn head(process: u32, program: &(String, Option<String>), seen: &Seen) -> String {
    let (name, lock) = program;
    let under = lock
        .as_ref()
        .map_or_else(String::new, |lock| format!(" under {lock}"));
    let threads = if seen.threads == 1 {
        "thread"
    } else {
        "threads"
    };
    let outside = match (seen.share_lost, seen.cost, seen.naming) {
        (Some(lost), Some(cost), Some(naming)) => format!(
            ", {} of their time; sampling took {} of one CPU, reading symbols {naming:.2} CPU seconds",
            share((lost * 1e6) as u64, 1_000_000),
            share((cost * 1e6) as u64, 1_000_000)
        ),
        _ => String::new(),
    };
    page::prose(&format!(
        "{name} (process {process}){under}, sampled for {:.1} s: {} {threads}, {} waiting for locks; \
         {} thread-seconds lost per second{outside}",
        seen.seconds,
        seen.threads,
        seen.waiting,
        lost(seen.lost_per_second),
    ))
}

/// At most `most` of these locks, one per line, below titles and a line of `─`.
fn table(rows: &[&Row], most: usize) -> String {
    let mut table = page::titled(&[
        "lock",
        "lost/s",
        "waiting",
        "taken/s",
        "contended",
        "mode",
        "holder",
    ]);
    for row in rows.iter().take(most) {
        let mut cells = Cells::from([
            title(row),
            lost(row.lost_per_second),
            row.waiting.to_string(),
            row.taken_per_second
                .map_or_else(unknown, |taken| count(taken.round() as u64)),
            row.contended.map_or_else(unknown, |contended| {
                share((contended * 1e6) as u64, 1_000_000)
            }),
            mode(row),
            holder(row),
        ]);
        cells.max_height(1);
        table.add_row(cells);
    }
    page::lines(table, 1..5)
}

/// The table, with the number of further rows; or a remark if empty.
pub fn table_or_none(rows: &[&Row], most: usize) -> String {
    if rows.is_empty() {
        return "no thread used a lock, or waited for one".to_owned();
    }
    let mut text = table(rows, most);
    if rows.len() > most {
        let _ = write!(text, "\nand {} more", rows.len() - most);
    }
    text
}

/// The text for an uncounted value.
fn unknown() -> String {
    "–".to_owned()
}

/// A lock's name, with its kind unless a mutex.
pub fn title(row: &Row) -> String {
    let kind = match row.kind {
        "mutex" => String::new(),
        kind => format!(" ({kind})"),
    };
    let several = if row.objects > 1 {
        format!(" ×{}", row.objects)
    } else {
        String::new()
    };
    format!("{}{several}{kind}", row.name)
}

/// Its mode, and the number of changes.
fn mode(row: &Row) -> String {
    match (row.mode, row.changes) {
        (None, _) => "–".to_owned(),
        (Some(mode), 0) => mode.to_owned(),
        (Some(mode), changes) => format!("{mode} ×{changes}"),
    }
}

/// Its holders, abbreviated.
fn holder(row: &Row) -> String {
    let Some(first) = row.holders.first() else {
        return "–".to_owned();
    };
    let name = first.name.as_deref().unwrap_or_default();
    let more = match row.holders.len() - 1 {
        0 => String::new(),
        more => format!(" +{more}"),
    };
    format!("{} {name}{more}", first.thread)
}

/// Thread-seconds per second.
fn lost(value: f64) -> String {
    if value == 0.0 {
        "0".to_owned()
    } else if value < 0.0005 {
        "<0.001".to_owned()
    } else {
        format!("{value:.3}")
    }
}

/// A lock by its sites, with the stacks of waiting threads.
pub fn places(row: &Row) -> String {
    let mut text = format!(
        "{} {}: {} lost per second, {} waiting\n",
        row.kind,
        title(row),
        lost(row.lost_per_second),
        row.waiting
    );
    for holder in &row.holders {
        let name = holder.name.as_deref().unwrap_or_default();
        let share = holder.share.map_or_else(String::new, |held| {
            format!(
                ", for {} of the waits",
                share((held * 1e6) as u64, 1_000_000)
            )
        });
        let at = match (&holder.at, holder.share) {
            (None, _) => String::new(),
            (Some(at), None) => format!(", acquired at {}", label(at)),
            (Some(at), Some(_)) => format!(", asleep at {}", label(at)),
        };
        let _ = writeln!(text, "held by {} {name}{share}{at}", holder.thread);
    }
    for (what, places) in [
        ("waited at, lost per second", &row.waited_at),
        ("held at", &row.held_at),
    ] {
        if places.is_empty() {
            continue;
        }
        let _ = writeln!(text, "\n{what}");
        for place in places.iter().take(PLACES) {
            one(&mut text, place, row.kind.ends_with("rwlock"));
        }
    }
    text
}

fn one(text: &mut String, place: &WaitSite, says_how: bool) {
    let how = if says_how {
        format!("{}: ", place.how)
    } else {
        String::new()
    };
    for (number, frame) in place.frames.iter().take(FRAMES).enumerate() {
        let _ = match number {
            0 => writeln!(
                text,
                "{:>8}  {how}{}",
                seconds(place.lost_per_second),
                label(frame)
            ),
            _ => writeln!(text, "          < {}", label(frame)),
        };
    }
}
