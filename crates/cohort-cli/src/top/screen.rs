//! The display of `cohort top` on a terminal, and its keys.

use super::frame::{Looks, Row, Seen};
use super::{Arguments, Sort, text};
use crate::page;
use crate::problem::Problem;
use cohort_measure::interrupt;
use crossterm::cursor::{Hide, MoveTo, Show};
use crossterm::style::Stylize;
use crossterm::terminal::{
    Clear, ClearType, EnterAlternateScreen, LeaveAlternateScreen, disable_raw_mode,
    enable_raw_mode, size,
};
use crossterm::{execute, queue};
use std::io::{Read, Write, stdout};
use std::process::ExitCode;
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::Duration;

/// Screen lines below the header other than the table's rows: titles, the number of further rows,
/// the keys.
const OTHERS: usize = 4;

const KEYS: &str = "sort: l w t c m n   / filter   ↑↓ Enter stacks   Space pause   q quit";

/// The screen, until this value is dropped.
struct Screen;

impl Screen {
    fn enter() -> std::io::Result<Self> {
        enable_raw_mode()?;
        let screen = Self;
        execute!(stdout(), EnterAlternateScreen, Hide)?;
        Ok(screen)
    }
}

impl Drop for Screen {
    fn drop(&mut self) {
        // A closed terminal cannot be restored.
        let _ = execute!(stdout(), Show, LeaveAlternateScreen);
        let _ = disable_raw_mode();
    }
}

/// A key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Key {
    Letter(char),
    Up,
    Down,
    Enter,
    Back,
    Escape,
    Interrupt,
}

/// The keys in a piece of input.
fn keys(bytes: &[u8]) -> Vec<Key> {
    let text = String::from_utf8_lossy(bytes);
    let mut rest = text.as_ref();
    let mut keys = Vec::new();
    while let Some(first) = rest.chars().next() {
        let arrows = [("A", Key::Up), ("B", Key::Down)];
        let arrow = arrows.into_iter().find(|(letter, _)| {
            ["\x1b[", "\x1bO"]
                .iter()
                .any(|begin| rest.starts_with(&format!("{begin}{letter}")))
        });
        if let Some((_, key)) = arrow {
            keys.push(key);
            rest = &rest[3..];
            continue;
        }
        if rest.len() > 1 && first == '\x1b' {
            // An unknown key.
            break;
        }
        rest = &rest[first.len_utf8()..];
        keys.push(match first {
            '\x1b' => Key::Escape,
            '\r' | '\n' => Key::Enter,
            '\x03' => Key::Interrupt,
            '\x08' | '\x7f' => Key::Back,
            letter => Key::Letter(letter),
        });
    }
    keys
}

/// State of the display.
struct Shown {
    sort: Sort,
    filter: String,
    /// Whether letters go into the filter.
    is_typing: bool,
    /// The name of the selected lock.
    chosen: Option<String>,
    /// Whether its sites are shown.
    shows_places: bool,
    is_stopped: bool,
}

impl Shown {
    fn new(sort: Sort, filter: &str) -> Self {
        Self {
            sort,
            filter: filter.to_owned(),
            is_typing: false,
            chosen: None,
            shows_places: false,
            is_stopped: false,
        }
    }

    fn rows<'a>(&self, seen: &'a Seen) -> Vec<&'a Row> {
        text::rows(seen, self.sort, &self.filter)
    }

    /// Handles a key; false to end the display.
    fn follow(&mut self, key: Key, rows: &[&Row]) -> bool {
        if key == Key::Interrupt {
            return false;
        }
        if self.is_typing {
            match key {
                Key::Letter(letter) => self.filter.push(letter),
                Key::Back => drop(self.filter.pop()),
                Key::Escape => {
                    self.filter.clear();
                    self.is_typing = false;
                }
                _ => self.is_typing = false,
            }
            return true;
        }
        match key {
            Key::Letter('q') => return false,
            Key::Letter('l') => self.sort = Sort::Lost,
            Key::Letter('w') => self.sort = Sort::Waiting,
            Key::Letter('t') => self.sort = Sort::Taken,
            Key::Letter('c') => self.sort = Sort::Contended,
            Key::Letter('m') => self.sort = Sort::Changes,
            Key::Letter('n') => self.sort = Sort::Name,
            Key::Letter('/') => {
                self.shows_places = false;
                self.is_typing = true;
            }
            Key::Letter(' ') => self.is_stopped = !self.is_stopped,
            Key::Up | Key::Letter('k') => self.choose(rows, -1),
            Key::Down | Key::Letter('j') => self.choose(rows, 1),
            Key::Enter | Key::Letter('s') => {
                if self.chosen.is_none() {
                    self.choose(rows, 1);
                }
                self.shows_places = !self.shows_places && self.chosen.is_some();
            }
            Key::Escape | Key::Back => {
                let shown = std::mem::take(&mut self.shows_places);
                self.chosen = self.chosen.take().filter(|_| shown);
            }
            _ => {}
        }
        true
    }

    /// Selects the lock that many lines below the selected one.
    fn choose(&mut self, rows: &[&Row], below: isize) {
        let place = self.place(rows).map_or(0, |place| {
            let last = rows.len().saturating_sub(1);
            place.saturating_add_signed(below).min(last)
        });
        self.chosen = rows.get(place).map(|row| row.name.clone());
    }

    fn place(&self, rows: &[&Row]) -> Option<usize> {
        let chosen = self.chosen.as_ref()?;
        rows.iter().position(|row| row.name == *chosen)
    }

    /// The lines of the screen, with the header first.
    fn lines(&self, head: &str, rows: &[&Row], height: usize) -> Vec<String> {
        let mut lines: Vec<String> = head.lines().map(str::to_owned).collect();
        lines.push(String::new());
        let others = lines.len() + OTHERS;
        let room = height.saturating_sub(others).max(1);
        // The selected lock stays visible.
        let chosen = self.place(rows);
        let first = chosen.map_or(0, |place| (place + 1).saturating_sub(room));
        let mut add = |text: &str| {
            let fresh = text.lines().map(|line| line.trim_end().to_owned());
            lines.extend(fresh);
        };
        if let (true, Some(place)) = (self.shows_places, chosen) {
            add(&text::places(rows[place]));
        } else {
            let table = text::table_or_none(&rows[first..], room);
            // Titles may have several lines.
            let titles = table.lines().position(|line| line.starts_with('─'));
            let marked = titles
                .zip(chosen)
                .map(|(line, place)| line + 1 + place - first);
            for (number, line) in table.lines().enumerate() {
                if Some(number) == marked {
                    add(&line.reverse().to_string());
                } else {
                    add(line);
                }
            }
        }
        lines.truncate(height.saturating_sub(1));
        lines.resize(height.saturating_sub(1), String::new());
        let stopped = if self.is_stopped { "stopped   " } else { "" };
        lines.push(if self.is_typing {
            format!("filter: {}_", self.filter)
        } else if self.filter.is_empty() {
            format!("{stopped}{KEYS}")
        } else {
            format!("{stopped}filter: {}   {KEYS}", self.filter)
        });
        lines
    }

    fn draw(&self, head: &str, rows: &[&Row]) -> std::io::Result<()> {
        let width = usize::from(page::width());
        let height = usize::from(size().map_or(24, |(_, rows)| rows));
        let mut screen = stdout().lock();
        for (number, line) in self.lines(head, rows, height).iter().enumerate() {
            queue!(screen, MoveTo(0, u16::try_from(number).unwrap_or(u16::MAX)))?;
            // The table's lines fit, apart from escape sequences.
            if line.contains('\x1b') {
                write!(screen, "{line}")?;
            } else {
                let cut: String = line.chars().take(width).collect();
                write!(screen, "{cut}")?;
            }
            queue!(screen, Clear(ClearType::UntilNewLine))?;
        }
        screen.flush()
    }
}

