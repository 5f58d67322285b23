//! A profile as `pprof` reads it: waiting, by stacks, as Go's mutex profiles have it.
//!
//! The messages are those of pprof's `profile.proto`, as far as they are used.

use super::Profile;
use super::text::long;
use crate::observe::stacks::Frame;
use prost::Message;
use std::collections::HashMap;

#[derive(Clone, PartialEq, Message)]
struct File {
    #[prost(message, repeated, tag = "1")]
    sample_type: Vec<ValueType>,
    #[prost(message, repeated, tag = "2")]
    sample: Vec<Sample>,
    #[prost(message, repeated, tag = "4")]
    location: Vec<Location>,
    #[prost(message, repeated, tag = "5")]
    function: Vec<Function>,
    #[prost(string, repeated, tag = "6")]
    string_table: Vec<String>,
    #[prost(int64, tag = "10")]
    duration_nanos: i64,
    #[prost(message, optional, tag = "11")]
    period_type: Option<ValueType>,
    #[prost(int64, tag = "12")]
    period: i64,
}

#[derive(Clone, Copy, PartialEq, Message)]
struct ValueType {
    #[prost(int64, tag = "1")]
    r#type: i64,
    #[prost(int64, tag = "2")]
    unit: i64,
}

#[derive(Clone, PartialEq, Message)]
struct Sample {
    /// The innermost first.
    #[prost(uint64, repeated, tag = "1")]
    location_id: Vec<u64>,
    #[prost(int64, repeated, tag = "2")]
    value: Vec<i64>,
    #[prost(message, repeated, tag = "3")]
    label: Vec<Label>,
}

#[derive(Clone, Copy, PartialEq, Message)]
struct Label {
    #[prost(int64, tag = "1")]
    key: i64,
    #[prost(int64, tag = "2")]
    str: i64,
}

#[derive(Clone, PartialEq, Message)]
struct Location {
    #[prost(uint64, tag = "1")]
    id: u64,
    #[prost(message, repeated, tag = "4")]
    line: Vec<SourceLine>,
}

#[derive(Clone, Copy, PartialEq, Message)]
struct SourceLine {
    #[prost(uint64, tag = "1")]
    function_id: u64,
    #[prost(int64, tag = "2")]
    line: i64,
}

#[derive(Clone, Copy, PartialEq, Message)]
struct Function {
    #[prost(uint64, tag = "1")]
    id: u64,
    #[prost(int64, tag = "2")]
    name: i64,
    #[prost(int64, tag = "3")]
    system_name: i64,
    #[prost(int64, tag = "4")]
    filename: i64,
}

/// Things that are numbered as they come, each once.
#[derive(Default)]
struct Numbered {
    strings: HashMap<String, i64>,
    table: Vec<String>,
    functions: HashMap<(i64, i64), u64>,
    locations: HashMap<(u64, i64), u64>,
}

impl Numbered {
    fn string(&mut self, text: &str) -> i64 {
        if let Some(known) = self.strings.get(text) {
            return *known;
        }
        let number = self.table.len() as i64;
        self.table.push(text.to_owned());
        self.strings.insert(text.to_owned(), number);
        number
    }

    fn location(&mut self, frame: &Frame, file: &mut File) -> u64 {
        let module = frame.module.as_deref().unwrap_or("?");
        let name = match &frame.function {
            Some(function) => self.string(function),
            None => self.string(&format!("{module}+{:#x}", frame.offset)),
        };
        let filename = self.string(frame.file.as_deref().unwrap_or(module));
        let next = self.functions.len() as u64 + 1;
        let function = *self.functions.entry((name, filename)).or_insert_with(|| {
            file.function.push(Function {
                id: next,
                name,
                system_name: name,
                filename,
            });
            next
        });
        let line = i64::from(frame.line.unwrap_or(0));
        let next = self.locations.len() as u64 + 1;
        *self.locations.entry((function, line)).or_insert_with(|| {
            file.location.push(Location {
                id: next,
                line: vec![SourceLine {
                    function_id: function,
                    line,
                }],
            });
            next
        })
    }
}

/// The file's bytes.
pub fn file(profile: &Profile) -> Vec<u8> {
    let mut file = File::default();
    let mut numbered = Numbered::default();
    // The first string is the empty one.
    numbered.string("");
    let delay = ValueType {
        r#type: numbered.string("delay"),
        unit: numbered.string("nanoseconds"),
    };
    file.sample_type = vec![delay];
    file.period_type = Some(delay);
    file.period = 1;
    file.duration_nanos = (profile.seconds * 1e9) as i64;
    let key = numbered.string("lock");
    for (lock, frames, seconds) in &profile.stacks {
        let location_id = frames
            .iter()
            .map(|frame| numbered.location(frame, &mut file))
            .collect();
        let name = profile.locks.get(*lock).map_or_else(String::new, long);
        file.sample.push(Sample {
            location_id,
            value: vec![(seconds * 1e9) as i64],
            label: vec![Label {
                key,
                str: numbered.string(&name),
            }],
        });
    }
    file.string_table = numbered.table;
    file.encode_to_vec()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_can_be_read() {
        let frame = |function: &str, line| Frame {
            function: Some(function.to_owned()),
            file: Some("a.c".to_owned()),
            line: Some(line),
            ..Frame::default()
        };
        let profile = Profile {
            cohort_profile: super::super::VERSION,
            program: "p".to_owned(),
            lock: "futex".to_owned(),
            seconds: 2.0,
            processes: 1,
            threads: 2,
            preempted: None,
            cost: super::super::Cost::default(),
            left_out: super::super::LeftOut::default(),
            locks: Vec::new(),
            conditions: Vec::new(),
            stacks: vec![
                (0, vec![frame("lock", 3), frame("main", 9)], 0.5),
                (0, vec![frame("lock", 3), frame("other", 7)], 0.25),
            ],
        };
        let read = File::decode(&*super::file(&profile)).expect("protocol buffers");
        assert_eq!(read.string_table[0], "");
        assert_eq!(read.duration_nanos, 2_000_000_000);
        let values: Vec<i64> = read.sample.iter().map(|sample| sample.value[0]).collect();
        assert_eq!(values, [500_000_000, 250_000_000]);
        assert_eq!(read.function.len(), 3);
        let innermost = read.sample[0].location_id[0];
        assert_eq!(innermost, read.sample[1].location_id[0]);
        let line = read.location[innermost as usize - 1].line[0];
        let function = read.function[line.function_id as usize - 1];
        assert_eq!(read.string_table[function.name as usize], "lock");
        assert_eq!(line.line, 3);
    }
}
