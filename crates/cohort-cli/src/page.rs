//! The command's output: tables in one style, wrapped prose, and JSON with its origin.
//!
//! All output of a subcommand goes through [`print()`] or [`print_json`], so that a full disk is an
//! error and not a panic.

use crate::problem::Problem;
use crate::signals;
use comfy_table::{
    Attribute, Cell, CellAlignment, ColumnConstraint, ContentArrangement, Row, Table,
    TableComponent, Width, presets,
};
use rustix::io::Errno;
use rustix::termios::tcgetwinsize;
use serde::Serialize;
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::io::{IsTerminal, Write, stdout};
use std::ops::Range;
use std::time::SystemTime;

/// Default number of columns of a page.
const COLUMNS: u16 = 80;

/// Least readable width of a text column; a narrower column needs its own width.
const READABLE: u16 = 14;

/// The maximum length of a line: the terminal's columns, or else `COLUMNS`.
pub fn width() -> u16 {
    let of_terminal = || {
        let size = stdout().is_terminal().then(|| tcgetwinsize(stdout()))?;
        size.ok().map(|size| size.ws_col).filter(|width| *width > 0)
    };
    let asked = || {
        let columns = std::env::var("COLUMNS").ok()?.parse().ok()?;
        (columns > 0).then_some(columns)
    };
    of_terminal().or_else(asked).unwrap_or(COLUMNS)
}

/// The width of help: long lines of prose are hard to read on a wide terminal.
pub fn help_width() -> usize {
    let width = usize::from(width());
    if stdout().is_terminal() {
        width.min(100)
    } else {
        width
    }
}

/// Whether text may be bold or coloured.
fn is_styled() -> bool {
    let forbidden = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
    stdout().is_terminal() && !forbidden
}

/// An empty table without lines.
pub fn bare() -> Table {
    let mut table = Table::new();
    table
        .load_preset(presets::NOTHING)
        .set_content_arrangement(ContentArrangement::Dynamic)
        .set_width(width())
        .set_truncation_indicator("…")
        .style_text_only();
    if !is_styled() {
        table.force_no_tty();
    }
    table
}

/// An empty table with these titles and a line below them.
pub fn titled<S: AsRef<str>>(titles: &[S]) -> Table {
    let mut table = bare();
    table
        .set_style(TableComponent::HeaderLines, '─')
        .set_header(titles.iter().map(|title| name(title.as_ref())));
    table
}

/// A highlighted cell.
pub fn name(text: &str) -> Cell {
    Cell::new(text).add_attribute(Attribute::Bold)
}

/// Layout of a table on its page.
struct Layout {
    /// The width of each column without wrapping, except for titles.
    widths: Vec<u16>,
    /// The blanks between columns.
    gap: u16,
    /// Whether all figures fit.
    is_room: bool,
}

impl Layout {
    /// Wraps titles between words on a narrow page.
    fn new(table: &Table, figures: &Range<usize>) -> Self {
        let page = table.width().unwrap_or(COLUMNS);
        let gaps = u16::try_from(table.column_iter().count().saturating_sub(1)).unwrap_or(0);
        let needed = |widths: &[u16]| -> u16 {
            let columns = widths.iter().enumerate();
            columns
                .map(|(place, width)| {
                    if figures.contains(&place) {
                        *width
                    } else {
                        READABLE.min(*width)
                    }
                })
                .sum()
        };
        let whole = widths(table, |title| title.lines().collect());
        let widths = if needed(&whole) + gaps <= page {
            whole
        } else {
            widths(table, |title| title.split_whitespace().collect())
        };
        let needed = needed(&widths);
        let gap = if needed + 2 * gaps <= page { 2 } else { 1 };
        let is_room = needed + gap * gaps <= page;
        Self {
            widths,
            gap,
            is_room,
        }
    }
}

/// Whether a table's `figures` fit on the page without wrapping.
pub fn fits(table: &Table, figures: &Range<usize>) -> bool {
    Layout::new(table, figures).is_room
}

/// The lines of a table. The columns in `figures` are right-aligned, and wrapped only if the page
/// is too narrow for them, after their titles.
pub fn lines(mut table: Table, figures: Range<usize>) -> String {
    let layout = Layout::new(&table, &figures);
    let last = layout.widths.len().saturating_sub(1);
    for (place, (column, width)) in table.column_iter_mut().zip(layout.widths).enumerate() {
        let padding = if place == last { 0 } else { layout.gap };
        column.set_padding((0, padding));
        if figures.contains(&place) {
            column.set_cell_alignment(CellAlignment::Right);
            if layout.is_room {
                let fixed = Width::Fixed(width + padding);
                column.set_constraint(ColumnConstraint::Absolute(fixed));
            }
        }
    }
    table.to_string()
}