/// Reads keys.
fn typed() -> Receiver<Vec<Key>> {
    let (sender, receiver) = channel();
    std::thread::spawn(move || {
        let mut bytes = [0; 64];
        while let Ok(count) = std::io::stdin().read(&mut bytes) {
            if count == 0 || sender.send(keys(&bytes[..count])).is_err() {
                break;
            }
        }
    });
    receiver
}

/// Shows the lock operations until a key ends it.
///
/// # Errors
/// There is no terminal; another command observes the process now.
pub fn run(looker: &mut dyn Looks, arguments: &Arguments) -> Result<ExitCode, Problem> {
    let program = looker.program();
    let no_screen =
        |error: std::io::Error| Problem::refused(format!("cannot use the terminal: {error}"));
    let screen = Screen::enter().map_err(no_screen)?;
    let typed = typed();
    let mut shown = Shown::new(arguments.sort, &arguments.filter);
    // The first look is short, so that there is something to see.
    let mut length = arguments.interval.min(Duration::from_millis(250));
    // The latest result, before filtering.
    let mut latest: Option<Seen> = None;
    loop {
        if let Err(signal) = interrupt::check() {
            drop(screen);
            return Ok(ExitCode::from(signal.status()));
        }
        let pause = looker.look()?;
        let mut is_fresh = false;
        match typed.recv_timeout(pause) {
            Ok(keys) => {
                for key in keys {
                    let rows = latest
                        .as_ref()
                        .map_or_else(Vec::new, |seen| shown.rows(seen));
                    if !shown.follow(key, &rows) {
                        return Ok(ExitCode::SUCCESS);
                    }
                }
                looker.want_stacks(shown.shows_places);
                is_fresh = true;
            }
            Err(RecvTimeoutError::Disconnected) => std::thread::sleep(pause),
            Err(RecvTimeoutError::Timeout) => {}
        }
        if looker.is_over() {
            drop(screen);
            crate::problem::tell(format!("process {} has ended", looker.process()));
            return Ok(ExitCode::SUCCESS);
        }
        if looker.elapsed() >= length {
            length = arguments.interval;
            let seen = looker.finish();
            if !shown.is_stopped || latest.is_none() {
                latest = Some(seen);
                is_fresh = true;
            }
        }
        if let (true, Some(seen)) = (is_fresh, &latest) {
            let head = text::head(looker.process(), &program, seen);
            shown.draw(&head, &shown.rows(seen)).map_err(no_screen)?;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_told_from_what_a_terminal_sends_for_others() {
        let typed = |text: &str| keys(text.as_bytes());
        assert_eq!(typed("q"), [Key::Letter('q')]);
        assert_eq!(typed("\x1b[A\x1bOB"), [Key::Up, Key::Down]);
        assert_eq!(typed("\x1b"), [Key::Escape]);
        assert_eq!(typed("\x1b[15~"), []);
        assert_eq!(typed("\r\x03"), [Key::Enter, Key::Interrupt]);
        assert_eq!(typed("ß\x7f"), [Key::Letter('ß'), Key::Back]);
    }

    #[test]
    fn letters_go_into_the_filter_until_enter() {
        let mut shown = Shown::new(Sort::Lost, "");
        for key in keys(b"/qx\x7f\r") {
            assert!(shown.follow(key, &[]));
        }
        assert_eq!((shown.filter.as_str(), shown.is_typing), ("q", false));
        assert!(shown.follow(Key::Letter('n'), &[]));
        assert_eq!(shown.sort, Sort::Name);
        assert!(!shown.follow(Key::Letter('q'), &[]));
    }
}