/// [`lines`] for a titled table with names in the first column. If a name would have to be wrapped,
/// each name gets lines of its own, above its figures.
pub fn lines_below_names(table: Table, figures: Range<usize>) -> String {
    let page = table.width().unwrap_or(COLUMNS);
    let first = |row: &Row| row.cell_iter().next().map(Cell::content);
    let Some(title) = table.header().and_then(first) else {
        return lines(table, figures);
    };
    let whole = Layout::new(&table, &(0..figures.end));
    if whole.is_room && whole.gap == Layout::new(&table, &figures).gap {
        return lines(table, figures);
    }
    let indent = title.chars().count() + 2;
    let others = |row: &Row| row.cell_iter().skip(1).cloned().collect::<Vec<Cell>>();
    let mut rest = titled::<&str>(&[]);
    rest.set_header(table.header().map(others).unwrap_or_default());
    rest.set_width(page.saturating_sub(u16::try_from(indent).unwrap_or(page)));
    for row in table.row_iter() {
        rest.add_row(others(row));
    }
    let alone = lines(rest, figures.start - 1..figures.end - 1);
    let titles = alone
        .lines()
        .take_while(|line| !line.starts_with('─'))
        .count();
    if alone.lines().count() != titles + 1 + table.row_iter().count() {
        // Too narrow for the figures too.
        return lines(table, figures);
    }
    let mut text = String::new();
    for (place, line) in alone.lines().take(titles).enumerate() {
        let title = if place == 0 { title.as_str() } else { "" };
        let _ = writeln!(text, "{title:indent$}{line}");
    }
    text.push_str(&"─".repeat(usize::from(page)));
    for (row, line) in table.row_iter().zip(alone.lines().skip(titles + 1)) {
        let mut name = bare();
        name.set_width(page);
        name.add_row([first(row).unwrap_or_default()]);
        let _ = write!(text, "\n{}\n{:indent$}{line}", lines(name, 0..0), "");
    }
    text
}

/// A table as Markdown, with unlimited lines.
pub fn markdown(mut table: Table) -> String {
    table
        .load_preset(presets::ASCII_MARKDOWN)
        .set_content_arrangement(ContentArrangement::Disabled)
        .force_no_tty()
        .to_string()
}

/// The width of each column if only titles are wrapped, into these `parts`.
fn widths(table: &Table, parts: fn(&str) -> Vec<&str>) -> Vec<u16> {
    let mut widths = vec![1; table.column_iter().count()];
    let mut needs = |place: usize, part: &str| {
        let count = u16::try_from(part.chars().count()).unwrap_or(u16::MAX);
        widths[place] = count.max(widths[place]);
    };
    let titles = table.header().into_iter().flat_map(Row::cell_iter);
    for (place, title) in titles.enumerate() {
        let title = title.content();
        parts(&title)
            .into_iter()
            .for_each(|part| needs(place, part));
    }
    for row in table.row_iter() {
        for (place, cell) in row.cell_iter().enumerate() {
            cell.content().lines().for_each(|line| needs(place, line));
        }
    }
    widths
}

/// A name from a program, a file or the kernel, with control characters escaped in Rust's syntax,
/// so that a terminal does not interpret them.
pub fn visible(name: &str) -> String {
    let mut made = String::with_capacity(name.len());
    for letter in name.chars() {
        if letter.is_control() {
            made.extend(letter.escape_default());
        } else {
            made.push(letter);
        }
    }
    made
}

/// Wrapped prose.
pub fn prose(text: &str) -> String {
    let mut table = bare();
    table.add_row([text]);
    lines(table, 0..0)
}

/// A text with prose lines that begin with `cohort: `. Lines longer than the page are wrapped
/// between words, with a hanging indent. Other lines stay.
pub fn remarks(text: &str) -> String {
    const MARK: &str = "cohort: ";
    let mut broken = String::with_capacity(text.len());
    for line in text.lines() {
        match line.strip_prefix(MARK) {
            Some(remark) => broken.push_str(&hanging(MARK, remark)),
            None => {
                broken.push_str(line);
                broken.push('\n');
            }
        }
    }
    broken
}

/// A line that begins with `mark`, wrapped between words with a hanging indent if longer than the
/// page.
pub fn hanging(mark: &str, text: &str) -> String {
    let indent = mark.chars().count();
    let room = width().saturating_sub(u16::try_from(indent).unwrap_or(0));
    let mut table = bare();
    table.set_width(room.max(READABLE)).add_row([text]);
    let mut broken = String::with_capacity(text.len());
    for (place, line) in lines(table, 0..0).lines().enumerate() {
        let before = if place == 0 { mark } else { "" };
        let _ = writeln!(broken, "{before:indent$}{}", line.trim_end());
    }
    broken
}

/// A number with its noun, as in "1 thread" and "3 threads".
pub fn counted(number: usize, one: &str, more: &str) -> String {
    format!("{number} {}", if number == 1 { one } else { more })
}

/// The two ends of an interval; a common unit appears once.
pub fn interval(low: &str, high: &str) -> String {
    let bare = match (low.rsplit_once(' '), high.rsplit_once(' ')) {
        (Some((number, unit)), Some((_, same))) if unit == same => number,
        _ => low,
    };
    format!("{bare}–{high}")
}

/// Prints a text with a line break on standard output, without trailing blanks.
///
/// # Errors
/// Standard output cannot be written.
pub fn print(text: &str) -> Result<(), Problem> {
    let mut trimmed: String = text.lines().map(str::trim_end).fold(
        String::with_capacity(text.len() + 1),
        |mut lines, line| {
            lines.push_str(line);
            lines.push('\n');
            lines
        },
    );
    if trimmed.is_empty() {
        trimmed.push('\n');
    }
    print_as_it_is(&trimmed)
}

/// Prints a text on standard output unchanged.
///
/// # Errors
/// Standard output cannot be written.
pub fn print_as_it_is(text: &str) -> Result<(), Problem> {
    if !signals::has_output() {
        return Err(unwritable(&Errno::BADF.into()));
    }
    let mut output = stdout().lock();
    output
        .write_all(text.as_bytes())
        .and_then(|()| output.flush())
        .map_err(|error| unwritable(&error))
}

/// The error that standard output cannot be written.
pub fn unwritable(error: &std::io::Error) -> Problem {
    Problem::refused(format!("cannot write to standard output: {error}"))
}

/// Origin of JSON output.
#[derive(Clone, Serialize)]
pub struct Origin {
    command: Vec<String>,
    version: &'static str,
    machine: Machine,
    #[serde(skip_serializing_if = "Option::is_none")]
    date: Option<String>,
}

/// Machine described by the output.
#[derive(Clone, Serialize)]
#[serde(untagged)]
enum Machine {
    /// This one.
    Here {
        cpu: String,
        cpus: usize,
        architecture: String,
        kernel: String,
    },
    /// A simulated one.
    There { simulated: String },
}

impl Origin {
    /// This machine, at present.
    pub fn here() -> Self {
        let kernel = rustix::system::uname();
        let cpus = rustix::thread::sched_getaffinity(None).map_or(0, |set| set.count() as usize);
        Self {
            date: Some(now()),
            ..Self::on(Machine::Here {
                cpu: crate::sysfs::cpu_model(),
                cpus,
                architecture: kernel.machine().to_string_lossy().into_owned(),
                kernel: kernel.release().to_string_lossy().into_owned(),
            })
        }
    }

    /// A simulated machine, with the same bytes on every host and every day.
    pub fn simulated(machine: &str) -> Self {
        Self::on(Machine::There {
            simulated: machine.to_owned(),
        })
    }

    /// The same, with a subcommand that its own command need not be given.
    #[must_use]
    pub fn of_subcommand(mut self, name: &str) -> Self {
        if self.command.get(1).is_none_or(|word| word != name) {
            self.command.insert(1, name.to_owned());
        }
        self
    }

    /// The command line, as typed.
    #[must_use]
    pub fn command(&self) -> String {
        self.command.join(" ")
    }

    /// The machine and the date, for a page's caption.
    #[must_use]
    pub fn caption(&self) -> String {
        let machine = match &self.machine {
            Machine::Here {
                cpu,
                cpus,
                architecture,
                kernel,
            } => {
                let cpus = counted(*cpus, "CPU", "CPUs");
                format!("{cpu}, {cpus}, {architecture}, Linux {kernel}")
            }
            Machine::There { simulated } => format!("simulated: {simulated}"),
        };
        match &self.date {
            Some(date) => format!("{machine}, {date}"),
            None => machine,
        }
    }

    fn on(machine: Machine) -> Self {
        let words = std::env::args_os().skip(1);
        let words = words.map(|word| word.to_string_lossy().into_owned());
        Self {
            command: std::iter::once("cohort".to_owned()).chain(words).collect(),
            version: env!("CARGO_PKG_VERSION"),
            machine,
            date: None,
        }
    }
}

/// The version of the JSON format; increased by incompatible changes.
const FORMAT: u32 = 1;

#[derive(Serialize)]
struct Sheet<'a, T> {
    format: u32,
    origin: Origin,
    #[serde(flatten)]
    body: &'a T,
}

impl<'a, T> Sheet<'a, T> {
    fn new(origin: Origin, body: &'a T) -> Self {
        Self {
            format: FORMAT,
            origin,
            body,
        }
    }
}

/// Prints an object as JSON, with its origin.
///
/// # Errors
/// Standard output cannot be written.
pub fn print_json(origin: Origin, body: &impl Serialize) -> Result<(), Problem> {
    print_as_it_is(&json(origin, body)?)
}

/// An object as JSON, with its origin.
///
/// # Errors
/// It cannot be written as JSON.
pub fn json(origin: Origin, body: &impl Serialize) -> Result<String, Problem> {
    written(serde_json::to_string_pretty(&Sheet::new(origin, body)))
}

/// An object as one line of JSON, for streams.
///
/// # Errors
/// As [`json`].
pub fn json_line(origin: Origin, body: &impl Serialize) -> Result<String, Problem> {
    written(serde_json::to_string(&Sheet::new(origin, body)))
}

fn written(text: serde_json::Result<String>) -> Result<String, Problem> {
    text.map(|text| format!("{text}\n"))
        .map_err(|error| Problem::refused(format!("cannot write JSON: {error}")))
}

/// Prints a list as JSON, under that name and with its origin.
///
/// # Errors
/// Standard output cannot be written.
pub fn print_list(origin: Origin, name: &str, list: &impl Serialize) -> Result<(), Problem> {
    print_json(origin, &BTreeMap::from([(name, list)]))
}

/// The present time in UTC, in RFC 3339's format.
fn now() -> String {
    let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
    utc(since.map_or(0, |since| since.as_secs()))
}

/// A time in seconds since 1970, in UTC and RFC 3339's format.
#[must_use]
pub fn utc(seconds: u64) -> String {
    let seconds = libc::time_t::try_from(seconds).unwrap_or(0);
    // SAFETY: all zeroes is a valid `tm`; the call gets places of the right kind, and only writes to the
    // second.
    let parts = unsafe {
        let mut parts: libc::tm = std::mem::zeroed();
        libc::gmtime_r(&raw const seconds, &raw mut parts);
        parts
    };
    format!(
        "{:04}-{:02}-{:02}T{:02}:{:02}:{:02}Z",
        parts.tm_year + 1900,
        parts.tm_mon + 1,
        parts.tm_mday,
        parts.tm_hour,
        parts.tm_min,
        parts.tm_sec
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table(page: u16) -> Table {
        let mut table = titled(&["name", "about", "count", "bytes"]);
        table.set_width(page);
        table.add_row([
            "first",
            "a text that is longer than a narrow page",
            "12",
            "1234567",
        ]);
        table
    }

    #[test]
    fn figures_stay_whole_and_text_is_broken() {
        let said = lines(table(40), 2..4);
        assert!(said.contains("1234567"), "{said}");
        assert!(
            said.lines().all(|line| line.chars().count() <= 40),
            "{said}"
        );
        assert_eq!(
            said.matches('─').count(),
            said.lines().nth(1).unwrap().chars().count()
        );
    }

    #[test]
    fn a_table_fits_where_its_figures_stay_whole() {
        assert!(fits(&table(40), &(2..4)));
        assert!(!fits(&table(16), &(2..4)));
    }

    #[test]
    fn titles_are_broken_between_words_before_figures_are() {
        let mut table = titled(&["lock", "wall clock", "gain"]);
        table.set_width(21);
        table.add_row(["first", "1.08", "0.47–1.21"]);
        let said = lines(table, 1..3);
        let mut lines = said.lines().map(str::trim_end);
        assert_eq!(lines.next(), Some("lock   wall      gain"), "{said}");
        assert_eq!(lines.next(), Some("      clock"), "{said}");
        assert!(said.contains("0.47–1.21"), "{said}");
    }

    #[test]
    fn where_there_is_no_room_figures_are_broken_too() {
        let said = lines(table(16), 2..4);
        assert!(
            said.lines().all(|line| line.chars().count() <= 16),
            "{said}"
        );
    }

    #[test]
    fn no_name_moves_the_cursor() {
        for (name, shown) in [
            ("größe::lock()", "größe::lock()"),
            ("\x1b[2Ja\nb\x7f", r"\u{1b}[2Ja\nb\u{7f}"),
            ("\u{9b}2J", r"\u{9b}2J"),
        ] {
            assert_eq!(visible(name), shown);
        }
    }

    #[test]
    fn a_date_is_as_long_as_dates_are() {
        assert_eq!(now().len(), "2026-01-01T00:00:00Z".len());
        assert_eq!(utc(86_400 + 61), "1970-01-02T00:01:01Z");
    }
}
